"""The least interval by ranges: a schedule, a better one near it, and a refutation of all below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from twill.bounds import least_stages
from twill.console import Report
from twill.hopeless import hopeless_interval
from twill.joint.answer import Assignment, Limits, Refutation
from twill.problem import Problem
from twill.questions import QUICK_SECONDS, Questions

FOUND = "found a schedule at I = {interval}"
"""What is reported once an interval has a schedule."""
FIRST_RANGE = 3
"""Eighths of the lower bound that the first range spans."""
NARROW = 32
"""Intervals that are asked about as a whole even where the time is limited."""

Schedule = tuple[int, Assignment]
"""An interval, and a schedule at it."""


class Ranges:
    """Asks a prover about ranges of intervals.

    Refuting a range takes little longer than refuting its last interval, so that the range below
    the best schedule is asked about as a whole. A schedule that the prover finds is seldom near the
    least interval of its range; with its warp assignment kept a much better one is soon found.

    Parameters
    ----------
    problem : Problem
        The problem.
    questions : Questions
        Who is asked; with a prover.
    limits : Limits
        What the user allows.
    few_groups : int
        Warp groups that are enough for most loops.
    most_stages : callable
        Bound on the stages at an interval.
    report : Report
        Told what is being tried.
    in_parts : bool
        Whether the lower part of a wide range is asked about first, so that something is known
        where the time does not suffice for all.
    """

    def __init__(
        self,
        problem: Problem,
        questions: Questions,
        limits: Limits,
        few_groups: int,
        most_stages: Callable[[int], int],
        report: Report,
        *,
        in_parts: bool,
    ) -> None:
        self._problem, self._questions, self._limits = problem, questions, limits
        self._few_groups, self._most_stages = few_groups, most_stages
        self._report, self._in_parts = report, in_parts

    def least(self, first: int) -> tuple[int, Schedule | None]:
        """Return the least interval that is not refuted, and the best schedule found.

        The schedule is optimal if it is at that interval.

        Parameters
        ----------
        first : int
            Least interval of interest.
        """
        low, best, stuck = *self._any(first), False
        while best is not None and low < best[0]:
            stages, high = self._most_stages(low), self._part(low, best[0] - 1, stuck=stuck)
            answer = self._ask(low, high, stages, self._limits, finder=False)
            if answer.status == "unknown":
                break
            if answer.status == "unsat":
                low = high + 1
            else:
                best = self._near(low, stages, answer)
                stuck = best[0] == answer.interval
        return low, best

    def _any(self, first: int) -> tuple[int, Schedule | None]:
        """Return the least interval not refuted, and a schedule if one was found.

        Few stages and few groups are soon looked through.
        """
        low, step = first, max(1, first * FIRST_RANGE // 8)
        few = replace(self._limits, groups=self._few_groups)
        while True:
            high = low + step - 1
            stages = least_stages(self._problem, high) + 1
            answer = self._ask(low, high, stages, few, most=QUICK_SECONDS)
            if answer.status != "sat":
                stages = self._most_stages(low)
                answer = self._ask(low, high, stages, self._limits)
            if answer.status == "sat":
                return low, self._near(low, stages, answer)
            if answer.status == "unknown" or high > hopeless_interval(self._problem):
                return low, None
            low, step = high + 1, 2 * step

    def _ask(
        self,
        low: int,
        high: int,
        stages: int,
        limits: Limits,
        *,
        finder: bool = True,
        most: float | None = None,
    ) -> Refutation:
        groups = "any" if limits.groups is None else f"{limits.groups}"
        self._report(f"any I from {low} to {high}, up to {stages} stages, {groups} warp groups")
        return self._questions.ask_range(low, high, stages, limits, finder=finder, most=most)

    def _near(self, low: int, stages: int, answer: Refutation) -> Schedule:
        """Return the best schedule with the warp assignment of one that was found."""
        if answer.interval != low:
            self._report(f"smaller I with the warp assignment found at I = {answer.interval}")
            answer = self._questions.improve(low, stages, answer, self._limits)
        assert answer.interval is not None
        assert answer.assignment is not None
        self._report(FOUND.format(interval=answer.interval))
        return answer.interval, answer.assignment

    def _part(self, low: int, high: int, *, stuck: bool) -> int:
        """Return the end of what is asked about at once: all, if there is time for it.

        Half of it where nothing better was found near the last schedule, so that the next one is
        better by more than a cycle.
        """
        if stuck:
            return (low + high) // 2
        if not self._in_parts or high - low < NARROW:
            return high
        return (low + 3 * high) // 4
