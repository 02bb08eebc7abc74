"""The clock of a simulated SM: the cycle that it is, and what is to happen later."""

from __future__ import annotations

import heapq
from collections.abc import Callable

_EPSILON = 1e-9


class Clock:
    """Events by their time; those of one time in the order in which they were asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._asked = 0

    def at(self, time: float, happens: Callable[[], None]) -> None:
        """Ask for a call at a time."""
        self._asked += 1
        heapq.heappush(self._events, (time, self._asked, happens))

    @property
    def next(self) -> float:
        """When the next event is; infinite if there is none."""
        return self._events[0][0] if self._events else float("inf")

    def run(self) -> None:
        """Let happen what is due."""
        while self._events and self._events[0][0] <= self.now + _EPSILON:
            heapq.heappop(self._events)[2]()
