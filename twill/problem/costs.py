"""Costs as the static model sees them: reservations from issue, occupancy, latency.

The machine file says what an operation does to each unit. Here that becomes a resource reservation
table (paper section 3.1). Issue slots are a unit like any other, counted in eighths of what the
contexts issue a cycle: an exponential issues one instruction in eight cycles (1/8). A stream that
could fill every slot is costed at 7/8 for 8/7 of the time. At 8/8 not even an exponential could run
at the same time.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction

from twill.artifacts.hardware import EIGHTHS
from twill.artifacts.loop import Loop, Operation, Step
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import TimeScale
from twill.base.errors import InputError, short
from twill.solvers.scip import new_model, optimize, total

FULL_RATE_SHARE = EIGHTHS - 1


@dataclass(frozen=True)
class Reservation:
    """`count` instances of `unit` in use for `length` cycles from `start` cycles after issue."""

    unit: str
    start: int
    length: int
    count: int


@dataclass(frozen=True)
class StaticCost:
    """An operation's cost in the static model, in cycles (see `twill.artifacts.loop.Cost`)."""

    # Its resource reservation table, run-length encoded.
    reservations: tuple[Reservation, ...]
    # Length of the table, cycles(v) in the paper.
    occupancy: int
    # Cycles for which its warp group is busy issuing it.
    issue: int
    # Cycles from issue until the result can be read.
    latency: int
    transfer: int
    working_set: int
    asynchronous: bool
    variable_latency: bool
    # The unit that executes it in issue order, if it is asynchronous and there is one.
    in_order_unit: str | None


# Of each unit, how long and how much of it is in use from issue on.
Used = dict[str, tuple[int, int]]


def static_cost(operation: Operation, machine: Machine) -> StaticCost:
    """Cost one operation for the static model.

    Raises
    ------
    InputError
        If no rule applies.
    """
    cost = machine.cost(operation)
    stretched, in_order = 0, None
    if cost.asynchronous:
        used = _side_by_side(operation, cost.steps, machine)
        occupancy = max(step.cycles for step in cost.steps)
        unit = cost.steps[0].unit
        in_order = unit if machine.units[unit].in_order else None
    else:
        used, occupancy = _in_sequence(cost.steps, machine)
        stretched = occupancy - sum(step.cycles for step in cost.steps)
    return StaticCost(
        reservations=tuple(Reservation(unit, 0, *taken) for unit, taken in used.items()),
        occupancy=occupancy,
        issue=cost.issue if cost.asynchronous else occupancy,
        latency=cost.latency + stretched,
        transfer=cost.transfer,
        working_set=cost.working_set,
        asynchronous=cost.asynchronous,
        variable_latency=cost.variable_latency,
        in_order_unit=in_order,
    )


def static_costs(loop: Loop, machine: Machine) -> dict[str, StaticCost]:
    """Cost every operation of a loop, by name.

    Raises
    ------
    InputError
        If no rule applies, or a given cost names a unit of which the machine has none or not
        enough.
    """
    for index, operation in enumerate(loop.operations):
        for position, step in enumerate(operation.cost.steps if operation.cost else ()):
            path = f"operations[{index}].cost.steps[{position}]"
            _check_step(step, path, loop.file or loop.name, machine)
    try:
        return {operation.name: static_cost(operation, machine) for operation in loop.operations}
    except InputError as error:
        made_for = loop.origin.architecture if loop.origin else None
        comparable = made_for is not None and machine.architecture.startswith("sm_")
        if not comparable or made_for == machine.architecture:
            raise
        message = f"{error.message} (the loop is for {made_for}, not {machine.architecture})"
        raise InputError(message, path=error.path, file=error.file) from None


def _side_by_side(operation: Operation, steps: tuple[Step, ...], machine: Machine) -> Used:
    """Reserve for steps that run at once; what they use of one unit adds up."""
    used: Used = {}
    for step in steps:
        length, count = used.get(step.unit, (0, 0))
        length, count = max(length, step.cycles), count + step.count
        if count > machine.units[step.unit].capacity:
            raise InputError(
                f"the steps of {short(operation.name)} need {count} of unit {step.unit} at once, "
                f"which has {machine.units[step.unit].capacity}",
                path=f"units.{step.unit}.capacity",
                file=machine.file or machine.name,
            )
        used[step.unit] = length, count
    return used


