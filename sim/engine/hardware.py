"""Issue contexts, pipes, ports and asynchronous units of one SM."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from twill.artifacts.hardware import Synchronisation
from twill.artifacts.hardware import Unit as Description
from twill.artifacts.machine import Machine
from twill.sim.engine.clock import Clock
from twill.sim.engine.conditions import Mechanism
from twill.sim.engine.work import Demand, Work


class Use(NamedTuple):
    """The cycles for which a port works for a command."""

    unit: str
    begin: float
    end: float


@dataclass(frozen=True)
class Signals:
    """Costs of signals, in cycles.

    `wait`: of a wait once it can go on. `arrive`: of issuing an arrive. `signal`: from that issue
    until the barrier shows the arrival. `poll`: from one test of a polling wait to the next.
    """

    wait: int
    arrive: int
    signal: int
    poll: int


ROUNDING = 1e-9  # parts of a whole that are binary fractions of it add up to it within this
FREE = Signals(wait=0, arrive=0, signal=0, poll=1)


class Unit:
    """A functional unit, or one context's part of it: work follows in the order of its arrival.

    From cycle `free` on the unit can start new work. Partial work may make that a fraction; `opens`
    is the whole cycle that contains it. `slowed`: units whose work slows this one down, with the
    factor. `delays`: units that each of its instructions delays, and by how many cycles. `late`:
    the delay of its own next command so far.
    """

    __slots__ = ("delays", "free", "late", "name", "opens", "shared", "slowed")

    def __init__(self, name: str, *, shared: bool = False) -> None:
        self.name, self.shared, self.free, self.opens = name, shared, 0.0, 0.0
        self.slowed: list[tuple[list[Unit], float]] = []
        self.delays: list[tuple[Unit, float]] = []
        self.late = 0.0

    def works(self, now: float) -> bool:
        """Return whether it is at work in a cycle; a pipe's next instruction may be yet to come."""
        return self.free > (now if self.shared else max(0.0, now - 1))

    def fill(self, until: float) -> None:
        """Let nothing else start before a cycle."""
        self.free = until
        self.opens = float(math.floor(until))

    def factor(self, now: float) -> float:
        """Return the factor by which the work of other units slows this one down."""
        if not self.slowed:
            return 1.0
        return math.prod(
            factor for beside, factor in self.slowed if any(one.works(now) for one in beside)
        )

    def delay(self, now: float, number: int) -> None:
        """Let instructions delay the units that are at work at the same time."""
        for unit, cycles in self.delays:
            if unit.works(now):
                unit.late += number * cycles

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


class Context:
    """An issue context of the SM: at most one warp-instruction a cycle."""

    __slots__ = ("_pipes", "free", "issued", "last", "slots")

    def __init__(self, shared: dict[str, Unit], *, limited: bool) -> None:
        self._pipes = dict(shared)
        self.slots = int(limited)  # that an instruction takes
        self.free = -math.inf  # first cycle whose issue slot is not taken
        self.issued = 0
        self.last = -1  # age of the warp that issued last

    def pipe(self, unit: str) -> Unit:
        """Return the pipe that instructions for a unit go to."""
        if unit not in self._pipes:
            self._pipes[unit] = Unit(unit)
        return self._pipes[unit]


