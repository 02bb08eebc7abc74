"""Rows segment by segment: column generation for the puzzle of units.

Where units leave nothing over, rows for a hundred operations are not found one operation at a time:
what is left at the end does not fit. A segment is a stretch of rows that no operation reaches into
or out of. Short ones that waste next to nothing are plenty, and segments follow one another in any
order. How often to take which of them, so that every operation is in one and the rows are fewest,
is the integer program of cutting stock, with segments for patterns (Gilmore and Gomory, Operations
Research 9, 1961); its prices say of which operations segments are still wanting.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from twill.joint.shapes import TOGETHER, Puzzle, Shape, ShapeRows
from twill.scip import improve, new_model, optimize, total

ROUNDS, ROUND_NODES = 8, 80_000
"""Rounds between prices, and partial segments to look at in each."""
STALE = 300
"""Searches in a row without a new segment before a round ends."""
SEARCH_NODES, BRANCHES = 100, 2
"""Partial segments of one search, and how many ways to go on are tried of each."""
LONG = 0.4
"""How long a segment is at most, as a part of the interval, if two operations are not longer."""
KEENNESS = (0, 0, 2, 5)
"""Powers of its price with which a shape is drawn."""
FLUSH = 30
"""How much rather an operation is drawn if what it takes changes when another ends."""
WASTE = (0, 0, 1, 2)
"""What the rows of a segment may fall short of the heaviest configuration, added up."""
COVER_SECONDS = 6.0
"""Seconds for an integer program; the best that is known by then will do."""
PATIENCE = 3
"""Integer programs in a row without fewer rows before the best is taken."""
CLOSE = 0.002
"""How far above the bound, as a part of it, one such program is enough."""

Running = tuple[tuple[str, int, int, int], ...]
"""Unit, start and end in rows of the segment, count."""
Counts = tuple[int, ...]
"""Operations of each shape."""


@dataclass(frozen=True)
class Segment:
    """Rows that no operation reaches into or out of.

    Attributes
    ----------
    length : int
        Rows, time units.
    issued : tuple of (int, int)
        Shapes and the rows, from the segment's first, in which one of theirs is issued.
    """

    length: int
    issued: tuple[tuple[int, int], ...]


class Segments:
    """Segments of one puzzle, found at random from a seed.

    Parameters
    ----------
    puzzle : Puzzle
        Shapes of operations and what a row has for them, the weight of a configuration included.
        Shapes that weigh nothing are left out.
    least : int
        A bound below the rows of any packing, time units.
    seed : int
        Of what is tried first.
    """

    def __init__(self, puzzle: Puzzle, least: int, seed: int) -> None:
        self._shapes = tuple(shape for shape in puzzle.shapes if shape.weight)
        self._puzzle, self._least = puzzle, least
        self._random = random.Random(seed)  # noqa: S311 - no secret
        self._known: dict[Counts, Segment] = {}
        for k, shape in enumerate(self._shapes):
            one = tuple(int(k == j) for j in range(len(self._shapes)))
            self._known[one] = Segment(shape.length, ((k, 0),))

    def fewest(self, seconds: float) -> list[Segment]:
        """Return segments in which every operation is, of as few rows as are found.

        Parameters
        ----------
        seconds : float
            After which no new round begins.
        """
        ends = time.monotonic() + seconds
        best, idle = list[Segment](), 0
        prices = [float(shape.weight) / self._most for shape in self._shapes]
        for _ in range(ROUNDS):
            self._look(prices)
            prices = self._prices()
            needed = sum(len(s.operations) * p for s, p in zip(self._shapes, prices, strict=True))
            if not best or needed <= rows_of(best) - 1:
                found = self._cover()
                better = bool(found) and (not best or rows_of(found) < rows_of(best))
                best, idle = (found, 0) if better else (best, idle + 1)
            close = rows_of(best) - self._least <= CLOSE * self._least
            enough = idle >= (1 if close else PATIENCE) or rows_of(best) == self._least
            if time.monotonic() > ends or enough:
                break
        return best

    def rows(self, chosen: Sequence[Segment], interval: int) -> list[ShapeRows]:
        """Return rows of operations where segments follow one another.

        Parameters
        ----------
        chosen : sequence of Segment
            In their order; together they have every operation.
        interval : int
            At least their rows; what is more is left over between them, evenly.
        """
        rows: list[list[int]] = [[] for _ in self._shapes]
        first, over = 0, interval - rows_of(chosen)
        for position, segment in enumerate(chosen):
            for k, row in segment.issued:
                rows[k].append(first + over * position // len(chosen) + row)
            first += segment.length
        return [
            ShapeRows(shape.operations, tuple(mine[: len(shape.operations)]))
            for shape, mine in zip(self._shapes, rows, strict=True)
        ]

    def evenly(self, chosen: Sequence[Segment], seed: int, swaps: int) -> list[Segment]:
        """Return segments in an order in which operations of one shape are well apart.

        Values live shorter where every shape has its turn all the time.

        Parameters
        ----------
        chosen : sequence of Segment
            Together they have every operation.
        seed : int
            Of the order to begin with.
        swaps : int
            How many pairs of segments are exchanged, where that does not make it less even.
        """
        generator = random.Random(seed)  # noqa: S311 - no secret
        best = generator.sample(chosen, len(chosen))
        least = self._uneven(best)
        for _ in range(swaps if len(chosen) > 1 else 0):
            order = list(best)
            i, j = generator.sample(range(len(order)), 2)
            order[i], order[j] = order[j], order[i]
            uneven = self._uneven(order)
            if uneven <= least:
                best, least = order, uneven
        return best

    def _uneven(self, chosen: Sequence[Segment]) -> int:
        """Return the squares of rows between operations of one shape, added up."""
        interval, found = rows_of(chosen), 0
        for mine in self.rows(chosen, interval):
            rows = sorted(mine.rows)
            following = [*rows[1:], rows[0] + interval]
            found += sum((b - a) ** 2 for a, b in zip(rows, following, strict=True))
        return found

    @property
    def _most(self) -> int:
        return self._puzzle.capacity[TOGETHER]

    def _look(self, prices: Sequence[float]) -> None:
        """Look for segments, of shapes that are dear rather than of others."""
        work = sum(len(shape.operations) * shape.weight for shape in self._shapes)
        spare = max(0, self._least * self._most - work)
        longest = max(shape.length for shape in self._shapes)
        nodes = stale = 0
        while nodes < ROUND_NODES and stale < STALE:
            keen = self._random.choice(KEENNESS)
            chances = [
                len(shape.operations)
                * shape.weight**0.5
                * min(50.0, max(0.02, (price * self._most / shape.weight) ** keen))
                * self._random.lognormvariate(0, 1)
                for shape, price in zip(self._shapes, prices, strict=True)
            ]
            waste = self._random.choice((*WASTE, spare + self._most))
            limit = round(self._random.uniform(longest, max(LONG * self._least, 2 * longest)))
            search = _Search(self._shapes, self._puzzle, chances, self._random)
            stale += 1
            for counts, segment in search.run(waste, limit):
                known = self._known.get(counts)
                if known is None or segment.length < known.length:
                    self._known[counts], stale = segment, 0
            nodes += max(1, search.nodes)

    def _prices(self) -> list[float]:
        """Return what operations of each shape cost: most, if no segment costs more than it has."""
        model = new_model("prices")
        prices = [model.addVar(f"p{k}", lb=0) for k in range(len(self._shapes))]
        for counts, segment in self._known.items():
            chosen = zip(counts, prices, strict=True)
            model.addCons(total(n * price for n, price in chosen if n) <= segment.length)
        alike = zip(self._shapes, prices, strict=True)
        model.setObjective(total(len(s.operations) * price for s, price in alike), "maximize")
        optimize(model)
        return [float(model.getVal(price)) for price in prices]

    def _cover(self) -> list[Segment]:
        """Return segments of the fewest rows that have every operation, none if time is up."""
        model = new_model("segments")
        taken = [
            (model.addVar(f"x{i}", vtype="I", ub=self._times(counts)), counts, segment)
            for i, (counts, segment) in enumerate(self._known.items())
        ]
        for k, shape in enumerate(self._shapes):
            has = total(counts[k] * x for x, counts, _ in taken if counts[k])
            model.addCons(has >= len(shape.operations))
        model.setObjective(total(segment.length * x for x, _, segment in taken))
        if not improve(model, COVER_SECONDS):
            return []
        return [segment for x, _, segment in taken for _ in range(round(model.getVal(x)))]

    def _times(self, counts: Counts) -> int:
        """Return how often a segment may be taken before it has more than there is."""
        alike = zip(self._shapes, counts, strict=True)
        return min(len(shape.operations) // n for shape, n in alike if n)


def rows_of(segments: Iterable[Segment]) -> int:
    """Return how many rows segments have.

    Parameters
    ----------
    segments : iterable of Segment
        Segments.
    """
    return sum(segment.length for segment in segments)


class _Search:
    """One search for segments, row by row from one in which nothing is in progress."""

    def __init__(
        self,
        shapes: Sequence[Shape],
        puzzle: Puzzle,
        chances: Sequence[float],
        generator: random.Random,
    ) -> None:
        self._shapes, self._capacity = shapes, puzzle.capacity
        self._chances, self._random = chances, generator
        self._left = [len(shape.operations) for shape in shapes]
        self._delays: dict[str, set[int]] = {}
        for shape in shapes:
            for unit, start, _, _ in shape.spans:
                self._delays.setdefault(unit, {0}).add(start)
        # What fits all units never weighs too much.
        self._units = [[span for span in shape.spans if span[0] != TOGETHER] for shape in shapes]
        self._alone = [
            {unit for unit, start, _, n in mine if not start and n == puzzle.capacity[unit]}
            for mine in self._units
        ]
        self._changes = [
            {n for _, start, length, _ in mine for n in (start, start + length) if n}
            for mine in self._units
        ]
        self._issued: list[tuple[int, int]] = []
        self._found: dict[Counts, Segment] = {}
        self.nodes = 0

    def run(self, waste: int, limit: int) -> Iterable[tuple[Counts, Segment]]:
        """Return the segments that are met, with how many operations of each shape they have.

        Parameters
        ----------
        waste : int
            What rows may weigh less than the heaviest configuration, added up.
        limit : int
            Rows.
        """
        self._limit = limit
        self._from(0, (), waste)
        return self._found.items()

    def _from(self, row: int, running: Running, waste: int) -> None:
        """Go on from a row at which some operations are in progress."""
        self.nodes += 1
        if self.nodes > SEARCH_NODES:
            return
        if row and not running:
            alike = zip(self._shapes, self._left, strict=True)
            counts = tuple(len(shape.operations) - left for shape, left in alike)
            self._found.setdefault(counts, Segment(row, tuple(self._issued)))
            return
        for k in self._drawn(row, running):
            self._left[k] -= 1
            self._issued.append((k, row))
            taken = ((u, row + s, row + s + n, c) for u, s, n, c in self._shapes[k].spans)
            self._from(row, (*running, *taken), waste)
            self._issued.pop()
            self._left[k] += 1
        self._advance(row, running, waste)

    def _drawn(self, row: int, running: Running) -> Iterable[int]:
        """Return a few shapes of which an operation may be issued in a row."""
        busy = {unit for unit, start, end, _ in running if start <= row < end}
        ends = {end for _, _, end, _ in running}
        drawn = []
        for k, left in enumerate(self._left):
            if left and busy.isdisjoint(self._alone[k]):
                even = any(row + n in ends for n in self._changes[k])
                chance = self._chances[k] * (FLUSH if even else 1)
                drawn.append((-(self._random.random() ** (1 / chance)), k))
        drawn.sort()
        fitting = (k for _, k in drawn if self._fits(k, row, running))
        return itertools.islice(fitting, BRANCHES)

    def _advance(self, row: int, running: Running, waste: int) -> None:
        """Issue nothing more before something ends that another operation may follow."""
        following = [
            end - delay
            for unit, _, end, _ in running
            for delay in self._delays[unit]
            if end - delay > row
        ]
        if following:
            then = min(following)
            waste -= self._missing(row, then, running)
            if waste >= 0:
                self._from(then, tuple(span for span in running if span[2] > then), waste)

    def _fits(self, k: int, row: int, running: Running) -> bool:
        """Return whether an operation of a shape may be issued in a row, all that it takes."""
        for unit, start, length, count in self._units[k]:
            first, end = row + start, row + start + length
            if end > self._limit:
                return False
            room = self._capacity[unit] - count
            beside = [x for x in running if x[0] == unit and x[1] < end and x[2] > first]
            if beside and not room:
                return False
            for point in (first, *(x[1] for x in beside if x[1] > first)):
                if sum(x[3] for x in beside if x[1] <= point < x[2]) > room:
                    return False
        return True

    def _missing(self, row: int, then: int, running: Running) -> int:
        """Return what rows weigh less than the heaviest configuration, added up."""
        weights = [x for x in running if x[0] == TOGETHER]
        held = sum(n * max(0, min(end, then) - max(start, row)) for _, start, end, n in weights)
        return self._capacity[TOGETHER] * (then - row) - held
