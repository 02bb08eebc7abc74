"""The levels of the objective below the interval: stages, groups, transfers, length, slack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal, Protocol

from twill.artifacts.proof import Level
from twill.bounds.least import least_length, least_stages
from twill.engines.protocol import Limits, Objective, Status
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

    def __init__(self, questions: Questions, situation: Situation, until: Level) -> None:
        self._questions, self._situation = questions, situation
        self._problem, self._known = situation.problem, situation.known
        self._wanted = LEVELS[: LEVELS.index(until) + 1]

    def improve(self, interval: int, found: Assignment) -> Assignment:
        """Improve level by level; the assignment is solved for once more at the end.

        A level is best among schedules that are no worse in those above it. Stages count in any
        case, since questions are about so many of them.
        """
        problem, limits = self._problem, self._situation.limits
        best = self._known.reached["stages"] = self._fewest_stages(interval, found)
        stages = best.value
        fewest_groups = len({operation.variable_latency for operation in problem.operations})
        levels: tuple[tuple[Literal["groups", "transfers", "length"], Measure, int], ...] = (
            ("groups", Assignment.used, fewest_groups),
            ("transfers", lambda a: a.transfers(problem), 0),
            ("length", lambda a: a.length(problem), least_length(problem, interval)),
        )
        for level, measure, least in levels:
            if level in self._wanted:
                ask = partial(self._ask, level, interval, stages, limits)
                look: Look = _from_below
                if level == "length":
                    look = partial(self._by_prover, level, interval, limits, bisected)
                best = self._known.reached[level] = look(ask, measure, best.assignment, least)
                limits = replace(limits, **{level: best.value})
        if limits.length is None:
            limits = replace(limits, length=stages * interval)
        if "slack" in self._wanted and problem.edges:
            best = self._known.reached["slack"] = self._most_slack(interval, stages, limits, best)
            limits = replace(limits, slack=best.value)
        return self._questions.settle(interval, limits, best.assignment)

    def _ask(self, level: Level, interval: int, stages: int, limits: Limits, value: int) -> Outcome:
        """Ask whether a level can have a value."""
        question = self._situation.query(interval, stages=stages)
        within = replace(limits, **{level: value})
        return self._questions.ask(replace(question, limits=within, why=level))

    def _most_slack(self, interval: int, stages: int, limits: Limits, best: Reached) -> Reached:
        farthest = max(edge.distance for edge in self._problem.edges)
        most = (limits.length or 0) + interval * farthest

        def measure(a: Assignment) -> int:
            """Return the slack; where nothing is waited for, more than any."""
            slack = a.slack(self._problem, interval)
            return most if slack is None else slack

        ask = partial(self._ask, "slack", interval, stages, limits)
        look = partial(self._by_prover, "slack", interval, limits, _largest)
        return look(ask, measure, best.assignment, most)

    def _by_prover(
        self,
        objective: Objective,
        interval: int,
        limits: Limits,
        otherwise: Look,
        *given: *tuple[Ask, Measure, Assignment, int],
    ) -> Reached:
        """Let the prover look for the best value, if there is one to ask and a better value."""
        _, measure, best, bound = given
        if self._questions.prover is None or measure(best) == bound:
            return otherwise(*given)
        answer = self._questions.best(interval, limits, best, objective)
        found = answer.assignment or best
        value = measure(found)
        solver = answer.solver if value != bound else ""
        return Reached(value, found, answer.status == "sat", solver)

    def _fewest_stages(self, interval: int, assignment: Assignment) -> Reached:
        """Look for fewer stages, first with as few groups as the next level asks for."""
        stages = -(-assignment.length(self._problem) // interval)
        proved, solver, few = True, "", self._situation.few
        for count in range(least_stages(self._problem, interval), stages):
            question = partial(self._situation.query, interval, stages=count)
            answer = self._questions.ask(replace(question(groups=few, effort=6), why="stages"))
            if answer.assignment is None:
                answer = self._questions.ask(replace(question(), why="stages"))
            if answer.assignment is not None:
                return Reached(count, answer.assignment, proved, solver)
            proved, solver = proved and answer.status == "unsat", answer.solver
        return Reached(stages, assignment, proved, solver)


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
