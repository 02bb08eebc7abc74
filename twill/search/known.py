"""What a search knows so far: the best schedule, what is refuted, and what was proved about it."""

from __future__ import annotations

from dataclasses import dataclass

from twill.artifacts.schedule import Level, LowerBound
from twill.console import Report, silent
from twill.problem.problem import Problem
from twill.problem.solution import Assignment

FOUND = "found a schedule at I = {interval}"
"""What is reported once an interval has a schedule."""


@dataclass(frozen=True)
class Reached:
    """The best value of a level that was found.

    Attributes
    ----------
    value : int
        In the level's unit.
    assignment : Assignment
        A schedule that has it.
    proved : bool
        Whether every better one was refuted.
    solver : str
        Who refuted the next better one; empty where a bound says that there is none.
    """

    value: int
    assignment: Assignment
    proved: bool
    solver: str


class Known:
    """The best schedule so far and the bound below it, for when the search ends early.

    `report`: told what is being tried, after the interval or between which two the least one is.

    Attributes
    ----------
    low : int
        Every smaller interval is refuted.
    solver : str
        Who refuted them, where no bound does.
    best : tuple of (int, Assignment) or None
        An interval and a schedule at it, better in the order of levels than all others offered.
    bound : LowerBound or None
        Why no smaller interval has a schedule, once that is known.
    reached : dict
        The best value of each level, as far as that was looked for.
    """

    def __init__(self, problem: Problem, report: Report = silent) -> None:
        self._problem, self._report = problem, report
        self.low, self.solver = 1, ""
        self.best: tuple[int, Assignment] | None = None
        self.bound: LowerBound | None = None
        self.reached: dict[Level, Reached] = {}

    def offer(self, interval: int, found: Assignment) -> None:
        """Keep a schedule if it is the best so far."""
        if self.best is not None and self._rank(interval, found) >= self._rank(*self.best):
            return
        better = self.best is None or interval < self.best[0]
        self.best = interval, found
        if better:
            self._report(FOUND.format(interval=interval))

    def _rank(self, interval: int, found: Assignment) -> tuple[int, ...]:
        length, slack = found.length(self._problem), found.slack(self._problem, interval)
        return (
            interval,
            -(-length // interval),
            found.used(),
            found.transfers(self._problem),
            length,
            -(slack or 0),
        )

    def refuted(self, low: int, solver: str = "") -> None:
        """Take note that every interval below `low` is refuted."""
        if low > self.low:
            self.low, self.solver = low, solver

    def say(self, message: str) -> None:
        """Report what is being tried, with what is known of the least interval."""
        if self.best is None:
            between = f"{self.low} .."
        elif self.best[0] == self.low:
            between = f"{self.low}"
        else:
            between = f"{self.low} .. {self.best[0]}"
        self._report(f"{between}: {message}")
