"""Issue contexts, pipes, ports and asynchronous units of one SM."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from twill.artifacts.hardware import Synchronisation
from twill.artifacts.hardware import Unit as Description
from twill.artifacts.machine import Machine
from twill.artifacts.mechanisms import Mechanisms
from twill.sim.engine.clock import Clock
from twill.sim.engine.conditions import Mechanism
from twill.sim.engine.shares import RegisterSlots, SharedPort
from twill.sim.engine.units import Port, Unit
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
    `group`: the barrier of a group's warps before its arrive.
    """

    wait: int
    arrive: int
    signal: int
    poll: int
    group: int = 0


FREE = Signals(wait=0, arrive=0, signal=0, poll=1)


class Context:
    """An issue context of the SM: at most one warp-instruction a cycle."""

    __slots__ = ("_pipes", "free", "issued", "last", "port", "registers", "slots")

    def __init__(self, shared: dict[str, Unit], *, limited: bool) -> None:
        self._pipes = dict(shared)
        self.registers: RegisterSlots | None = None
        self.port: SharedPort | None = None
        self.slots = int(limited)  # that an instruction takes
        self.free = -math.inf  # first cycle whose issue slot is not taken
        self.issued = 0
        self.last = -1  # age of the warp that issued last

    @property
    def shared(self) -> bool:
        """Whether instructions share with products."""
        return self.registers is not None or self.port is not None

    def interval(self, now: float, pipe: str, stands_for: int, interval: float) -> float:
        """Return the interval of an instruction, during products or not.

        `interval`: without products.
        """
        if self.registers is not None:
            interval = self.registers.interval(now, pipe, stands_for, interval)
        if self.port is not None and pipe == self.port.shuffles:
            interval += self.port.shuffle(now, stands_for)
        return interval

    def pipe(self, unit: str) -> Unit:
        """Return the pipe that instructions for a unit go to."""
        if unit not in self._pipes:
            self._pipes[unit] = Unit(unit)
        return self._pipes[unit]


class Hardware:
    """The parts of an SM that warps share.

    `machine`: what it is built from; without an issue unit its issue slots are not limited.

    Attributes
    ----------
    port : SharedPort, optional
        The port of shared memory, where the machine says what products leave of it.
    fence : int
        Cycles of a proxy fence.
    """

    def __init__(self, machine: Machine, without: frozenset[Mechanism] = frozenset()) -> None:
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
        self.wait = self.signals.wait  # of asynchronous results
        self.fence = 0
        self.port: SharedPort | None = None
        if machine.mechanisms is not None:
            self._add(machine, machine.mechanisms, without)

    def _add(self, machine: Machine, mechanisms: Mechanisms, without: frozenset[Mechanism]) -> None:
        """Add mechanisms that the static model leaves out."""
        slots, port, costs = mechanisms.registers, mechanisms.port, mechanisms.hand_overs
        if slots is not None and "register-slots" not in without:
            for context in self.contexts:
                product = self.units[slots.unit]
                context.registers = RegisterSlots(slots, product, len(self.contexts))
        if port is not None and not without & {"memory-port", "shared-ports"}:
            unit = self.units[port.unit]
            assert isinstance(unit, Port)
            capacity = machine.units[port.unit].capacity
            self.port = SharedPort(port, unit, self.units[port.products], capacity)
            for context in self.contexts:
                context.port = self.port
        if costs is not None and not without & {"hand-overs", "synchronisation"}:
            wait, hop = costs.wait.value, costs.hop.value
            self.signals = replace(
                self.signals, wait=wait, signal=max(0, hop - wait), group=costs.group.value
            )
            self.fence = costs.fence.value

    @property
    def immediate(self) -> bool:
        """Whether an instruction on a pipe of a context matters to others in its own cycle.

        So it does where they can be woken and issue in one cycle, or delay products.
        """
        waits = self.signals.wait and self.named.wait and self.wait
        return not waits or self.contexts[0].registers is not None

    def fetch(self, now: float, demands: Sequence[Demand], *, ahead: bool) -> list[Use]:
        """Let the ports that a command needs in addition to its unit work for it.

        `ahead`: whether operands are fetched as fast as the port gives them, to be there when the
        unit comes to the command, or moved at the pace of the command.
        """
        found = []
        for demand in demands:
            unit = self.units[demand.unit]
            cycles, share = demand.cycles, demand.share
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
        arrives = there = now
        for _, begin, end in fetched:
            arrives, there = max(arrives, begin), max(there, end)
        cycles, share = demand.cycles + unit.late, demand.share + unit.late
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
        self.blocks = description.queue is not None
        self._depth = math.inf if description.queue is None else description.queue.depth.value
        self._window = math.inf if description.in_flight is None else description.in_flight.value
        self._flying: list[tuple[float, float]] = []
        self._queue: deque[Command] = deque()
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
            command = self._queue[0]
            landing = self._landing(command)
            if landing > now:
                self._clock.at(landing, self._start)
                return
            self._next_one = command, self._fetch(command)
        command, uses = self._next_one
        self._next_one = None
        self._unit.fetches = command.work.fetches
        self._queue.popleft()
        self._opened = now
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
        command = self._queue[0]
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
