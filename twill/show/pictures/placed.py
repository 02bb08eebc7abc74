"""Where a schedule puts work in time: on warps that issue it, and on units."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from twill.artifacts.schedule import Schedule
from twill.errors import InputError
from twill.problem.problem import Problem, build_problem


@dataclass(frozen=True)
class Bar:
    """An operation on a row, in units of the schedule's time.

    Attributes
    ----------
    operation, group : str
        The operation and the warp group that issues it.
    begin, length : int
        Within iteration 0.
    count : int
        Instances of the unit that it takes.
    """

    operation: str
    group: str
    begin: int
    length: int
    count: int = 1


@dataclass(frozen=True)
class Row:
    """A warp group or a unit.

    Attributes
    ----------
    name : str
        Its name.
    bars : tuple of Bar
        What is on it, of iteration 0.
    capacity : int
        Instances.
    is_group : bool
        Whether it is a warp group.
    """

    name: str
    bars: tuple[Bar, ...]
    capacity: int = 1
    is_group: bool = False


@dataclass(frozen=True)
class Placed:
    """A solved schedule as bars.

    Attributes
    ----------
    schedule : Schedule
        The schedule.
    interval, length, stages : int
        I, L and ceil(L / I).
    groups, units : tuple of Row
        What groups issue, and what units work on.
    """

    schedule: Schedule
    interval: int
    length: int
    stages: int
    groups: tuple[Row, ...]
    units: tuple[Row, ...]

    @property
    def unit_of_time(self) -> str:
        """The unit of all times, for axes and titles."""
        time = self.schedule.time
        if time.mode != "normalized":
            return "cycles"
        return f"units of {time.cycles_per_unit:.3g} cycles"


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
        what = "no initiation interval" if not missing else f"{missing[0]} has no start"
        raise InputError(
            f"nothing to place in time: {what}; simulate it instead with "
            "`python -m twill.sim run SCHEDULE --timeline FILE.svg`",
            path="placements" if missing else "initiation_interval",
            file=schedule.file,
        )
    problem = build_problem(
        schedule.loop, schedule.machine, rules=schedule.rules, scale=schedule.time
    )
    ends = max(start[o.name] + o.cycles for o in problem.operations)
    length = max(schedule.length or 0, ends)
    return Placed(
        schedule,
        interval,
        length,
        -(-length // interval),
        tuple(_groups(schedule, problem)),
        tuple(_units(schedule, problem)),
    )


def _groups(schedule: Schedule, problem: Problem) -> Iterable[Row]:
    start, group = schedule.start, schedule.assignment
    for one in schedule.groups:
        bars = [
            Bar(o.name, one.name, start[o.name], o.issue)
            for o in problem.operations
            if group[o.name] == one.name
        ]
        yield Row(one.name, _sorted(bars), is_group=True)


def _units(schedule: Schedule, problem: Problem) -> Iterable[Row]:
    start, group = schedule.start, schedule.assignment
    bars: dict[str, list[Bar]] = defaultdict(list)
    for o in problem.operations:
        for r in o.reservations:
            bar = Bar(o.name, group[o.name], start[o.name] + r.start, r.length, r.count)
            bars[r.unit].append(bar)
    for unit, capacity in problem.capacities.items():
        yield Row(unit, _sorted(bars[unit]), capacity)


def _sorted(bars: list[Bar]) -> tuple[Bar, ...]:
    return tuple(sorted(bars, key=lambda bar: (bar.begin, bar.operation)))


@dataclass(frozen=True)
class Cell:
    """A piece of a unit's modular reservation table.

    Attributes
    ----------
    operation, group : str
        Who takes it.
    begin, end : int
        Slots, from the first to before the last.
    low, count : int
        Of the unit's instances, how many lie below and how many it takes.
    """

    operation: str
    group: str
    begin: int
    end: int
    low: int
    count: int


def table(row: Row, interval: int) -> list[Cell]:
    """Return the modular reservation table of a unit.

    `interval`: I: what is taken at a time is taken in every interval.
    """
    pieces = [(bar, *piece) for bar in row.bars for piece in _wrapped(bar, interval)]
    edges = sorted({0, interval, *(edge for _, begin, end in pieces for edge in (begin, end))})
    cells: list[Cell] = []
    last: dict[str, int] = {}
    for begin, end in itertools.pairwise(edges):
        low = 0
        for bar, first, until in pieces:
            if first <= begin < until:
                known = last.get(bar.operation)
                before = None if known is None else cells[known]
                if (
                    known is not None
                    and before is not None
                    and ((before.end, before.low) == (begin, low))
                ):
                    cells[known] = Cell(bar.operation, bar.group, before.begin, end, low, bar.count)
                else:
                    last[bar.operation] = len(cells)
                    cells.append(Cell(bar.operation, bar.group, begin, end, low, bar.count))
                low += bar.count
    return cells


def _wrapped(bar: Bar, interval: int) -> list[tuple[int, int]]:
    """Return a bar's slots modulo the interval: whole rounds first, then what is left."""
    whole, rest = divmod(bar.length, interval)
    found = [(0, interval)] * whole
    begin = bar.begin % interval
    if rest and begin + rest <= interval:
        found.append((begin, begin + rest))
    elif rest:
        found += [(begin, interval), (0, begin + rest - interval)]
    return found


def lanes(spans: list[tuple[int, int]]) -> list[int]:
    """Give each span the first lane in which it overlaps with none before it.

    `spans`: begin and end, in the order in which they are served.
    """
    ends: list[list[tuple[int, int]]] = []
    found = []
    for begin, end in spans:
        free = (n for n, taken in enumerate(ends) if _fits(begin, end, taken))
        lane = next(free, len(ends))
        if lane == len(ends):
            ends.append([])
        ends[lane].append((begin, end))
        found.append(lane)
    return found


def _fits(begin: int, end: int, taken: list[tuple[int, int]]) -> bool:
    return all(end <= b or begin >= e for b, e in taken)
