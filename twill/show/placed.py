"""Where a schedule puts work in time, and what holds each operation where it is.

All of it follows from the starts and the problem's integers; no solver is asked. An operation that
nothing holds was free: the search put it where the schedule is short or its consumers have slack.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError
from twill.problem import Problem, build_problem
from twill.problem.operations import Edge


@dataclass(frozen=True)
class Bar:
    """An operation of iteration 0, in units of the schedule's time, on `count` instances."""

    operation: str
    group: str
    begin: int
    length: int
    count: int = 1


@dataclass(frozen=True)
class Track:
    """A warp group or a unit, with what is on it in the order of begins."""

    name: str
    bars: tuple[Bar, ...]
    capacity: int = 1
    is_group: bool = False


@dataclass(frozen=True)
class Placed:
    """A solved schedule as bars: what groups issue, and what units work on."""

    schedule: Schedule
    problem: Problem
    interval: int
    length: int
    groups: tuple[Track, ...]
    units: tuple[Track, ...]

    @property
    def stages(self) -> int:
        """Intervals that an iteration reaches into."""
        return -(-self.length // self.interval)


def placed(schedule: Schedule) -> Placed:
    """Return where a schedule puts work.

    Raises
    ------
    InputError
        If it has no interval or an operation has no start, as in schedules written by hand.
    """
    interval, start = schedule.initiation_interval, schedule.start
    missing = [o.name for o in schedule.loop.operations if o.name not in start]
    if interval is None or missing:
        what, path = "no initiation interval", "initiation_interval"
        if missing:
            what, path = f"{missing[0]} has no start", "placements"
        instead = "simulate it instead with `python -m twill.sim run SCHEDULE --timeline FILE.svg`"
        wrong = f"nothing to place in time: {what}; {instead}"
        raise InputError(wrong, path=path, file=schedule.file)
    problem = build_problem(
        schedule.loop, schedule.machine, rules=schedule.rules, scale=schedule.time
    )
    group = schedule.assignment
    issued: dict[str, list[Bar]] = defaultdict(list)
    worked: dict[str, list[Bar]] = defaultdict(list)
    for o in problem.operations:
        own, begin = group[o.name], start[o.name]
        issued[own].append(Bar(o.name, own, begin, o.issue))
        for r in o.reservations:
            worked[r.unit].append(Bar(o.name, own, begin + r.start, r.length, r.count))
    ends = max(start[o.name] + o.cycles for o in problem.operations)
    return Placed(
        schedule,
        problem,
        interval,
        max(schedule.length or 0, ends),
        tuple(Track(g.name, _sorted(issued[g.name]), is_group=True) for g in schedule.groups),
        tuple(Track(unit, _sorted(worked[unit]), n) for unit, n in problem.capacities.items()),
    )


def _sorted(bars: list[Bar]) -> tuple[Bar, ...]:
    return tuple(sorted(bars, key=lambda bar: (bar.begin, bar.operation)))


def lanes(spans: Sequence[tuple[int, int]]) -> list[int]:
    """Give each span the first lane in which it overlaps with none before it.

    `spans`: begin and end, in the order in which they are served.
    """
    taken: list[list[tuple[int, int]]] = []
    found = []
    for begin, end in spans:
        free = (n for n, on in enumerate(taken) if all(end <= b or begin >= e for b, e in on))
        lane = next(free, len(taken))
        taken[lane:lane] = [[]] if lane == len(taken) else []
        taken[lane].append((begin, end))
        found.append(lane)
    return found


@dataclass(frozen=True)
class Cell:
    """A piece of a unit's modular reservation table, rows `begin` to before `end`.

    `low` and `count`: of the unit's instances, how many lie below it and how many it takes.
    """

    operation: str
    group: str
    begin: int
    end: int
    low: int
    count: int


def reservation_table(track: Track, interval: int) -> list[Cell]:
    """Return what is taken of a unit, modulo the interval."""
    pieces = [(bar, *piece) for bar in track.bars for piece in _wrapped(bar, interval)]
    edges = sorted({0, interval, *(edge for _, begin, end in pieces for edge in (begin, end))})
    cells: list[Cell] = []
    last: dict[str, int] = {}
    for begin, end in itertools.pairwise(edges):
        low = 0
        for bar, first, until in pieces:
            if not first <= begin < until:
                continue
            cell = Cell(bar.operation, bar.group, begin, end, low, bar.count)
            known = last.get(bar.operation)
            if known is not None and (cells[known].end, cells[known].low) == (begin, low):
                cells[known] = replace(cell, begin=cells[known].begin)
            else:
                last[bar.operation] = len(cells)
                cells.append(cell)
            low += bar.count
    return cells


def _wrapped(bar: Bar, interval: int) -> list[tuple[int, int]]:
    """Return a bar's rows modulo the interval: whole rounds first, then what is left."""
    whole, rest = divmod(bar.length, interval)
    begin, end = bar.begin % interval, bar.begin % interval + rest
    pieces = (begin, min(end, interval)), (0, end - interval)
    return [(0, interval)] * whole + [(first, until) for first, until in pieces if first < until]


@dataclass(frozen=True)
class Position:
    """The constraints that hold one operation in place.

    `operation`, `group`: the operation and its warp group.
    `start`: its issue time, in units of the schedule's time.
    `earlier`, `later`: by how much dependences alone would let it move, the others staying where
    they are; None if none limits it on that side.
    `behind`: its predecessors without a gap: producers, and operations on its unit or its warps.
    `before`: its successors without a gap.
    """

    operation: str
    group: str
    start: int
    earlier: int | None
    later: int | None
    behind: tuple[str, ...]
    before: tuple[str, ...]


def positions(schedule: Schedule) -> list[Position]:
    """Return what holds each operation, group by group in the order of the interval.

    Raises
    ------
    InputError
        If it was not solved.
    """
    if schedule.initiation_interval is None or len(schedule.start) < len(schedule.loop.operations):
        wrong = "nobody solved it, so that operations have no start"
        raise InputError(wrong, path="placements", file=schedule.file)
    held = _Held(placed(schedule))
    order = {group.name: number for number, group in enumerate(schedule.groups)}
    return sorted(
        map(held.position, range(len(held.names))),
        key=lambda p: (order[p.group], p.start % held.interval, p.operation),
    )


class _Held:
    """Looks for what leaves no gap before or behind an operation."""

    def __init__(self, found: Placed) -> None:
        self.problem, self.interval = found.problem, found.interval
        self.names = [o.name for o in self.problem.operations]
        self.start = [found.schedule.start[name] for name in self.names]
        self.group = [found.schedule.assignment[name] for name in self.names]
        self.whole = list(self._whole())

    def _whole(self) -> Iterator[tuple[int, str, int, int]]:
        """Yield operations that take all of a unit, and the rows from which on and until when."""
        for v, operation in enumerate(self.problem.operations):
            for r in operation.reservations:
                if r.count == self.problem.capacities[r.unit]:
                    begin = self.start[v] + r.start
                    yield v, r.unit, begin % self.interval, (begin + r.length) % self.interval

    def position(self, v: int) -> Position:
        into = [(e, self.spare(e)) for e in self.problem.edges if e.consumer == v != e.producer]
        out = [(e, self.spare(e)) for e in self.problem.edges if e.producer == v != e.consumer]
        needed = (f"needs {self.names[e.producer]}{_of(e.distance, 'before')}"
                  for e, spare in into if spare == 0)  # fmt: skip
        needing = (f"{self.names[e.consumer]}{_of(e.distance, 'later')} needs it"
                   for e, spare in out if spare == 0)  # fmt: skip
        earlier, later = (min((spare for _, spare in e), default=None) for e in (into, out))
        behind = tuple(dict.fromkeys([*needed, *self._taken(v)]))
        before = tuple(dict.fromkeys(needing))
        name, group, start = self.names[v], self.group[v], self.start[v]
        return Position(name, group, start, earlier, later, behind, before)

    def spare(self, edge: Edge) -> int:
        """Return by how much more than its delay an edge keeps its ends apart."""
        crosses = self.group[edge.producer] != self.group[edge.consumer]
        delay = edge.cross_delay if crosses else edge.delay
        apart = self.start[edge.consumer] + edge.distance * self.interval
        return apart - self.start[edge.producer] - delay

    def _taken(self, v: int) -> Iterator[str]:
        """Yield the operations that held its units, its warps or its turn until it starts."""
        for _, unit, begin, _ in (entry for entry in self.whole if entry[0] == v):
            for u, same, _, end in self.whole:
                if u != v and same == unit and end == begin:
                    yield f"{unit} has {self.names[u]} until then"
        for u, operation in enumerate(self.problem.operations):
            if u == v or not operation.issue:
                continue
            apart = (self.start[v] - self.start[u]) % self.interval
            if self.group[u] != self.group[v]:
                turn = self.problem.turn(u, v)
                if turn and apart == turn:
                    yield f"its turn comes after {self.names[u]}"
            elif apart == operation.issue % self.interval:
                yield f"its warps issue {self.names[u]} until then"


def _of(distance: int, word: str) -> str:
    if distance == 0:
        return ""
    return f" of the iteration {word}" if distance == 1 else f" of {distance} iterations {word}"
