"""What a program really reads and writes: the expressions that its slots hold.

A read finds what lies in the slot at its first and at its last cycle; if that changed in between it
gets half of each. While a slot is being written a reader finds half of what was there before and
half of the new. A write over the addresses of other slots leaves nothing there. No read is refused,
and nothing is assumed to be in its slot because a schedule says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field

from twill.artifacts.schedule import Schedule
from twill.sim.checks.dataflow import NOTHING, Expressions
from twill.sim.engine.addresses import beneath
from twill.sim.engine.observer import Observer
from twill.sim.engine.work import works

STAGING, NOWHERE = "staging in smem", "no memory"
WHOLE = -1
"""The lane of what all warps share."""
END_READ, END_WRITE, BEGIN = range(3)
"""Order within a cycle; what begins does so in the order in which it is told."""

Place = tuple[str, str, int, int]
Instance = tuple[str, int]
Results = dict[Instance, int]


@dataclass
class _Execution:
    """What an operation, or a move of one warp, has read so far: by operand and by lane."""

    read: dict[tuple[str, int], dict[int, int]] = field(default_factory=lambda: defaultdict(dict))


@dataclass
class _Cell:
    """A slot: what it holds, what is being written to it, and who writes there or over it."""

    holds: int = NOTHING
    coming: int | None = None
    writer: Instance | None = None


class Provenance(Observer):
    """Follows what a program computes through its slots."""

    def __init__(self, schedule: Schedule, expressions: Expressions) -> None:
        self._expressions = expressions
        self._works = works(schedule.loop, schedule.machine)
        self._home = schedule.assignment
        self._beneath = beneath(schedule.storage)
        self._events: list[tuple[float, int, int, Callable[[], None]]] = []
        self._cells: dict[Place, _Cell] = defaultdict(_Cell)
        self._lanes: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._executions: dict[tuple[str, int, int], _Execution] = defaultdict(_Execution)
        self._homes: dict[Instance, dict[Place, int]] = defaultdict(dict)

    # -- what the execution tells -------------------------------------------------------------

    def reading(
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
    ) -> None:
        """Take the first cycle of a read; see `Observer.reading`."""
        key, who = self._key(value, place, slot, group, lane), (operation, of_iteration, lane)
        distance = of_iteration - iteration
        self._at(begin, BEGIN, lambda: self._begin_read(key, who, distance))

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
        """Take the last cycle of a read; see `Observer.read`."""
        key, who = self._key(value, place, slot, group, lane), (operation, of_iteration, lane)
        distance = of_iteration - iteration
        # A store has its registers once it is issued.
        stored = operation not in self._works and place != STAGING
        if end > begin and not stored:
            self._at(end, END_READ, lambda: self._end_read(key, who, distance))

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
        """Take the first cycle of a write; see `Observer.writing`."""
        key, who = self._key(value, place, slot, group, lane), (operation, iteration, lane)
        self._at(begin, BEGIN, lambda: self._begin_write(key, who))

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
        """Take the cycle from which a write can be read; see `Observer.wrote`."""
        key, who = self._key(value, place, slot, group, lane), (operation, iteration, lane)
        order = END_WRITE if end > begin else BEGIN
        self._at(end, order, lambda: self._end_write(key, who))

    def _at(self, cycle: float, order: int, happen: Callable[[], None]) -> None:
        self._events.append((cycle, order, len(self._events), happen))

    # -- in the order of cycles ---------------------------------------------------------------

    def results(self, wanted: Iterable[Instance], last: Iterable[Instance] = ()) -> Results:
        """Return the expressions of results.

        `wanted`: operations and iterations.
        `last`: those that must still be in their slots at the end; others are what was written.
        """
        for _, _, _, happen in sorted(self._events, key=lambda event: event[:3]):
            happen()
        self._events.clear()
        kept = set(last)
        return {instance: self._result(instance, kept) for instance in wanted}

    def _result(self, instance: Instance, kept: Set[Instance]) -> int:
        written = self._homes[instance]
        if not written:
            return NOTHING
        parts = [self._cells[p].holds if instance in kept else written[p] for p in sorted(written)]
        return self._expressions.of_warps(parts)

    def _begin_read(self, key: Place, who: tuple[str, int, int], distance: int) -> None:
        self._execution(who).read[key[0], distance][key[2]] = self._found(key, who, distance)

    def _end_read(self, key: Place, who: tuple[str, int, int], distance: int) -> None:
        if self._cells[key].writer == who[:2]:
            return  # it updates in place what it reads
        read = self._execution(who).read[key[0], distance]
        now = self._found(key, who, distance)
        read[key[2]] = self._expressions.mixed(read.get(key[2], now), now)

    def _key(self, value: str, place: str, slot: int, group: str, lane: int) -> Place:
        """Return the cell that a warp uses: of staging, that of the warp whose part it is.

        So it is with what another group made that lies nowhere.
        """
        if place in ("smem", "tmem"):
            return (value, place, WHOLE, slot)
        if place == STAGING or (place == NOWHERE and group != self._home[value]):
            lane = self._works[value].holder(lane)
        return (value, place, lane, slot)

    def _found(self, key: Place, who: tuple[str, int, int], distance: int) -> int:
        cell = self._cells[key]
        if cell.coming is None:
            return cell.holds
        if self._chained(who[0], key[0], distance):
            return cell.coming
        return self._expressions.mixed(cell.holds, cell.coming)

    def _chained(self, operation: str, value: str, distance: int) -> bool:
        """Whether an operation accumulates on what its own unit is still making."""
        work = self._works.get(operation)
        return work is not None and any(
            read.chained and (read.value, read.distance) == (value, distance) for read in work.reads
        )

    def _begin_write(self, key: Place, who: tuple[str, int, int]) -> None:
        value, place, lane, slot = key
        cell = self._cells[key]
        self._lanes[value, place].add(lane)
        cell.coming, cell.writer = self._made(who, lane), who[:2]
        for other, staged, number in self._beneath.get((value, place == STAGING, slot), ()):
            where = STAGING if staged else "smem" if place == STAGING else place
            for lost in self._lanes[other, where]:
                self._cells[other, where, lost, number] = _Cell(writer=who[:2])

    def _end_write(self, key: Place, who: tuple[str, int, int]) -> None:
        cell, made = self._cells[key], self._made(who, key[2])
        if cell.writer == who[:2]:
            cell.holds, cell.coming, cell.writer = made, None, None
        if who[0] == key[0]:
            self._homes[who[:2]][key] = made

    def _execution(self, who: tuple[str, int, int]) -> _Execution:
        """Return an operation with all of its warps, or what one warp moves."""
        return self._executions[who if who[0] not in self._works else (*who[:2], WHOLE)]

    def _made(self, who: tuple[str, int, int], lane: int) -> int:
        """Return what an operation makes on a lane, or as a whole, of what it has read."""
        operation, iteration, _ = who
        read = self._execution(who).read
        if operation not in self._works:
            return next((n for lanes in read.values() for n in lanes.values()), NOTHING)
        of = []
        for source in self._expressions.dataflow.sources[operation]:
            if source.kind == "made" and iteration < source.distance:
                before = source.distance - iteration
                of.append(self._expressions.number("first", source.name, before))
            elif source.kind == "made":
                of.append(self._operand(read.get((source.name, source.distance), {}), lane))
        return self._expressions.made(operation, iteration, of)

    def _operand(self, lanes: Mapping[int, int], lane: int) -> int:
        if not lanes:
            return NOTHING
        if lane in lanes:
            return lanes[lane]
        if WHOLE in lanes:
            return lanes[WHOLE]
        if lane == WHOLE:
            return self._expressions.of_warps([lanes[k] for k in sorted(lanes)])
        return lanes[min(lanes)]
