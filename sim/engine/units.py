"""Asynchronous units: queues of commands, and when each command is started."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from twill.artifacts.hardware import Unit as Description
from twill.sim.engine.events import Clock
from twill.sim.engine.hardware import Hardware, Use
from twill.sim.engine.work import Work


@dataclass(slots=True)
class Command:
    """One command of an asynchronous operation, with the group that issued it."""

    work: Work
    iteration: int
    index: int
    group: str

    @property
    def bytes(self) -> float:
        """Its part of the bytes that the operation moves."""
        return self.work.bytes / self.work.instructions


class AsynchronousUnit:
    """A unit that takes commands into a queue and starts them one after the other.

    A command starts once the unit is free and its operands begin to arrive. A unit that executes in
    order fetches the operands of the next command while it executes one; others move what they move
    while they execute it.

    `started`: told of every command that starts, with its start, its end, and the cycle from which
    the unit takes the next one; returns the cycle at which what it moves is there.

    Attributes
    ----------
    blocks : bool
        Whether a full queue blocks who issues to it.
    """

    def __init__(
        self,
        name: str,
        description: Description,
        clock: Clock,
        hardware: Hardware,
        started: Callable[[Command, float, float, float], float],
        fetched: Callable[[Command, Use], None],
    ) -> None:
        self._unit, self._clock, self._hardware = hardware.units[name], clock, hardware
        self._started, self._fetched = started, fetched
        self._ahead = description.in_order
        queue = description.queue
        self.blocks = queue is not None and queue.full == "blocks"
        self._depth = queue.depth.value if queue is not None else math.inf
        self._order = queue.order if queue is not None else "issued"
        self._window = math.inf if description.in_flight is None else description.in_flight.value
        self._flying: list[tuple[float, float]] = []
        self._queue: deque[Command] = deque()
        self._last: Command | None = None
        self._next_one: tuple[Command, list[Use]] | None = None
        self._opened = 0.0

    @property
    def room(self) -> float:
        """The cycle from which a further command fits into the queue, infinite while it is full."""
        return math.inf if len(self._queue) >= self._depth else math.ceil(self._opened)

    def take(self, command: Command) -> None:
        """Take a command."""
        self._queue.append(command)
        if len(self._queue) > 1:
            return
        if self._unit.free <= self._clock.now:
            self._start()
        else:
            self._fetch_ahead()
            self._clock.at(self._unit.free, self._start)

    def _start(self) -> None:
        """Start the next command; the unit is free."""
        now = self._clock.now
        if self._next_one is None:
            command = self._queue[self._next()]
            landing = self._landing(command)
            if landing > now:
                self._clock.at(landing, self._start)
                return
            self._next_one = command, self._fetch(command)
        command, uses = self._next_one
        self._next_one = None
        self._queue.remove(command)
        self._last, self._opened = command, now
        start, end = self._hardware.accept(now, command.work.demands[0], uses)
        if self._ahead and end > self._unit.free:
            self._unit.fill(end)
        done = self._started(command, start, end, self._unit.free)
        if self._window < math.inf:
            heapq.heappush(self._flying, (done, command.bytes))
        if self._queue:
            self._fetch_ahead()
            self._clock.at(self._unit.free, self._start)

    def _fetch_ahead(self) -> None:
        """Fetch the operands of the command that comes next while another one is executed."""
        command = self._queue[self._next()]
        if self._ahead and self._window == math.inf and command.work.demands[1:]:
            self._next_one = command, self._fetch(command)

    def _fetch(self, command: Command) -> list[Use]:
        demands = command.work.demands[1:]
        if not demands:
            return []
        uses = self._hardware.fetch(self._clock.now, demands, ahead=self._ahead)
        for use in uses:
            self._fetched(command, use)
        return uses

    def _next(self) -> int:
        """Return which command of the queue the unit takes."""
        last = self._last
        if self._order == "issued" or last is None:
            return 0
        for position, command in enumerate(self._queue):
            same = (command.work.name, command.iteration) == (last.work.name, last.iteration)
            if same if self._order == "operation" else command.group != last.group:
                return position
        return 0

    def _landing(self, command: Command) -> float:
        """Return when enough of what is in flight has landed for a command to start."""
        if self._window == math.inf:
            return 0.0
        while self._flying and self._flying[0][0] <= self._clock.now:
            heapq.heappop(self._flying)
        flying = sum(size for _, size in self._flying)
        if not self._flying or flying + command.bytes <= self._window:
            return 0.0
        return self._flying[0][0]
