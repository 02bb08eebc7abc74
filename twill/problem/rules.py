"""The rules of the model, one function each, and where docs/model.md states them.

Each rule is about one operation, dependence or warp group. Constraints on a whole schedule are
stated by the engines, each family in a method. Costs of operations are in `twill.problem.costs`.
"""

from __future__ import annotations

from collections.abc import Mapping

from twill.artifacts.loop import Dependence, Loop
from twill.artifacts.schedule import Rules
from twill.problem.operations import ProblemOperation, RegisterFile

# -- operations -----------------------------------------------------------------------------------


def streaming(*, variable_latency: bool, addressed: bool, waits: bool) -> bool:
    """Whether a ring of slots hides an operation's latency (Operations).

    `addressed`: whether its result is in SMEM or TMEM; `waits`: whether a dependence leads to it.
    """
    return variable_latency and addressed and not waits


def blocked_span(cycles: int, issue: int, rules: Rules) -> int:
    """Return for how long from its start an operation keeps its group from a wait (rule 7).

    `cycles`, `issue`: time for which it is executed, and for which it is issued.
    """
    return issue if rules == "issue" else cycles


# -- dependences ----------------------------------------------------------------------------------


def one_unit(u: ProblemOperation, v: ProblemOperation) -> bool:
    """Whether one in-order unit executes both."""
    return u.in_order_unit is not None and u.in_order_unit == v.in_order_unit


def chained(dependence: Dependence, u: ProblemOperation, v: ProblemOperation) -> bool:
    """Whether v accumulates in place on the in-order unit that makes u's result (Dependences)."""
    return dependence.in_place and one_unit(u, v)


def delay(dependence: Dependence, u: ProblemOperation, v: ProblemOperation) -> int:
    """Return the least time from issue to issue on one group, if none is given (Dependences)."""
    if chained(dependence, u, v):
        return u.cycles
    if dependence.kind == "anti" and (not u.asynchronous or one_unit(u, v)):
        return u.cycles
    return u.latency


def blocking(dependence: Dependence, u: ProblemOperation, v: ProblemOperation) -> bool:
    """Whether v waits for u even on u's own group (Dependences)."""
    if dependence.blocking is not None:
        return dependence.blocking
    ordered = chained(dependence, u, v) or (dependence.kind == "anti" and one_unit(u, v))
    return u.asynchronous and not ordered


def transferable(dependence: Dependence, u: ProblemOperation) -> bool:
    """Whether a value moves through SMEM where the ends are on two groups (rule 6, transfer)."""
    return dependence.kind == "data" and u.registers > 0


def cross_delay(
    dependence: Dependence, u: ProblemOperation, v: ProblemOperation, given: int | None, hop: int
) -> int:
    """Return the least time from issue to issue across groups (rules 1 and 6).

    `hop`: from the issue of an arrive until a blocked waiter goes on.
    """
    in_chain, moved = chained(dependence, u, v), transferable(dependence, u)
    least = delay(dependence, u, v) if given is None else given
    if in_chain and moved and given is None:
        least = u.latency
    signals_itself = u.asynchronous and u.memory is not None and not in_chain
    return least + (0 if signals_itself else hop) + (u.transfer if moved else 0)


def turn(u: ProblemOperation, v: ProblemOperation, hop: int, rules: Rules) -> int:
    """Return how long after u an operation of another group follows on their unit (rule 3, turns).

    `hop`: from the issue of an arrive until a blocked waiter goes on.
    """
    return u.issue + hop if rules == "issue" and one_unit(u, v) else 0


# -- lifetimes ------------------------------------------------------------------------------------


def reads(dependence: Dependence, u: ProblemOperation, v: ProblemOperation) -> int:
    """Return the time after v's issue for which it reads u's value (Lifetimes, release).

    A result in registers has slots of its own also where it takes over those of an operand.
    """
    if dependence.in_place and (u is v or not u.registers):
        return 0
    if not v.asynchronous:
        return v.cycles
    return v.cycles if one_unit(u, v) and not u.registers else v.latency


