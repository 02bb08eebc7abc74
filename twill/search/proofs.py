"""What a search records about its result: bounds, and levels within what the user asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from twill.artifacts.schedule import LevelProof, Limit, LowerBound, Proof, Weight
from twill.bounds.least import Bounds
from twill.problem.problem import Problem


def bound_reached(lower: Bounds) -> LowerBound:
    """Return the bound of a schedule at the least interval that needs no solver."""
    value = lower.interval
    if value > lower.alone:
        return LowerBound(value=value, reason="configurations", **_weights(lower))
    if lower.issue > max(lower.resource, lower.recurrence):
        return LowerBound(value=value, reason="issue", cycle=(lower.issue_operation,))
    if lower.resource >= lower.recurrence:
        return LowerBound(value=value, reason="ResMII", unit=lower.resource_unit)
    return LowerBound(value=value, reason="RecMII", cycle=lower.recurrence_cycle)


def not_proved(lower: Bounds, value: int, solver: str, most_stages: int) -> LowerBound:
    """Return the bound of a schedule that is perhaps not at the least interval."""
    if value <= lower.alone:
        return LowerBound(value=value, reason="not proved")
    if value == lower.interval:
        return LowerBound(value=value, reason="not proved", **_weights(lower))
    return LowerBound(value=value, reason="not proved", solver=solver, most_stages=most_stages)


def _weights(lower: Bounds) -> dict[str, Any]:
    """Return what shows that all units together need so much."""
    together = lower.configurations
    assert together is not None
    weights = tuple(
        Weight(operation=p.operation, start=p.start, length=p.length, weight=weight)
        for p, weight in together.weights
    )
    return {"weights": weights, "most": together.most}


def proof_within(
    problem: Problem, interval: int, bound: LowerBound, levels: Iterable[LevelProof]
) -> Proof:
    """Return what was proved, with what the user had decided beforehand."""
    wishes, names = problem.wishes, [o.name for o in problem.operations]
    proved = bound.reason != "not proved"
    return Proof(
        bound=bound,
        levels=(LevelProof(level="interval", value=interval, proved=proved), *levels),
        limits=cast("dict[Limit, int]", dict(wishes.limits)),
        pins={names[v]: group for v, group in wishes.pins},
        orders=tuple((names[u], names[v]) for u, v in wishes.orders),
    )
