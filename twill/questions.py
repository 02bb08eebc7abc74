"""Questions to the engines: about an interval or a range, for a refutation or a last solution."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from twill.bounds import least_stages
from twill.joint.answer import (
    WAYS,
    Answer,
    Assignment,
    Conditions,
    Engine,
    EngineFactory,
    Hint,
    Improvement,
    Limits,
    Objective,
    RangeProver,
    Refutation,
    Status,
)
from twill.joint.groups import WarpGroup
from twill.joint.race import FAVOUR, race
from twill.problem import Problem

ALONE = 1.0
"""Seconds for which the finder is asked alone."""
QUICK_SECONDS = 60.0
"""Seconds for a question about few stages and groups, whose answer only saves time."""
RANGE_SECONDS = 30.0
"""Seconds for the least interval of a range, before single intervals are asked about."""
ONE_SECONDS = 300.0
"""Seconds for a single interval that bounds of others do not decide."""
TRIAL_SECONDS, ROW_BY_ROW_SECONDS = 8.0, 32.0
"""Seconds after which a question about a single interval is asked in another way; the latter where
units are stated row by row, and luck decides less."""
LAST_WORDS = 1.0
"""Seconds in which an engine that is out of time still tells what it has learnt."""
NEARBY = 10.0
"""Seconds for a smaller interval with the warp assignment of a schedule that was found."""
MOST_SEEDS = 2
"""Processes that look for the best schedule beside each other."""
HOPELESS = 2
"""Races that the finder has to lose one after the other to be no longer asked first."""
FINDER_OPERATIONS = 36
"""Operations up to which the finder is asked first, and for the schedule within all levels: beyond
them it takes several times as long as its rival."""


class Deadline:
    """The time that a search may take.

    Parameters
    ----------
    seconds : float or None
        From now on; None is no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self.began = time.monotonic()
        self._ends = None if seconds is None else self.began + seconds

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self._ends is not None and time.monotonic() >= self._ends

    def remaining(self, most: float | None = None) -> float | None:
        """Return the seconds left, at least a moment; None without a limit.

        Parameters
        ----------
        most : float, optional
            No more than this.
        """
        if self._ends is None:
            return most
        left = max(0.01, self._ends - time.monotonic())
        return left if most is None else min(most, left)

    def some(self, most: float, part: float = 1 / 2) -> float:
        """Return the seconds for a question among others: a part of those left, or `most`.

        Parameters
        ----------
        most : float
            No more than this.
        part : float
            Of what is left.
        """
        left = self.remaining()
        return most if left is None else min(most, part * left)


@dataclass(frozen=True)
class Engines:
    """Who answers.

    Attributes
    ----------
    finder : EngineFactory
        Looks for schedules at one interval.
    rival : EngineFactory or None
        Asked beside the finder where that has no answer within a second.
    prover : RangeProver or None
        Refutes ranges of intervals, and is asked instead of the rival.
    """

    finder: EngineFactory
    rival: EngineFactory | None = None
    prover: RangeProver | None = None


@dataclass(frozen=True)
class _Attempt:
    """What one of two engines answered."""

    answer: Answer
    by_rival: bool

    @property
    def status(self) -> Status:
        return self.answer.status