class Hardware:
    """The parts of an SM that warps share.

    `machine`: what it is built from; without an issue unit its issue slots are not limited.
    `interference`: whether units slow each other down as the machine file says.
    """

    def __init__(
        self,
        machine: Machine,
        without: frozenset[Mechanism] = frozenset(),
        *,
        interference: bool = False,
    ) -> None:
        self.units = {
            name: Port(name)
            if unit.scope == "sm" and unit.capacity > 1
            else Unit(name, shared=unit.scope == "sm")
            for name, unit in machine.units.items()
        }
        shared = {name: unit for name, unit in self.units.items() if unit.shared}
        limited = machine.issue_unit is not None and "issue-slots" not in without
        self.contexts = [Context(shared, limited=limited) for _ in range(machine.contexts.value)]
        costs = machine.synchronisation
        # Cycles of the wait for it that the latency of an asynchronous operation includes.
        self.included_wait = costs.wait.value
        free = "synchronisation" in without
        # Of mbarriers and of asynchronous results, and of named barriers.
        self.signals = FREE if free else _signals(costs)
        self.named = FREE if free else _signals(costs.named or costs)
        pairs = (machine.interference or ()) if interference else ()
        for pair in pairs:
            beside = self._parts(machine, pair.beside)
            if pair.cycles is not None:
                for part in beside:
                    part.delays.append(
                        (self.units[pair.unit], pair.cycles.value / len(self.contexts))
                    )
                continue
            assert pair.factor is not None
            for part in self._parts(machine, pair.unit):
                part.slowed.append((beside, pair.factor.value))
        involved = {name for pair in pairs for name in (pair.unit, pair.beside)}
        self._pipes_too = any(machine.units[name].scope == "context" for name in involved)

    def _parts(self, machine: Machine, name: str) -> list[Unit]:
        """Return the unit that takes commands and, where every context has its pipe, the pipes."""
        pipes = machine.units[name].scope == "context"
        return [
            self.units[name],
            *(context.pipe(name) for context in self.contexts if pipes),
        ]

    @property
    def immediate(self) -> bool:
        """Whether an instruction on a pipe of a context matters to others in its own cycle.

        So it does where they can be woken and issue in one cycle, or are slowed, or slow others.
        """
        waits = self.signals.wait and self.named.wait
        return not waits or self._pipes_too

    def fetch(self, now: float, demands: Sequence[Demand], *, ahead: bool) -> list[Use]:
        """Let the ports that a command needs in addition to its unit work for it.

        `ahead`: whether operands are fetched as fast as the port gives them, to be there when the
        unit comes to the command, or moved at the pace of the command.
        """
        found = []
        for demand in demands:
            unit = self.units[demand.unit]
            factor = unit.factor(now)
            cycles, share = demand.cycles * factor, demand.share * factor
            if isinstance(unit, Port) and not ahead:
                begin, end = unit.stream(now, cycles, share / cycles if cycles else 0.0)
            else:
                begin = unit.accept(now, cycles, share)[0]
                end = unit.free
            found.append(Use(demand.unit, begin, end))
        return found

    def accept(self, now: float, demand: Demand, fetched: Sequence[Use]) -> tuple[float, float]:
        """Let a unit work on a command.

        The unit starts once it is free and all operands begin to arrive. The command is not done
        before all operands are there.
        """
        unit = self.units[demand.unit]
        factor = unit.factor(now)
        arrives = there = now
        for _, begin, end in fetched:
            arrives, there = max(arrives, begin), max(there, end)
        cycles, share = demand.cycles * factor + unit.late, demand.share * factor + unit.late
        unit.late = 0.0
        start, end = unit.accept(arrives, cycles, share)
        return start, max(end, there)


def _signals(costs: Synchronisation) -> Signals:
    wait = costs.wait.value
    poll = wait if costs.poll is None else costs.poll.value
    return Signals(wait, costs.arrive.value, max(0, costs.hop.value - wait), max(1, poll))


# -- asynchronous units ------------------------------------------------------------------------


@dataclass(slots=True)
class Command:
    """A command of an asynchronous operation, with the group that issued it."""

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

    `started`: called for every command that starts, with its start, its end, and the cycle from
    which the unit takes the next one. Returns the cycle at which the moved data has arrived.

    Attributes
    ----------
    blocks : bool
        Whether a full queue blocks the warp that issues to it.
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
        return math.inf if len(self._queue) >= self._depth else float(math.ceil(self._opened))

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
        """Return when enough bytes in flight have landed for a command to start."""
        if self._window == math.inf:
            return 0.0
        while self._flying and self._flying[0][0] <= self._clock.now:
            heapq.heappop(self._flying)
        flying = sum(size for _, size in self._flying)
        if not self._flying or flying + command.bytes <= self._window:
            return 0.0
        return self._flying[0][0]
