"""Rows first, everything else afterwards: decomposed software pipelining.

Where units are busy in nearly every row, what goes where on them is a puzzle of its own, and
dependences, registers and groups make every try at it dear. To a unit operations of one shape are
the same, so that rows are looked for by shape alone; then each operation takes one of the rows of
its shape, together with its stage and its group. The two steps are those of Wang, Eisenbeis,
Jourdan and Su (Decomposed Software Pipelining, International Journal of Parallel Programming 22,
1994), each an exact search here. They find schedules; that they find none proves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from twill.bounds import bounds
from twill.configurations import ConfigurationBound, configuration_bound
from twill.console import interruptible
from twill.joint.answer import FAMILIES, Conditions, Refutation
from twill.joint.cpsat_run import LATEST_FIRST, Run, one_core
from twill.joint.cpsat_system import CpSatSystem
from twill.joint.groups import WarpGroup
from twill.problem import Problem

PACKING_SECONDS, PLACING_SECONDS = 10.0, 8.0
"""Seconds for each of the two steps of one try; schedules are found soon or not at all. The latter
are for loops of up to `USUAL_OPERATIONS`, and rise with the square of operations, as pairs do."""
USUAL_OPERATIONS = 100
PACKING_PART = 0.4
"""Of the time that is left, the most that rows of shapes may take."""
FEW_ALIKE = 4
"""So many operations of one shape, or more, are spread over the interval."""

Shape = tuple[tuple[str, int, int, int], ...]
"""Reservations: unit, start and length in time units, count."""
Span = tuple[str, int, int, int]
"""What a block takes of a unit: unit, start, length, count. The unit `TOGETHER` is all at once."""
TOGETHER = ""


@dataclass(frozen=True)
class Try:
    """One way to look for rows.

    Attributes
    ----------
    block : int
        So many operations of one shape follow one another without a gap, which makes the puzzle
        smaller.
    spread : float
        How far, as a part of the interval, an operation may be from where it would be were those of
        its shape spread evenly. Values live shorter where every shape has its turn all the time.
    """

    block: int
    spread: float


TRIES = (Try(2, 0.2), Try(4, 0.2), Try(2, 0.1), Try(3, 0.2), Try(1, 0.2), Try(2, 0.05), Try(1, 1.0))


@dataclass(frozen=True)
class ShapeRows:
    """Rows for the operations of one shape, which of them takes which being open.

    Attributes
    ----------
    operations, rows : tuple of int
        As many of either; rows in [0, I).
    """

    operations: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class _Block:
    """Operations of one shape that follow one another: what they take, and when, as one."""

    size: int
    spans: tuple[Span, ...]


def decomposed(
    cp: Any,
    problem: Problem,
    interval: int,
    most_stages: int,
    groups: Sequence[WarpGroup],
    under: Conditions,
) -> Refutation:
    """Look for a schedule at one interval, rows first, in one way after the other.

    Parameters
    ----------
    cp : module
        ``ortools.sat.python.cp_model``.
    problem : Problem
        The problem.
    interval : int
        I.
    most_stages : int
        The length of an iteration is at most so many intervals.
    groups : sequence of WarpGroup
        Groups that may be used.
    under : Conditions
        Limits, seed, time, hints.

    Returns
    -------
    Refutation
        ``sat`` with a schedule, or ``unknown``.
    """
    ends = None if under.timeout is None else time.monotonic() + under.timeout
    packing = Packing(problem, interval)
    placing = PLACING_SECONDS * max(1.0, len(problem.operations) / USUAL_OPERATIONS) ** 2
    for way in TRIES:
        left = None if ends is None else ends - time.monotonic()
        if left is not None and left <= 0:
            break
        most = PACKING_SECONDS if left is None else min(PACKING_SECONDS, PACKING_PART * left)
        rows = packing.solve(cp, way, under.seed, most)
        if rows is None:
            continue
        system = CpSatSystem(
            cp, problem, interval, interval, (0, most_stages), groups, FAMILIES, under.limits
        )
        _hold(system, cp, rows)
        system.take(under.hints)
        run = Run(cp, system, under.seed, LATEST_FIRST, presolve=False)
        left = placing if ends is None else ends - time.monotonic()
        if run.solve(max(0.0, min(placing, left))) == "sat":
            assignment, learnt = run.assignment(), system.sums.hints
            return Refutation("sat", interval, interval, assignment, run.statistics, learnt)
    return Refutation("unknown", interval)


def _hold(system: CpSatSystem, cp: Any, found: Sequence[ShapeRows]) -> None:
    """Let operations be issued in rows of their shapes only, turned so that the anchor's is 0."""
    times = system.times
    anchored = next(mine.rows[0] for mine in found if times.anchor in mine.operations)
    bounding = _in_any_order(system)
    for mine in found:
        if not bounding.intersection(mine.operations):
            continue
        allowed = cp.Domain.from_values([(row - anchored) % times.low for row in mine.rows])
        for v in mine.operations:
            if v != times.anchor:
                times.model.add_linear_expression_in_domain(times.rows[v], allowed)
        times.model.add_all_different([times.rows[v] for v in mine.operations])


