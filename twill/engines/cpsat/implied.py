"""What follows from units' capacities, stated so that CP-SAT sees all of a unit at once.

Pairs that exclude each other, and sums at every start, say everything; but that the work of many
operations exceeds what is left of an interval takes them a search over their orders to see.
"""

from __future__ import annotations

from typing import Any

from twill.bounds import bounds
from twill.bounds.configurations import ConfigurationBound, configuration_bound
from twill.engines.cpsat.cliques import Clique, cliques
from twill.engines.cpsat.rows import Rows, Weighing
from twill.engines.cpsat.sums import Sums
from twill.engines.cpsat.symmetry import Exchange, symmetry
from twill.engines.cpsat.times import Times
from twill.problem import Problem
from twill.problem.lifetimes import Moment, Occupant
from twill.problem.operations import ProblemOperation

LEAST_PART = 1 / 2
"""Of the interval that a clique takes before it is worth stating."""


class Implied:
    """Implied constraints of one system."""

    def __init__(self, problem: Problem, *, turns: bool) -> None:
        self._problem, self._turns, self._cliques = problem, turns, cliques(problem)
        self._weighing: Weighing = self._occupants()

    def bounding(self) -> dict[int, int]:
        """Return the operations of what bounds the interval with the time each takes of it.

        That is what weighs in the configuration bound, or the clique with most work.
        """
        length: dict[int, int] = {}
        for occupant in self._weighing[1]:
            mine = occupant.ends[0].offset - occupant.delay
            length[occupant.start] = length.get(occupant.start, 0) + mine
        if not length and self._cliques:
            length = dict(self._cliques[0].length)
        return length

    def anchor(self) -> int | None:
        """Return the longest operation of what bounds the interval, if there is any."""
        length = self.bounding()
        return max(length, key=lambda u: (length[u], -u), default=None)

    def cliques(self, times: Times) -> None:
        """State that the operations of every busy clique follow one another."""
        for clique in self._cliques:
            if clique.work >= LEAST_PART * times.low:
                times.model.add(times.interval >= clique.work)
                intervals = _turned(clique, times)
                times.model.add_no_overlap(intervals)

    def weights(self, times: Times, sums: Sums) -> None:
        """State that what is in progress fits all units at once, at its start and in every row."""
        sums.at_most(*self._weighing)
        Rows(times).fit(self._problem, self._weighing)

    def symmetry(self, times: Times) -> Exchange | None:
        """State that the anchor is no farther behind the operation that it may be exchanged with.

        Not beside anything else that tells the two apart.

        Returns: the exchange; None if there is none, and nothing was stated.
        """
        exchange, first = symmetry(self._problem), times.anchor
        if exchange is None or exchange[first] == first:
            return None
        times.model.add(2 * times.rows[exchange[first]] <= times.interval)
        return exchange

    def _occupants(self) -> Weighing:
        """Return what weighs in the configuration bound, and the most that fits all units at once.

        Nothing where units one by one bound the interval as well, or where pairs say it all.
        """
        known = bounds(self._problem).resource
        found = configuration_bound(self._problem, known, turns=self._turns)
        if found is None or found.most == 1:
            return 0, []
        return found.most, [
            occupant
            for operation in self._problem.operations
            for occupant in _merged(operation, found)
        ]


def _merged(operation: ProblemOperation, bound: ConfigurationBound) -> list[Occupant]:
    """Return the parts of an operation that weigh something, neighbours of one weight as one."""
    spans: list[tuple[int, int, int]] = []
    for piece, weight in bound.weights:
        if piece.operation != operation.name:
            continue
        start, end = piece.start, piece.start + piece.length
        if spans and spans[-1][1:] == (start, weight):
            start = spans.pop()[0]
        spans.append((start, end, weight))
    v = operation.index
    return [
        Occupant(operation.name, weight, v, (Moment(v, end),), None, delay=start)
        for start, end, weight in spans
    ]


def _turned(clique: Clique, times: Times) -> list[Any]:
    """Return the rows that a clique takes, counted from the row of its anchor on."""
    first = times.anchor
    if first not in clique.length:
        first = max(clique.length, key=lambda u: (clique.length[u], -u))
    intervals = []
    for v, length in clique.length.items():
        if v == first:
            continue
        row = times.row_after(v, first)
        times.model.add(row >= clique.length[first])
        times.model.add(row + length <= times.interval)
        intervals.append(times.model.new_fixed_size_interval_var(row, length, ""))
    return intervals
