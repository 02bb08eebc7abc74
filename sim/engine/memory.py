"""Memory: places of values, and the reads and writes of operations there."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from twill.artifacts.schedule import Schedule
from twill.sim.engine.clock import Clock
from twill.sim.engine.events import Access, ReadBegins, ReadEnds, WriteBegins, WriteEnds
from twill.sim.engine.slots import NOWHERE, STAGING, Slots, beneath, copy_for
from twill.sim.engine.work import Work, handed_on

Instance = tuple[str, int]  # an operation and its iteration
SHARED = -1  # the warp of what all warps share


@dataclass(frozen=True, slots=True)
class Operand:
    """The part of an operand that a warp reads, see `twill.sim.engine.work.Read`, and its place.

    The part is the warp's `own` if every warp holds its own part.
    """

    value: str
    slots: Slots
    distance: int
    chained: bool
    own: bool


@dataclass(frozen=True, slots=True)
class Accesses:
    """Reads and writes of one warp for an operation."""

    operands: tuple[Operand, ...]
    watched: tuple[Operand, ...]  # operands that the scoreboard holds it back for
    # What it writes, by the warp whose it is: where a wider operation of the group reads it, it
    # writes for warps that have no share in it too.
    results: tuple[tuple[int, Slots], ...]
    own: bool  # whether every warp holds its own part of the result


class Memory:
    """Registers, SMEM and TMEM of one SM, as slots of values.

    `checks`: whether wrong reads and writes are refused; if not, they happen.
    """

    def __init__(
        self,
        schedule: Schedule,
        works: dict[str, Work],
        iterations: int,
        clock: Clock,
        *,
        checks: bool = True,
    ) -> None:
        self._checks = checks
        self._works, self._iterations = works, iterations
        self._clock = clock
        self._home = schedule.assignment
        self._storage = {(s.value, s.transfer): s for s in schedule.storage if s.reader is None}
        self._copies = {
            (s.value, s.reader, s.distance): s for s in schedule.storage if s.reader is not None
        }
        self._slots: dict[tuple[str, str, int], Slots] = {}
        self._beneath = beneath(schedule.storage)
        self._at_addresses: dict[tuple[str, bool], list[Slots]] = defaultdict(list)
        self._accesses: dict[tuple[str, int], Accesses] = {}
        # Who reads a value, with the distance.
        self.readers: dict[str, list[Instance]] = defaultdict(list)
        for reader in works.values():
            for read in reader.reads:
                self.readers[read.value].append((reader.name, read.distance))
        self._handed_on = handed_on(works, self._home)

    # -- places -------------------------------------------------------------------------------

    def in_registers(self, value: str) -> bool:
        """Return whether every warp holds its own part of a value."""
        storage = self._storage.get((value, False))
        return storage is None or storage.memory == "registers"

    def count(self, value: str, *, staged: bool) -> int | None:
        """Return how many slots a value or its staging has, None if it has no storage."""
        storage = self._storage.get((value, staged))
        return None if storage is None else storage.slots

    def place(
        self, value: str, group: str, warp: int, reader: str = "", distance: int = 0
    ) -> Slots:
        """Return where a warp writes a value, or reads it for an operation.

        `distance`: iterations by which that is later.
        """
        storage = self._storage.get((value, False))
        if storage is not None and storage.memory != "registers":
            return self._slots_of(value, storage.memory, 0, storage.slots, staged=False)
        if storage is None:
            held = warp if group == self._home[value] else self._works[value].holder(warp)
            return self._slots_of(value, NOWHERE, held, self._iterations)
        if group == self._home[value]:
            return self._slots_of(value, f"registers of {group}", warp, storage.slots)
        copy = self._copies.get((value, reader, distance))
        count = copy.slots if copy is not None else 1
        return self._slots_of(value, copy_for(reader, distance), warp, count)

    def staging(self, value: str, warp: int) -> Slots:
        """Return where a warp's part of a value passes through SMEM."""
        count = self.count(value, staged=True) or 1
        return self._slots_of(value, STAGING, warp, count, staged=True)

    def _slots_of(
        self, value: str, place: str, warp: int, count: int, *, staged: bool | None = None
    ) -> Slots:
        """Return the slots of a value; `staged` is None where they are not in addressed memory."""
        key = (value, place, warp)
        if key not in self._slots:
            self._slots[key] = Slots(value, place, count, checks=self._checks)
            if staged is not None:
                self._at_addresses[value, staged].append(self._slots[key])
        return self._slots[key]

    def access(self, work: Work, warp: int) -> Accesses:
        """Return what a warp reads and writes for an operation."""
        key = (work.name, warp)
        if key in self._accesses:
            return self._accesses[key]
        group = self._home[work.name]
        operands = tuple(
            Operand(
                value=read.value,
                slots=self.place(read.value, group, warp, work.name, read.distance),
                distance=read.distance,
                chained=read.chained,
                own=self.in_registers(read.value),
            )
            for read in work.reads
        )
        written: Iterable[int] = (warp,)
        if work.name in self._handed_on and self.in_registers(work.name):
            written = range(warp, self._handed_on[work.name], work.warps)
        self._accesses[key] = Accesses(
            operands=operands,
            watched=tuple(o for o in operands if self._is_watched(o, group)),
            results=tuple((other, self.place(work.name, group, other)) for other in written),
            own=self.in_registers(work.name),
        )
        return self._accesses[key]

    def _is_watched(self, operand: Operand, group: str) -> bool:
        """Whether it is a synchronous result of the reader's own group, or a copy of another's."""
        if self._home[operand.value] == group:
            return not self._works[operand.value].asynchronous
        return operand.own

    # -- reads and writes ---------------------------------------------------------------------

    def touch(self, work: Work, iteration: int, warp: int, *, first: bool) -> None:
        """Begin a warp's reads, and its write of the result.

        `first`: whether it is the first of the group, which stands for all in memory.

        Raises
        ------
        SimulationError
            If an operand is not there, or what is overwritten is still being read.
        """
        access, now, reader = self.access(work, warp), self._clock.now, (work.name, iteration)
        tell, group = self._clock.tell_access, self._home[work.name]
        for operand in access.operands:
            of = iteration - operand.distance
            if of >= 0 and (first or operand.own):
                slots = operand.slots
                if tell is not None:
                    tell(ReadBegins(*slots.instance(of), *reader, group, warp, now, now))
                slots.read(of, now, math.inf, reader, chained=operand.chained)
        for whose, result in access.results if first or access.own else ():
            if tell is not None:
                tell(WriteBegins(*result.instance(iteration), *reader, group, whose, now, now))
            self._write_over(result, iteration, staged=False, writer=work.name)
            result.begin_write(iteration, now, reader)

    def settle(
        self,
        work: Work,
        iteration: int,
        warp: int,
        ends: tuple[float, float, float],
        *,
        last: bool,
        who: tuple[float, int],
    ) -> None:
        """End a warp's reads and show its result.

        Memory is read, and a result in memory is there, once the last warp is done.

        `ends`: cycles at which registers and memory are read, and from which the result can be.
        `who`: cycle at which the operation started, and the warp that began it.
        """
        access, reader = self.access(work, warp), (work.name, iteration)
        tell, group = self._clock.tell_access, self._home[work.name]
        issued, read, readable = ends
        started, leader = who
        for operand in access.operands:
            of, own = iteration - operand.distance, operand.own
            if of >= 0 and (own or last):
                until = issued if own else read
                operand.slots.hold(of, until, reader)
                if tell is not None:
                    by = warp if own else leader
                    instance = operand.slots.instance(of)
                    tell(ReadEnds(*instance, *reader, group, by, started, until))
        for whose, result in access.results if last or access.own else ():
            result.end_write(iteration, readable)
            if tell is not None:
                by = whose if access.own else leader
                instance = result.instance(iteration)
                tell(WriteEnds(*instance, *reader, group, by, started, readable))

    def move(
        self,
        source: Slots,
        target: Slots,
        iteration: int,
        name: str,
        by: tuple[str, int],
        done: float,
    ) -> None:
        """Move a warp's part of a value between registers and its staging.

        `done`: cycle at which it is there; the source is read until then if it is the staging.

        Raises
        ------
        SimulationError
            If the source does not hold it, or what is overwritten is still being read.
        """
        now, staged, who = self._clock.now, target.place == STAGING, (name, iteration)
        until = now if staged else done
        if (tell := self._clock.tell_access) is not None:
            reads, writes = source.instance(iteration), target.instance(iteration)
            tell(ReadBegins(*reads, *who, *by, now, now))
            tell(WriteBegins(*writes, *who, *by, now, now))
            tell(ReadEnds(*reads, *who, *by, now, until))
            tell(WriteEnds(*writes, *who, *by, now, done))
        source.read(iteration, now, until, who)
        if staged:
            self._write_over(target, iteration, staged=True, writer=name)
        target.begin_write(iteration, now, who)
        target.end_write(iteration, done)

    def _write_over(self, slots: Slots, iteration: int, *, staged: bool, writer: str) -> None:
        """Destroy what lies at the addresses that an instance is about to be written to."""
        if not self._beneath:
            return
        slot = (slots.value, staged, iteration % slots.count)
        for value, other, number in self._beneath.get(slot, ()):
            for lost in self._at_addresses[value, other]:
                lost.destroy(number, self._clock.now, (writer, iteration))

    def users_beneath(self, value: str, slot: int, *, staged: bool) -> list[Instance]:
        """Return the producers and readers of the instances that a write to a slot destroys."""
        return [
            (name, lost.holds[number] + distance)
            for other, is_staging, number in self._beneath.get((value, staged, slot), ())
            if not is_staging
            for lost in self._at_addresses[other, False]
            if lost.holds[number] >= 0
            for name, distance in ((other, 0), *self.readers[other])
        ]