def _in_any_order(system: CpSatSystem) -> set[int]:
    """Return the operations of what bounds the interval, but for those that take turns.

    How long a turn takes depends on groups, of which rows know nothing.
    """
    operations = system.problem.operations
    return {v for v in system.bounding if operations[v].in_order_unit is None}


class Packing:
    """The puzzle of units alone: every operation in some row, nothing beyond capacity.

    Parameters
    ----------
    problem : Problem
        The problem.
    interval : int
        I.
    """

    def __init__(self, problem: Problem, interval: int) -> None:
        self._interval = interval
        self._together = configuration_bound(problem, bounds(problem).resource)
        self._capacity = dict(problem.capacities)
        if self._together is not None:
            self._capacity[TOGETHER] = self._together.most
        self._alike: dict[Shape, list[int]] = {}
        for operation in problem.operations:
            shape = tuple((r.unit, r.start, r.length, r.count) for r in operation.reservations)
            self._alike.setdefault(shape, []).append(operation.index)
        self._spans = {
            shape: (*shape, *_weights(self._together, problem.operations[members[0]].name))
            for shape, members in self._alike.items()
        }

    def solve(self, cp: Any, way: Try, seed: int, timeout: float) -> list[ShapeRows] | None:
        """Return rows for the operations of every shape, or None if none were found in time.

        Parameters
        ----------
        cp : module
            ``ortools.sat.python.cp_model``.
        way : Try
            What else the rows satisfy.
        seed : int
            The solver's random seed.
        timeout : float
            Seconds.
        """
        model, interval = cp.CpModel(), self._interval
        taken: dict[str, list[tuple[Any, int, int, int]]] = {}
        rows: dict[Shape, list[tuple[_Block, Any]]] = {}
        for shape in sorted(self._alike, key=lambda shape: -_length(shape)):
            rows[shape] = [
                (block, model.new_int_var(0, interval - 1, ""))
                for block in self._blocks(shape, way.block)
            ]
            for block, row in rows[shape]:
                for unit, start, length, count in block.spans:
                    taken.setdefault(unit, []).append((row, start, length, count))
        for unit, spans in taken.items():
            _fit(model, interval, self._capacity[unit], spans)
        for shape, mine in rows.items():
            self._in_order(model, shape, mine, way.spread)
        solver = cp.CpSolver()
        one_core(solver.parameters, seed)
        solver.parameters.max_time_in_seconds = timeout
        status = interruptible(lambda: solver.solve(model), solver.stop_search)
        if status not in (cp.OPTIMAL, cp.FEASIBLE):
            return None
        return [
            ShapeRows(
                tuple(self._alike[shape]),
                tuple(
                    (solver.value(row) + position * _length(shape)) % interval
                    for block, row in mine
                    for position in range(block.size)
                ),
            )
            for shape, mine in rows.items()
        ]

    def _blocks(self, shape: Shape, most: int) -> Iterator[_Block]:
        """Yield the operations of a shape in blocks, where one can follow another at once."""
        spans, left = self._spans[shape], len(self._alike[shape])
        if len({(start, length) for _, start, length, _ in spans}) != 1:
            most = 1
        while left > 0:
            size = min(most, left)
            stretched = [(u, start, size * length, n) for u, start, length, n in spans]
            yield _Block(size, tuple(stretched) if size > 1 else spans)
            left -= size

    def _in_order(
        self, model: Any, shape: Shape, mine: Sequence[tuple[_Block, Any]], spread: float
    ) -> None:
        """Tell operations of one shape apart by their rows, and keep them where an even spread is.

        The first shape begins at row 0: packings can be rotated.
        """
        interval, count = self._interval, len(self._alike[shape])
        if shape == max(self._alike, key=_length):
            model.add(mine[0][1] == 0)
        before = 0
        for (block, row), (_, following) in zip(mine, [*mine[1:], mine[-1]], strict=True):
            if following is not row:
                model.add(row <= following)
            if count >= FEW_ALIKE:
                even = before * interval / count
                model.add(row >= int(even - spread * interval))
                model.add(row <= int(even + spread * interval + interval / count))
            before += block.size


def _fit(
    model: Any, interval: int, capacity: int, spans: Sequence[tuple[Any, int, int, int]]
) -> None:
    """State that a unit's capacity is kept in every row.

    What is in progress at the end of the interval is so at its beginning too: every span is there
    twice, an interval apart, and more often if it is longer than that.
    """
    intervals, counts = [], []
    for row, start, length, count in spans:
        for before in range((interval - 1 + start + length) // interval + 1):
            begin = row + start - before * interval
            intervals.append(model.new_fixed_size_interval_var(begin, length, ""))
            counts.append(count)
    if all(2 * count > capacity for count in counts):
        model.add_no_overlap(intervals)
    else:
        model.add_cumulative(intervals, counts, capacity)


def _weights(together: ConfigurationBound | None, name: str) -> Iterator[Span]:
    """Yield what an operation weighs in the configuration bound."""
    for piece, weight in together.weights if together else ():
        if piece.operation == name:
            yield TOGETHER, piece.start, piece.length, weight


def _length(shape: Shape) -> int:
    return max((start + length for _, start, length, _ in shape), default=0)