def copy_reads(v: ProblemOperation) -> int:
    """Return the time after v's issue for which it reads a copy in registers (rule 6, transfer)."""
    return v.latency if v.asynchronous else v.cycles


def taken_over(loop: Loop, registers: Mapping[str, int], name: str) -> Dependence | None:
    """Return the dependence whose registers the element-wise operation `name` takes over.

    The widest operand in registers is taken if at least as wide as the result, the first such
    (Lifetimes, release). Values that another operation updates in place stay where they are.

    `registers`: per thread of each operation's result.
    """
    if not loop.operation(name).elementwise or not registers[name]:
        return None
    updated = {d.producer for d in loop.dependences if d.in_place}
    candidates = [
        d
        for d in loop.dependences
        if d.consumer == name
        and d.kind == "data"
        and d.producer not in updated
        and registers[d.producer] >= registers[name]
    ]
    return max(candidates, key=lambda d: registers[d.producer], default=None)


def takes_over(dependence: Dependence, taken: Dependence | None, rules: Rules) -> bool:
    """Whether the value counts as free at its consumer's issue (Lifetimes, release).

    `taken`: whose registers the consumer takes over.
    """
    return rules == "paper" or dependence.in_place or taken == dependence


def widening(operand: ProblemOperation, result: ProblemOperation) -> int:
    """Return the registers that a result does not take of a wider operand (Lifetimes)."""
    return max(0, operand.registers - result.registers)


def working(operation: ProblemOperation) -> int:
    """Return the time from its issue for which an operation has its working set (Lifetimes)."""
    return max(operation.cycles, operation.issue)


def unread(operation: ProblemOperation) -> int:
    """Return the time from its issue for which a value without readers lives (Lifetimes)."""
    return operation.latency


def staged(operation: ProblemOperation) -> int:
    """Return the time from its issue until a register value is in SMEM (rule 6, transfer)."""
    return operation.latency + operation.transfer


def fetched_ahead(operation: ProblemOperation) -> int:
    """Return the time before its reader's issue when a copy takes registers (rule 6, transfer)."""
    return operation.transfer - operation.transfer // 2


def release_seen(hop: int, rules: Rules) -> int:
    """Return for how long a slot is still in another group's way (rule 4, memory).

    `hop`: from the issue of an arrive until a blocked waiter goes on.
    """
    return hop if rules == "issue" else 0


# -- warp groups and their registers --------------------------------------------------------------


def takes(warps: int, operation: ProblemOperation, *, variable_latency: bool) -> bool:
    """Whether a warp group may execute an operation (rule 8, variable latency; widths).

    `variable_latency`: whether the group is one of those for such operations.
    """
    return warps >= operation.warps and variable_latency == operation.variable_latency


def blocks(file: RegisterFile, warps: int) -> int:
    """Return how many allocations so many warps take (rule 5, registers)."""
    return -(-warps // file.warps)


def room(file: RegisterFile, allocated: int) -> int:
    """Return the registers per thread that may be live on a group (rule 5).

    `allocated`: registers per thread.
    """
    return min(allocated, file.limit) - file.reserve


def allocation(file: RegisterFile, live: int) -> int:
    """Return the least allocation that holds so many live registers per thread (rule 5).

    Returns: more than there may be, where none does.
    """
    amount = -(-file.least // file.step) * file.step
    while room(file, amount) < live and amount <= file.most:
        amount += file.step
    return amount


def accumulates(operation: ProblemOperation) -> bool:
    """Whether an operation is a product whose accumulator is in registers (rule 5)."""
    return operation.in_order_unit is not None and operation.registers > 0


def pool(file: RegisterFile, count: int) -> int:
    """Return the registers per thread that `count` allocations have together (rule 5)."""
    whole = file.file // file.threads
    if file.launch is None or not count:
        return whole
    return count * min(file.most, whole // count // file.launch * file.launch)
