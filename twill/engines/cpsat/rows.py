"""Units row by row, for intervals of few rows.

What two operations do to each other says little about a unit that is busy in every row: that
something has to fill a gap shows only when all who could have been ruled out. With a Boolean for
every operation and row, the last who can is known as soon as it is the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from twill.engines import FEW_ROWS
from twill.engines.cpsat.times import Times
from twill.engines.families import Literal
from twill.problem import Problem
from twill.problem.lifetimes import Occupant, unit_occupants

Weighing = tuple[int, list[Occupant]]
"""The most that fits all units at once, and what weighs in that: the configuration bound."""


class Rows:
    """Booleans that say in which row an operation is issued, at one interval."""

    def __init__(self, times: Times) -> None:
        self._times, self._interval = times, times.low
        self._here: dict[int, list[Literal]] = {}

    def fit(self, problem: Problem, weighing: Weighing) -> None:
        """State for every row that what is in progress fits every unit, and all units at once.

        Nothing where units one by one bound the interval as well.

        `weighing`: the most that fits all units at once, and what weighs in that.
        """
        if not weighing[1] or self._times.low < self._times.high or self._interval > FEW_ROWS:
            return
        for unit, capacity in problem.capacities.items():
            mine = unit_occupants(problem, unit)
            if sum(occupant.weight for occupant in mine) > capacity:
                for running in self._running(mine):
                    self._times.model.add(sum(running) <= capacity)
        self._fill(*weighing)

    def _fill(self, most: int, mine: Sequence[Occupant]) -> None:
        """State that whatever does not weigh `most` in a row is missing from the whole interval."""
        model, work = self._times.model, sum(o.weight * _length(o) for o in mine)
        left = most * self._interval - work
        if left < 0:
            self._times.clauses.refuted = True
            return
        idle = [model.new_int_var(0, min(most, left), "") for _ in self._rows]
        for running, more in zip(self._running(mine), idle, strict=True):
            model.add(sum(running) + more == most)
        model.add(sum(idle) == left)

    @property
    def _rows(self) -> range:
        return range(self._interval)

    def _running(self, mine: Sequence[Occupant]) -> Iterator[list[Any]]:
        """Yield for every row the weights of what is in progress."""
        for row in self._rows:
            yield [
                occupant.weight * self._issued(occupant.start)[(row - since) % self._interval]
                for occupant in mine
                for since in range(occupant.delay, occupant.ends[0].offset)
            ]

    def _issued(self, v: int) -> list[Literal]:
        """Return a literal for every row: whether v is issued in it."""
        if v not in self._here:
            self._here[v] = self._stated(v)
        return self._here[v]

    def _stated(self, v: int) -> list[Literal]:
        times = self._times
        if v == times.anchor:
            return [row == 0 for row in self._rows]
        here = [times.model.new_bool_var("") for _ in self._rows]
        times.model.add_exactly_one(here)
        for row, literal in enumerate(here):
            times.model.add(times.rows[v] == row).only_enforce_if(literal)
        return here


def _length(occupant: Occupant) -> int:
    return occupant.ends[0].offset - occupant.delay
