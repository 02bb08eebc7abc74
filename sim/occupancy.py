"""How full registers, shared memory and tensor memory are while a program runs.

A value occupies its slot from the first cycle of its write to the last cycle of its last read. The
result of an element-wise operation, and of one that updates in place, takes the room of an operand
that it is the last to read. Where several share an operand piece by piece, each takes its piece.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from pydantic import NonNegativeFloat, NonNegativeInt

from twill.artifacts.base import Part
from twill.artifacts.loop import HALVES, THREADS_PER_WARP
from twill.artifacts.schedule import Schedule, Storage
from twill.sim.addresses import beneath
from twill.sim.observer import Observer
from twill.sim.pieces import pieces

UNITS = {"smem": "bytes", "tmem": "columns", "registers": "registers per thread"}
STAGING = "staging in smem"
FILE = "register file"


class Occupied(Part):
    """How full one memory, or the registers of one group, are.

    Attributes
    ----------
    unit : str
        ``bytes``, ``columns`` or ``registers per thread``; ``registers`` of the register file.
    capacity : int, optional
        What the machine has of it, or the group was given; absent where that is not limited.
    allocated : int
        What rings and invariants are given for the whole loop. Of registers, what the group is
        given.
    always : int
        What invariants occupy throughout; of registers also addresses and counters.
    peak : float
        The most that was occupied at once, invariants included.
    peak_cycle : float
        The first cycle at which it was.
    mean : float
        Over the cycles of the run.
    """

    unit: str
    capacity: NonNegativeInt | None
    allocated: NonNegativeInt
    always: NonNegativeInt
    peak: NonNegativeFloat
    peak_cycle: NonNegativeFloat
    mean: NonNegativeFloat

    @property
    def exceeded(self) -> bool:
        """Whether more is occupied, or given away, than there is."""
        return self.capacity is not None and max(self.allocated, self.peak) > self.capacity


@dataclass
class _Life:
    """An instance of a value in one place."""

    place: str
    slot: int
    size: Fraction
    begin: float
    end: float
    reader: tuple[str, int] = ("", 0)


class Occupancy(Observer):
    """Follows how full registers and memories are; read it when the execution is over.

    Parameters
    ----------
    schedule : Schedule
        What is executed.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._sizes = {(s.value, s.transfer, s.reader): _size(s) for s in schedule.storage}
        self._memory = {s.value: s.memory for s in schedule.storage if s.reader is None}
        self._home = schedule.assignment
        self._lives: dict[tuple[str, str, int], _Life] = {}
        self._beneath = beneath(schedule.storage)
        self._pieces = pieces(schedule.loop)
        self._reads: dict[tuple[str, str, int], dict[tuple[str, int], float]] = defaultdict(dict)
        self._takes: dict[str, set[tuple[str, int]]] = defaultdict(set)
        elementwise = {o.name for o in schedule.loop.operations if o.elementwise}
        for dependence in schedule.loop.dependences:
            user = dependence.consumer
            if dependence.kind == "data" and (dependence.in_place or user in elementwise):
                self._takes[user].add((dependence.producer, dependence.distance))

    # -- what the execution tells -------------------------------------------------------------

    def writing(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        group: str,
        lane: int,
        begin: float,
    ) -> None:
        """Take the begin of an instance's life; see `Observer.writing`."""
        reader = place.removeprefix("copy for ") if place.startswith("copy for ") else None
        size = self._sizes.get((value, place == STAGING, reader))
        if size is None or (lane and place not in ("smem", "tmem")):
            return
        where = place if place in ("smem", "tmem") else f"registers of {group}"
        where = "smem" if place == STAGING else where
        self._lives[value, place, iteration] = _Life(where, slot, size, begin, begin)

    def wrote(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        group: str,
        lane: int,
        begin: float,
        end: float,
    ) -> None:
        """Take the end of a write; see `Observer.wrote`."""
        life = self._lives.get((value, place, iteration))
        if life is not None:
            life.end = max(life.end, end)

    def read(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        of_iteration: int,
        group: str,
        lane: int,
        begin: float,
        end: float,
    ) -> None:
        """Take the end of a read; see `Observer.read`."""
        life = self._lives.get((value, place, iteration))
        if life is not None and value in self._pieces:
            by = (operation, of_iteration - iteration)
            self._reads[value, place, iteration][by] = end
        if life is not None and end >= life.end:
            life.end, life.reader = end, (operation, of_iteration)

    # -- when it is over ----------------------------------------------------------------------

    def series(self) -> dict[str, list[tuple[float, float]]]:
        """Return how full each memory is from which cycle on, in the units of `Occupied`.

        Keys are ``smem``, ``tmem`` and ``registers of GROUP``; what always is occupied is included.
        """
        changes: dict[str, dict[float, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        for place in dict.fromkeys([*self._places(), *(o.place for o in self._lives.values())]):
            changes[place][0.0] += 0
        for (value, place, iteration), life in self._lives.items():
            begin = self._taken_over(value, place, iteration, life)
            for share, end in self._released(value, place, iteration, life):
                if end > begin:
                    changes[life.place][begin] += share
                    changes[life.place][end] -= share
        always = self._always()
        return {
            place: list(_sums(always.get(place, 0), changes[place])) for place in sorted(changes)
        }

    def _released(
        self, value: str, place: str, iteration: int, life: _Life
    ) -> Iterator[tuple[Fraction, float]]:
        """Yield the parts of an instance with the cycles until which they are occupied."""
        reads, parts = self._reads.get((value, place, iteration), {}), self._pieces.get(value, {})
        if life.place in ("smem", "tmem") or not parts.keys() <= reads.keys():
            parts = {}
        whole = max((end for by, end in reads.items() if by not in parts), default=0.0)
        for by, part in parts.items():
            yield life.size * part, max(reads[by], whole)
        if not parts:
            yield life.size, life.end

    def _piece_taken(self, value: str, place: str, iteration: int, life: _Life) -> float | None:
        """Return when the piece of an operand that a result is made of makes room for it."""
        for operand, readers in self._pieces.items():
            for by, part in readers.items():
                key = (operand, place, iteration - by[1])
                old, reads = self._lives.get(key), self._reads.get(key, {})
                if by[0] != value or old is None or old.place != life.place:
                    continue
                last = max((end for who, end in reads.items() if who not in readers), default=0.0)
                whole = readers.keys() <= reads.keys() and reads[by] >= last
                if whole and old.size * part >= life.size:
                    return min(reads[by], life.end)
        return None

    def _taken_over(self, value: str, place: str, iteration: int, life: _Life) -> float:
        """Return when an instance begins to need room of its own."""
        taken = (
            None if place in ("smem", "tmem") else self._piece_taken(value, place, iteration, life)
        )
        if taken is not None:
            return taken
        for operand, distance in sorted(self._takes[value]) if place != STAGING else ():
            for where in (place, f"copy for {value}"):
                old = self._lives.get((operand, where, iteration - distance))
                if (
                    old is not None
                    and old.reader == (value, iteration)
                    and old.place == life.place
                    and old.size >= life.size
                    and self._share(life, value, old, operand)
                ):
                    return min(old.end, life.end)
        return life.begin

    def _share(self, life: _Life, value: str, old: _Life, operand: str) -> bool:
        """Whether a result can lie where an operand did: in registers, or by their addresses."""
        if life.place not in ("smem", "tmem"):
            return True
        under = self._beneath.get((value, False, life.slot), ())
        return (operand, False, old.slot) in under

    def _places(self) -> Iterator[str]:
        yield from (m for m in ("smem", "tmem") if m in self._schedule.machine.memories)
        yield from (f"registers of {group.name}" for group in self._schedule.groups)

    def _always(self) -> dict[str, int]:
        """Return what invariants, addresses and counters occupy throughout."""
        found: dict[str, int] = defaultdict(int)
        schedule, registers = self._schedule, self._schedule.machine.registers
        for invariant in schedule.loop.invariants:
            tile = invariant.tile
            if tile.memory == "smem":
                found["smem"] += tile.bytes
            elif tile.memory == "tmem":
                found["tmem"] += tile.columns
            elif tile.memory == "registers":
                readers = [schedule.loop.operation(name) for name in invariant.used_by]
                for name in {self._home[reader.name] for reader in readers}:
                    warps = [r.warps for r in readers if self._home[r.name] == name]
                    found[f"registers of {name}"] += tile.registers(max(warps))
        for group in schedule.groups if registers is not None else ():
            assert registers is not None
            found[f"registers of {group.name}"] += round(registers.reserve.value)
        return dict(found)

    def report(self, cycles: float) -> dict[str, Occupied]:
        """Return how full everything was, by the keys of `series`, and the register file.

        Parameters
        ----------
        cycles : float
            Length of the run.
        """
        machine, always, given = self._schedule.machine, self._always(), self._given()
        found = {}
        for place, series in self.series().items():
            peak, since = max((amount, -cycle) for cycle, amount in series)
            memory = machine.memories.get(place)  # type: ignore[call-overload] # or a group's
            found[place] = Occupied(
                unit=UNITS.get(place, UNITS["registers"]),
                capacity=memory.capacity if memory else self._limit(place),
                allocated=given.get(place, 0),
                always=always.get(place, 0),
                peak=peak,
                peak_cycle=-since,
                mean=_mean(series, cycles),
            )
        if machine.registers is not None:
            found[FILE] = self._file(found)
        return found

    def _limit(self, place: str) -> int | None:
        registers = self._schedule.machine.registers
        groups = {f"registers of {group.name}": group for group in self._schedule.groups}
        if place not in groups:
            return 0 if self._schedule.machine.memories else None
        return groups[place].registers or (registers.limit.value if registers is not None else None)

    def _file(self, groups: Mapping[str, Occupied]) -> Occupied:
        """Return the register file as the sum over all threads of what their groups have."""
        registers = self._schedule.machine.registers
        assert registers is not None
        threads = {
            f"registers of {g.name}": g.warps * THREADS_PER_WARP for g in self._schedule.groups
        }
        peaks = [entry for name, entry in groups.items() if name in threads]
        return Occupied(
            unit="registers",
            capacity=registers.file.value,
            allocated=sum(groups[name].allocated * n for name, n in threads.items()),
            always=sum(groups[name].always * n for name, n in threads.items()),
            peak=sum(groups[name].peak * n for name, n in threads.items()),
            peak_cycle=max((entry.peak_cycle for entry in peaks), default=0.0),
            mean=sum(groups[name].mean * n for name, n in threads.items()),
        )

    def _given(self) -> dict[str, int]:
        """Return what rings and invariants are given, or groups."""
        found = {
            f"registers of {group.name}": group.registers or 0 for group in self._schedule.groups
        }
        for memory in ("smem", "tmem"):
            addressed = [
                (address, address + s.size)
                for s in self._schedule.storage
                if s.memory == memory
                for address in s.addresses
            ]
            addressed += [
                (f.address, f.address + f.size)
                for f in self._schedule.fixed
                if f.memory == memory and f.address is not None
            ]
            loose = sum(
                s.slots * s.size
                for s in self._schedule.storage
                if s.memory == memory and not s.addresses
            )
            fixed = any(f.address is not None for f in self._schedule.fixed if f.memory == memory)
            found[memory] = (
                _covered(addressed) + loose + (0 if fixed else self._always().get(memory, 0))
            )
        return found


def _size(storage: Storage) -> Fraction:
    return Fraction(storage.size, HALVES if storage.halves else 1)


def _covered(intervals: Iterable[tuple[int, int]]) -> int:
    """Return how much some intervals cover together."""
    total, reached = 0, 0
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def _sums(start: int, changes: Mapping[float, Fraction]) -> Iterator[tuple[float, float]]:
    amount = Fraction(start)
    for cycle in sorted(changes):
        if changes[cycle] or not cycle:
            amount += changes[cycle]
            yield cycle, float(amount)


def _mean(series: list[tuple[float, float]], cycles: float) -> float:
    ends = [cycle for cycle, _ in series[1:]] + [max(cycles, series[-1][0])]
    whole = sum(amount * (end - begin) for (begin, amount), end in zip(series, ends, strict=True))
    return whole / ends[-1] if ends[-1] else series[0][1]
