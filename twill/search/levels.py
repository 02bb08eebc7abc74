"""The levels of the objective below the interval: stages, groups, transfers, length, slack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol

from twill.artifacts.proof import Level
from twill.bounds import least_length, least_stages
from twill.engines import Status
from twill.problem.solution import Assignment
from twill.search.known import Reached
from twill.search.questions import Outcome, Questions
from twill.search.request import LEVELS
from twill.search.strategies import Situation


class Told(Protocol):
    """What an engine said."""

    @property
    def status(self) -> Status:
        """Whether there is a schedule."""

    @property
    def assignment(self) -> Assignment | None:
        """The schedule."""

    @property
    def solver(self) -> str:
        """Who says so."""


Ask = Callable[[int], Told]
Measure = Callable[[Assignment], int]
Look = Callable[[Ask, Measure, Assignment, int], Reached]


class Levels:
    """Improves a schedule at its interval."""

    def __init__(
        self, questions: Questions, situation: Situation, interval: int, until: Level
    ) -> None:
        self._questions, self._situation, self._interval = questions, situation, interval
        self._problem, self._limits = situation.problem, situation.limits
        self._wanted = LEVELS[: LEVELS.index(until) + 1]

    def improve(self, found: Assignment) -> Assignment:
        """Improve level by level; the assignment is solved for once more at the end.

        A level is best among schedules that are no worse in those above it. Stages count in any
        case, since questions are about so many of them.
        """
        problem, interval, reached = self._problem, self._interval, self._situation.known.reached
        best = reached["stages"] = self._fewest_stages(found)
        self._best, self._stages = best.assignment, best.value
        fewest_groups = len({operation.variable_latency for operation in problem.operations})
        self._reach("groups", Assignment.used, fewest_groups, _from_below)
        self._reach("transfers", lambda a: a.transfers(problem), 0, _from_below)
        least = least_length(problem, interval)
        self._reach("length", lambda a: a.length(problem), least, bisected)
        if self._limits.length is None:
            self._limits = replace(self._limits, length=self._stages * interval)
        if problem.edges:
            farthest = max(edge.distance for edge in problem.edges)
            most = (self._limits.length or 0) + interval * farthest

            def slack(a: Assignment) -> int:
                """Return the slack; where nothing is waited for, more than any."""
                least = a.slack(problem, interval)
                return most if least is None else least

            self._reach("slack", slack, most, _largest)
        return self._questions.settle(interval, self._limits, self._best)

    def _fewest_stages(self, assignment: Assignment) -> Reached:
        """Look for fewer stages, first with as few groups as the next level asks for."""
        stages = -(-assignment.length(self._problem) // self._interval)
        proved, solver, few = True, "", self._situation.few
        for count in range(least_stages(self._problem, self._interval), stages):
            query = partial(self._situation.query, self._interval, stages=count)
            answer = self._questions.ask(replace(query(groups=few, effort=6), why="stages"))
            if answer.assignment is None:
                answer = self._questions.ask(replace(query(), why="stages"))
            if answer.assignment is not None:
                return Reached(count, answer.assignment, proved, solver)
            proved, solver = proved and answer.status == "unsat", answer.solver
        return Reached(stages, assignment, proved, solver)

    def _reach(self, level: Level, measure: Measure, bound: int, look: Look) -> None:
        """Look for the best value of a level; the prover finds the best length or slack at once."""
        if level not in self._wanted:
            return
        minimizes = self._questions.prover is not None and measure(self._best) != bound
        if minimizes and (level == "length" or level == "slack"):  # noqa: PLR1714 - for the types
            answer = self._questions.best(self._interval, self._limits, self._best, level)
            found = answer.assignment or self._best
            solver = answer.solver if measure(found) != bound else ""
            best = Reached(measure(found), found, answer.status == "sat", solver)
        else:
            best = look(partial(self._ask, level), measure, self._best, bound)
        self._situation.known.reached[level] = best
        self._best = best.assignment
        self._limits = replace(self._limits, **{level: best.value})

    def _ask(self, level: Level, value: int) -> Outcome:
        """Ask whether a level can have a value."""
        query = self._situation.query(self._interval, stages=self._stages)
        within = replace(self._limits, **{level: value})
        return self._questions.ask(replace(query, limits=within, why=level))


def _from_below(ask: Ask, measure: Measure, best: Assignment, low: int) -> Reached:
    """Find the least feasible value in growing steps from below: small ones are soon refuted."""
    high, proved, step, solver = measure(best), True, 0, ""
    while low < high:
        probe = min(low + step, (low + high) // 2)
        answer = ask(probe)
        if answer.assignment is not None:
            best = answer.assignment
            high, step = min(probe, measure(best)), 0
        else:
            proved, solver = proved and answer.status == "unsat", answer.solver
            low, step = probe + 1, 2 * step + 1
    return Reached(high, best, proved, solver)


def bisected(ask: Ask, measure: Measure, best: Assignment, low: int) -> Reached:
    """Bisect for the least feasible value; the bound itself is tried first."""
    high, proved, solver = measure(best), True, ""
    probe = low
    while low < high:
        answer = ask(probe)
        if answer.assignment is not None:
            best = answer.assignment
            high = min(probe, measure(best))
        else:
            proved, solver = proved and answer.status == "unsat", answer.solver
            low = probe + 1
        probe = (low + high) // 2
    return Reached(high, best, proved, solver)


def _largest(ask: Ask, measure: Measure, best: Assignment, high: int) -> Reached:
    """Bisect for the largest feasible value, in growing steps from what is known."""
    low, proved, step, solver = measure(best), True, 1, ""
    while low < high:
        probe = min(high, low + step)
        answer = ask(probe)
        if answer.assignment is not None:
            best = answer.assignment
            low = max(probe, measure(best))
            step *= 2
        else:
            proved, solver = proved and answer.status == "unsat", answer.solver
            high, step = probe - 1, max(1, (probe - low) // 2)
    return Reached(low, best, proved, solver)