def _in_sequence(steps: tuple[Step, ...], machine: Machine) -> tuple[Used, int]:
    """Reserve for steps that follow each other; return the reservations and the occupancy.

    Every reservation starts at issue, because feasibility is monotone in the interval only then.
    The short tail of an operation (the shuffles of a reduction) is booked at its start, and issue
    slots at the highest rate of any step throughout.
    """
    shares = [_issue_share(step, machine) for step in steps]
    occupancy = sum(length for length, _ in shares)
    used: Used = {}
    for step, (more, _) in zip(steps, shares, strict=True):
        length, count = used.get(step.unit, (0, 0))
        used[step.unit] = length + more, max(count, step.count)
    highest = max(share for _, share in shares)
    if highest and machine.issue_unit is not None:
        _, count = used.get(machine.issue_unit, (0, 0))
        used[machine.issue_unit] = occupancy, max(highest, count)
    return used, occupancy


def _issue_share(step: Step, machine: Machine) -> tuple[int, int]:
    """Return the cycles a step takes and the eighths of the issue slots it uses meanwhile."""
    if machine.issue_unit is None or step.unit == machine.issue_unit:
        return step.cycles, 0
    share = -(-EIGHTHS * step.instructions // step.cycles)
    if share < EIGHTHS:
        return step.cycles, share
    return -(-step.instructions * EIGHTHS // FULL_RATE_SHARE), FULL_RATE_SHARE


def _check_step(step: Step, path: str, file: str, machine: Machine) -> None:
    unit = machine.units.get(step.unit)
    if unit is None:
        units = ", ".join(machine.units)
        message = f"{machine.name} has no unit named {short(step.unit)} (it has {units})"
        raise InputError(message, path=f"{path}.unit", file=file)
    if step.count > unit.capacity:
        message = f"needs {step.count} of unit {step.unit}, {machine.name} has {unit.capacity}"
        raise InputError(message, path=f"{path}.count", file=file)


BUDGET = 300


def cost_list(loop: Loop, machine: Machine) -> tuple[int, ...]:
    """Return the distinct positive costs in cycles that a problem is made of.

    Reservation lengths, occupancies, issue costs, latencies, transfer costs, given delays and the
    signal hop.
    """
    found = {machine.synchronisation.hop.value}
    for cost in static_costs(loop, machine).values():
        found |= {cost.occupancy, cost.issue, cost.latency, cost.transfer}
        found |= {value for r in cost.reservations for value in (r.start, r.length)}
    found |= {d.delay for d in loop.dependences if d.delay is not None}
    return tuple(sorted(value for value in found if value > 0))


def normalize(loop: Loop, machine: Machine, budget: int = BUDGET) -> TimeScale:
    """Choose normalized costs for a loop on a machine.

    Raises
    ------
    SolverError
        If SCIP does not reach the optimum.
    """
    costs = cost_list(loop, machine)
    if not costs:
        return TimeScale()
    budget = max(budget, len(costs))
    least_change, _ = _solve(costs, budget, None)
    _, replaced = _solve(costs, budget, least_change)
    return TimeScale(
        mode="normalized",
        costs=tuple(zip(costs, replaced, strict=True)),
        budget=budget,
        cycles_per_unit=sum(costs) / sum(replaced),
        distortion=distortion(costs, replaced),
    )


def distortion(costs: tuple[int, ...], replaced: tuple[int, ...]) -> float:
    """Return the largest factor by which the ratio of two costs changed; 1 is none."""
    scales = [Fraction(after, before) for before, after in zip(costs, replaced, strict=True)]
    return float(max(scales) / min(scales))


@functools.lru_cache(maxsize=64)
def _solve(
    costs: tuple[int, ...], budget: int, least_change: int | None
) -> tuple[int, tuple[int, ...]]:
    """Minimise F, or with F given maximise the sum of the new costs."""
    model = new_model("normalization")
    new = [model.addVar(f"c{cost}", vtype="I", lb=1, ub=min(cost, budget)) for cost in costs]
    most = costs[-1] * budget if least_change is None else least_change
    change = model.addVar("F", vtype="I", lb=0, ub=most)
    for i, a in enumerate(costs):
        for j, b in enumerate(costs[:i]):
            difference = a * new[j] - b * new[i]
            model.addCons(difference <= change)
            model.addCons(-difference <= change)
    model.addCons(total(new) <= budget)
    if least_change is None:
        model.setObjective(change, "minimize")
    else:
        model.setObjective(total(new), "maximize")
    optimize(model)
    return round(model.getVal(change)), tuple(round(model.getVal(variable)) for variable in new)
