"""The rules of the model, one function each, and where docs/model.md states them.

They are about two operations at a time; what holds for all of a schedule is with the engines.
"""

from __future__ import annotations

from collections.abc import Mapping

from twill.artifacts.loop import Dependence, Loop
from twill.problem.operations import ProblemOperation


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


def taken_over(
    loop: Loop, operations: Mapping[str, ProblemOperation], name: str
) -> Dependence | None:
    """Return the dependence whose registers the element-wise operation `name` takes over.

    It is the widest operand in registers that is at least as wide as the result; the first such
    (Lifetimes, release).
    """
    consumer = operations[name]
    if not loop.operation(name).elementwise or consumer.registers == 0:
        return None
    candidates = [
        d
        for d in loop.dependences
        if d.consumer == name
        and d.kind == "data"
        and not d.in_place
        and operations[d.producer].registers >= consumer.registers
    ]
    return max(candidates, key=lambda d: operations[d.producer].registers, default=None)


def turn(u: ProblemOperation, v: ProblemOperation, hop: int) -> int:
    """Return how long after u an operation of another group follows on their unit (rule 3, turns).

    `hop`: from the issue of an arrive until a blocked waiter goes on.
    """
    return u.issue + hop if one_unit(u, v) else 0
