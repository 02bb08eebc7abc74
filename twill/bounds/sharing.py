"""What registers allow at every moment, whichever operations share warp groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property

from twill.artifacts.hardware import Registers
from twill.artifacts.loop import Dependence, Loop
from twill.artifacts.machine import Machine
from twill.artifacts.pieces import pieces
from twill.bounds.dataflow import Dataflow, launched
from twill.bounds.work import Argument, Executed
from twill.problem import rules

MOST_OPERATIONS = 8  # that share groups in all ways there are: 4140
LEAST_PART = Fraction(1, 16)  # of the registers of a thread, in a result that counts
Group = frozenset[str]


class Sharing:
    """All ways for the operations with the largest results in registers to share warp groups.

    What is read piece by piece, is of variable latency or of fewer warps than share an allocation
    of registers does not count.
    """

    def __init__(
        self, loop: Loop, machine: Machine, executed: Mapping[str, Executed], dataflow: Dataflow
    ) -> None:
        self.machine, self.executed, self.dataflow = machine, executed, dataflow
        self.registers = {
            o.name: o.result.registers_each(machine.threads(o.warps))
            if o.result is not None and o.result.memory == "registers"
            else 0
            for o in loop.operations
        }
        taken = (rules.taken_over(loop, self.registers, name) for name in self.registers)
        self._taken = [read for read in taken if read is not None]
        self.loads = any(one.cost.variable_latency for one in executed.values())
        apart = pieces(loop)
        counting = [
            name
            for name, registers in self.registers.items()
            if registers >= LEAST_PART * self.limit and name not in apart and self._fills_sets(name)
        ]
        largest = sorted(counting, key=lambda name: -self.registers[name])[:MOST_OPERATIONS]
        self.names = tuple(name for name in counting if name in largest)

    def _fills_sets(self, name: str) -> bool:
        """Return whether whole sets of warps, with no others, have a result."""
        one = self.executed[name]
        whole = one.operation.warps % self.file.warps.value == 0
        return whole and not one.cost.variable_latency

    def operands(self, name: str) -> list[Dependence]:
        """Return what an operation reads of the results that count."""
        return [d for d in self.dataflow.data if d.consumer == name and d.producer in self.names]

    def takes_over(self, read: Dependence) -> bool:
        """Return whether the reader's result has the registers of what it reads."""
        return read.in_place or any(read is one for one in self._taken)

    @cached_property
    def circles(self) -> list[tuple[Group, int]]:
        """Results that take over from each other in a circle, and its iterations."""
        found = []
        for first in self.names:
            ways: list[tuple[str, Group, int]] = [(first, frozenset([first]), 0)]
            while ways:
                last, members, distance = ways.pop()
                for d in self.dataflow.readers(last):
                    if d.consumer not in self.names or not self.takes_over(d):
                        continue
                    over = distance + d.distance
                    if d.consumer == first:
                        found.append((members, over))
                    elif d.consumer not in members:
                        ways.append((d.consumer, members | {d.consumer}, over))
        return found

    def argument(self, least: Fraction) -> Argument | None:
        """Return an interval above `least` that none of the ways allows to be below.

        `least`: an interval that no program is below, that of recurrences or more.
        """
        low, high = math.ceil(least), self._longest
        if not self.names or self.way(low) is not None or self.way(high) is None:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.way(middle) is None else (low, middle)
        said = "; ".join(
            ", ".join(name for name in self.names if name in group)
            for group in self.way(high) or ()
        )
        return Argument("registers of groups", self.names, {said: low})

    @property
    def _longest(self) -> int:
        """An interval in which one operation could come after the other."""
        costs = (one.cost for one in self.executed.values())
        return sum(math.ceil(c.latency + c.issue + c.transfer) for c in costs) * 2 + 1

    def way(self, interval: int) -> tuple[Group, ...] | None:
        """Return a way that an interval is not known to be too short for, None without one."""
        at = _AtInterval(self, Fraction(interval))
        return next((way for way in _ways(self.names) if at.allows(way)), None)

    @cached_property
    def file(self) -> Registers:
        """The register file."""
        assert self.machine.registers is not None
        return self.machine.registers

    @property
    def limit(self) -> int:
        """Registers per thread that values can have."""
        file = self.file
        return min(file.limit.value, file.most.value) - math.ceil(file.reserve.value)

    def allocated(self, live: int) -> int:
        """Return the registers per thread of a group's allocation that holds so many values."""
        file = self.file
        step = file.step.value
        needed = -(-(live + math.ceil(file.reserve.value)) // step) * step
        return max(file.least.value, needed)

    @cached_property
    def rooms(self) -> list[int]:
        """Registers per thread that so many sets of warps have together, from none on.

        A launch with more of them may get more; these take the least that a group can have.
        """
        file = self.file
        most = self.machine.warps.value // file.warps.value
        found = [0, *(launched(self.machine, file, sets) for sets in range(1, most + 1))]
        for sets in range(most - 1, 0, -1):
            found[sets] = max(found[sets], found[sets + 1] - file.least.value)
        return found


class _AtInterval:
    """Whether ways to share groups are possible at an interval."""

    def __init__(self, sharing: Sharing, interval: Fraction) -> None:
        self._of, self._interval = sharing, interval
        self._paths = {n: sharing.dataflow.paths(n, interval) for n in sharing.names}
        self._live: dict[Group, int | None] = {}

    def allows(self, way: tuple[Group, ...]) -> bool:
        """Return whether neither registers nor dependences exclude a way."""
        width = self._of.file.warps.value
        taken = sets = 0
        for group in way:
            if group not in self._live:
                self._live[group] = self._needed(group)
            if (live := self._live[group]) is None:
                return False
            warps = max(self._of.executed[name].operation.warps for name in group)
            sets += -(-warps // width)
            taken += -(-warps // width) * self._of.allocated(live)
        if self._of.loads:
            sets, taken = sets + 1, taken + self._of.file.least.value
        rooms = self._of.rooms
        fits = sets < len(rooms) and taken <= rooms[sets]
        return fits and self._keeps_up(way)

    def _keeps_up(self, way: tuple[Group, ...]) -> bool:
        """Return whether the recurrences, with transfers between groups, take no longer."""
        home = {name: group for group in way for name in group}
        arcs = [
            arc._replace(cycles=arc.cycles + self._of.executed[arc.producer].cost.transfer)
            if {arc.producer, arc.consumer} <= home.keys()
            and home[arc.producer] != home[arc.consumer]
            else arc
            for arc in self._of.dataflow.arcs
        ]
        return not self._of.dataflow.too_long(self._interval, arcs)

    def _needed(self, group: Group) -> int | None:
        """Return the registers that are live at once in a group, None if that cannot be.

        Of results that take more than half of what the group has for them one is there at a time.
        """
        of, registers = self._of, self._of.registers
        updated: set[str] = set()
        always = 0
        for members, times in of.circles:
            if members <= group and not members & updated:
                always += times * min(registers[name] for name in members)
                updated |= members
        free = of.limit - always
        most, cycles = 0, Fraction(0)
        for name in group:
            read = [d for d in of.operands(name) if d.producer not in updated | {name}]
            over = [registers[d.producer] for d in read if of.takes_over(d)]
            beside = sum(registers[d.producer] for d in read if not of.takes_over(d))
            own = 0 if name in updated else registers[name]
            most = max(most, beside + (max([own, *over]) if own else 0))
            if 2 * own > free:
                cycles += self._life(name, group, updated, free)
            for d in read:
                if d.producer not in group and 2 * registers[d.producer] > free:
                    cycles += self._copied(d, free)
        if most > free or cycles > self._interval:
            return None
        return always + most

    def _copied(self, read: Dependence, free: int) -> Fraction:
        """Return how long a copy of a value from another group is there for a reader."""
        transfer = self._of.executed[read.producer].cost.transfer
        return transfer - transfer // 2 + (self._held(read, free) or Fraction(0))

    def _held(self, read: Dependence, free: int) -> Fraction | None:
        """Return how long a reader has the registers of what it reads, from its start on.

        None if they may be another's before it starts: where its own result, which takes them
        over, does not stand for them.
        """
        one = self._of.executed[read.consumer]
        if not self._of.takes_over(read):
            return one.reading if one.cost.asynchronous else one.issuing
        if 2 * self._of.registers[read.consumer] > free:
            return Fraction(0)
        return None if read.in_place else one.issuing

    def _life(self, name: str, group: Group, updated: set[str], free: int) -> Fraction:
        """Return how long a result is in its group's registers at least.

        Until it can be read, and then until the group's own readers have read it.
        """
        dataflow = self._of.dataflow
        readers = [d for d in dataflow.readers(name) if not dataflow.is_chained(d)]
        over = [d.consumer for d in dataflow.readers(name) if self._of.takes_over(d)]
        several = any(
            sum(self._of.takes_over(d) for d in dataflow.data if d.consumer == reader) > 1
            for reader in over
        )
        if not readers or several or updated.intersection(over):
            return Fraction(0)
        ends = [dataflow.making[name]]
        for d in readers:
            if d.consumer in group and (held := self._held(d, free)) is not None:
                path = self._paths[name][d.consumer]
                later = path.distance - d.distance
                ends.append(path.cycles - later * self._interval + held)
        return max(ends)


def _ways(names: tuple[str, ...]) -> Iterator[tuple[Group, ...]]:
    """Yield all ways to divide operations among groups."""
    if not names:
        yield ()
        return
    for way in _ways(names[:-1]):
        last = names[-1]
        for place, group in enumerate(way):
            yield (*way[:place], group | {last}, *way[place + 1 :])
        yield (*way, frozenset([last]))
