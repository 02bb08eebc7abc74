"""What passing values on takes in every program: recurrences, memory and registers over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from twill.artifacts.hardware import Registers
from twill.artifacts.loop import Dependence, Loop, Operation
from twill.artifacts.machine import Machine
from twill.bounds.work import Argument, Executed, Reason, uneven_units


class Arc(NamedTuple):
    """The consumer starts no earlier than `cycles` after the producer of `distance` before."""

    producer: str
    consumer: str
    distance: int
    cycles: Fraction


class _Path(NamedTuple):
    """The longest of the ways from one operation to another."""

    cycles: Fraction
    distance: int


class Dataflow:
    """The dependences that the simulator knows: those of data."""

    def __init__(self, loop: Loop, machine: Machine, executed: Mapping[str, Executed]) -> None:
        self._loop, self._machine, self._executed = loop, machine, executed
        self.data = [d for d in loop.dependences if d.kind == "data"]
        waits = _waits(machine, executed.values())
        self.making = {name: one.completing + waits[name] for name, one in executed.items()}
        self.arcs = [Arc(d.producer, d.consumer, d.distance, self._least(d)) for d in self.data]

    def _least(self, dependence: Dependence) -> Fraction:
        """Return the cycles from a value's start to its reader's, at least.

        An accumulation on the in-order unit that makes the value follows its first command.
        """
        maker = self._executed[dependence.producer]
        if self.is_chained(dependence):
            return maker.share(maker.demands[0]) / maker.commands
        return self.making[maker.name]

    def is_chained(self, dependence: Dependence) -> bool:
        """Return whether a value need not be complete for its reader to start."""
        ends = [self._executed[n].cost for n in (dependence.producer, dependence.consumer)]
        units = {cost.steps[0].unit for cost in ends}
        return (
            dependence.in_place
            and all(cost.asynchronous for cost in ends)
            and len(units) == 1
            and self._machine.units[units.pop()].in_order
        )

    # -- recurrences --------------------------------------------------------------------------

    @cached_property
    def recurrence(self) -> Argument | None:
        """The recurrence with the most cycles an iteration, None without one."""
        found: Argument | None = None
        while arcs := self.too_long(found.cycles if found else Fraction(0), self.arcs):
            figures = {arc.producer: arc.cycles for arc in arcs}
            over = sum(arc.distance for arc in arcs)
            found = Argument("recurrence", tuple(figures), figures, over)
        return found

    def too_long(self, interval: Fraction, arcs: Sequence[Arc]) -> list[Arc]:
        """Return a cycle of arcs that takes longer than an interval for each iteration."""
        begin = dict.fromkeys(self._executed, Fraction(0))
        before: dict[str, Arc] = {}
        changed = ""
        for _ in range(len(begin) + 1):
            changed = ""
            for arc in arcs:
                after = begin[arc.producer] + arc.cycles - arc.distance * interval
                if after > begin[arc.consumer]:
                    begin[arc.consumer], before[arc.consumer] = after, arc
                    changed = arc.consumer
            if not changed:
                return []
        for _ in range(len(begin)):
            changed = before[changed].producer
        cycle = [before[changed]]
        while cycle[-1].producer != changed:
            cycle.append(before[cycle[-1].producer])
        first = min(cycle, key=lambda arc: list(begin).index(arc.producer))
        place = cycle.index(first) + 1
        return (cycle[place:] + cycle[:place])[::-1]

    def paths(self, source: str, interval: Fraction) -> dict[str, _Path]:
        """Return the longest path from an operation to each that it reaches, at an interval."""
        found = {source: _Path(Fraction(0), 0)}
        changed = True
        while changed:
            changed = False
            for arc in self.arcs:
                if (path := found.get(arc.producer)) is None:
                    continue
                new = _Path(path.cycles + arc.cycles, path.distance + arc.distance)
                old = found.get(arc.consumer)
                longer = old is None or (
                    new.cycles - new.distance * interval > old.cycles - old.distance * interval
                )
                if longer:
                    found[arc.consumer], changed = new, True
        return found

    # -- residence ----------------------------------------------------------------------------

    def residences(self) -> Iterator[Argument]:
        """Yield what memories and registers need for the values that are there."""
        machine, loop = self._machine, self._loop
        for name, memory in machine.memories.by_name.items():
            fixed = sum(memory.footprint(i.tile) for i in loop.invariants if i.tile.memory == name)
            sizes = {
                o.name: memory.footprint(o.result)
                for o in loop.operations
                if o.result is not None and o.result.memory == name
            }
            yield from self._fitting("memory", name, sizes, memory.room - fixed, self._in_memory)
        if machine.registers is not None:
            each = {o.name: self._registers(o) for o in loop.operations}
            sizes = {name: size for name, size in each.items() if size}
            room = _room(machine, machine.registers) - self._pinned()
            yield from self._fitting("registers", "registers", sizes, room, self._in_registers)

    def _fitting(
        self,
        reason: Reason,
        of: str,
        sizes: Mapping[str, int],
        room: int,
        residence: Callable[[str, Fraction], _Path],
    ) -> Iterator[Argument]:
        """Yield the interval in which what values take, times how long, has room, if there is one.

        `residence`: cycles for which a value is there at least, and intervals less than that.
        """
        updated = [
            (cycle, times)
            for cycle, times in self._updated(sizes)
            if reason == "memory" or len(cycle) == 1
        ]
        members = {name for cycle, _ in updated for name in cycle}
        room -= sum(min(sizes[name] for name in cycle) * times for cycle, times in updated)
        interval = self.recurrence.cycles if self.recurrence else Fraction(0)
        while True:
            figures: dict[str, Fraction] = {}
            free = room
            for name in sizes.keys() - members:
                path = residence(name, interval)
                if path.cycles - path.distance * interval > 0:
                    figures[name] = sizes[name] * path.cycles
                    free += sizes[name] * path.distance
            if free <= 0 or not any(figures.values()):
                return
            figures = {name: figures[name] for name in sizes if figures.get(name)}
            found = Argument(reason, (of,), figures, free)
            if found.cycles <= interval:
                yield found
                return
            interval = found.cycles

    def _updated(self, values: Iterable[str]) -> Iterator[tuple[list[str], int]]:
        """Yield values that are updated in place in a circle, and the iterations that it spans.

        One of them is there all the time for each iteration of these; in registers only what an
        operation updates itself, since others may be sent through memory.
        """
        following = {
            d.producer: (d.consumer, d.distance)
            for d in self.data
            if d.in_place and {d.producer, d.consumer} <= set(values)
        }
        seen: set[str] = set()
        for first in following:
            way, at = {first: 0}, first
            while at in following and at not in seen:
                seen.add(at)
                at, distance = following[at][0], way[at] + following[at][1]
                if at in way:
                    circle = list(way)[list(way).index(at) :]
                    yield circle, distance - way[at]
                    break
                way[at] = distance

    def readers(self, value: str) -> list[Dependence]:
        """Return the dependences by which a value is read."""
        return [d for d in self.data if d.producer == value]

    def _in_memory(self, value: str, interval: Fraction) -> _Path:
        """Return how long a value is in memory: from the begin of its write until it was read.

        Who updates it in place has its memory from then on.
        """
        paths = self.paths(value, interval)
        ends = []
        for d in self.readers(value):
            path = paths[d.consumer]
            reads = Fraction(0) if d.in_place else self._executed[d.consumer].reading
            ends.append(_Path(path.cycles + reads, path.distance - d.distance))
        return max(
            ends, key=lambda p: p.cycles - p.distance * interval, default=_Path(Fraction(0), 0)
        )

    def _in_registers(self, value: str, _interval: Fraction) -> _Path:
        """Return how long a value is in registers: until it can be read, or sent to others.

        Asynchronous readers hold it, or the copy that was sent, until they have read it.
        """
        readers = [d for d in self.readers(value) if not self.is_chained(d)]
        held = [
            self._executed[d.consumer].reading
            for d in readers
            if self._executed[d.consumer].cost.asynchronous and not d.in_place
        ]
        made = self.making[value] if readers else Fraction(0)
        return _Path(made + max(held, default=Fraction(0)), 0)

    def _registers(self, operation: Operation) -> int:
        """Return the registers of a result in all threads of the warps that it is read by."""
        tile = operation.result
        if tile is None or tile.memory != "registers":
            return 0
        read = [self._executed[d.consumer].operation.warps for d in self.readers(operation.name)]
        warps = min(operation.warps, max(read, default=0))
        each = tile.registers_each(self._machine.threads(operation.warps))
        return each * self._machine.threads(warps)

    def _pinned(self) -> int:
        """Return the registers of invariants, each on one of the groups that use it."""
        return sum(
            i.tile.registers_each(self._machine.threads(warps)) * self._machine.threads(warps)
            for i in self._loop.invariants
            if i.tile.memory == "registers" and i.used_by
            for warps in [max(self._executed[name].operation.warps for name in i.used_by)]
        )


def _room(machine: Machine, registers: Registers) -> int:
    """Return the registers that values can have, whatever the number of groups.

    Each set of warps with one allocation keeps some for itself.
    """
    threads = machine.threads(registers.warps.value)
    limit = min(registers.limit.value, registers.most.value)
    found = []
    for sets in range(1, machine.warps.value // registers.warps.value + 1):
        reserve = math.ceil(sets * registers.reserve.value)
        found.append(min(sets * limit, launched(machine, registers, sets)) - reserve)
    return threads * max(found, default=0)


def launched(machine: Machine, registers: Registers, sets: int) -> int:
    """Return the registers per thread that a launch of so many sets of warps gets in all."""
    pool = registers.file.value // machine.threads(registers.warps.value)
    if registers.launch is None:
        return pool
    step = registers.launch.value
    return sets * min(pool // sets // step * step, registers.most.value)


def _waits(machine: Machine, executed: Collection[Executed]) -> dict[str, int]:
    """Return what somebody pays for a wait, from each operation's end until its result is read.

    It is paid from the whole cycle on in which what it waits for happens. Where several operations
    are on an in-order unit the wait for another one may stand for it, at any time.
    """
    costs = machine.synchronisation
    wait = min(costs.wait.value, (costs.named or costs).wait.value)
    uneven = uneven_units(executed, machine)
    users = Counter(
        d.unit for one in executed for d in one.demands if machine.units[d.unit].in_order
    )
    return {
        one.name: max(0, wait - any(d.unit in uneven for d in one.demands))
        if one.demands and all(users[d.unit] < 2 for d in one.demands)
        else 0
        for one in executed
    }
