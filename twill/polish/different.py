"""Programs of a search that differ from its best one, and are nearly as fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from twill.artifacts.schedule import Schedule
from twill.base.errors import TwillError
from twill.lower.prepare import prepared
from twill.polish.candidates import Programs
from twill.polish.judge import Judge
from twill.polish.search import Point, best_of, program_key
from twill.polish.tuning import TUNING


class Different:
    """The programs that a search met, of which the best different ones are returned.

    `count`: the number of programs that are wanted besides the best one.
    """

    def __init__(self, programs: Programs, judge: Judge, count: int) -> None:
        self.count = count
        self._programs, self._judge = programs, judge
        self._points: list[Point] = []

    def met(self, points: list[Point]) -> None:
        """Note programs that the search met, confirmed or not."""
        if self.count:
            self._points += points

    def schedules(self, best: Schedule, interval: float) -> Iterator[Schedule]:
        """Yield different schedules in the order of their energy, that of `best` left out.

        `interval`: of the best one, in cycles.
        """
        seen, left = {program_key(best)}, self.count
        points = (point for point in self._points if not point.lack)
        for point in sorted(points, key=lambda point: point.energy):
            if not left or point.energy > TUNING.chains.near * interval:
                return
            with suppress(TwillError):
                schedule = prepared(self._programs.schedule(point.candidate))
                key = program_key(schedule)
                if key not in seen and best_of(self._programs, self._judge, [point]) is not None:
                    left -= 1
                    yield schedule
                seen.add(key)
