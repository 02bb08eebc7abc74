"""Rows first, everything else afterwards: decomposed software pipelining.

Where units are busy in nearly every row, what goes where on them is a puzzle of its own, and
dependences, registers and groups make every try at it dear. To a unit operations of one shape are
the same, so that rows are looked for by shape alone; then each operation takes one of the rows of
its shape, together with its stage and its group. The two steps are those of Wang, Eisenbeis,
Jourdan and Su (Decomposed Software Pipelining, International Journal of Parallel Programming 22,
1994), each a search for an optimum here. They find schedules; that they find none proves nothing.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from twill.console import interruptible
from twill.joint.answer import FAMILIES, Conditions, Refutation
from twill.joint.cpsat_run import LATEST_FIRST, Run, one_core
from twill.joint.cpsat_system import CpSatSystem
from twill.joint.groups import WarpGroup
from twill.joint.residues import Residues, Route, residue_argument
from twill.joint.shapes import TOGETHER, Puzzle, Shape, ShapeRows, Span
from twill.joint.states import StateDiagram
from twill.joint.walks import Walks, rows_along, tour
from twill.problem import Problem

PACKING_SECONDS = 9.0
"""Seconds to look for rows of all shapes at once in vain, in all ways together."""
WALK_SECONDS = 20.0
"""Seconds to look for a walk; for `USUAL_OPERATIONS`."""
MOST_STATES, FEW_STATES = 150_000, 25_000
"""States of a diagram around idleness, and of a whole one, which is seen within two seconds."""
ROUTES = 3
"""Ways for walks to go that are tried in turn."""
TOURS = 4
"""Tours of a walk in whose rows a schedule is looked for."""
EASY_STATES = 100
"""Rows of all shapes at once are sooner found than walks where a diagram has no more states."""
ABOVE = 8
"""Intervals at which walks are looked for, from the least on."""
PLACING_SECONDS = 10.0
"""Seconds to look for a schedule in given rows, for up to `USUAL_OPERATIONS`; they rise with the
square of operations, as pairs do."""
USUAL_OPERATIONS = 100
FEW_ALIKE = 4
"""So many operations of one shape, or more, are spread over the interval."""


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


TRIES = ((Try(4, 0.2), 2.0), (Try(2, 0.1), 2.0), (Try(3, 0.2), 2.0), (Try(2, 0.2), 8.0))
"""Ways to look for rows of all shapes at once, and seconds; they are found soon or not at all."""
SEEDS = 3
"""Packings of one way in which to look for a schedule, other ways in between."""


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
    """Look for a schedule at an interval or close above it, rows first, in one way after another.

    Parameters
    ----------
    cp : module
        ``ortools.sat.python.cp_model``.
    problem : Problem
        The problem.
    interval : int
        The least I of interest.
    most_stages : int
        The length of an iteration is at most so many intervals.
    groups : sequence of WarpGroup
        Groups that may be used.
    under : Conditions
        Limits, seed, time, hints.

    Returns
    -------
    Refutation
        ``sat`` with a schedule and its interval, or ``unknown``.
    """
    puzzle = Puzzle(problem)
    place = _Placing(cp, problem, (0, most_stages), groups, under)
    widest = interval + (ABOVE if TOGETHER in puzzle.capacity else 1)
    for wider in range(interval, widest):
        for rows in _rows(cp, place, puzzle, wider, walks_only=wider > interval):
            known = place.schedule(wider, rows)
            if known.assignment is not None:
                return known
            if place.late:
                return Refutation("unknown", interval)
    return Refutation("unknown", interval)


def _rows(
    cp: Any, place: _Placing, puzzle: Puzzle, interval: int, *, walks_only: bool
) -> Iterator[list[ShapeRows]]:
    """Yield rows for the shapes of a puzzle, found in one way and another by turns."""
    if TOGETHER not in puzzle.capacity:
        return _all_at_once(cp, place, puzzle, interval)
    ways = [_along_walks(cp, place, puzzle, interval)]
    if not walks_only:
        easy = StateDiagram(puzzle, interval).around_idle(EASY_STATES) is not None
        ways.insert(0 if easy else 1, _all_at_once(cp, place, puzzle, interval))
    return by_turns(ways)


def by_turns(ways: Iterable[Iterator[list[ShapeRows]]]) -> Iterator[list[ShapeRows]]:
    """Yield what several ways find, one after another as long as they find something.

    Parameters
    ----------
    ways : iterable of iterator of list of ShapeRows
        The ways; each is asked only when its turn comes.
    """
    left = deque(ways)
    while left:
        way = left.popleft()
        for rows in itertools.islice(way, 1):
            yield rows
            left.append(way)


def _along_walks(
    cp: Any, place: _Placing, puzzle: Puzzle, interval: int
) -> Iterator[list[ShapeRows]]:
    """Yield rows along walks through a state diagram."""
    diagram, routes = _routes(puzzle, interval)
    ends = time.monotonic() + place.left(WALK_SECONDS * place.size)
    walks = Walks(cp, diagram, routes, place.under.seed)
    walk = walks.find(lambda: ends - time.monotonic())
    if walk is None:
        return
    for attempt in range(TOURS):
        yield rows_along(diagram, tour(walk, place.under.seed + attempt))


def _routes(puzzle: Puzzle, interval: int) -> tuple[StateDiagram, list[Route]]:
    """Return ways for walks to go, through the diagram of all that competes if it is not too large.

    It has no more of them than that of what weighs something, which is smaller.
    """
    known, routes = StateDiagram(puzzle, interval), list[Route]()
    for competing in (False, True):
        diagram = StateDiagram(puzzle, interval, competing=competing)
        if competing and diagram.shapes == known.shapes:
            break
        steps = diagram.around_idle(MOST_STATES)
        found = Residues(diagram, steps).routes(0, ROUTES) if steps else []
        if not found:
            break
        known, routes = diagram, found
    return known, routes


def _all_at_once(
    cp: Any, place: _Placing, puzzle: Puzzle, interval: int
) -> Iterator[list[ShapeRows]]:
    """Yield rows of all shapes at once: those of one packing, then those of others."""
    if residue_argument(puzzle, interval, FEW_STATES) is not None:
        return
    packing, promising, spare = Packing(puzzle, interval), list(TRIES), PACKING_SECONDS
    for seed in range(place.under.seed, place.under.seed + SEEDS):
        for way, seconds in list(promising):
            began = time.monotonic()
            rows = packing.solve(cp, way, seed, place.left(min(seconds, spare)))
            if rows is None:
                spare = max(0.0, spare - (time.monotonic() - began))
                promising.remove((way, seconds))
            else:
                yield rows


class _Placing:
    """Looks for schedules whose rows are known but for which operation of a shape takes which."""

    def __init__(
        self,
        cp: Any,
        problem: Problem,
        stages: tuple[int, int],
        groups: Sequence[WarpGroup],
        under: Conditions,
    ) -> None:
        self._cp, self._problem, self._groups, self.under = cp, problem, groups, under
        self._stages = stages
        self._ends = None if under.timeout is None else time.monotonic() + under.timeout
        self.size = max(1.0, len(problem.operations) / USUAL_OPERATIONS)

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return self._ends is not None and time.monotonic() >= self._ends

    def left(self, most: float, part: float = 1.0) -> float:
        """Return so many seconds at most, and that part of what is left at most."""
        if self._ends is None:
            return most
        return max(0.0, min(most, part * (self._ends - time.monotonic())))

    def schedule(self, interval: int, rows: Sequence[ShapeRows]) -> Refutation:
        """Return a schedule in those rows, or ``unknown``.

        Where the rows of everything leave no schedule, those of what does not bound the interval
        are open.
        """
        known = self._within(interval, rows, whole=True)
        if known.status == "unsat":
            known = self._within(interval, rows, whole=False)
        return known if known.assignment is not None else Refutation("unknown", interval)

    def _within(self, interval: int, rows: Sequence[ShapeRows], *, whole: bool) -> Refutation:
        """Return a schedule, ``unsat`` if the rows that are held leave none, or ``unknown``."""
        system = CpSatSystem(
            self._cp,
            self._problem,
            interval,
            interval,
            self._stages,
            self._groups,
            FAMILIES,
            self.under.limits,
        )
        if not any(system.times.anchor in mine.operations for mine in rows):
            # Rows count from the anchor's, which walks leave out where it weighs nothing.
            return Refutation("unknown", interval)
        _hold(system, self._cp, rows, whole=whole)
        system.take(self.under.hints)
        run = Run(self._cp, system, self.under.seed, LATEST_FIRST, presolve=False)
        status = run.solve(self.left(PLACING_SECONDS * self.size**2))
        if status != "sat":
            return Refutation(status, interval)
        assignment, learnt = run.assignment(), system.sums.hints
        return Refutation("sat", interval, interval, assignment, run.statistics, learnt)


def _hold(system: CpSatSystem, cp: Any, found: Sequence[ShapeRows], *, whole: bool) -> None:
    """Let operations be issued in rows of their shapes only, turned so that the anchor's is 0."""
    times = system.times
    anchored = next(mine.rows[0] for mine in found if times.anchor in mine.operations)
    bounding = _in_any_order(system, whole=whole)
    for mine in found:
        if not bounding.intersection(mine.operations):
            continue
        allowed = cp.Domain.from_values([(row - anchored) % times.low for row in mine.rows])
        for v in mine.operations:
            if v != times.anchor:
                times.model.add_linear_expression_in_domain(times.rows[v], allowed)
        times.model.add_all_different([times.rows[v] for v in mine.operations])


