"""What a search records about its result: bounds, and levels within what the user asked for."""

from __future__ import annotations

from collections.abc import Iterable

from twill.artifacts.schedule import LevelProof, LowerBound, Proof, Weight
from twill.bounds import Bounds
from twill.problem import Problem


def bound_reached(lower: Bounds, most_stages: int) -> LowerBound:
    """Return the bound of a schedule at the least interval that needs no solver.

    Parameters
    ----------
    lower : Bounds
        The bounds.
    most_stages : int
        Most stages of the schedules that were looked for.
    """
    value, together = lower.interval, lower.configurations
    if together and together.value > max(lower.resource, lower.recurrence, lower.issue):
        return LowerBound(
            value=value,
            reason="configurations",
            weights=tuple(
                Weight(operation=p.operation, start=p.start, length=p.length, weight=weight)
                for p, weight in together.weights
            ),
            most=together.most,
            most_stages=most_stages,
        )
    if lower.issue > max(lower.resource, lower.recurrence):
        return LowerBound(
            value=value, reason="issue", cycle=(lower.issue_operation,), most_stages=most_stages
        )
    if lower.resource >= lower.recurrence:
        return LowerBound(
            value=value, reason="ResMII", unit=lower.resource_unit, most_stages=most_stages
        )
    return LowerBound(
        value=value, reason="RecMII", cycle=lower.recurrence_cycle, most_stages=most_stages
    )


def proof_within(
    problem: Problem, interval: int, bound: LowerBound, levels: Iterable[LevelProof]
) -> Proof:
    """Return what was proved, with what the user had decided beforehand.

    Parameters
    ----------
    problem : Problem
        The problem.
    interval : int
        The interval that was found.
    bound : LowerBound
        Why there is no smaller one, if that was proved.
    levels : iterable of LevelProof
        The levels after the interval.
    """
    wishes, names = problem.wishes, [o.name for o in problem.operations]
    proved = bound.reason != "not proved"
    return Proof(
        bound=bound,
        levels=(LevelProof(level="interval", value=interval, proved=proved), *levels),
        limits=dict(wishes.limits),
        pins={names[v]: group for v, group in wishes.pins},
        orders=tuple((names[u], names[v]) for u, v in wishes.orders),
    )
