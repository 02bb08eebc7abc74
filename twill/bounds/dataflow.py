"""Costs of passing values on in every program: recurrences, memory and registers over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import NamedTuple

from twill.artifacts.bound import Rule
from twill.artifacts.hardware import Registers
from twill.artifacts.loop import Dependence, Loop, Operation
from twill.artifacts.machine import Machine
from twill.bounds.arguments import Argument, Inequality, Reason, alone
from twill.bounds.work import Executed, uneven_units


class Arc(NamedTuple):
    """The consumer starts no earlier than `cycles` after the producer of `distance` before."""

    producer: str
    consumer: str
    distance: int
    cycles: Fraction
    dependence: int  # position in the loop

    def inequality(self, *, transfer: bool = False) -> Inequality:
        """Return what the arc says of the starts of its ends."""
        ends = (self.producer, self.consumer)
        terms = _between(*ends)
        rule: Rule = "transfer" if transfer else "delay"
        return Inequality(rule, ends, self.cycles, self.distance, terms, self.dependence)


class Path(NamedTuple):
    """The longest of the ways from one operation to another, or the time a value is kept by it."""

    # The time is `cycles` less `distance` intervals.
    cycles: Fraction
    distance: int
    proof: tuple[Inequality, ...] = ()  # inequalities whose sum says that it is no shorter

    def after(self, interval: Fraction) -> Fraction:
        """Return the time at an interval."""
        return self.cycles - self.distance * interval


def _between(producer: str, consumer: str) -> tuple[tuple[str, int], ...]:
    """Return the terms of the time from the start of one operation to that of another."""
    return (f"start of {consumer}", 1), (f"start of {producer}", -1)


class Dataflow:
    """The dependences that the simulator knows: those of data."""

    def __init__(self, loop: Loop, machine: Machine, executed: Mapping[str, Executed]) -> None:
        self._loop, self._machine, self._executed = loop, machine, executed
        self.data = [d for d in loop.dependences if d.kind == "data"]
        waits = _waits(machine, executed.values())
        self.making = {name: one.completing + waits[name] for name, one in executed.items()}
        self.arcs = [
            Arc(d.producer, d.consumer, d.distance, self._least(d), position)
            for position, d in enumerate(loop.dependences)
            if d.kind == "data"
        ]

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
            proof = alone((arc.inequality(), 1) for arc in arcs)
            found = Argument("recurrence", tuple(figures), figures, over, proof)
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

    def paths(self, source: str, interval: Fraction) -> dict[str, Path]:
        """Return the longest path from an operation to each that it reaches, at an interval."""
        found = {source: Path(Fraction(0), 0)}
        changed = True
        while changed:
            changed = False
            for arc in self.arcs:
                if (path := found.get(arc.producer)) is None:
                    continue
                new = Path(path.cycles + arc.cycles, path.distance + arc.distance)
                old = found.get(arc.consumer)
                if old is None or new.after(interval) > old.after(interval):
                    proof = (*path.proof, arc.inequality())
                    found[arc.consumer], changed = new._replace(proof=proof), True
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
            in_memory = partial(self._in_memory, name)
            yield from self._fitting("memory", name, sizes, memory.room - fixed, in_memory)
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
        residence: Callable[[str, Fraction], Path],
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
            kept = {name: residence(name, interval) for name in sizes if name not in members}
            kept = {name: path for name, path in kept.items() if path.after(interval) > 0}
            free = room + sum(sizes[name] * path.distance for name, path in kept.items())
            if free <= 0 or not any(path.cycles for path in kept.values()):
                return
            terms = tuple((f"{name} in {of}", -sizes[name]) for name in kept)
            fits = Inequality("room", (of, *kept), intervals=room, terms=terms)
            proofs = ((proof, sizes[name]) for name in kept for proof in kept[name].proof)
            figures = {n: sizes[n] * path.cycles for n, path in kept.items() if path.cycles}
            found = Argument(reason, (of,), figures, free, alone([(fits, 1), *proofs]))
            if found.cycles <= interval:
                yield found
                return
            interval = found.cycles

    def _updated(self, values: Iterable[str]) -> Iterator[tuple[list[str], int]]:
        """Yield values that are updated in place in a circle, and the iterations that it spans.

        For each iteration of these, one of the values is there all the time. In registers only a
        result that its own operation updates counts, since others may be sent through memory.
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

    def _in_memory(self, memory: str, value: str, interval: Fraction) -> Path:
        """Return how long a value is in memory: from the begin of its write until it was read.

        An update in place has the memory from its start on.
        """
        paths = self.paths(value, interval)
        ends = []
        for d in self.readers(value):
            reads = Fraction(0) if d.in_place else self._executed[d.consumer].reading
            ends.append(self.kept(d, paths[d.consumer], reads, ("read", memory)))
        return max(ends, key=lambda path: path.after(interval), default=Path(Fraction(0), 0))

    def kept(
        self,
        read: Dependence,
        path: Path,
        held: Fraction,
        where: tuple[Rule, str],
        groups: tuple[tuple[str, ...], ...] = (),
    ) -> Path:
        """Return how long a value is kept for a reader.

        `path`: to the reader; `held`: cycles from its start on; `where`: the rule, and in what.
        """
        rule, place = where
        position = next(i for i, d in enumerate(self._loop.dependences) if d is read)
        terms = (f"{read.producer} in {place}", 1), *_between(read.consumer, read.producer)
        last = Inequality(rule, (place,), held, -read.distance, terms, position, groups)
        return Path(path.cycles + held, path.distance - read.distance, (*path.proof, last))

    def made(self, value: str, place: str, held: Fraction = Fraction(0)) -> Path:
        """Return how long a value is in registers: until it can be read, and `held` longer."""
        cycles = self.making[value] + held
        terms = ((f"{value} in {place}", 1),)
        return Path(cycles, 0, (Inequality("made", (place, value), cycles, 0, terms),))

    def _in_registers(self, value: str, _interval: Fraction) -> Path:
        """Return how long a value is in registers: until it can be read, or sent to others.

        Asynchronous readers hold it, or the copy that was sent, until they have read it.
        """
        readers = [d for d in self.readers(value) if not self.is_chained(d)]
        held = [
            self._executed[d.consumer].reading
            for d in readers
            if self._executed[d.consumer].cost.asynchronous and not d.in_place
        ]
        if not readers:
            return Path(Fraction(0), 0)
        return self.made(value, "registers", max(held, default=Fraction(0)))

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
    """Return the cycles paid for a wait, from each operation's end until its result is read.

    A wait is paid from the start of the cycle in which its event happens. Where several operations
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
