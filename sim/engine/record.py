"""A recording of an execution: the work of each warp and unit over time, and all wake-ups."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from twill.sim.engine.events import (
    Access,
    Arrived,
    Busy,
    Completed,
    Event,
    Issued,
    ReadEnds,
    Stalled,
    Started,
    Waited,
    WriteBegins,
    WriteEnds,
)

DEFAULT_EVENTS, TRACED_EVENTS = 1 << 16, 1 << 24
# Enough for a chain that closes after eight periods of the longest length that is looked for.
DEFAULT_ITERATIONS = 512

Warp = tuple[str, int]  # a group and the number of a warp in it

Instance = tuple[str, int]  # an operation, value or barrier, and the iteration


class Span(NamedTuple):
    """Cycles that a warp spent on one thing.

    Attributes
    ----------
    begin, end : float
        Cycles.
    kind : str
        ``issue`` or the kind of a stall (see `twill.sim.engine.events.Stalled`).
    subject, iteration : str, int
        The operation that is issued, or the subject of the stall.
    unit : str
        With ``issue``, the pipe or the asynchronous unit.
    instructions : int
        With ``issue``, the number of instructions recorded.
    """

    begin: float
    end: float
    kind: str
    subject: str
    iteration: int
    unit: str = ""
    instructions: int = 0


class Use(NamedTuple):
    """Cycles that an asynchronous unit spent on an operation."""

    begin: float
    end: float
    operation: str
    iteration: int


Timed = TypeVar("Timed", Span, Use)


class Lifetime(NamedTuple):
    """An instance of a value in a slot, from the begin of its write to the end of its last read.

    The instance can be read from `written` on.
    """

    begin: float
    written: float
    end: float
    value: str
    place: str
    slot: int
    iteration: int
    warp: int


def in_time(events: Iterable[Timed]) -> list[Timed]:
    """Return spans, or uses, in the order of their begins.

    `events`: in the order of their notification, which may be ahead of time.
    """
    return sorted(events, key=lambda event: event.begin)


class Recording:
    """Keeps the last events of an execution.

    `events`: spans and uses that are kept of every warp and every unit, and arrivals and
    completions in all, at most; older ones are forgotten. A trace of a long run asks for more.
    `iterations`: iterations at the end of the loop that it records; all of them with None. The
    steady state needs no more, and events that are not recorded cost no time.

    Attributes
    ----------
    spans : dict
        Spans of each warp, in the order of its program. Instructions of one operation that follow
        each other without a gap are one span.
    uses : dict
        Work of each asynchronous unit, in the order of notification.
    arrivals : dict
        For each phase of a barrier its arrivals.
    wakeups : list of Waited
        Waits that came to their end.
    starts, completions : dict
        Cycle at which each operation of each iteration started and was complete.
    work_ends : dict
        For each asynchronous operation of each iteration the unit that worked on it longest, and
        the cycle at which that was done.
    """

    def __init__(
        self,
        events: int = DEFAULT_EVENTS,
        *,
        iterations: int | None = DEFAULT_ITERATIONS,
        values: bool = False,
    ) -> None:
        self.iterations = iterations
        self.spans: dict[Warp, deque[Span]] = defaultdict(lambda: deque(maxlen=events))
        self.uses: dict[str, deque[Use]] = defaultdict(lambda: deque(maxlen=events))
        self.arrivals: dict[Instance, list[Arrived]] = defaultdict(list)
        self.wakeups: deque[Waited] = deque(maxlen=events)
        self.starts: dict[Instance, float] = {}
        self.completions: dict[Instance, float] = {}
        self.work_ends: dict[Instance, tuple[str, float]] = {}
        self._events = events
        self.handlers: dict[type[Event], Callable[[Any], None]] = {
            Issued: self._issued,
            Stalled: self._stalled,
            Busy: self._busy,
            Started: self._started,
            Completed: self._completed,
            Arrived: self._arrived,
            Waited: self.wakeups.append,
        }
        if values:
            accesses = (ReadEnds, WriteBegins, WriteEnds)
            self.handlers |= dict.fromkeys(accesses, self._accessed)
        self._lives: dict[tuple[str, str, int, int, int], list[float]] = {}

    def _stalled(self, event: Stalled) -> None:
        group, warp, kind, subject, iteration, begin, end = event
        self.spans[group, warp].append(Span(begin, end, kind, subject, iteration))

    def _started(self, event: Started) -> None:
        self.starts[event.operation, event.iteration] = event.cycle
        _forget(self.starts, self._events)

    def _completed(self, event: Completed) -> None:
        self.completions[event.operation, event.iteration] = event.cycle
        _forget(self.completions, self._events)

    def _arrived(self, event: Arrived) -> None:
        self.arrivals[event.barrier, event.iteration].append(event)
        _forget(self.arrivals, self._events)

    def _issued(self, event: Issued) -> None:
        """Extend the warp's last span, or add one."""
        group, warp, operation, iteration, unit, begin, end = event
        spans = self.spans[group, warp]
        if spans and spans[-1].end >= begin:
            last = spans[-1]
            if last[2:6] == ("issue", operation, iteration, unit):
                count, end = last.instructions + 1, max(last.end, end)
                spans[-1] = Span(last.begin, end, "issue", operation, iteration, unit, count)
                return
        spans.append(Span(begin, end, "issue", operation, iteration, unit, 1))

    def _busy(self, event: Busy) -> None:
        """Extend the unit's last use, or add one."""
        unit, operation, iteration, begin, end = event
        if end >= self.work_ends.get((operation, iteration), ("", 0.0))[1]:
            self.work_ends[operation, iteration] = (unit, end)
            _forget(self.work_ends, self._events)
        uses = self.uses[unit]
        if uses and uses[-1].end >= begin and uses[-1][2:] == (operation, iteration):
            uses[-1] = Use(uses[-1].begin, max(uses[-1].end, end), operation, iteration)
            return
        uses.append(Use(begin, end, operation, iteration))

    def _accessed(self, event: Access) -> None:
        """Begin a lifetime, or extend it."""
        key = (event.value, event.place, event.slot, event.iteration, event.warp)
        if isinstance(event, WriteBegins):
            self._lives[key] = [event.begin, event.begin, event.begin]
            return
        if (life := self._lives.get(key)) is not None:
            if isinstance(event, WriteEnds):
                life[1] = event.end
            life[2] = max(life[2], event.end)

    def lifetimes(self) -> Iterable[Lifetime]:
        """Yield the lifetimes of values, in the order of their begins."""
        ordered = sorted(self._lives.items(), key=lambda item: (item[1], item[0]))
        for (value, place, slot, iteration, warp), (begin, written, end) in ordered:
            yield Lifetime(begin, written, end, value, place, slot, iteration, warp)


def _forget(events: dict[Instance, Any], most: int) -> None:
    """Drop the oldest events, half of the limit, once there are more than the limit."""
    if len(events) > most:
        for key in list(itertools.islice(events, most // 2)):
            del events[key]
