"""Where values lie, and what operations read and write there."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from twill.artifacts.schedule import Schedule
from twill.sim.engine.addresses import beneath
from twill.sim.engine.clock import Clock
from twill.sim.engine.observer import Observer
from twill.sim.engine.slots import Slots, copy_for
from twill.sim.engine.work import Work, handed_on

Instance = tuple[str, int]
"""An operation and its iteration."""


@dataclass(frozen=True, slots=True)
class Operand:
    """What one warp reads of one operand.

    Attributes
    ----------
    value : str
        The operand.
    slots : Slots
        Where it lies for this warp.
    distance : int
        Iterations ago that it was made.
    chained : bool
        See `twill.sim.engine.work.Read`.
    own : bool
        Whether every warp holds its own part.
    """

    value: str
    slots: Slots
    distance: int
    chained: bool
    own: bool


@dataclass(frozen=True, slots=True)
class Access:
    """What one warp reads and writes for an operation.

    Attributes
    ----------
    operands : tuple of Operand
        What it reads.
    watched : tuple of Operand
        Those that the scoreboard holds it back for.
    results : tuple of (int, Slots)
        What it writes, by the warp whose it is: where a wider operation of the group reads it, it
        writes for warps that have no share in it too.
    own : bool
        Whether every warp holds its own part of the result.
    """

    operands: tuple[Operand, ...]
    watched: tuple[Operand, ...]
    results: tuple[tuple[int, Slots], ...]
    own: bool


class Memory:
    """Registers, SMEM and TMEM of one SM, as slots of values.

    `checks`: whether wrong reads and writes are refused; if not, they happen.

    Attributes
    ----------
    observer : Observer or None
        Who watches.
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
        self.observer: Observer | None = None
        self._home = schedule.assignment
        self._storage = {(s.value, s.transfer): s for s in schedule.storage if s.reader is None}
        self._copies = {
            (s.value, s.reader, s.distance): s for s in schedule.storage if s.reader is not None
        }
        self._slots: dict[tuple[str, str, int], Slots] = {}
        self._beneath = beneath(schedule.storage)
        self._at_addresses: dict[tuple[str, bool], list[Slots]] = defaultdict(list)
        self._accesses: dict[tuple[str, int], Access] = {}
        self.readers: dict[str, list[Instance]] = defaultdict(list)
        """Who reads a value, with the distance."""
        for reader in works.values():
            for read in reader.reads:
                self.readers[read.value].append((reader.name, read.distance))
        self._handed_on = handed_on(works, self._home)

    # -- places -------------------------------------------------------------------------------

    def in_registers(self, value: str) -> bool:
        """Return whether every warp holds its own part of a value."""
        storage = self._storage.get((value, False))
        return storage is None or storage.memory == "registers"

    def is_handed_on(self, value: str) -> bool:
        """Return whether warps of its group read a register value that did not make it."""
        return value in self._handed_on and self.in_registers(value)

    def count(self, value: str, *, staged: bool) -> int | None:
        """Return how many slots a value or its staging has, None if it has no storage."""
        storage = self._storage.get((value, staged))
        return None if storage is None else storage.slots

    def place(
        self, value: str, group: str, lane: int, reader: str = "", distance: int = 0
    ) -> Slots:
        """Return where a warp writes a value, or reads it for an operation.

        `distance`: iterations by which that is later.
        """
        storage = self._storage.get((value, False))
        if storage is not None and storage.memory != "registers":
            return self._slots_of(value, storage.memory, 0, storage.slots, staged=False)
        if storage is None:
            held = lane if group == self._home[value] else self._works[value].holder(lane)
            return self._slots_of(value, "no memory", held, self._iterations)
        if group == self._home[value]:
            return self._slots_of(value, f"registers of {group}", lane, storage.slots)
        copy = self._copies.get((value, reader, distance))
        count = copy.slots if copy is not None else 1
        return self._slots_of(value, copy_for(reader, distance), lane, count)

    def staging(self, value: str, lane: int) -> Slots:
        """Return where a warp's part of a value passes through SMEM."""
        count = self.count(value, staged=True) or 1
        return self._slots_of(value, "staging in smem", lane, count, staged=True)

    def _slots_of(
        self, value: str, place: str, lane: int, count: int, *, staged: bool | None = None
    ) -> Slots:
        """Return the slots of a value; `staged` is None where they are not in addressed memory."""
        key = (value, place, lane)
        if key not in self._slots:
            self._slots[key] = Slots(value, place, count, checks=self._checks)
            if staged is not None:
                self._at_addresses[value, staged].append(self._slots[key])
        return self._slots[key]

    def access(self, work: Work, lane: int) -> Access:
        """Return what a warp reads and writes for an operation."""
        key = (work.name, lane)
        if key not in self._accesses:
            self._accesses[key] = self._make_access(work, lane)
        return self._accesses[key]

    def _make_access(self, work: Work, lane: int) -> Access:
        group = self._home[work.name]
        operands = tuple(
            Operand(
                value=read.value,
                slots=self.place(read.value, group, lane, work.name, read.distance),
                distance=read.distance,
                chained=read.chained,
                own=self.in_registers(read.value),
            )
            for read in work.reads
        )
        return Access(
            operands=operands,
            watched=tuple(o for o in operands if self._is_watched(o, group)),
            results=tuple(
                (other, self.place(work.name, group, other)) for other in self._written(work, lane)
            ),
            own=self.in_registers(work.name),
        )

    def _written(self, work: Work, lane: int) -> Iterable[int]:
        """Return the warps for which one warp writes."""
        if not self.is_handed_on(work.name):
            return (lane,)
        return range(lane, self._handed_on[work.name], work.warps)

    def _is_watched(self, operand: Operand, group: str) -> bool:
        """Whether it is a synchronous result of the reader's own group, or a copy of another's."""
        if self._home[operand.value] == group:
            return not self._works[operand.value].asynchronous
        return operand.own

    # -- reads and writes ---------------------------------------------------------------------

    def touch(self, work: Work, iteration: int, lane: int, *, first: bool) -> None:
        """Begin a warp's reads, and its write of the result.

        `first`: whether it is the first of the group, which stands for all in memory.

        Raises
        ------
        SimulationError
            If an operand is not there, or what is overwritten is still being read.
        """
        access, now, reader = self.access(work, lane), self._clock.now, (work.name, iteration)
        group = self._home[work.name]
        for operand in access.operands:
            of = iteration - operand.distance
            if of >= 0 and (first or operand.own):
                slots = operand.slots
                if self.observer is not None:
                    self.observer.reading(*slots.instance(of), *reader, group, lane, now)
                slots.read(of, now, math.inf, reader, chained=operand.chained)
        for whose, result in access.results if first or access.own else ():
            if self.observer is not None:
                instance = result.instance(iteration)
                self.observer.writing(*instance, work.name, group, whose, now)
            self._write_over(result, iteration, staged=False, writer=work.name)
            result.begin_write(iteration, now, reader)

    def settle(
        self,
        work: Work,
        iteration: int,
        lane: int,
        ends: tuple[float, float, float],
        *,
        last: bool,
        who: tuple[float, int],
    ) -> None:
        """End a warp's reads and show its result.

        Memory is read, and a result in memory is there, once the last warp is done.

        `ends`: cycles at which registers and memory are read, and from which the result can be.
        """
        access, reader = self.access(work, lane), (work.name, iteration)
        issued, read, readable = ends
        for operand in access.operands:
            of, own = iteration - operand.distance, operand.own
            if of >= 0 and (own or last):
                until = issued if own else read
                operand.slots.hold(of, until, reader)
                if self.observer is not None:
                    by = (self._home[work.name], lane if own else who[1])
                    self.observer.read(*operand.slots.instance(of), *reader, *by, who[0], until)
        for whose, result in access.results if last or access.own else ():
            result.end_write(iteration, readable)
            if self.observer is not None:
                by = (self._home[work.name], whose if access.own else who[1])
                instance = result.instance(iteration)
                self.observer.wrote(*instance, work.name, *by, who[0], readable)

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
        now, staged = self._clock.now, target.place == "staging in smem"
        until = now if staged else done
        if self.observer is not None:
            reads, writes = source.instance(iteration), target.instance(iteration)
            self.observer.reading(*reads, name, iteration, *by, now)
            self.observer.writing(*writes, name, *by, now)
            self.observer.read(*reads, name, iteration, *by, now, until)
            self.observer.wrote(*writes, name, *by, now, done)
        source.read(iteration, now, until, (name, iteration))
        if staged:
            self._write_over(target, iteration, staged=True, writer=name)
        target.begin_write(iteration, now, (name, iteration))
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
        """Return who makes and who reads the instances that a write to a slot destroys."""
        return [
            (name, lost.holds[number] + distance)
            for other, is_staging, number in self._beneath.get((value, staged, slot), ())
            if not is_staging
            for lost in self._at_addresses[other, False]
            if lost.holds[number] >= 0
            for name, distance in ((other, 0), *self.readers[other])
        ]
