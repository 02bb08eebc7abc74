"""The puzzle of units alone: what operations take, those of one shape alike.

To a unit operations of one shape are the same. Beside the units there are two things that a row has
only so much of: turns, which one operation has at a time, and the weight of a configuration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from twill.bounds import bounds
from twill.configurations import ConfigurationBound, configuration_bound, turns_taken
from twill.problem import Problem

Span = tuple[str, int, int, int]
"""What is taken of a unit: unit, start, length, count. The unit `TOGETHER` is all at once."""
TOGETHER = ""


@dataclass(frozen=True)
class Shape:
    """Operations that take the same.

    Attributes
    ----------
    operations : tuple of int
        The operations.
    spans : tuple of Span
        What each of them takes.
    """

    operations: tuple[int, ...]
    spans: tuple[Span, ...]

    @property
    def units(self) -> set[str]:
        """What it takes something of."""
        return {unit for unit, *_ in self.spans}

    @property
    def length(self) -> int:
        """From the issue of an operation to the end of all that it takes, in time units."""
        return max((start + length for _, start, length, _ in self.spans), default=0)

    @property
    def weight(self) -> int:
        """What one operation weighs in the configuration bound, over all of its time."""
        return sum(length * n for unit, _, length, n in self.spans if unit == TOGETHER)


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


class Puzzle:
    """Shapes of operations and what a row has for them.

    Parameters
    ----------
    problem : Problem
        The problem.

    Attributes
    ----------
    shapes : tuple of Shape
        Longest first.
    capacity : dict
        How much of each unit a row has, turns and `TOGETHER` included.
    """

    def __init__(self, problem: Problem) -> None:
        together = configuration_bound(problem, bounds(problem).resource)
        turns = turns_taken(problem)
        self.capacity = dict(problem.capacities)
        self.capacity |= {turn: 1 for mine in turns.values() for turn in mine}
        if together is not None:
            self.capacity[TOGETHER] = together.most
        alike: dict[tuple[Span, ...], list[int]] = {}
        for operation in problem.operations:
            v = operation.index
            spans = (
                *((r.unit, r.start, r.length, r.count) for r in operation.reservations),
                *((turn, 0, length, 1) for turn, length in turns.get(v, {}).items()),
                *_weights(together, operation.name),
            )
            alike.setdefault(spans, []).append(v)
        shapes = [Shape(tuple(members), spans) for spans, members in alike.items()]
        self.shapes = tuple(sorted(shapes, key=lambda shape: -shape.length))


def _weights(together: ConfigurationBound | None, name: str) -> Iterator[Span]:
    """Yield what an operation weighs in the configuration bound."""
    for piece, weight in together.weights if together else ():
        if piece.operation == name:
            yield TOGETHER, piece.start, piece.length, weight
