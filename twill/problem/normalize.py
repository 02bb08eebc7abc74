"""Cost normalization: smaller whole costs of nearly the same ratios (paper section 5.2), by SCIP.

The paper's integer program, with two bounds and one tie-break that it needs in practice. Without
C' >= 1 the least F is reached by rounding most costs to nothing; without C' <= C costs of 1 grow to
the whole budget. Among solutions of equal F the one of the largest resolution is taken.
"""

from __future__ import annotations

import functools
from fractions import Fraction

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import TimeScale
from twill.problem.costs import static_costs
from twill.solvers.scip import new_model, optimize, total

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
    change = model.addVar(
        "F", vtype="I", lb=0, ub=least_change if least_change is not None else costs[-1] * budget
    )
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
