"""Issue contexts, pipes, units and the register file of one SM."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from twill.artifacts.hardware import Synchronisation
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.sim.engine import Mechanism
from twill.sim.engine.events import SimulationError


@dataclass(frozen=True)
class Demand:
    """What one command takes of a unit: cycles, and those for which nothing else starts on it."""

    unit: str
    cycles: float
    share: float


class Use(NamedTuple):
    """The cycles for which a port works for a command."""

    unit: str
    begin: float
    end: float


@dataclass(frozen=True)
class Signals:
    """Costs of signals, in cycles.

    `wait` is that of a wait once it can go on, `arrive` of issuing an arrive, `signal` from then
    until its barrier shows it, `poll` from one test of a polling wait to the next.
    """

    wait: int
    arrive: int
    signal: int
    poll: int


ROUNDING = 1e-9
"""Parts of a whole that are binary fractions of it add up to it within this."""
FREE = Signals(wait=0, arrive=0, signal=0, poll=1)


class Unit:
    """A functional unit, or one context's part of it: work follows in the order of its arrival.

    From cycle `free` on it can start on something; filled part by part that may be a fraction, and
    `opens` is the whole cycle in which it is.
    """

    __slots__ = ("free", "name", "opens", "shared")

    def __init__(self, name: str, *, shared: bool = False) -> None:
        self.name, self.shared, self.free, self.opens = name, shared, 0.0, 0

    def works(self, now: float) -> bool:
        """Return whether it is at work in a cycle; a pipe's next instruction may be yet to come."""
        return self.free > (now if self.shared else max(0.0, now - 1))

    def fill(self, until: float) -> None:
        """Let nothing else start before a cycle."""
        self.free = until
        self.opens = int(until)

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
            if sum(taken for _, taken in self._streams) + part <= 1 + ROUNDING:
                break
            start = end
            self._forget(start)
        self._streams.append((start + duration, part))
        return start, start + duration

    def _after(self, start: float, share: float) -> float:
        """Return when work that begins at `start` is done beside the streams."""
        self._forget(start)
        for end, _ in sorted(self._streams):
            left = 1 - sum(part for until, part in self._streams if until >= end)
            if share <= left * (end - start):
                return start + share / left
            share -= max(0.0, left) * (end - start)
            start = end
        return start + share

    def _forget(self, now: float) -> None:
        self._streams = [(end, part) for end, part in self._streams if end > now]


class Context:
    """One of the SM's issue contexts: at most one warp-instruction a cycle.

    Attributes
    ----------
    free : float
        First cycle whose issue slot is not taken.
    slots : int
        Issue slots that an instruction takes: 1, or 0 where they are not limited.
    last : int
        Age of the warp that issued last.
    """

    __slots__ = ("_pipes", "free", "issued", "last", "slots")

    def __init__(self, shared: dict[str, Unit], *, limited: bool) -> None:
        self._pipes = dict(shared)
        self.slots = int(limited)
        self.free = -math.inf
        self.issued = 0
        self.last = -1

    def pipe(self, unit: str) -> Unit:
        """Return the pipe that instructions for a unit go to."""
        if unit not in self._pipes:
            self._pipes[unit] = Unit(unit)
        return self._pipes[unit]


