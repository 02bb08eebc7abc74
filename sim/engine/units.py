"""Functional units: work in the order of its arrival, and ports with a bandwidth."""

from __future__ import annotations

import math

ROUNDING = 1e-9  # parts of a whole that are binary fractions of it add up to it within this


class Unit:
    """A functional unit, or one context's part of it: work follows in the order of its arrival.

    From cycle `free` on the unit can start new work. Partial work may make that a fraction; `opens`
    is the whole cycle that contains it. `late`: the delay of its own next command so far.
    `fetches`: the share of the port that its last command needs for operands.
    """

    __slots__ = ("fetches", "free", "late", "name", "opens", "shared")

    def __init__(self, name: str, *, shared: bool = False) -> None:
        self.name, self.shared, self.free, self.opens = name, shared, 0.0, 0.0
        self.late = self.fetches = 0.0

    def works(self, now: float) -> bool:
        """Return whether it is at work in a cycle; a pipe's next instruction may be yet to come."""
        return self.free > (now if self.shared else max(0.0, now - 1))

    def fill(self, until: float) -> None:
        """Let nothing else start before a cycle."""
        self.free = until
        self.opens = float(math.floor(until))

    def accept(self, now: float, duration: float, share: float) -> tuple[float, float]:
        """Take work that lasts `duration` and fills the unit for `share`; return start and end."""
        start = max(now, self.free)
        self.fill(start + share)
        return start, start + duration


class Port(Unit):
    """A unit with a bandwidth, of which work may take a part.

    Work that takes what it gets follows in the order of its arrival. A stream takes a part of the
    bandwidth for as long as it lasts, and leaves the rest to what comes behind it.
    """

    __slots__ = ("_streams",)

    def __init__(self, name: str) -> None:
        super().__init__(name, shared=True)
        self._streams: list[tuple[float, float]] = []

    def accept(self, now: float, duration: float, share: float) -> tuple[float, float]:
        """Take work that fills the unit for `share` cycles, as fast as streams leave it to."""
        start = max(now, self.free)
        self.fill(self._after(start, share) if self._streams else start + share)
        return start, max(start + duration, self.free)

    def stream(self, now: float, duration: float, part: float) -> tuple[float, float]:
        """Let work take a part of the bandwidth for `duration`, behind what has come before."""
        start = max(now, self.free)
        self._forget(start)
        for end, _ in sorted(self._streams):
            if sum((taken for _, taken in self._streams), 0.0) + part <= 1 + ROUNDING:
                break
            start = end
            self._forget(start)
        self._streams.append((start + duration, part))
        return start, start + duration

    def _after(self, start: float, share: float) -> float:
        """Return when work that begins at `start` is done while the streams go on."""
        self._forget(start)
        for end, _ in sorted(self._streams):
            left = 1 - sum((part for until, part in self._streams if until >= end), 0.0)
            if share <= left * (end - start):
                return start + share / left
            share -= max(0.0, left) * (end - start)
            start = end
        return start + share

    def _forget(self, now: float) -> None:
        self._streams = [(end, part) for end, part in self._streams if end > now]
