"""The state diagram of a puzzle of units: what can be in progress, and what can follow it.

A state is what is still to come, from one row on, of all that is in progress. A step issues some
operations and goes on to a row in which something begins or ends. Rows of a whole interval are a
closed walk through the diagram; where rows may fall short of the heaviest configuration by little,
there are few states, however many operations. Such diagrams of pipelines are Davidson's (The Design
and Control of Pipelined Function Generators, 1971).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from twill.joint.shapes import TOGETHER, Puzzle, Shape

State = tuple[tuple[str, int, int, int], ...]
"""Unit, first row and row after the last, from this one on, and count."""


class Step(NamedTuple):
    """What leads from one state to another.

    Attributes
    ----------
    before, after : int
        States.
    issued : tuple of int
        Shapes of which an operation is issued in the first row.
    rows : int
        Rows to the next state.
    missing : int
        What those rows weigh less than the heaviest configuration, added up.
    """

    before: int
    after: int
    issued: tuple[int, ...]
    rows: int
    missing: int

    def counts(self, shapes: int) -> list[int]:
        """Return how many operations of each shape are issued.

        Parameters
        ----------
        shapes : int
            How many shapes there are.
        """
        found = [0] * shapes
        for shape in self.issued:
            found[shape] += 1
        return found


class StateDiagram:
    """States of a puzzle at an interval.

    Parameters
    ----------
    puzzle : Puzzle
        Shapes of operations and what a row has for them, the weight of a configuration included.
    interval : int
        I.
    competing : bool
        Whether shapes that weigh nothing are there too, if they take a unit that others take which
        weigh something.

    Attributes
    ----------
    shapes : tuple of Shape
        Those of which operations are issued.
    counts : tuple of int
        How many operations of each there are.
    spare : int
        What the rows of the interval weigh less than the heaviest configuration, added up: no more
        and no less. Negative if the interval has too few rows.
    """

    def __init__(self, puzzle: Puzzle, interval: int, *, competing: bool = False) -> None:
        heavy = [shape for shape in puzzle.shapes if shape.weight]
        contested = {unit for shape in heavy for unit in shape.units}
        self.shapes = tuple(
            shape
            for shape in puzzle.shapes
            if shape.weight or (competing and not contested.isdisjoint(shape.units))
        )
        self.counts = tuple(len(shape.operations) for shape in self.shapes)
        self._capacity, self._most = puzzle.capacity, puzzle.capacity[TOGETHER]
        self.interval = interval
        work = sum(n * s.weight for n, s in zip(self.counts, self.shapes, strict=True))
        self.spare = interval * self._most - work
        self._spans = [_merged(shape) for shape in self.shapes]
        # What fits all units never weighs too much.
        self._needs = [tuple(s for s in mine if s[0] != TOGETHER) for mine in self._spans]
        self._at_once = [{unit for unit, start, _, _ in mine if not start} for mine in self._needs]

    def around_idle(self, most: int) -> list[Step] | None:
        """Return the steps between states that follow one in which nothing is in progress.

        That state is 0. Operations are issued only in rows in which something begins or ends.

        Parameters
        ----------
        most : int
            States.

        Returns
        -------
        list of Step or None
            None if there are more states.
        """
        return self._explored([()], most, anywhere=False)

    def whole(self, most: int) -> list[Step] | None:
        """Return the steps of every closed walk that has all operations.

        Parameters
        ----------
        most : int
            States.

        Returns
        -------
        list of Step or None
            None if there are more states, or if shapes are longer than the interval or weigh
            nothing when they are issued, so that they could be issued in more rows.
        """
        if not all(s.length <= self.interval and _weighs_at_once(s) for s in self.shapes):
            return None
        first = max(
            range(len(self.shapes)),
            key=lambda k: (_weight(self._spans[k]), self.shapes[k].length),
        )
        begun = list(itertools.islice(self._beside(first), most + 1))
        if len(begun) > most:
            return None
        following = {
            state
            for spans in begun
            for issued, _, _, state in self._following(spans, anywhere=True)
            if not issued
        }
        return self._explored(sorted(following), most, anywhere=True)

    def _explored(self, first: Iterable[State], most: int, *, anywhere: bool) -> list[Step] | None:
        """Return the steps from some states on."""
        known = {state: position for position, state in enumerate(first)}
        left, steps = list(known), list[Step]()
        while left:
            state = left.pop()
            for issued, rows, missing, after in self._following(state, anywhere=anywhere):
                if after not in known:
                    if len(known) >= most:
                        return None
                    known[after] = len(known)
                    left.append(after)
                steps.append(Step(known[state], known[after], issued, rows, missing))
        return steps

    def _following(
        self, state: State, *, anywhere: bool
    ) -> Iterator[tuple[tuple[int, ...], int, int, State]]:
        """Yield what can be issued at a state, rows, what they miss, and the state after them.

        Where rows miss something, operations may be issued `anywhere`, or only in rows in which
        something begins or ends.
        """
        for issued, running in self._issuing(state, 0):
            change = _next_change(running)
            missing = self._most - _weight(running)
            if missing * (1 if anywhere else change) > self.spare:
                continue
            last = min(change, self.spare // missing) if missing and anywhere else change
            for rows in range(1 if missing and anywhere else change, last + 1):
                yield issued, rows, missing * rows, _later(running, rows)

    def _issuing(self, state: State, least: int) -> Iterator[tuple[tuple[int, ...], State]]:
        """Yield what can be issued in a row, shapes in their order, and what is in progress."""
        yield (), state
        full = self._full(state)
        for k in range(least, len(self.shapes)):
            if full.isdisjoint(self._at_once[k]) and self._fits(self._needs[k], state):
                for more, running in self._issuing(tuple(sorted(state + self._spans[k])), k):
                    yield (k, *more), running

    def _full(self, state: State) -> set[str]:
        """Return the units of which the first row has nothing left."""
        busy: dict[str, int] = {}
        for unit, start, _, count in state:
            if not start:
                busy[unit] = busy.get(unit, 0) + count
        return {unit for unit, count in busy.items() if count >= self._capacity[unit]}

    def _beside(self, first: int) -> Iterator[State]:
        """Yield what can be in progress in a row in which an operation of a shape is issued."""
        begun = [
            (k, tuple((u, a - age, b - age, n) for u, a, b, n in self._spans[k]))
            for k, shape in enumerate(self.shapes)
            for age in range(shape.length)
        ]
        left = [n - (k == first) for k, n in enumerate(self.counts)]

        def beside(spans: State, position: int) -> Iterator[State]:
            if self._most - _weight(spans) <= self.spare:
                yield _later(spans, 0)
            for j in range(position, len(begun)):
                k, more = begun[j]
                if left[k] and self._fits(more, spans):
                    left[k] -= 1
                    yield from beside(spans + more, j)
                    left[k] += 1

        return beside(self._spans[first], 0)

    def _fits(self, new: State, running: State) -> bool:
        """Return whether something can be in progress beside something else."""
        for unit, start, end, count in new:
            beside = [x for x in running if x[0] == unit and x[1] < end and x[2] > start]
            if not beside:
                continue
            room = self._capacity[unit] - count
            for point in (start, *(x[1] for x in beside if x[1] > start)):
                if sum(x[3] for x in beside if x[1] <= point < x[2]) > room:
                    return False
        return True


def _merged(shape: Shape) -> State:
    """Return what an operation takes, in as few spans as can be: equal states look alike."""
    merged: list[tuple[str, int, int, int]] = []
    for unit, start, length, count in sorted(shape.spans):
        if merged and (*merged[-1][:1], *merged[-1][2:]) == (unit, start, count):
            merged[-1] = (unit, merged[-1][1], start + length, count)
        else:
            merged.append((unit, start, start + length, count))
    return tuple(merged)


def _weighs_at_once(shape: Shape) -> bool:
    return any(unit == TOGETHER and not start for unit, start, _, _ in shape.spans)


def _weight(running: Sequence[tuple[str, int, int, int]]) -> int:
    """Return what is in progress in the first row weighs."""
    return sum(n for unit, start, end, n in running if unit == TOGETHER and start <= 0 < end)


def _next_change(running: State) -> int:
    """Return the next row in which something begins or ends; the next one if there is nothing."""
    return min((a if a > 0 else b for _, a, b, _ in running), default=1)


def _later(running: State, rows: int) -> State:
    """Return what is still to come some rows later."""
    return tuple(sorted((u, max(0, a - rows), b - rows, n) for u, a, b, n in running if b > rows))