class Hardware:
    """The parts of an SM that warps share.

    `machine`: what it is built from; without an issue unit its issue slots are not limited.
    `interference`: whether units slow each other down as the machine file says.

    Attributes
    ----------
    signals, named : Signals
        Costs of mbarriers and of asynchronous results, and of named barriers.
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
        self.included_wait = costs.wait.value
        """Cycles of the wait for it that the latency of an asynchronous operation includes."""
        free = "synchronisation" in without
        self.signals = FREE if free else _signals(costs)
        self.named = FREE if free else _signals(costs.named or costs)
        self._slowed: dict[str, list[tuple[list[Unit], float]]] = defaultdict(list)
        for pair in (machine.interference or ()) if interference else ():
            beside = [self.units[pair.beside]]
            if machine.units[pair.beside].scope == "context":
                beside += [context.pipe(pair.beside) for context in self.contexts]
            self._slowed[pair.unit].append((beside, pair.factor.value))

    def fetch(self, now: float, demands: Sequence[Demand], *, ahead: bool) -> list[Use]:
        """Let the ports that a command needs beside its unit work for it.

        `ahead`: whether operands are fetched as fast as the port gives them, to be there when the
        unit comes to the command, or moved at the pace of the command.
        """
        found = []
        for demand in demands:
            unit, factor = self.units[demand.unit], self._factor(demand.unit, now)
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

        It starts once it is free and all operands begin to arrive, and is not done before they are
        all there.
        """
        unit, factor = self.units[demand.unit], self._factor(demand.unit, now)
        arrives = there = now
        for _, begin, end in fetched:
            arrives, there = max(arrives, begin), max(there, end)
        start, end = unit.accept(arrives, demand.cycles * factor, demand.share * factor)
        return start, max(end, there)

    def _factor(self, unit: str, start: float) -> float:
        """Return by what a command takes longer because of what other units are doing."""
        slowed = self._slowed.get(unit)
        if slowed is None:
            return 1.0
        return math.prod(
            factor for beside, factor in slowed if any(one.works(start) for one in beside)
        )


def _signals(costs: Synchronisation) -> Signals:
    wait = costs.wait.value
    poll = wait if costs.poll is None else costs.poll.value
    return Signals(wait, costs.arrive.value, max(0, costs.hop.value - wait), max(1, poll))


# -- registers --------------------------------------------------------------------------------


def set_registers(schedule: Schedule) -> None:
    """Let every group take the registers it asks for (``setmaxnreg``); those that shrink go first.

    Nobody gives registers back later, so that a group that does not get them now never will.

    `schedule`: with registers per thread; where one group names none, none is set.

    Raises
    ------
    SimulationError
        If a group waits for registers for ever.
    """
    registers = schedule.machine.registers
    if registers is None or any(group.registers is None for group in schedule.groups):
        return
    threads = schedule.machine.threads(registers.warps.value)
    sets = sorted(_sets(schedule, registers.warps.value))
    launched = left = pool(schedule)
    for asked, names in sets:
        if asked * threads > left:
            raise SimulationError(
                "deadlock",
                f"at cycle 0 {' and '.join(names)} wait at setmaxnreg for {asked} registers per "
                f"thread, {asked * threads} in all; {left} of {launched} are left",
            )
        left -= asked * threads


def pool(schedule: Schedule) -> int:
    """Return the registers that a launch gives to all groups together.

    Every thread is launched with the same; groups of fewer warps than share an allocation are
    filled up with idle warps to whole sets of them.
    """
    registers = schedule.machine.registers
    assert registers is not None
    width = registers.warps.value
    threads = schedule.machine.threads(width) * len(_sets(schedule, width))
    if registers.launch is None or not threads:
        return registers.file.value
    step = registers.launch.value
    each = registers.file.value // threads // step * step
    return threads * min(each, registers.most.value)


def _sets(schedule: Schedule, width: int) -> list[tuple[int, tuple[str, ...]]]:
    """Return registers per thread and groups of every set of warps with one allocation.

    Groups that are narrower than a set share one, with as much as the greediest of them asks for.
    """
    found: list[tuple[int, tuple[str, ...]]] = []
    narrow = sorted(
        (group for group in schedule.groups if group.warps % width),
        key=lambda group: -(group.registers or 0),
    )
    for group in schedule.groups:
        found += [(group.registers or 0, (group.name,))] * (group.warps // width)
    for first in range(0, len(narrow), width):
        shared = narrow[first : first + width]
        found.append((shared[0].registers or 0, tuple(group.name for group in shared)))
    return found
