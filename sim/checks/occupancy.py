"""How full registers, shared memory and tensor memory are while a program runs.

A value occupies its slot from the first cycle of its write to the last cycle of its last read. The
result of an element-wise operation, and of one that updates in place, takes the room of an operand
that it is the last to read. Where several share an operand piece by piece, each takes its piece.
Registers belong to one warp, so each warp's are counted apart, and a group's are those of its warp
that has most.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from operator import itemgetter

from twill.artifacts.hardware import HALVES
from twill.artifacts.pieces import pieces
from twill.artifacts.program import Storage
from twill.artifacts.schedule import Schedule
from twill.sim.checks.occupied import Occupied, Share
from twill.sim.engine.events import Access, Handlers, ReadEnds, WriteBegins, WriteEnds
from twill.sim.engine.slots import COPY, STAGING, Slot, beneath, copy_for
from twill.sim.engine.sm import pool

UNITS = {"smem": "bytes", "tmem": "columns", "registers": "registers per thread"}
FILE = "register file"
MEMORIES = ("smem", "tmem", STAGING)
# Value, place, iteration, and the warp of the group (0 for what all of them share).
_Key = tuple[str, str, int, int]


@dataclass
class _Life:
    """An instance of a value in one place."""

    place: str
    slot: int
    size: Fraction
    begin: float
    last_access: float
    reader: tuple[str, int] = ("", 0)
    overwritten: float = math.inf

    @property
    def end(self) -> float:
        """The cycle of its last access, or of its overwriting if that comes first."""
        return min(self.last_access, self.overwritten)


class Occupancy:
    """An observer of how full registers and memories are; read it when the execution is over."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._sizes = {
            (s.value, _apart(s)): Fraction(s.size, HALVES if s.halves else 1)
            for s in schedule.storage
        }
        self._memory = {s.value: s.memory for s in schedule.storage if s.reader is None}
        self._home = schedule.assignment
        self._groups = {f"registers of {group.name}": group for group in schedule.groups}
        self._lives: dict[_Key, _Life] = {}
        self._beneath = beneath(schedule.storage)
        self._there: dict[Slot, _Life] = {}
        self._pieces = pieces(schedule.loop)
        self._reads: dict[_Key, dict[tuple[str, int], float]] = defaultdict(dict)
        self._takes: dict[str, set[tuple[str, int]]] = defaultdict(set)
        elementwise = {o.name for o in schedule.loop.operations if o.elementwise}
        for dependence in schedule.loop.dependences:
            user = dependence.consumer
            if dependence.kind == "data" and (dependence.in_place or user in elementwise):
                self._takes[user].add((dependence.producer, dependence.distance))
        self.handlers: Handlers = {
            WriteBegins: self._begin,
            WriteEnds: self._end_write,
            ReadEnds: self._end_read,
        }

    # -- what the execution tells -------------------------------------------------------------

    def _begin(self, event: WriteBegins) -> None:
        """Begin an instance's life."""
        place, staged, key = event.place, event.place == STAGING, _key(event)
        size = self._sizes.get((event.value, place if staged or place.startswith(COPY) else ""))
        if size is None or key in self._lives:
            return
        where = "smem" if staged else f"registers of {event.group}"
        where = place if place in ("smem", "tmem") else where
        life = self._lives[key] = _Life(where, event.slot, size, event.begin, event.begin)
        if where in MEMORIES:
            self._overwrite((event.value, staged, event.slot), life)

    def _overwrite(self, slot: Slot, life: _Life) -> None:
        """Let all end that lies at the addresses of an instance when that begins."""
        for under in (slot, *self._beneath.get(slot, ())):
            if under in self._there:
                old = self._there[under]
                old.overwritten = min(old.overwritten, life.begin)
        self._there[slot] = life

    def _end_write(self, event: WriteEnds) -> None:
        if (life := self._lives.get(_key(event))) is not None:
            life.last_access = max(life.last_access, event.end)

    def _end_read(self, event: ReadEnds) -> None:
        key = _key(event)
        life = self._lives.get(key)
        if life is None:
            return
        if event.value in self._pieces:
            by = (event.operation, event.of_iteration - event.iteration)
            self._reads[key][by] = max(event.end, self._reads[key].get(by, event.end))
        if event.end >= life.last_access:
            life.last_access = event.end
            life.reader = (event.operation, event.of_iteration)

    # -- when it is over ----------------------------------------------------------------------

    def shares(self) -> Iterator[Share]:
        """Yield the memory and registers that values occupy over time, without invariants."""
        for key, life in self._lives.items():
            value, place, iteration, warp = key
            begin = self._taken_over(key, life)
            for amount, end in self._released(key, life):
                if end > begin:
                    what = (life.place, value, iteration, place == STAGING, life.slot, warp)
                    yield Share(*what, amount, begin, end)

    def series(self) -> dict[str, list[tuple[float, float]]]:
        """Return how full each memory is from which cycle on, in the units of `Occupied`.

        Keys are ``smem``, ``tmem`` and ``registers of GROUP``; what always is occupied is included.
        """
        changes: dict[tuple[str, int], dict[float, Fraction]] = {}
        memories = [m for m in ("smem", "tmem") if m in self._schedule.machine.memories.by_name]
        lives = (life.place for life in self._lives.values())
        for place in dict.fromkeys([*memories, *self._groups, *lives]):
            changes[place, 0] = defaultdict(Fraction, {0.0: Fraction(0)})
        for key, life in self._lives.items():
            changes.setdefault((life.place, key[-1]), defaultdict(Fraction))
        for share in self.shares():
            changes[share.place, share.warp][share.begin] += share.amount
            changes[share.place, share.warp][share.end] -= share.amount
        always = self.always()
        warps: dict[str, list[dict[float, Fraction]]] = defaultdict(list)
        for (place, _), of_warp in changes.items():
            warps[place].append(of_warp)
        return {
            place: list(_most([_sums(always.get(place, 0), each) for each in warps[place]]))
            for place in sorted(warps)
        }

    def _released(self, key: _Key, life: _Life) -> Iterator[tuple[Fraction, float]]:
        """Yield the parts of an instance with the cycles until which they are occupied."""
        reads, parts = self._reads.get(key, {}), self._pieces.get(key[0], {})
        if life.place in ("smem", "tmem") or not parts.keys() <= reads.keys():
            parts = {}
        whole = max((end for by, end in reads.items() if by not in parts), default=0.0)
        for by, part in parts.items():
            yield life.size * part, max(reads[by], whole)
        if not parts:
            yield life.size, life.end

    def _piece_taken(self, key: _Key, life: _Life) -> float | None:
        """Return when the piece of an operand that a result is made of makes room for it."""
        value, place, iteration, warp = key
        for operand, readers in self._pieces.items():
            for by, part in readers.items():
                of = (operand, place, iteration - by[1], warp)
                old, reads = self._lives.get(of), self._reads.get(of, {})
                if by[0] != value or old is None or old.place != life.place:
                    continue
                last = max((end for who, end in reads.items() if who not in readers), default=0.0)
                whole = readers.keys() <= reads.keys() and reads[by] >= last
                if whole and old.size * part >= life.size:
                    return min(reads[by], life.end)
        return None

    def _taken_over(self, key: _Key, life: _Life) -> float:
        """Return when an instance begins to need room of its own."""
        value, place, iteration, warp = key
        taken = None if place in MEMORIES else self._piece_taken(key, life)
        if taken is not None:
            return taken
        for operand, distance in sorted(self._takes[value]) if place != STAGING else ():
            for where in (place, copy_for(value, distance)):
                old = self._lives.get((operand, where, iteration - distance, warp))
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

    def always(self) -> dict[str, int]:
        """Return the memory and registers that invariants, addresses and counters always occupy."""
        found: dict[str, int] = defaultdict(int)
        schedule, registers = self._schedule, self._schedule.machine.registers
        for invariant in schedule.loop.invariants:
            tile = invariant.tile
            if tile.memory in ("smem", "tmem"):
                found[tile.memory] += schedule.machine.slot_size(tile)
            elif tile.memory == "registers":
                readers = [schedule.loop.operation(name) for name in invariant.used_by]
                for name in {self._home[reader.name] for reader in readers}:
                    warps = [r.warps for r in readers if self._home[r.name] == name]
                    threads = schedule.machine.threads(max(warps))
                    found[f"registers of {name}"] += tile.registers_each(threads)
        if registers is not None:
            for place in self._groups:
                found[place] += round(registers.reserve.value)
            kept = 0 if registers.product is None else registers.product.value
            for group in {self._home[product] for product in self._products()}:
                found[f"registers of {group}"] += kept
        return dict(found)

    def _products(self) -> Iterator[str]:
        """Yield the products that leave their results in registers."""
        schedule = self._schedule
        for operation in schedule.loop.operations if schedule.rules == "issue" else ():
            cost, result = schedule.machine.cost(operation), operation.result
            accumulates = cost.asynchronous and schedule.machine.units[cost.steps[0].unit].in_order
            if accumulates and result is not None and result.memory == "registers":
                yield operation.name

    def report(self, cycles: float, live: Mapping[str, int] | None = None) -> dict[str, Occupied]:
        """Return how full everything was, by the keys of `series`, and the register file.

        `live`: for each group the most registers per thread that are live along its program, the
        reserve for addresses and counters apart.
        """
        machine, always, given = self._schedule.machine, self.always(), self._given()
        reserve = 0 if machine.registers is None else round(machine.registers.reserve.value)
        along = {f"registers of {group}": most + reserve for group, most in (live or {}).items()}
        found = {}
        for place, series in self.series().items():
            peak, since = max((amount, -cycle) for cycle, amount in series)
            found[place] = Occupied(
                unit=UNITS.get(place, UNITS["registers"]),
                capacity=self._capacity(place),
                allocated=given.get(place, 0),
                always=always.get(place, 0),
                peak=peak,
                peak_cycle=-since,
                mean=_mean(series, cycles),
                along_program=along.get(place),
            )
        if machine.registers is not None:
            found[FILE] = self._file(found, along=bool(along))
        return found

    def _capacity(self, place: str) -> int | None:
        registers, memories = self._schedule.machine.registers, self._schedule.machine.memories
        if place in memories.by_name:
            return memories.by_name[place].available
        if place not in self._groups:
            return 0 if memories.by_name else None
        given = self._groups[place].registers
        return given or (registers.limit.value if registers is not None else None)

    def _file(self, groups: Mapping[str, Occupied], *, along: bool) -> Occupied:
        """Return the register file as the sum over the registers of all threads."""
        machine = self._schedule.machine
        threads = {place: machine.threads(group.warps) for place, group in self._groups.items()}

        def whole(amount: Callable[[Occupied], float]) -> float:
            return sum(amount(groups[name]) * n for name, n in threads.items())

        live = whole(lambda group: group.along_program or group.always)
        return Occupied(
            unit="registers",
            capacity=pool(self._schedule),
            allocated=int(whole(lambda group: group.allocated)),
            always=int(whole(lambda group: group.always)),
            peak=whole(lambda group: group.peak),
            peak_cycle=max((groups[name].peak_cycle for name in threads), default=0.0),
            mean=whole(lambda group: group.mean),
            along_program=int(live) if along else None,
        )

    def _given(self) -> dict[str, int]:
        """Return the memory allocated to rings and invariants, and the registers of groups."""
        found = {place: group.registers or 0 for place, group in self._groups.items()}
        for memory in ("smem", "tmem"):
            storage = [s for s in self._schedule.storage if s.memory == memory]
            taken = [(address, address + s.size) for s in storage for address in s.addresses]
            loose = sum(s.slots * s.size for s in storage if not s.addresses)
            fixed = [
                (value.address, value.address + value.size)
                for value in self._schedule.fixed
                if value.memory == memory and value.address is not None
            ]
            loose += 0 if fixed else self.always().get(memory, 0)
            found[memory] = _covered([*taken, *fixed]) + _beside(storage) + loose
        return found


