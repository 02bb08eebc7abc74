"""Searches that follow the first one: in clock cycles again, and with registers to spare.

The search counts registers by the clock of the static schedule, a compiler along the program. Where
waits do not bring the two together the question is asked with some registers of every group to
spare, and of what is found then only that is proved which the first search has shown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

from twill.artifacts.schedule import Schedule
from twill.bounds.least import bounds, every_bound
from twill.engines.protocol import EngineFactory
from twill.engines.yices.system import anchor_of
from twill.errors import Refusal, RefusedError
from twill.problem.problem import Problem
from twill.search.known import not_proved
from twill.search.request import MOST_SEED, Options
from twill.search.search import Found, Stopped, search
from twill.verification.registers import registers_along_programs

OTHER_SEEDS = 8
"""Other schedules of the same levels that are looked at where there is none with registers to
spare."""
LEAST_SECONDS = 0.001
"""Seconds that a search has at least."""

Attempt = Callable[[Problem, Options], Found]


def refine(problem: Problem, found: Found, finder: EngineFactory, options: Options) -> Found:
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
        refined = search(fixed, finder, options)
    except RefusedError as error:
        raise RefusedError(
            f"{problem.loop.name}: the order found in normalized time has no schedule in clock "
            f"cycles ({error}); a larger --budget rounds costs less",
            error.about,
        ) from None
    lower = bounds(problem)
    levels = tuple(
        level.model_copy(update={"proved": False, "solver": None}) for level in refined.proof.levels
    )
    update = {"bound": not_proved(lower, lower.interval, "", 0), "levels": levels}
    return _after(found, replace(refined, proof=refined.proof.model_copy(update=update)))


def _after(first: Found, second: Found) -> Found:
    """Return what the second search found, with the seconds of both."""
    seconds = {key: first.seconds.get(key, 0.0) + value for key, value in second.seconds.items()}
    return replace(second, seconds=seconds)


def lacking(problem: Problem, artifact: Schedule) -> int:
    """Return how many registers per thread a group needs along its program beyond what it has."""
    file = problem.registers
    if file is None or problem.rules == "paper":
        return 0
    live = registers_along_programs(artifact)
    room = {g.name: min(g.registers or 0, file.limit) - file.reserve for g in artifact.groups}
    return max((needed - room[name] for name, needed in live.items()), default=0)


def with_spare(problem: Problem, spare: int) -> Problem:
    """Return a problem whose groups keep so many more registers per thread free."""
    file = problem.registers
    assert file is not None
    return replace(problem, registers=replace(file, reserve=file.reserve + spare))


def enough_along_programs(
    problem: Problem,
    found: Found,
    realized: Callable[[Found], Schedule],
    attempt: Attempt,
    options: Options,
) -> tuple[Found, Schedule]:
    """Return an answer whose programs have enough registers: the first, or one that is asked for.

    Raises
    ------
    RefusedError
        If no such answer is found.
    """
    spare, answer, artifact = 0, found, realized(found)
    while (more := lacking(problem, artifact)) > 0:
        spare += more
        last = answer
        spared, within = with_spare(problem, spare), later(options, last.seconds)
        try:
            answer = _after(last, _shown(problem, found, attempt(spared, within), spare))
        except Stopped as stopped:
            shown = _shown(problem, found, stopped.found, spare)
            raise Stopped(_after(last, shown)) from None
        except RefusedError:
            return _another(problem, last, realized, attempt, options)
        if answer.interval > last.interval:
            with contextlib.suppress(RefusedError):
                return _another(problem, last, realized, attempt, options)
        artifact = realized(answer)
    return answer, artifact


def later(options: Options, seconds: dict[str, float], seeds: int = 0) -> Options:
    """Return the options of a search after another one: the time that is left, another seed."""
    left, spent = options.timeout, seconds.get("total", 0.0)
    if left is not None and spent:
        left = max(LEAST_SECONDS, left - spent)
    return replace(options, timeout=left, seed=(options.seed + seeds) % (MOST_SEED + 1))


def _another(
    problem: Problem,
    last: Found,
    realized: Callable[[Found], Schedule],
    attempt: Attempt,
    options: Options,
) -> tuple[Found, Schedule]:
    """Return another schedule of the same levels, as other seeds find them."""
    answer = last
    for seeds in range(1, OTHER_SEEDS + 1):
        answer = _after(answer, attempt(problem, later(options, answer.seconds, seeds)))
        artifact = realized(answer)
        if lacking(problem, artifact) <= 0:
            return answer, artifact
    raise RefusedError(
        f"{problem.loop.name}: no schedule was found whose programs have enough registers, which "
        "does not mean that there is none",
        Refusal(families=("registers",), least_interval=last.proof.bound.value),
    )


def _shown(problem: Problem, first: Found, again: Found, spare: int) -> Found:
    """Return what was found with registers to spare, with what is known of the whole problem."""
    bound = first.proof.bound
    if again.interval > first.interval or bound.reason == "not proved":
        lower, most = every_bound(problem), bound.most_stages or 0
        bound = not_proved(lower, bound.value, bound.solver or "", most)
    known = {level.level: level for level in first.proof.levels}
    levels, still = [], True
    for level in again.proof.levels:
        best = known.get(level.level)
        still = still and best is not None and best.proved and best.value == level.value
        solver = best.solver if still and best is not None else None
        levels.append(level.model_copy(update={"proved": still, "solver": solver}))
    groups = tuple(replace(g, live_limit=g.live_limit + spare) for g in again.assignment.groups)
    proof = again.proof.model_copy(update={"bound": bound, "levels": tuple(levels)})
    assignment = replace(again.assignment, groups=groups)
    return replace(again, assignment=assignment, proof=proof)