class Cell(NamedTuple):
    """A slot of a value, of one warp where each has its own, otherwise of all (`SHARED`)."""

    value: str
    place: str
    warp: int
    slot: int


class Cells:
    """The cells that accesses concern, for observers."""

    def __init__(self, schedule: Schedule, works: Mapping[str, Work]) -> None:
        self._works, self._home = works, schedule.assignment
        self._chained = {
            (reader.name, read.value, read.distance)
            for reader in works.values()
            for read in reader.reads
            if read.chained
        }
        self._beneath = beneath(schedule.storage)
        self._warps = range(max((group.warps for group in schedule.groups), default=0))

    def of(self, access: Access) -> Cell:
        """Return the cell of an access; a cell of staging belongs to the warp that has the part.

        The same holds for values of another group that lie nowhere.
        """
        value, place, warp = access.value, access.place, access.warp
        if place in ("smem", "tmem"):
            warp = SHARED
        elif place == STAGING or (place == NOWHERE and access.group != self._home[value]):
            warp = self._works[value].holder(warp)
        return Cell(value, place, warp, access.slot)

    def beneath(self, cell: Cell) -> Iterator[Cell]:
        """Yield the cells that lie over the addresses of one."""
        staged = cell.place == STAGING
        for value, other, number in self._beneath.get((cell.value, staged, cell.slot), ()):
            where = STAGING if other else "smem" if staged else cell.place
            for warp in self._warps if other else (SHARED,):
                yield Cell(value, where, warp, number)

    def chained(self, access: Access) -> bool:
        """Return whether an operation accumulates on what its own unit is still making."""
        distance = access.of_iteration - access.iteration
        return (access.operation, access.value, distance) in self._chained
