"""Questions to the engines: about an interval or a range, for a refutation or a last solution.

They are asked one after the other, and what a question is worth is counted in work that does not
depend on how fast the machine is, so that the same search always takes the same way.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from twill.engines.protocol import (
    WAYS,
    Answer,
    Conditions,
    Engine,
    EngineFactory,
    Hint,
    Limits,
    Objective,
    Question,
    Range,
    RangeProver,
    Refutation,
)
from twill.problem.groups import WarpGroup
from twill.problem.problem import Problem
from twill.problem.solution import Assignment
from twill.search.known import Known

QUICK_EFFORT = 6.0
"""Effort for a question about few stages and groups, whose answer only saves time."""
RANGE_EFFORT = 3.0
"""Effort for the least interval of a range, before single intervals are asked about."""
NEARBY_EFFORT = 1.0
"""Effort for a smaller interval with the warp assignment of a schedule that was found."""
SEEDS = 1 << 31
"""How many seeds there are."""
TRIAL_EFFORT, ROW_BY_ROW_EFFORT = 1.0, 4.0
"""Effort after which a question is asked in another way; the latter where units are stated row by
row, and luck decides less."""
FINDER_OPERATIONS = 36
"""Operations up to which the finder, which has no budget, solves for the schedule within all
levels: beyond them it takes several times as long as its rival."""

T = TypeVar("T", Answer, Refutation)


@dataclass(frozen=True)
class Engines:
    """Who answers.

    Attributes
    ----------
    finder : EngineFactory
        Looks for schedules at one interval, to the end: there is nothing to stop it but a clock. It
        names what a refutation takes.
    rival : EngineFactory or None
        Asked instead of the finder, which then only refutes and solves for the last schedule.
    prover : RangeProver or None
        Refutes ranges of intervals, and is asked instead of the rival.
    """

    finder: EngineFactory
    rival: EngineFactory | None = None
    prover: RangeProver | None = None


class Questions:
    """Asks engines about one problem with all its warp groups."""

    def __init__(
        self,
        problem: Problem,
        groups: tuple[WarpGroup, ...],
        engines: Engines,
        known: Known,
        seed: int,
    ) -> None:
        self._problem, self._groups, self._engines = problem, groups, engines
        self._known, self._seed = known, seed
        self._hints: dict[Hint, None] = {}
        self._kept: tuple[tuple[int, int], Engine] | None = None
        self.solver = ""

    @property
    def has_prover(self) -> bool:
        """Whether there is a prover to ask."""
        return self._engines.prover is not None

    @property
    def prover_name(self) -> str:
        """Name and version of the prover."""
        return self._engines.prover.name if self._engines.prover is not None else ""

    def ask(
        self, interval: int, stages: int, limits: Limits, effort: float | None = None
    ) -> Answer:
        """Ask about one interval: the prover, or without one the rival or the finder to the end.

        `effort`: what the answer is worth, to the prover; without it the question is decided.
        """
        if self._engines.prover is None or limits.length is not None:
            return self._ask_engine(interval, stages, limits)
        found = self._ask_prover(interval, interval, stages, limits, effort)
        return Answer(
            found.status,
            found.assignment,
            statistics=found.statistics,
            solver=self._engines.prover.name,
        )

    def _ask_engine(self, interval: int, stages: int, limits: Limits) -> Answer:
        """Ask with the engine of the last question if it is the same one."""
        key = (interval, stages)
        if self._kept is None or self._kept[0] != key:
            self.close()
            factory = self._engines.rival or self._engines.finder
            self._kept = (key, self._make(factory, interval, stages * interval))
            self.solver = self._kept[1].name
        # An engine that is stopped may still be running: it is neither asked again nor disposed of.
        (_, engine), self._kept = self._kept, None
        answer = engine.solve(limits)
        self._kept = (key, engine)
        if answer.status == "unknown":
            self.close()
        return self._learn(interval, answer)

    def ask_range(
        self, low: int, high: int, most_stages: int, limits: Limits, effort: float | None = None
    ) -> Refutation:
        """Ask the prover about a range.

        `effort`: what the answer is worth; without it the question is decided.
        """
        return self._ask_prover(low, high, most_stages, limits, effort)

    def ask_one(
        self, interval: int, most_stages: int, limits: Limits, *, row_by_row: bool = False
    ) -> Refutation:
        """Let the prover decide about one interval.

        `row_by_row`: whether units are stated row by row, so that the first way is worth more
        effort.
        """
        first = ROW_BY_ROW_EFFORT if row_by_row else TRIAL_EFFORT
        return self._ask_prover(interval, interval, most_stages, limits, None, first)

    def _ask_prover(
        self,
        low: int,
        high: int,
        most_stages: int,
        limits: Limits,
        effort: float | None,
        first: float = TRIAL_EFFORT,
    ) -> Refutation:
        prover = self._engines.prover
        assert prover is not None
        for under in self._trials(limits, effort, first):
            asked = Range(self._problem, low, high, most_stages, self._groups)
            answer = prover(asked, under)
            self._learn(answer.interval, answer)
            if answer.status != "unknown":
                break
        return answer

    def _trials(
        self, limits: Limits, effort: float | None, first: float = TRIAL_EFFORT
    ) -> Iterator[Conditions]:
        """Yield one way to ask within `effort`, or all ways with growing effort without end.

        Most ways take seconds or minutes for the same question, and which does is a matter of luck.
        """
        for trial in itertools.count():
            yield Conditions(
                limits,
                (self._seed + trial) % SEEDS,
                first * 2 ** (trial // WAYS) if effort is None else effort,
                tuple(self._hints),
                trial % WAYS,
                self._known.offer,
            )
            if effort is not None:
                return

    def least(
        self, low: int, most_stages: int, found: Refutation, limits: Limits, *, decide: bool
    ) -> Refutation:
        """Let the prover look for the least interval below that of a schedule, first near it."""
        prover = self._engines.prover
        assert prover is not None
        assert found.interval is not None
        (nearby,) = self._trials(limits, NEARBY_EFFORT)
        found = prover.least(
            Range(self._problem, low, found.interval - 1, most_stages, self._groups),
            found,
            nearby,
            keep_groups=True,
        )
        self._learn(found.interval, found)
        for under in self._trials(limits, None if decide else RANGE_EFFORT, RANGE_EFFORT):
            assert found.interval is not None
            asked = Range(self._problem, low, found.interval - 1, most_stages, self._groups)
            found = prover.least(asked, found, under)
            self._learn(found.interval, found)
            low = max(low, found.bound)
            self._known.refuted(low, prover.name)
            if low == found.interval:
                break
        return found

    def best(
        self, interval: int, limits: Limits, found: Assignment, objective: Objective
    ) -> Answer:
        """Let the prover look for the best schedule in some respect."""
        prover = self._engines.prover
        assert prover is not None
        under = replace(next(self._trials(limits, None)), effort=None)
        length = limits.length or found.length(self._problem)
        asked = Question(self._problem, interval, length, self._groups)
        answer = prover.best(asked, found, objective, under)
        return self._learn(interval, answer)

    def refute(self, interval: int, most_stages: int, limits: Limits) -> tuple[Answer, str]:
        """Ask the finder for what makes an interval infeasible; return the solver's name too."""
        engine = self._make(self._engines.finder, interval, most_stages * interval, explain=True)
        answer = self._learn(interval, engine.solve(limits))
        engine.dispose()
        return answer, engine.name

    def settle(self, interval: int, limits: Limits, assignment: Assignment) -> Assignment:
        """Solve once more within all levels, so that the way there leaves no trace."""
        self.close()
        self._hints.clear()
        length = limits.length or assignment.length(self._problem)
        engine = self._make(self._settler(), interval, length)
        self.solver = engine.name
        answer = engine.solve(limits)
        engine.dispose()
        return answer.assignment or assignment

    def _settler(self) -> EngineFactory:
        many = len(self._problem.operations) > FINDER_OPERATIONS
        return (self._engines.rival if many else None) or self._engines.finder

    def close(self) -> None:
        """Give the memory of the engine that is kept back."""
        if self._kept is not None:
            self._kept[1].dispose()
            self._kept = None

    def _make(
        self, factory: EngineFactory, interval: int, length: int, *, explain: bool = False
    ) -> Engine:
        return factory(
            Question(
                self._problem,
                interval,
                length,
                self._groups,
                explain=explain,
                seed=self._seed,
                hints=tuple(self._hints),
            )
        )

    def _learn(self, interval: int | None, answer: T) -> T:
        """Keep what an engine had to look at, and a schedule if it is the best so far."""
        self._hints.update(dict.fromkeys(answer.hints))
        if answer.assignment is not None and interval is not None:
            self._known.offer(interval, answer.assignment)
        return answer
