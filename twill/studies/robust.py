"""Among optimal schedules of one interval, the one that bears a latency distribution best."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.errors import TwillError
from twill.base.formats import plural
from twill.search.request import Request
from twill.sim.analysis.rings import streaming, with_depth
from twill.sim.execute import run
from twill.verification import verify

ITERATIONS = 128
SIMULATED_SEEDS = 3
MOST_DEPTH = 8
WORTH = 0.001  # relative gain below which a candidate is not preferred to an earlier one
Solve = Callable[[Request], Schedule]  # answers a request; raises `TwillError` where it cannot


@dataclass(frozen=True)
class Candidate:
    """An optimal, valid schedule and how it bears the latencies."""

    # How it differs from the first one found, in words.
    what: str
    schedule: Schedule
    # Mean of the measured intervals over the seeds of the simulation.
    interval_cycles: float


@dataclass(frozen=True)
class Choice:
    """What was chosen among which."""

    # Latency sources.
    latency: str
    # In the order in which they were found; the first is what is found without this choice.
    candidates: tuple[Candidate, ...]
    # Index of the best one; of several that are as good, the first.
    chosen: int

    @property
    def schedule(self) -> Schedule:
        """The best one."""
        return self.candidates[self.chosen].schedule

    @property
    def gain(self) -> float:
        """Part of the first one's interval that it saves."""
        first, best = self.candidates[0], self.candidates[self.chosen]
        return 1 - best.interval_cycles / first.interval_cycles

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as plain data, without the schedules."""
        return {
            "latency": self.latency,
            "gain": self.gain,
            "chosen": self.chosen,
            "candidates": [
                {"what": one.what, "interval_cycles": one.interval_cycles}
                for one in self.candidates
            ],
        }

    @property
    def words(self) -> str:
        """What was chosen, in a sentence."""
        first, best = self.candidates[0], self.candidates[self.chosen]
        tried = f"{plural(len(self.candidates), 'optimal schedule')} under {self.latency}"
        if self.chosen == 0:
            return f"robust: of {tried} none is better than the first, {_cycles(first)}"
        return (
            f"robust: of {tried} the best has {best.what}: {_cycles(best)}, against "
            f"{_cycles(first)} of the first: {self.gain:.1%} less"
        )


def _cycles(one: Candidate) -> str:
    return f"{one.interval_cycles:.6g} cycles an iteration"


def others(request: Request) -> list[Request]:
    """Return requests with other seeds and engines, whose answers may be as good."""
    seeds = [replace(request, engine="both", seed=request.seed + more) for more in (1, 2)]
    return [*seeds, replace(request, engine="difference"), replace(request, engine="cpsat")]


def robust(
    first: Schedule,
    latency: str,
    solve: Solve | None = None,
    rivals: Sequence[Request] = (),
    report: Report = silent,
    *,
    iterations: int = ITERATIONS,
) -> Choice:
    """Choose among optimal schedules by simulation.

    Candidates have the interval of the first and are valid: what other seeds and engines find, and
    each of these with every depth of rings from its own upwards that the memories have room for.
    All are simulated with the same random numbers.

    Raises
    ------
    InputError
        If the latency is none.
    SimulationError
        If the first schedule cannot be executed.
    """
    candidates: list[Candidate] = []
    seen: set[str] = set()
    for what, schedule in _schedules(first, solve, rivals, report):
        for more, changed in _depths(schedule):
            text = changed.model_copy(update={"seed": 0, "solver": {}, "proof": None}).to_json()
            words = " and ".join(part for part in (what, more) if part) or "the first one found"
            if text in seen or (candidates and not verify(changed).valid):
                continue
            seen.add(text)
            report(f"{words} under {latency}")
            interval = _interval(changed, latency, iterations, first=not candidates)
            if interval is not None:
                candidates.append(Candidate(words, changed, interval))
    chosen = 0
    for index, one in enumerate(candidates):
        if one.interval_cycles < candidates[chosen].interval_cycles * (1 - WORTH):
            chosen = index
    return Choice(latency, tuple(candidates), chosen)


def _schedules(
    first: Schedule, solve: Solve | None, rivals: Sequence[Request], report: Report
) -> Iterator[tuple[str, Schedule]]:
    yield "", first
    if solve is None:
        return
    for rival in rivals:
        report(f"seed {rival.seed}, engine {rival.engine}")
        try:
            found = solve(rival)
        except TwillError:
            continue
        if found.initiation_interval == first.initiation_interval:
            yield f"seed {rival.seed} and engine {rival.engine}", found


def _depths(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    """Yield a schedule, then with deeper rings for as long as they fit."""
    yield "", schedule
    names = streaming(schedule)
    deepest = [s.slots for s in schedule.storage if s.value in names and not s.transfer]
    for slots in range(max(deepest, default=MOST_DEPTH) + 1, MOST_DEPTH + 1):
        try:
            changed = with_depth(schedule, slots)
        except TwillError:
            return
        if not changed.fits:
            return
        yield changed.what, changed.schedule


def _interval(schedule: Schedule, latency: str, iterations: int, *, first: bool) -> float | None:
    try:
        runs = [
            run(schedule, iterations=iterations, seed=seed, latency=latency)
            for seed in range(SIMULATED_SEEDS)
        ]
    except TwillError:
        if first:
            raise
        return None
    return statistics.fmean(r.measured_interval_cycles or r.total_cycles / iterations for r in runs)