class Questions:
    """Asks engines about one problem with all its warp groups.

    Parameters
    ----------
    problem : Problem
        The problem.
    groups : tuple of WarpGroup
        All groups that may be used.
    engines : Engines
        Who is asked.
    deadline : Deadline
        When to stop.
    seed : int
        Seed of the engines.
    jobs : int
        Processes that run at a time.
    """

    def __init__(
        self,
        problem: Problem,
        groups: tuple[WarpGroup, ...],
        engines: Engines,
        deadline: Deadline,
        seed: int,
        jobs: int,
    ) -> None:
        self._problem, self._groups, self._engines = problem, groups, engines
        self._deadline, self._seed, self._jobs = deadline, seed, jobs
        self._hints: dict[Hint, None] = {}
        self._kept: tuple[tuple[int, int], Engine] | None = None
        self._lost = HOPELESS if self._beyond_finder else 0
        self.solver = ""

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self._deadline.late

    @property
    def has_prover(self) -> bool:
        """Whether there is a prover to ask."""
        return self._engines.prover is not None

    def ask(
        self,
        interval: int,
        stages: int,
        limits: Limits,
        most: float | None = None,
    ) -> Answer:
        """Ask the finder, with the engine of the last question if it is the same one.

        Parameters
        ----------
        interval, stages : int
            I, and how many intervals an iteration may take.
        limits : Limits
            What the schedule may have.
        most : float, optional
            Seconds, where the answer is not worth more.
        """
        if self._deadline.late:
            return Answer("unknown")
        rival = self._engines.rival
        if rival is None or self._lost < HOPELESS:
            answer = self._ask_finder(interval, stages, limits, None if rival is None else ALONE)
            if rival is None or answer.status != "unknown":
                return answer
        return self._ask_both(interval, stages, limits, rival, most)

    def _ask_finder(self, interval: int, stages: int, limits: Limits, most: float | None) -> Answer:
        key = (interval, stages)
        if self._kept is None or self._kept[0] != key:
            self.close()
            self._kept = (key, self._make(self._engines.finder, interval, stages * interval))
            self.solver = self._kept[1].name
        answer = self._kept[1].solve(limits, timeout=self._deadline.remaining(most))
        if answer.status == "unknown":
            self.close()
        return self._learn(answer)

    def _ask_both(
        self,
        interval: int,
        stages: int,
        limits: Limits,
        rival: EngineFactory,
        most: float | None,
    ) -> Answer:
        """Let both engines work on a question, each in a process; the first answer counts.

        The more often the finder was too late, the less time it gets where they take turns.
        """
        timeout, prover = self._deadline.remaining(most), self._engines.prover

        def by_prover() -> _Attempt:
            assert prover is not None
            under = self._under(limits, timeout)
            found = prover(self._problem, interval, interval, stages, self._groups, under)
            answer = Answer(
                found.status,
                found.assignment,
                statistics=found.statistics,
                hints=found.hints,
                solver=prover.name,
            )
            return _Attempt(answer, by_rival=True)

        def way(factory: EngineFactory) -> Callable[[], _Attempt]:
            def attempt() -> _Attempt:
                engine = self._make(factory, interval, stages * interval)
                return _Attempt(engine.solve(limits, timeout), factory is rival)

            return attempt

        proving = prover is not None and limits.length is None
        ways = [by_prover if proving else way(rival), way(self._engines.finder)]
        found = race(ways, self._jobs, _longer(timeout), FAVOUR << min(self._lost, HOPELESS))
        if found is None:
            return Answer("unknown")
        if found.status != "unknown":
            self._lost = self._lost + 1 if found.by_rival else 0
        return self._learn(found.answer)

    def ask_range(
        self,
        low: int,
        high: int,
        most_stages: int,
        limits: Limits,
        *,
        finder: bool = True,
        most: float | None = None,
    ) -> Refutation:
        """Ask the prover about a range, and the finder about its end; the first answer counts.

        Parameters
        ----------
        low, high : int
            The range, both ends included.
        most_stages : int
            How many intervals an iteration may take.
        limits : Limits
            What the schedule may have.
        finder : bool
            Whether the finder is asked at all.
        most : float, optional
            Seconds, where the answer is not worth more.
        """
        prover, timeout = self._engines.prover, self._deadline.remaining(most)
        assert prover is not None
        if self._deadline.late:
            return Refutation("unknown", low)
        stages = least_stages(self._problem, high) + 1

        def by_range() -> Refutation:
            return prover(
                self._problem,
                low,
                high,
                most_stages,
                self._groups,
                self._under(limits, timeout),
            )

        def at_its_end() -> Refutation:
            engine = self._make(self._engines.finder, high, stages * high)
            answer = engine.solve(limits, timeout)
            status: Status = "unknown" if answer.assignment is None else "sat"
            return Refutation(status, low, high, answer.assignment, hints=answer.hints)

        ways = [by_range, at_its_end] if finder else [by_range]
        answer = race(ways, self._jobs, _longer(timeout)) or Refutation("unknown", low)
        self._hints.update(dict.fromkeys(answer.hints))
        return answer

    def ask_one(
        self, interval: int, most_stages: int, limits: Limits, *, row_by_row: bool = False
    ) -> Refutation:
        """Ask the prover about one interval, in one way after the other with growing patience.

        Most ways take seconds or minutes for the same question, and which does is a matter of luck.

        Parameters
        ----------
        interval : int
            I.
        most_stages : int
            How many intervals an iteration may take.
        limits : Limits
            What the schedule may have.
        row_by_row : bool
            Whether units are stated row by row, so that the first way is worth more patience.
        """
        prover = self._engines.prover
        assert prover is not None
        ends = Deadline(self._deadline.some(ONE_SECONDS))
        first = ROW_BY_ROW_SECONDS if row_by_row else TRIAL_SECONDS
        for trial in itertools.count(0 if row_by_row else 1):
            seconds = ends.remaining(first * 2 ** (trial // WAYS))
            under = replace(self._under(limits, seconds), way=trial % WAYS, seed=self._seed + trial)
            answer = prover(self._problem, interval, interval, most_stages, self._groups, under)
            self._hints.update(dict.fromkeys(answer.hints))
            if answer.status != "unknown" or ends.late:
                break
        return answer

    def least(self, low: int, most_stages: int, found: Refutation, limits: Limits) -> Refutation:
        """Let the prover look for the least interval below that of a schedule, first near it.

        Parameters
        ----------
        low : int
            Least interval of interest.
        most_stages : int
            How many intervals an iteration may take.
        found : Refutation
            With an interval and an assignment.
        limits : Limits
            What the schedule may have.
        """
        prover = self._engines.prover
        assert prover is not None
        if self._deadline.late:
            return found
        nearby = self._under(limits, self._deadline.remaining(NEARBY))
        found = prover.near(self._problem, low, most_stages, found, nearby)
        self._hints.update(dict.fromkeys(found.hints))
        seconds = self._deadline.some(RANGE_SECONDS, 2 / 3)

        def way(under: Conditions) -> Callable[[], Refutation]:
            return lambda: prover.least(self._problem, low, most_stages, self._groups, found, under)

        answer = race([way(under) for under in self._seeds(limits, seconds)], self._jobs)
        if answer is None:
            return found
        self._hints.update(dict.fromkeys(answer.hints))
        return answer

    def best(
        self, interval: int, limits: Limits, found: Assignment, objective: Objective
    ) -> Improvement:
        """Let the prover look for the best schedule in some respect.

        Parameters
        ----------
        interval : int
            I.
        limits : Limits
            What the schedule may have.
        found : Assignment
            A schedule within them.
        objective : str
            ``length`` or ``slack``.
        """
        prover = self._engines.prover
        assert prover is not None
        if self._deadline.late:
            return Improvement("unknown", found)

        def way(under: Conditions) -> Callable[[], Improvement]:
            return lambda: prover.best(
                self._problem, interval, self._groups, found, objective, under
            )

        answer = race([way(under) for under in self._seeds(limits)], self._jobs)
        if answer is None:
            return Improvement("unknown", found)
        self._hints.update(dict.fromkeys(answer.hints))
        return answer

    def _seeds(self, limits: Limits, seconds: float | None = None) -> list[Conditions]:
        """Return as many ways to search as may run at a time: they differ in the seed."""
        under = self._under(limits, self._deadline.remaining(seconds))
        return [replace(under, seed=self._seed + k) for k in range(min(self._jobs, MOST_SEEDS))]

    def refute(self, interval: int, most_stages: int, limits: Limits) -> tuple[Answer, str]:
        """Ask the finder for what makes an interval infeasible; return the solver's name too.

        Parameters
        ----------
        interval, most_stages : int
            I, and how many intervals an iteration may take.
        limits : Limits
            What the schedule may have.
        """
        engine = self._make(self._engines.finder, interval, most_stages * interval, explain=True)
        answer = self._learn(engine.solve(limits, timeout=self._deadline.remaining()))
        engine.dispose()
        return answer, engine.name

    def settle(self, interval: int, limits: Limits, assignment: Assignment) -> Assignment:
        """Solve once more within all levels, so that the way there leaves no trace.

        Parameters
        ----------
        interval : int
            I.
        limits : Limits
            What was reached.
        assignment : Assignment
            Kept if the time is over.
        """
        self.close()
        if self._deadline.late:
            return assignment
        self._hints.clear()
        length = limits.length or assignment.length(self._problem)
        engine = self._make(self._settler(), interval, length)
        self.solver = engine.name
        answer = engine.solve(limits, timeout=self._deadline.remaining())
        engine.dispose()
        return answer.assignment or assignment

    @property
    def _beyond_finder(self) -> bool:
        return len(self._problem.operations) > FINDER_OPERATIONS

    def _settler(self) -> EngineFactory:
        rival = self._engines.rival
        return rival if self._beyond_finder and rival is not None else self._engines.finder

    def close(self) -> None:
        """Give the memory of the engine that is kept back."""
        if self._kept is not None:
            self._kept[1].dispose()
            self._kept = None

    def _under(self, limits: Limits, timeout: float | None) -> Conditions:
        return Conditions(limits, self._seed, timeout, tuple(self._hints))

    def _make(
        self, factory: EngineFactory, interval: int, length: int, *, explain: bool = False
    ) -> Engine:
        return factory(
            self._problem,
            interval,
            length,
            self._groups,
            explain=explain,
            seed=self._seed,
            hints=tuple(self._hints),
        )

    def _learn(self, answer: Answer) -> Answer:
        """Keep what an engine had to look at, for the next question."""
        self._hints.update(dict.fromkeys(answer.hints))
        return answer


def _longer(timeout: float | None) -> float | None:
    """Leave those who are out of time a moment to say what they have learnt."""
    return None if timeout is None else timeout + LAST_WORDS
