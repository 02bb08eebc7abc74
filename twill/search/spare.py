"""Answers whose programs need more registers than their groups have are asked for once more.

The search counts registers by the clock of the static schedule, a compiler along the program. Where
waits do not bring the two together the question is asked with some registers of every group to
spare, and of what is found then only that is proved which the first search has shown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from twill.artifacts.schedule import Schedule
from twill.bounds.least import every_bound
from twill.errors import Refusal, RefusedError
from twill.problem.problem import Problem
from twill.search.proofs import not_proved
from twill.search.request import MOST_SEED, Options
from twill.search.search import Found, Stopped
from twill.verification.registers import registers_along_programs

OTHER_SEEDS = 8
"""Other schedules of the same levels that are looked at where there is none with registers to
spare."""
LEAST_SECONDS = 0.001
"""Seconds that a search has at least."""


@dataclass(frozen=True)
class Again:
    """How a search differs from the first.

    Attributes
    ----------
    spent : float
        Seconds that are over.
    seeds : int
        By how much the seed is another.
    """

    spent: float = 0.0
    seeds: int = 0

    def within(self, options: Options) -> Options:
        """Return the options of that search."""
        left = options.timeout
        if left is not None and self.spent:
            left = max(LEAST_SECONDS, left - self.spent)
        return replace(options, timeout=left, seed=(options.seed + self.seeds) % (MOST_SEED + 1))


FIRST = Again()
Attempt = Callable[[Problem, Again], Found]


def with_spare(problem: Problem, spare: int) -> Problem:
    """Return a problem whose groups keep so many more registers per thread free.

    `spare`: registers per thread.
    """
    file = problem.registers
    assert file is not None
    return replace(problem, registers=replace(file, reserve=file.reserve + spare))


def lacking(problem: Problem, artifact: Schedule) -> int:
    """Return how many registers per thread a group needs along its program beyond what it has."""
    file = problem.registers
    if file is None or problem.rules == "paper":
        return 0
    live = registers_along_programs(artifact)
    room = {g.name: min(g.registers or 0, file.limit) - file.reserve for g in artifact.groups}
    return max((needed - room[name] for name, needed in live.items()), default=0)


def enough_along_programs(
    problem: Problem,
    found: Found,
    realized: Callable[[Found], Schedule],
    attempt: Attempt,
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
        try:
            answer = _spared(problem, found, attempt, answer, spare)
        except RefusedError:
            return _another(problem, last, realized, attempt)
        if answer.interval > last.interval:
            with contextlib.suppress(RefusedError):
                return _another(problem, last, realized, attempt)
        artifact = realized(answer)
    return answer, artifact


def _spared(problem: Problem, first: Found, attempt: Attempt, last: Found, spare: int) -> Found:
    """Search with registers to spare."""
    try:
        again = attempt(with_spare(problem, spare), Again(last.seconds.get("total", 0.0)))
    except Stopped as stopped:
        raise Stopped(_as_far_as_shown(problem, first, stopped.found, spare)) from None
    return _as_far_as_shown(problem, first, again, spare)


def _another(
    problem: Problem, last: Found, realized: Callable[[Found], Schedule], attempt: Attempt
) -> tuple[Found, Schedule]:
    """Return another schedule of the same levels, as other seeds find them."""
    spent = last.seconds.get("total", 0.0)
    for seeds in range(1, OTHER_SEEDS + 1):
        answer = attempt(problem, Again(spent, seeds))
        spent += answer.seconds.get("total", 0.0)
        artifact = realized(answer)
        if lacking(problem, artifact) <= 0:
            return answer, artifact
    raise RefusedError(
        f"{problem.loop.name}: no schedule was found whose programs have enough registers, which "
        "does not mean that there is none",
        Refusal(families=("registers",), least_interval=last.proof.bound.value),
    )


def _as_far_as_shown(problem: Problem, first: Found, again: Found, spare: int) -> Found:
    """Return what was found with registers to spare, with what is known of the whole problem."""
    bound = first.proof.bound
    if again.interval > first.interval or bound.reason == "not proved":
        lower, most = every_bound(problem), bound.most_stages or 0
        bound = not_proved(lower, bound.value, bound.solver or "", most)
    shown = {level.level: level for level in first.proof.levels}
    levels, still = [], True
    for level in again.proof.levels:
        best = shown.get(level.level)
        still = still and best is not None and best.proved and best.value == level.value
        solver = best.solver if still and best is not None else None
        levels.append(level.model_copy(update={"proved": still, "solver": solver}))
    groups = tuple(
        replace(group, live_limit=group.live_limit + spare) for group in again.assignment.groups
    )
    seconds = {key: first.seconds.get(key, 0.0) + value for key, value in again.seconds.items()}
    return replace(
        again,
        assignment=replace(again.assignment, groups=groups),
        proof=again.proof.model_copy(update={"bound": bound, "levels": tuple(levels)}),
        seconds=seconds,
    )
