"""The least interval by ranges: some schedule, then the least interval of all below it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from twill.bounds.infeasible import infeasible_interval
from twill.bounds.least import least_stages
from twill.engines.protocol import Limits, Refutation
from twill.problem.problem import Problem
from twill.problem.solution import Assignment
from twill.search.known import Known
from twill.search.questions import QUICK_EFFORT, Questions

FIRST_RANGE = 3
"""Eighths of the lower bound that the first range spans."""

Schedule = tuple[int, Assignment]
"""An interval, and a schedule at it."""


class Ranges:
    """Asks a prover about ranges of intervals.

    Refuting a range mostly takes little longer than refuting its last interval. So some schedule
    is looked for first, then the least interval of all below it; what is left open is bisected.

    `row_by_row`: whether the prover decides single intervals row by row, which it cannot do with
    ranges, and feasibility is monotone.
    """

    def __init__(
        self,
        problem: Problem,
        questions: Questions,
        limits: Limits,
        few_groups: int,
        most_stages: Callable[[int], int],
        known: Known,
        *,
        row_by_row: bool = False,
    ) -> None:
        self._problem, self._questions, self._limits = problem, questions, limits
        self._few_groups, self._most_stages = few_groups, most_stages
        self._known, self._row_by_row = known, row_by_row

    def least(self, first: int, known: Schedule | None = None) -> tuple[int, Schedule | None]:
        """Return the least interval that is not refuted, and the best schedule found.

        The schedule is optimal if it is at that interval.

        `known`: an interval and its schedule; without it some schedule is looked for first.
        """
        if self._row_by_row:
            return self._climb(first)
        low, found = first, Refutation("sat", first, *known) if known else None
        if known is None:
            low, found = self._any(first)
        if found is None or found.interval is None or found.assignment is None:
            return low, None
        if found.interval > low:
            self._known.say(f"least I from {low} to {found.interval - 1}, any warp groups")
            stages, monotone = self._most_stages(low), self._problem.starts_at_issue
            found = self._questions.least(low, stages, found, self._limits, decide=not monotone)
            if monotone:
                found = self.narrow(max(low, found.bound), stages, found)
        assert found.interval is not None
        assert found.assignment is not None
        return max(low, found.bound), (found.interval, found.assignment)

    def _climb(self, first: int) -> tuple[int, Schedule | None]:
        """Return what `least` does, by single intervals in growing steps from the bounds on."""
        low, seek, step, stages = first, first, 1, self._most_stages(first)
        while seek <= infeasible_interval(self._problem):
            answer = self._ask_one(seek, stages)
            if answer.interval is not None and answer.assignment is not None:
                found = self.narrow(low, stages, answer)
                assert found.interval is not None
                assert found.assignment is not None
                return found.bound, (found.interval, found.assignment)
            if answer.status == "unsat":
                low = seek + 1
                self._known.refuted(low, self._questions.prover_name)
            seek, step = seek + step, 2 * step
        return low, None

    def narrow(self, low: int, stages: int, found: Refutation) -> Refutation:
        """Bisect what a question about a range has left open, where feasibility is monotone.

        A single interval is easier to refute, and refutes all below it.
        """
        assert found.interval is not None
        while low < found.interval:
            middle = (low + found.interval) // 2
            answer = self._ask_one(middle, stages)
            if answer.status == "sat":
                found = answer
                assert found.interval is not None
            else:
                assert answer.status == "unsat"
                low = middle + 1
                self._known.refuted(low, self._questions.prover_name)
        return replace(found, bound=low)

    def _ask_one(self, interval: int, stages: int) -> Refutation:
        self._known.say(f"I = {interval}, up to {stages} stages, any warp groups")
        return self._questions.ask_one(interval, stages, self._limits, row_by_row=self._row_by_row)

    def _any(self, first: int) -> tuple[int, Refutation | None]:
        """Return the least interval not refuted, and an answer with a schedule if one was found.

        Few stages and few groups are soon looked through.
        """
        low, step = first, max(1, first * FIRST_RANGE // 8)
        few = replace(self._limits, groups=self._few_groups)
        while True:
            high = low + step - 1
            stages = least_stages(self._problem, high) + 1
            answer = self._ask(low, high, stages, few, QUICK_EFFORT)
            if answer.status != "sat":
                stages = self._most_stages(low)
                answer = self._ask(low, high, stages, self._limits)
            if answer.status == "sat":
                return low, answer
            if high > infeasible_interval(self._problem):
                return low, None
            low, step = high + 1, 2 * step
            self._known.refuted(low, self._questions.prover_name)

    def _ask(
        self, low: int, high: int, stages: int, limits: Limits, effort: float | None = None
    ) -> Refutation:
        groups = "any" if limits.groups is None else f"{limits.groups}"
        self._known.say(f"any I from {low} to {high}, up to {stages} stages, {groups} warp groups")
        return self._questions.ask_range(low, high, stages, limits, effort)
