"""A normalized solution's order and groups, timed again in clock cycles."""

from __future__ import annotations

from dataclasses import replace

from twill.bounds.least import bounds
from twill.console import Report
from twill.engines.protocol import EngineFactory
from twill.engines.yices.system import anchor_of
from twill.errors import RefusedError
from twill.problem.problem import Problem
from twill.search.proofs import not_proved
from twill.search.request import Options
from twill.search.search import Found, search


def refine(
    problem: Problem, found: Found, engine: EngineFactory, options: Options, report: Report
) -> Found:
    """Find the least interval in clock cycles that keeps a solution's order and groups.

    Stages relative to each other, the order of issue times modulo I and the groups are kept; the
    times are solved for again, by longest paths in effect.

    Raises
    ------
    RefusedError
        If that order is infeasible in clock cycles at every interval, as where rounding hid that
        values do not fit.
    """
    interval, assignment = found.interval, found.assignment
    anchor = assignment.start[anchor_of(problem)] % interval
    shape = tuple(
        (group, *divmod(time - anchor, interval))
        for group, time in zip(assignment.group, assignment.start, strict=True)
    )
    fixed = replace(problem, wishes=replace(problem.wishes, shape=shape))
    try:
        refined = search(fixed, engine, options, report)
    except RefusedError as error:
        raise RefusedError(
            f"{problem.loop.name}: the order found in normalized time has no schedule in clock "
            f"cycles ({error}); a larger --budget rounds costs less",
            error.about,
        ) from None
    lower = bounds(problem)
    bound = not_proved(lower, lower.interval, "", 0)
    levels = tuple(
        level.model_copy(update={"proved": False, "solver": None}) for level in refined.proof.levels
    )
    proof = refined.proof.model_copy(update={"bound": bound, "levels": levels})
    seconds = {key: value + refined.seconds.get(key, 0.0) for key, value in found.seconds.items()}
    return replace(refined, proof=proof, seconds=seconds)
