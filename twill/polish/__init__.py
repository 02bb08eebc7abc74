"""Programs that the simulated SM executes faster: local search with the simulator as judge."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest

from twill.artifacts.promise import Measured, Promise
from twill.artifacts.schedule import Schedule
from twill.bounds.programs import program_bound
from twill.console import Report, silent
from twill.errors import Refusal, RefusedError, TwillError, WorkerError
from twill.executors import local
from twill.formats import cycles, signed_percent
from twill.polish.candidates import Candidate, Programs
from twill.polish.judge import Judge
from twill.polish.search import CONFIRMING, LAST, ROUNDS, Point, anneal, confirmed
from twill.polish.starts import starts
from twill.sim.engine import Conditions

EFFORTS = {"quick": 40, "normal": 400, "thorough": 4000}  # programs that are simulated
CHAINS = 8  # programs that a search goes on from at first
DEFAULT_CONDITIONS = (Conditions(), Conditions(warp_scheduler="oldest"))


@dataclass(frozen=True)
class Polished:
    """The best program that was found.

    Attributes
    ----------
    schedule : Schedule
        With its promise; the given one where nothing is faster.
    given : Schedule
        The one from which the search began.
    given_cycles : float or None
        Interval of the given schedule on the simulated SM; None where it does not run.
    origin : str
        What was changed in the given schedule before the search went on from it; empty if nothing.
    """

    schedule: Schedule
    given: Schedule
    given_cycles: float | None
    origin: str


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the best program until then."""

    def __init__(self, polished: Polished) -> None:
        super().__init__("this is the best program so far")
        self.polished = polished


def polish(
    schedule: Schedule,
    *,
    simulations: int = EFFORTS["normal"],
    seed: int = 0,
    conditions: Sequence[Conditions] = DEFAULT_CONDITIONS,
    jobs: int = 1,
    report: Report = silent,
) -> Polished:
    """Look for a program of the same loop that takes fewer cycles on the simulated SM.

    Parameters
    ----------
    schedule : Schedule
        Where the search begins: anybody's, with programs.
    simulations : int
        Programs that are simulated; the answer depends on it, and on neither time nor `jobs`.
    seed : int
        Of the search.
    conditions : sequence of Conditions
        The interval counts under the first; what is 3 % longer under others counts a little.
    jobs : int
        Processes that simulate at a time.
    report : callable
        Told of what is found.

    Raises
    ------
    InputError
        If the loop cannot be costed for its machine.
    RefusedError
        If neither the schedule nor a program made of it runs.
    WorkerError
        If a process that simulates dies.
    Interrupted
        On Ctrl-C, with the best program that was confirmed and what it takes over fewer iterations.
    """
    search = _Polishing(schedule, Judge(tuple(conditions)), report)
    try:
        with local(jobs) as pool:
            search.run(simulations, seed, pool)
    except BrokenExecutor:
        raise WorkerError(
            "a worker process died, perhaps for want of memory; try fewer --jobs"
        ) from None
    except KeyboardInterrupt:
        found = search.polished(CONFIRMING, simulations, seed)
        if found is None:
            raise
        raise Interrupted(found) from None
    found = search.polished(LAST, simulations, seed)
    if found is None:
        raise RefusedError(f"{schedule.name}: no program of it runs", Refusal())
    return found


class _Polishing:
    def __init__(self, given: Schedule, judge: Judge, report: Report) -> None:
        self._given, self._judge, self._report = given, judge, report
        self._programs = Programs(given)
        # Loads whose latency is drawn may take no time.
        latency = 0 if judge.conditions[0].latency else None
        self._bound = program_bound(given.loop, given.machine, latency=latency)
        self._given_cycles: float | None = None
        self._best: Point | None = None

    def run(self, simulations: int, seed: int, pool: Executor | None) -> None:
        """Look for the best program."""
        with suppress(TwillError):
            self._given_cycles = self._judge.interval(self._given, CONFIRMING)
        if self._given_cycles is not None and self._given_cycles <= self._bound.cycles:
            return
        few = max(1, simulations // 4)
        points = self._first(self._candidates()[:few], (simulations - few) // ROUNDS, pool)
        if points:
            self._tell(points[0])
            anneal(
                self._given,
                self._judge,
                points,
                simulations=simulations - few,
                seed=seed,
                pool=pool,
                report=self._tell,
            )

    def polished(self, iterations: int, simulations: int, seed: int) -> Polished | None:
        """Return the best program, None if nothing runs; its promise is measured anew."""
        best, given = self._best, self._given_cycles
        schedule, origin = self._given, ""
        if best is not None and (given is None or best.interval < given):
            schedule, origin = self._programs.schedule(best.candidate), best.origin
        elif given is None:
            return None
        elif given <= self._bound.cycles:
            simulations = 0
        promised = self._promised(schedule, iterations, simulations, seed)
        return Polished(promised, self._given, given, origin)

    def _candidates(self) -> list[tuple[str, Candidate]]:
        """Return where searches may begin, by the static times and by those of a run."""
        given = self._given
        found = []
        if given.initiation_interval is not None:
            found.append(self._programs.candidate(given.initiation_interval, given.start))
        with suppress(TwillError):
            found.append(self._programs.candidate(*self._judge.times(given)))
        by_turns = zip_longest(*(starts(self._programs, candidate) for candidate in found))
        return [start for some in by_turns for start in some if start is not None]

    def _first(
        self, candidates: Sequence[tuple[str, Candidate]], most: int, pool: Executor | None
    ) -> list[Point]:
        """Return the best of some candidates, confirmed: `most`, at least one, at most `CHAINS`."""
        looks = map if pool is None else pool.map
        some = [candidate for _, candidate in candidates]
        estimates = looks(_estimate, [self._given] * len(some), [self._judge] * len(some), some)
        ran = [(i, n) for n, i in enumerate(estimates) if i is not None]
        found: list[Point] = []
        for estimate, n in sorted(ran):
            said, candidate = candidates[n]
            measured = confirmed(self._judge, self._programs.schedule(candidate))
            if measured is not None:
                found.append(Point(candidate, estimate, *measured, said))
            if len(found) == min(CHAINS, max(1, most)):
                break
        return sorted(found, key=lambda point: point.cost)

    def _tell(self, best: Point) -> None:
        self._best = best
        given = self._given_cycles
        least = best.interval if given is None else min(best.interval, given)
        gap = signed_percent(least / self._bound.cycles - 1)
        self._report(
            f"{cycles(least)} cycles, {gap} over the bound of {cycles(self._bound.cycles)}"
        )

    def _promised(
        self, schedule: Schedule, iterations: int, simulations: int, seed: int
    ) -> Schedule:
        """Return a schedule with what is promised of it, measured over some iterations."""
        measured = tuple(
            Measured(
                warp_scheduler=conditions.warp_scheduler,
                latency=conditions.latency_text,
                interval_cycles=self._judge.measured(schedule, conditions, iterations),
            )
            for conditions in self._judge.conditions
        )
        promise = Promise(
            interval_cycles=measured[0].interval_cycles,
            iterations=iterations,
            conditions=measured,
            bound=self._bound,
            static_interval=self._given.initiation_interval,
            simulations=simulations,
            seed=seed,
        )
        return schedule.model_copy(update={"promise": promise})


def _estimate(given: Schedule, judge: Judge, candidate: Candidate) -> float | None:
    """Return about the interval of a candidate's program, None if it has none or does not run."""
    programs = Programs(given)
    if not programs.ordered(candidate):
        return None
    try:
        return judge.estimate(programs.schedule(candidate))
    except TwillError:
        return None
