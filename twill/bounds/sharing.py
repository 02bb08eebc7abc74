"""Registers at every moment, whichever operations share warp groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from twill.artifacts.hardware import Registers
from twill.artifacts.loop import Dependence, Loop
from twill.artifacts.machine import Machine
from twill.artifacts.pieces import pieces
from twill.bounds.arguments import Argument, Draft, Inequality
from twill.bounds.dataflow import Arc, Dataflow, Path, launched
from twill.bounds.work import Executed
from twill.problem import rules

MOST_OPERATIONS = 8  # that share groups in all ways there are: 4140
LEAST_PART = Fraction(1, 16)  # of the registers of a thread, in a result that counts
Group = frozenset[str]


@dataclass(frozen=True)
class Needs:
    """The registers of a thread that a group needs, at every interval."""

    # Registers of operands and result at once, in addition to those that are always taken.
    peak: int
    at: str  # the operation with these operands
    always: int  # registers of results that take over from each other in a circle
    free: int  # registers of a thread without those
    alone: tuple[str, ...]  # results of more than half of `free`, of which one is there at a time
    copied: Fraction  # cycles for which such copies of results of other groups are there


class Sharing:
    """All ways for the operations with the largest results in registers to share warp groups.

    Results do not count if they are read piece by piece, of variable latency, or of fewer warps
    than share an allocation of registers.
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
        self._needs: dict[Group, Needs] = {}

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
        proof = _AtInterval(self, Fraction(low)).refuted().certificate(self.names)
        return Argument("registers of groups", self.names, {said: low}, 1, proof)

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

    def listed(self, *groups: Group) -> tuple[tuple[str, ...], ...]:
        """Return groups as certificates name them."""
        return tuple(tuple(n for n in self.names if n in group) for group in groups)

    def needs(self, group: Group) -> Needs:
        """Return what a group needs of the registers of a thread."""
        if (known := self._needs.get(group)) is not None:
            return known
        updated: set[str] = set()
        always = 0
        for members, times in self.circles:
            if members <= group and not members & updated:
                always += times * min(self.registers[name] for name in members)
                updated |= members
        free = self.limit - always
        peaks, large, copied = dict[str, int](), list[str](), Fraction(0)
        for name in sorted(group, key=self.names.index):
            read = [d for d in self.operands(name) if d.producer not in updated | {name}]
            over = [self.registers[d.producer] for d in read if self.takes_over(d)]
            beside = sum(self.registers[d.producer] for d in read if not self.takes_over(d))
            own = 0 if name in updated else self.registers[name]
            peaks[name] = beside + (max([own, *over]) if own else 0)
            if 2 * own > free and self._is_kept(name, updated):
                large.append(name)
            for d in read:
                if d.producer not in group and 2 * self.registers[d.producer] > free:
                    copied += self._copied(d, free)
        at = max(peaks, key=lambda name: peaks[name])
        found = Needs(peaks[at], at, always, free, tuple(large), copied)
        self._needs[group] = found
        return found

    def _copied(self, read: Dependence, free: int) -> Fraction:
        """Return how long a copy of a value from another group is there for a reader."""
        transfer = self.executed[read.producer].cost.transfer
        return transfer - transfer // 2 + (self.held(read, free) or Fraction(0))

    def held(self, read: Dependence, free: int) -> Fraction | None:
        """Return how long a reader has the registers of what it reads, from its start on.

        None if they may be another's before it starts: where its own result, which takes them
        over, does not stand for them.
        """
        one = self.executed[read.consumer]
        if not self.takes_over(read):
            return one.reading if one.cost.asynchronous else one.issuing
        if 2 * self.registers[read.consumer] > free:
            return Fraction(0)
        return None if read.in_place else one.issuing

    def _is_kept(self, name: str, updated: set[str]) -> bool:
        """Return whether a result is known to be in registers for a time.

        The time is unknown if the reader takes over several results, or its own is always there.
        """
        readers = self.dataflow.readers(name)
        over = [d.consumer for d in readers if self.takes_over(d)]
        several = any(
            sum(self.takes_over(d) for d in self.dataflow.data if d.consumer == reader) > 1
            for reader in over
        )
        return (
            not several
            and not updated.intersection(over)
            and not all(map(self.dataflow.is_chained, readers))
        )


