"""The least interval of a range, as the prover finds it."""

from __future__ import annotations

from collections.abc import Sequence

from twill.engines import FAMILIES, FREELY, Conditions, Range, Refutation
from twill.engines.cpsat import CpSatProver
from twill.problem import Problem
from twill.problem.groups import WarpGroup


def prove(
    problem: Problem,
    low: int,
    high: int,
    most_stages: int,
    groups: Sequence[WarpGroup],
    families: Sequence[str] = FAMILIES,
    under: Conditions = FREELY,
) -> Refutation:
    """Find the least interval that has a schedule, or refute the whole range."""
    prover = CpSatProver()
    found = prover(Range(problem, low, high, most_stages, groups, families), under)
    if found.interval is None:
        return found
    below = Range(problem, low, found.interval - 1, most_stages, groups, families)
    return prover.least(below, found, under)
