"""Local search for programs that the simulated SM executes faster."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import suppress
from functools import partial
from itertools import chain, islice

from twill.artifacts.proof import MOST_CONDITIONS, Measured, Promise
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.deadline import Deadline, check
from twill.base.errors import (
    DefectError,
    InputError,
    Refusal,
    RefusedError,
    TwillError,
    WorkerError,
)
from twill.base.executors import collected_rarely, keeping, local
from twill.base.formats import cycles, signed_percent
from twill.bounds.programs import program_bound
from twill.lower.prepare import prepared
from twill.polish.answer import Interrupted, Other, Polished
from twill.polish.candidates import Candidate, Programs
from twill.polish.different import Different
from twill.polish.judge import Judge
from twill.polish.search import Point, anneal, best_of, looked_at, lowest
from twill.polish.starts import candidates
from twill.polish.tuning import TUNING, programs_of
from twill.sim.engine import Conditions
from twill.sim.engine.latency import parse_latencies
from twill.sim.engine.work import works
from twill.verification import verify

OTHERS_TOLD = 3
DEFAULT_CONDITIONS = (Conditions(), Conditions(warp_scheduler="oldest"))


def polish(
    schedule: Schedule,
    *,
    others: Sequence[Schedule] = (),
    simulations: int | None = None,
    seed: int = 0,
    conditions: Sequence[Conditions] = DEFAULT_CONDITIONS,
    jobs: int = 1,
    timeout: float | None = None,
    report: Report = silent,
    keep: Callable[[Schedule], None] | None = None,
    different: int = 0,
) -> Polished:
    """Look for a program of the same loop that takes fewer cycles on the simulated SM.

    Parameters
    ----------
    schedule : Schedule
        Where the search begins: any schedule with programs, however it was made.
    others : sequence of Schedule
        Further schedules of the same loop on the same machine to begin with.
    simulations : int
        Programs to simulate, by default those of normal effort. The answer depends on this number,
        and not on `jobs`, nor on time without a `timeout`.
    seed : int
        Seed of the search.
    conditions : sequence of Conditions
        The interval counts under the first; what is 3 % longer under others counts a little.
    jobs : int
        Processes that simulate at a time.
    timeout : float, optional
        Seconds; the best program by then is the answer.
    report : callable
        Called with a line of text for each finding.
    keep : callable, optional
        Called with every better program once it is confirmed, as a schedule with its promise.
    different : int
        Programs besides the best one that are returned, if so many are found.

    Raises
    ------
    InputError
        If the loop cannot be costed for its machine, or conditions name no latency of its loads.
    RefusedError
        If neither the schedule, as far as it breaks no rule, nor a program made of it runs.
    DefectError
        If what was found breaks a rule.
    WorkerError
        If processes that simulate die again and again.
    Interrupted
        On Ctrl-C, with the best program that was confirmed and what it takes over fewer iterations.
    """
    limit, found = Deadline(timeout), None
    judge = Judge(tuple(conditions))
    search = _Polishing(schedule, judge, report, others, keep=keep, seed=seed, different=different)
    if simulations is None:
        simulations = programs_of("normal", schedule.loop)
    try:
        with collected_rarely():
            met = search.given_meets_bound() and not different
            with limit, local(1 if met else jobs) as pool:
                if not met:
                    search.run(simulations, pool)
                found = search.polished(TUNING.chains.last, simulations, pool)
            if limit.late and found is None:
                found = search.so_far()
    except BrokenExecutor:
        raise WorkerError(
            "worker processes died again and again, perhaps for want of memory; try fewer --jobs"
        ) from None
    except KeyboardInterrupt:
        found = search.so_far()
        if found is None:
            raise
        raise Interrupted(found) from None
    if found is None:
        why = f"; as it is given, {search.objection}" if search.objection else ""
        raise RefusedError(f"{schedule.name}: no program of it runs{why}", Refusal())
    return found


def promised(
    schedule: Schedule, conditions: Sequence[Conditions], *, like: Schedule | None = None
) -> Schedule | None:
    """Return a program with its promise under other conditions, None if it does not run there.

    `like`: a program with a promise, from which this one was made.
    """
    search = _Polishing(schedule, Judge(tuple(conditions)), silent)
    search.given_meets_bound()
    found = search.polished(TUNING.chains.last, 0)
    if found is None or like is None or like.promise is None:
        return None if found is None else found.schedule
    assert found.schedule.promise is not None
    same = {
        name: getattr(like.promise, name) for name in ("static_interval", "simulations", "seed")
    }
    return found.schedule.model_copy(
        update={"promise": found.schedule.promise.model_copy(update=same)}
    )


class _Polishing:
    """A search for better programs.

    `simulated`: programs that were simulated when chains were last compared.
    `objection`: why the given schedule is no answer, if it is none.
    """

    def __init__(
        self,
        given: Schedule,
        judge: Judge,
        report: Report,
        others: Sequence[Schedule] = (),
        *,
        keep: Callable[[Schedule], None] | None = None,
        seed: int = 0,
        different: int = 0,
    ) -> None:
        self._keep, self._seed = keep, seed
        self._given, self._others_given = given, others
        self._judge, self._report = judge, report
        self._programs = Programs(given)
        self._different = Different(self._programs, judge, different)
        if len(judge.conditions) > MOST_CONDITIONS:
            wrong = f"at most {MOST_CONDITIONS} (got {len(judge.conditions)})"
            raise InputError(wrong, path="conditions")
        loads = works(given.loop, given.machine)
        for conditions in judge.conditions:  # one that says nothing is told before any run
            parse_latencies(conditions.latency, loads, given.machine, conditions.seed)
        # Loads whose latency is drawn may take no time.
        latency = 0 if judge.conditions[0].latency else None
        left_out = judge.conditions[0].without
        self._bound = program_bound(given.loop, given.machine, latency=latency, without=left_out)
        self._as_given = given
        self._given_cycles: float | None = None
        self.simulated, self.objection = 0, ""
        # At the end of a round, and of all chains that have ended since.
        self._best: Point | None = None
        self._confirmed: Point | None = None
        self._intervals: dict[str, float] = {}  # of the best program by its origin

    def given_meets_bound(self) -> bool:
        """Simulate the given schedule, and return whether nothing is faster."""
        self._as_given, self._given_cycles, self.objection = self._judge.given(
            self._given, TUNING.chains.last
        )
        return self._given_cycles is not None and self._given_cycles <= self._bound.cycles

    def run(self, simulations: int, pool: Executor | None) -> None:
        """Look for the best program."""
        least, most = TUNING.beginnings.least, TUNING.beginnings.most
        few = max(1, min(max(simulations // 4, min(least, simulations // 2)), most))
        given, bound = (self._given, *self._others_given), float(self._bound.cycles)
        begin = candidates(self._programs, self._judge, given, bound)
        points = self._first(begin, few, pool)
        if points:
            first = best_of(self._programs, self._judge, points)
            if self._tell([] if first is None else [first], few):
                return
            spent = few
            times = max(1.0, len(self._given.loop.operations) / TUNING.efforts.usual)
            first_search = int(simulations / times**TUNING.efforts.first)
            for until in (first_search, simulations):
                if points and spent < until:
                    points = anneal(
                        self._programs,
                        self._judge,
                        points,
                        known=math.inf if self._best is None else self._best.cost,
                        simulations=until - spent,
                        seed=self._seed,
                        pool=pool,
                        report=partial(self._tell_further, spent),
                        confirmed=self._take,
                    )[: TUNING.efforts.anew]
                    self._different.met(points)
                    spent = until

    def so_far(self) -> Polished | None:
        """Return the best program that was confirmed until now, None if nothing runs."""
        self._best = self._confirmed or self._best
        return self.polished(TUNING.chains.confirming, self.simulated)

    def polished(
        self, iterations: int, simulations: int, pool: Executor | None = None
    ) -> Polished | None:
        """Return the best program, None if nothing runs; its promise is measured again."""
        best, given = self._best, self._given_cycles
        schedule, origin = self._as_given, ""
        if best is not None and (given is None or best.interval < given):
            schedule, origin = self._programs.schedule(best.candidate), best.origin
        elif given is None:
            return None
        elif given <= self._bound.cycles:
            simulations = 0
        with suppress(RefusedError):  # then no kernel can be made of it
            schedule = prepared(schedule)
        promised = self._promised(schedule, iterations, simulations, pool)
        if broken := verify(promised).violations:
            raise DefectError(f"the best program that was found is not valid, {broken[0]}")
        others = self._others(origin)
        assert promised.promise is not None
        further = [
            self._promised(one, iterations, simulations, pool)
            for one in self._different.schedules(promised, promised.promise.interval_cycles)
        ]
        return Polished(
            promised,
            self._given,
            given,
            origin,
            others,
            self.objection,
            tuple(one for one in further if verify(one).valid),
        )

    def _take(self, point: Point) -> None:
        """Let a program that is better than all before be kept, measured as far as it must be."""
        self._different.met([point])
        if self._confirmed is not None and point.cost >= self._confirmed.cost:
            return
        self._confirmed = point
        if self._keep is None or point.interval >= (self._given_cycles or math.inf):
            return
        with suppress(TwillError):
            schedule = prepared(self._programs.schedule(point.candidate))
            found = self._promised(schedule, TUNING.chains.confirming, self.simulated, None, most=1)
            if not verify(found).violations:
                self._keep(found)

    def _others(self, origin: str) -> tuple[Other, ...]:
        """Return the best that was found from other beginnings."""
        least = sorted((taken, other) for other, taken in self._intervals.items())
        found = [Other(other, taken) for taken, other in least if other != origin]
        return tuple(found[:OTHERS_TOLD])

    def _first(
        self, candidates: Iterable[tuple[str, Candidate]], most: int, pool: Executor | None
    ) -> list[Point]:
        """Return the best of the candidates that can be simulated, at most as many as chains.

        Estimates choose among `most`; they err by several percent where contexts are not in step.
        Once a candidate meets the bound, no further ones are simulated.
        """
        found, met, start = list[Point](), list[Point](), TUNING.beginnings
        for estimated in self._estimated(candidates, pool):
            few = estimated[: most - len(found)]
            found += few
            exactly = self._looked_at(list(filter(self._meets, few)), pool, exact=True)
            met += [point for point in exactly if self._meets(point)]
            if len(met) > self._different.count:
                break
            if len(found) == most:
                break
        if met:
            self._different.met(met)
            return met
        again = self._looked_at(lowest(found, start.exactly * start.chains), pool, exact=True)
        run = [p for p in again if math.isfinite(p.energy)]
        self._different.met(run)
        return lowest(run, start.chains)

    def _estimated(
        self, candidates: Iterable[tuple[str, Candidate]], pool: Executor | None
    ) -> Iterator[list[Point]]:
        """Yield some at a time, in their order; processes look at the next ones meanwhile."""
        points = (Point(candidate, math.inf, origin=said) for said, candidate in candidates)
        under_way = deque[Iterator[Point]]()
        while few := list(islice(points, TUNING.beginnings.at_a_time)):
            check()
            under_way.append(self._looked_at(few, pool, exact=False))
            if len(under_way) == TUNING.beginnings.ahead:
                yield list(under_way.popleft())
        yield from map(list, under_way)

    def _meets(self, point: Point) -> bool:
        """Whether nothing is faster."""
        return not point.lack and point.energy <= self._bound.cycles

    def _looked_at(
        self, points: Sequence[Point], pool: Executor | None, *, exact: bool
    ) -> Iterator[Point]:
        """Yield points that are programs with their energy, infinite if one fails to run."""
        look = partial(looked_at, exact=exact)
        together = 1 if exact else TUNING.beginnings.together
        few = [points[i : i + together] for i in range(0, len(points), together)]
        if pool is None:
            return chain.from_iterable(map(partial(look, self._programs, self._judge), few))
        return chain.from_iterable(pool.map(keeping(look, self._programs, self._judge), few))

    def _tell_further(self, spent: int, points: Sequence[Point], simulated: int) -> bool:
        return self._tell(points, spent + simulated)

    def _tell(self, points: Sequence[Point], simulated: int) -> bool:
        """Record the points that were found, and return whether nothing can be faster."""
        self.simulated = simulated
        for point in points:
            self._take(point)
            before = self._intervals.get(point.origin, point.interval)
            self._intervals[point.origin] = min(before, point.interval)
        known = [self._best] if self._best is not None else []
        self._best = min([*known, *points], key=lambda point: point.cost, default=None)
        taken = [] if self._best is None else [self._best.interval]
        taken += [] if self._given_cycles is None else [self._given_cycles]
        if not taken:
            return False
        least = min(taken)
        gap = signed_percent(least / self._bound.cycles - 1)
        self._report(
            f"{cycles(least)} cycles, {gap} over the bound of {cycles(self._bound.cycles)}"
        )
        return least <= self._bound.cycles

    def _promised(
        self,
        schedule: Schedule,
        iterations: int,
        simulations: int,
        pool: Executor | None,
        *,
        most: int | None = None,
    ) -> Schedule:
        """Return a schedule with its promise, measured over some iterations.

        `most`: conditions under which it is measured, the first ones; all without it.
        """
        conditions = self._judge.conditions[:most]
        measure = partial(self._judge.measured, schedule, iterations=iterations)
        intervals = map(measure, conditions) if pool is None else pool.map(measure, conditions)
        measured = tuple(
            Measured(
                warp_scheduler=one.warp_scheduler,
                latency=one.latency_text,
                interval_cycles=interval,
            )
            for one, interval in zip(conditions, intervals, strict=True)
        )
        promise = Promise(
            interval_cycles=measured[0].interval_cycles,
            iterations=iterations,
            conditions=measured,
            bound=self._bound,
            static_interval=self._given.initiation_interval,
            simulations=simulations,
            seed=self._seed,
        )
        return schedule.model_copy(update={"promise": promise})
