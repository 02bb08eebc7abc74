"""A recording of an execution: what each warp and each unit did when, and who woke whom."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from twill.sim.engine.observer import Observer, Stall

DEFAULT_EVENTS, TRACED_EVENTS = 1 << 16, 1 << 24
DEFAULT_ITERATIONS = 512
"""Enough for a chain that closes after eight periods of the longest length that is looked for."""

Warp = tuple[str, int]
"""A group and the number of a warp in it."""

Instance = tuple[str, int]
"""An operation, value or barrier, and the iteration."""


class Span(NamedTuple):
    """Cycles that a warp spent on one thing.

    Attributes
    ----------
    begin, end : float
        Cycles.
    kind : str
        ``issue`` or the kind of a stall (see `Observer.stalled`).
    subject, iteration : str, int
        The operation that is issued; what the stall is about.
    unit : str
        With ``issue``, the pipe or the asynchronous unit.
    instructions : int
        With ``issue``, how many of them were told of.
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


class Arrival(NamedTuple):
    """An arrival at a barrier: by a warp, or by an operation where the group is empty."""

    cycle: float
    visible: float
    group: str
    lane: int
    operation: str


class Wakeup(NamedTuple):
    """A wait that came to its end: on a ``barrier``, or for the ``completion`` of an operation."""

    cycle: float
    group: str
    lane: int
    kind: str
    subject: str
    iteration: int


class Lifetime(NamedTuple):
    """An instance of a value in a slot, from the begin of its write to the end of its last read.

    It can be read from `written` on.
    """

    begin: float
    written: float
    end: float
    value: str
    place: str
    slot: int
    iteration: int
    lane: int


def in_time(events: Iterable[Timed]) -> list[Timed]:
    """Return spans, or uses, in the order of their begins.

    `events`: as they were told of, which may be ahead of time.
    """
    return sorted(events, key=lambda event: event.begin)


class Recording(Observer):
    """Keeps the last part of what an execution tells.

    `events`: spans and uses that are kept of every warp and every unit, and arrivals and
    completions in all, at most; older ones are forgotten. A trace of a long run asks for more.
    `iterations`: iterations at the end of the loop from which on it wants to hear; all of them with
    None. The steady state does not need more, and what nobody hears of costs no time.

    Attributes
    ----------
    spans : dict
        For each warp what it did, in the order of its program. Instructions of one operation that
        follow each other without a gap are one span.
    uses : dict
        For each asynchronous unit what it did, in the order in which it was told.
    arrivals : dict
        For each phase of a barrier its arrivals.
    wakeups : list of Wakeup
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
        self.arrivals: dict[Instance, list[Arrival]] = defaultdict(list)
        self.wakeups: deque[Wakeup] = deque(maxlen=events)
        self.starts: dict[Instance, float] = {}
        self.completions: dict[Instance, float] = {}
        self.work_ends: dict[Instance, tuple[str, float]] = {}
        self._values, self._events = values, events
        self._lives: dict[tuple[str, str, int, int, int], list[float]] = {}

    def issued(
        self,
        group: str,
        lane: int,
        operation: str,
        iteration: int,
        unit: str,
        begin: float,
        end: float,
    ) -> None:
        """Extend the warp's last span, or add one."""
        spans = self.spans[group, lane]
        if spans:
            last = spans[-1]
            if (
                last.end >= begin
                and last.subject == operation
                and last.iteration == iteration
                and last.kind == "issue"
                and last.unit == unit
            ):
                count, end = last.instructions + 1, max(last.end, end)
                spans[-1] = Span(last.begin, end, "issue", operation, iteration, unit, count)
                return
        spans.append(Span(begin, end, "issue", operation, iteration, unit, 1))

    def stalled(
        self,
        group: str,
        lane: int,
        kind: Stall,
        subject: str,
        iteration: int,
        begin: float,
        end: float,
    ) -> None:
        """Add a span."""
        if end > begin:
            self.spans[group, lane].append(Span(begin, end, kind, subject, iteration))

    def busy(self, unit: str, operation: str, iteration: int, begin: float, end: float) -> None:
        """Extend the unit's last use, or add one."""
        if end >= self.work_ends.get((operation, iteration), ("", 0.0))[1]:
            self.work_ends[operation, iteration] = (unit, end)
            _forget(self.work_ends, self._events)
        uses = self.uses[unit]
        if uses:
            last = uses[-1]
            if last.end >= begin and last.operation == operation and last.iteration == iteration:
                uses[-1] = Use(last.begin, max(last.end, end), operation, iteration)
                return
        uses.append(Use(begin, end, operation, iteration))

    def started(self, operation: str, iteration: int, cycle: float) -> None:
        """Remember the cycle."""
        self.starts[operation, iteration] = cycle
        _forget(self.starts, self._events)

    def completed(self, operation: str, iteration: int, cycle: float) -> None:
        """Remember the cycle."""
        self.completions[operation, iteration] = cycle
        _forget(self.completions, self._events)

    def arrived(
        self,
        barrier: str,
        iteration: int,
        group: str,
        lane: int,
        operation: str,
        cycle: float,
        visible: float,
    ) -> None:
        """Add an arrival."""
        self.arrivals[barrier, iteration].append(Arrival(cycle, visible, group, lane, operation))
        _forget(self.arrivals, self._events)

    def waited(self, group: str, lane: int, barrier: str, iteration: int, cycle: float) -> None:
        """Add a wait."""
        self.wakeups.append(Wakeup(cycle, group, lane, "barrier", barrier, iteration))

    def awaited(self, group: str, lane: int, operation: str, iteration: int, cycle: float) -> None:
        """Add a wait."""
        self.wakeups.append(Wakeup(cycle, group, lane, "completion", operation, iteration))

    def writing(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        group: str,
        lane: int,
        begin: float,
    ) -> None:
        """Begin a lifetime."""
        if self._values:
            self._lives[value, place, slot, iteration, lane] = [begin, begin, begin]

    def wrote(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        group: str,
        lane: int,
        begin: float,
        end: float,
    ) -> None:
        """Extend a lifetime to the end of the write."""
        life = self._lives.get((value, place, slot, iteration, lane))
        if life is not None:
            life[1:] = end, max(life[2], end)

    def read(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        of_iteration: int,
        group: str,
        lane: int,
        begin: float,
        end: float,
    ) -> None:
        """Extend a lifetime to the end of the read."""
        life = self._lives.get((value, place, slot, iteration, lane))
        if life is not None:
            life[2] = max(life[2], end)

    def lifetimes(self) -> Iterable[Lifetime]:
        """Yield the lifetimes of values, in the order of their begins."""
        ordered = sorted(self._lives.items(), key=lambda item: (item[1], item[0]))
        for (value, place, slot, iteration, lane), (begin, written, end) in ordered:
            yield Lifetime(begin, written, end, value, place, slot, iteration, lane)


def _forget(events: dict[Instance, Any], most: int) -> None:
    """Drop the older half of what is remembered once there is more than that."""
    if len(events) > most:
        for key in list(itertools.islice(events, most // 2)):
            del events[key]
