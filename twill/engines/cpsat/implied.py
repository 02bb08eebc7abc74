"""Consequences of units' capacities, stated so that CP-SAT sees all of a unit at once.

Pairs that exclude each other, and sums at every start, say everything. They need a search over
orders to see that the work of many operations exceeds the rest of an interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from twill.bounds import bounds
from twill.bounds.configurations import ConfigurationBound, configuration_bound
from twill.engines.cpsat.sums import Sums
from twill.engines.cpsat.times import Times
from twill.engines.families import Literal, exclusive
from twill.engines.tuning import TUNING
from twill.problem import Problem
from twill.problem.lifetimes import Moment, Occupant, unit_occupants
from twill.problem.operations import ProblemOperation

# Operations of which no two are in progress at the same time, modulo the interval; of each the time
# from its issue that it keeps to itself.
Clique = Mapping[int, int]


class Implied:
    """Implied constraints of one system."""

    def __init__(self, problem: Problem, *, turns: bool) -> None:
        self._problem, self._cliques = problem, cliques(problem)
        # The most that fits all units at once, and what weighs in that: nothing where units one by
        # one bound the interval as well, or where pairs say it all.
        self._most, self._weighing = 0, list[Occupant]()
        found = configuration_bound(problem, bounds(problem).resource, turns=turns)
        if found is not None and found.most > 1:
            self._most = found.most
            for operation in problem.operations:
                self._weighing += _merged(operation, found)

    def anchor(self) -> int | None:
        """Return the longest operation of what bounds the interval, if there is any.

        That is what weighs in the configuration bound, or the clique with most work.
        """
        length: Counter[int] = Counter()
        for occupant in self._weighing:
            length[occupant.start] += _length(occupant)
        if not length and self._cliques:
            length.update(self._cliques[0])
        return _longest(length) if length else None

    def cliques(self, times: Times) -> None:
        """State that the operations of every busy clique follow one another."""
        for clique in self._cliques:
            work = sum(clique.values())
            if work >= TUNING.engines.least_clique * times.low:
                times.model.add(times.interval >= work)
                times.model.add_no_overlap(_turned(clique, times))

    def weights(self, times: Times, sums: Sums) -> None:
        """State that what is in progress fits all units at once, at its start and in every row."""
        sums.at_most(self._most, self._weighing)
        # Where units one by one bound the interval as well, rows say nothing more.
        if self._weighing and times.low == times.high <= TUNING.engines.few_rows:
            Rows(times).fit(self._problem, self._most, self._weighing)


def _length(occupant: Occupant) -> int:
    return occupant.ends[0].offset - occupant.delay


def _longest(length: Mapping[int, int]) -> int:
    return max(length, key=lambda u: (length[u], -u))


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


# -- cliques --------------------------------------------------------------------------------------


def exclusions(problem: Problem) -> dict[tuple[int, int], int]:
    """Return (u, v) that exceed some unit together: by how much v, or its next instance, is later.

    Only pairs of which each has to be later than the other.
    """
    found: dict[tuple[int, int], int] = {}
    for a, b, after_a, after_b in exclusive(problem):
        if min(after_a, after_b) >= 1:
            found[a.start, b.start] = max(found.get((a.start, b.start), 1), after_a)
    return found


def cliques(problem: Problem) -> list[Clique]:
    """Return cliques of three and more, most work first.

    They are grown greedily, until every operation that excludes others is in one.
    """
    apart = exclusions(problem)
    beside: dict[int, set[int]] = {}
    for u, v in apart:
        beside.setdefault(u, set()).add(v)
    longest = {u: max(apart[u, v] for v in others) for u, others in beside.items()}
    found, covered = list[Clique](), set[int]()
    for first in sorted(beside, key=lambda u: (-longest[u], u)):
        if first in covered:
            continue
        members = sorted(_grown(first, beside, longest))
        covered.update(members)
        if len(members) > 2:
            found.append({u: min(apart[u, v] for v in members if v != u) for u in members})
    return sorted(found, key=lambda clique: (-sum(clique.values()), sorted(clique)))


def _grown(first: int, beside: Mapping[int, set[int]], longest: Mapping[int, int]) -> list[int]:
    """Add the operation that leaves most work to add after it, until none excludes all."""
    members, candidates = [first], set(beside[first])
    while candidates:
        chosen = max(
            sorted(candidates),
            key=lambda u: longest[u] + sum(longest[v] for v in beside[u] & candidates),
        )
        members.append(chosen)
        candidates &= beside[chosen]
    return members


def _turned(clique: Clique, times: Times) -> list[Any]:
    """Return the rows that a clique takes, counted from the row of its anchor on."""
    first = times.anchor if times.anchor in clique else _longest(clique)
    intervals = []
    for v, length in clique.items():
        if v == first:
            continue
        row = times.row_after(v, first)
        times.model.add(row >= clique[first])
        times.model.add(row + length <= times.interval)
        intervals.append(times.model.new_fixed_size_interval_var(row, length, ""))
    return intervals


# -- rows -----------------------------------------------------------------------------------------


class Rows:
    """Units row by row, at one short interval.

    Pairs of operations say little about a unit that is busy in every row. A gap that nothing fills
    shows only when all candidates have been ruled out. With a Boolean for every operation and row,
    the last candidate is known as soon as it is the last.
    """

    def __init__(self, times: Times) -> None:
        self._times, self._rows = times, range(times.low)
        self._here: dict[int, list[Literal]] = {}

    def fit(self, problem: Problem, most: int, weighing: Sequence[Occupant]) -> None:
        """State for every row that what is in progress fits every unit, and all units at once.

        `most`: what fits all units at once, of what is `weighing` in that.
        """
        for unit, capacity in problem.capacities.items():
            mine = unit_occupants(problem, unit)
            if sum(occupant.weight for occupant in mine) > capacity:
                for running in self._running(mine):
                    self._times.model.add(sum(running) <= capacity)
        self._fill(most, weighing)

    def _fill(self, most: int, mine: Sequence[Occupant]) -> None:
        """State that whatever does not weigh `most` in a row is missing from the whole interval."""
        model = self._times.model
        left = most * len(self._rows) - sum(o.weight * _length(o) for o in mine)
        if left < 0:
            self._times.clauses.refuted = True
            return
        idle = [model.new_int_var(0, min(most, left), "") for _ in self._rows]
        for running, more in zip(self._running(mine), idle, strict=True):
            model.add(sum(running) + more == most)
        model.add(sum(idle) == left)

    def _running(self, mine: Sequence[Occupant]) -> Iterator[list[Any]]:
        """Yield for every row the weights of what is in progress."""
        for row in self._rows:
            yield [
                occupant.weight * self._issued(occupant.start)[(row - since) % len(self._rows)]
                for occupant in mine
                for since in range(occupant.delay, occupant.ends[0].offset)
            ]

    def _issued(self, v: int) -> list[Literal]:
        """Return a literal for every row: whether v is issued in it."""
        times = self._times
        if v == times.anchor:
            return [row == 0 for row in self._rows]
        if v not in self._here:
            self._here[v] = [times.model.new_bool_var("") for _ in self._rows]
            times.model.add_exactly_one(self._here[v])
            for row, literal in enumerate(self._here[v]):
                times.model.add(times.rows[v] == row).only_enforce_if(literal)
        return self._here[v]