def _in_any_order(system: CpSatSystem, *, whole: bool) -> set[int]:
    """Return the operations that any packing can have in any order.

    Those of what bounds the interval, or the whole of them. How long groups keep an in-order unit
    depends on groups, of which rows know nothing unless operations are issued in turn anyway.
    """
    operations, in_turn = system.problem.operations, system.problem.in_turn
    held = range(len(operations)) if whole else system.bounding
    return {v for v in held if operations[v].in_order_unit is None or v in in_turn}


class Packing:
    """The puzzle as a whole: every operation in some row, nothing beyond capacity.

    Parameters
    ----------
    puzzle : Puzzle
        Shapes of operations and what a row has for them.
    interval : int
        I.
    """

    def __init__(self, puzzle: Puzzle, interval: int) -> None:
        self._puzzle, self._interval = puzzle, interval

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
        rows: list[list[tuple[_Block, Any]]] = []
        for shape in self._puzzle.shapes:
            mine = [
                (block, model.new_int_var(0, interval - 1, ""))
                for block in _blocks(shape, way.block)
            ]
            rows.append(mine)
            self._in_order(model, shape, mine, way.spread)
            for block, row in mine:
                for unit, start, length, count in block.spans:
                    taken.setdefault(unit, []).append((row, start, length, count))
        # Packings can be rotated.
        model.add(rows[0][0][1] == 0)
        for unit, spans in taken.items():
            _fit(model, interval, self._puzzle.capacity[unit], spans)
        solver = cp.CpSolver()
        one_core(solver.parameters, seed)
        solver.parameters.max_time_in_seconds = timeout
        status = interruptible(lambda: solver.solve(model), solver.stop_search)
        if status not in (cp.OPTIMAL, cp.FEASIBLE):
            return None
        return [
            ShapeRows(
                shape.operations,
                tuple(
                    (solver.value(row) + position * shape.length) % interval
                    for block, row in mine
                    for position in range(block.size)
                ),
            )
            for shape, mine in zip(self._puzzle.shapes, rows, strict=True)
        ]

    def _in_order(
        self, model: Any, shape: Shape, mine: Sequence[tuple[_Block, Any]], spread: float
    ) -> None:
        """Tell operations of one shape apart by their rows, and keep them evenly spread."""
        interval, count, before = self._interval, len(shape.operations), 0
        for (block, row), (_, following) in zip(mine, [*mine[1:], mine[-1]], strict=True):
            if following is not row:
                model.add(row <= following)
            if count >= FEW_ALIKE:
                even = before * interval / count
                model.add(row >= int(even - spread * interval))
                model.add(row <= int(even + spread * interval + interval / count))
            before += block.size


def _blocks(shape: Shape, most: int) -> Iterator[_Block]:
    """Yield the operations of a shape in blocks, where one can follow another at once."""
    left = len(shape.operations)
    if len({(start, length) for _, start, length, _ in shape.spans}) != 1:
        most = 1
    while left > 0:
        size = min(most, left)
        stretched = [(u, start, size * length, n) for u, start, length, n in shape.spans]
        yield _Block(size, tuple(stretched) if size > 1 else shape.spans)
        left -= size


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