class _AtInterval:
    """Whether ways to share groups are possible at an interval."""

    def __init__(self, sharing: Sharing, interval: Fraction) -> None:
        self._of, self._interval = sharing, interval
        self._paths = {n: sharing.dataflow.paths(n, interval) for n in sharing.names}
        self._possible: dict[Group, bool] = {}

    def allows(self, way: tuple[Group, ...]) -> bool:
        """Return whether neither registers nor dependences exclude a way."""
        return (
            all(map(self._is_possible, way))
            and self._excess(way) <= 0
            and not self._of.dataflow.too_long(self._interval, self._arcs(way))
        )

    def refuted(self) -> Draft:
        """Return why none of the ways is possible, each reason once."""
        draft = Draft()
        for way in _ways(self._of.names):
            if any(_describes(case.groups, case.apart, way) for case in draft.cases):
                continue
            impossible = [group for group in way if not self._is_possible(group)]
            if impossible:
                self._refute_group(draft, impossible[0])
            elif self._excess(way) > 0:
                self._refute_launch(draft, way)
            else:
                self._refute_recurrence(draft, way)
        return draft

    # -- one group ----------------------------------------------------------------------------

    def _is_possible(self, group: Group) -> bool:
        """Return whether a group has enough registers for the values that are there at once."""
        if group not in self._possible:
            needs = self._of.needs(group)
            kept = [self._kept(name, group) for name in needs.alone]
            cycles = needs.copied + sum(path.cycles for path in kept)
            times = needs.copied + sum(path.after(self._interval) for path in kept)
            self._possible[group] = needs.peak <= needs.free and (
                times <= self._interval or not cycles
            )
        return self._possible[group]

    def _kept(self, name: str, group: Group) -> Path:
        """Return how long a result is in its group's registers at least.

        Until it can be read, and then until the group's own readers have read it.
        """
        dataflow, free = self._of.dataflow, self._of.needs(group).free
        ends = [dataflow.made(name, "group")]
        for d in dataflow.readers(name):
            if d.consumer in group and not dataflow.is_chained(d):
                held = self._of.held(d, free)
                if held is not None:
                    path = self._paths[name][d.consumer]
                    where = self._of.listed(group)
                    ends.append(dataflow.kept(d, path, held, ("kept", "group"), where))
        return max(ends, key=lambda path: path.after(self._interval))

    def _refute_group(self, draft: Draft, group: Group) -> None:
        """Add why a group is impossible."""
        needs, groups = self._of.needs(group), self._of.listed(group)
        if needs.peak > needs.free:
            missing = needs.peak - needs.free
            live = Inequality("registers", (needs.at,), missing, groups=groups)
            draft.add([(live, 1)], groups)
            return
        terms = tuple((f"{name} in group", -1) for name in needs.alone)
        in_turn = Inequality("exclusive", needs.alone, needs.copied, 1, terms, groups=groups)
        proofs = [(p, 1) for name in needs.alone for p in self._kept(name, group).proof]
        draft.add([(in_turn, 1), *proofs], groups)

    # -- all groups ---------------------------------------------------------------------------

    def _excess(self, way: tuple[Group, ...]) -> int:
        """Return the registers per thread that groups are allocated above those of a launch."""
        width, rooms = self._of.file.warps.value, self._of.rooms
        taken = sets = 0
        for group in way:
            needs = self._of.needs(group)
            warps = max(self._of.executed[name].operation.warps for name in group)
            sets += -(-warps // width)
            taken += -(-warps // width) * self._of.allocated(needs.always + needs.peak)
        if self._of.loads:
            sets, taken = sets + 1, taken + self._of.file.least.value
        return taken - (rooms[sets] if sets < len(rooms) else 0)

    def _refute_launch(self, draft: Draft, way: tuple[Group, ...]) -> None:
        """Add why some groups of a way are too many for a launch."""
        for group in way:
            fewer = tuple(g for g in way if g != group)
            if self._excess(fewer) > 0:
                way = fewer
        groups = self._of.listed(*way)
        taken = Inequality("launch", (), self._excess(way), groups=groups)
        draft.add([(taken, 1)], groups)

    def _arcs(self, way: tuple[Group, ...]) -> list[Arc]:
        """Return the dependences, with transfers between groups."""
        return [
            arc._replace(cycles=arc.cycles + self._of.executed[arc.producer].cost.transfer)
            if _is_between(arc, way)
            else arc
            for arc in self._of.dataflow.arcs
        ]

    def _refute_recurrence(self, draft: Draft, way: tuple[Group, ...]) -> None:
        """Add a recurrence that takes too long for the groups of a way."""
        arcs = self._of.dataflow.too_long(self._interval, self._arcs(way))
        far = [arc for arc in arcs if _is_between(arc, way)]
        proof = [(arc.inequality(transfer=arc in far), 1) for arc in arcs]
        draft.add(proof, apart=tuple((arc.producer, arc.consumer) for arc in far))


def _is_between(arc: Arc, way: tuple[Group, ...]) -> bool:
    """Return whether a dependence leads from one group of a way to another."""
    ends = {arc.producer, arc.consumer}
    return ends <= frozenset().union(*way) and not any(ends <= group for group in way)


def _describes(
    groups: tuple[tuple[str, ...], ...], apart: tuple[tuple[str, str], ...], way: tuple[Group, ...]
) -> bool:
    """Return whether a case is one of a way to share groups."""
    return all(frozenset(group) in way for group in groups) and not any(
        group.issuperset(pair) for group in way for pair in apart
    )


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