def _key(event: Access) -> _Key:
    warp = 0 if event.place in MEMORIES else event.warp
    return event.value, event.place, event.iteration, warp


def _apart(storage: Storage) -> str:
    """Return the place of a value's staging or copy; empty for the value itself."""
    if storage.transfer:
        return STAGING
    return "" if storage.reader is None else copy_for(storage.reader, storage.distance)


def _most(series: list[Iterator[tuple[float, float]]]) -> Iterator[tuple[float, float]]:
    """Yield the largest of several step functions, at the cycles at which it changes."""
    steps = sorted(
        (cycle, which, amount) for which, each in enumerate(series) for cycle, amount in each
    )
    now: dict[int, float] = {}
    said: float | None = None
    for cycle, together in groupby(steps, key=itemgetter(0)):
        now.update((which, amount) for _, which, amount in together)
        if max(now.values()) != said:
            said = max(now.values())
            yield cycle, said


def _covered(intervals: Iterable[tuple[int, int]]) -> int:
    """Return how much some intervals cover together."""
    total, reached = 0, 0
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def _beside(storage: Iterable[Storage]) -> int:
    """Return the columns for second halves of lanes where another value has all of them.

    No view of a tile of all lanes begins there, so that a kernel needs further columns for them.
    """
    places = [
        (address, address + s.size, half)
        for s in storage
        for address, half in zip(s.addresses, s.halves or (None,) * s.slots, strict=False)
    ]
    return _covered(
        (max(begin, low), min(end, high))
        for begin, end, half in places
        for low, high, other in places
        if half == 1 and other is None and begin < high and low < end
    )


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
