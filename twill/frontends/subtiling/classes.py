"""Classes of tile dimensions that can only be split together, and what forbids splitting them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from twill.artifacts.loop import Loop, Tile

RESULT = -1


class Dimension(NamedTuple):
    """One dimension of one tile of a loop.

    Attributes
    ----------
    owner : int
        Position of the operation; ``-1 - n`` for the loop's invariant number n.
    place : int
        Which operand it is of, or `RESULT`; 0 for an invariant.
    axis : int
        Which dimension of that tile.
    """

    owner: int
    place: int
    axis: int


@dataclass(frozen=True)
class Coupling:
    """Why elements along a dimension depend on each other.

    Attributes
    ----------
    operation : int
        Position of the operation that couples them.
    reason : str
        What it does, a phrase that follows the operation's name.
    """

    operation: int
    reason: str


class Classes:
    """Dimensions in classes, a union-find forest."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self._parent: dict[Dimension, Dimension] = {}
        self._couplings: list[tuple[Dimension, Coupling]] = []
        for owner in (*range(len(loop.operations)), *range(-len(loop.invariants), 0)):
            for place, tile in tiles_of(loop, owner):
                for axis in range(len(tile.shape)):
                    dimension = Dimension(owner, place, axis)
                    self._parent[dimension] = dimension

    def join(self, one: Dimension, other: Dimension) -> None:
        """Put two dimensions into one class."""
        first, second = sorted((self._root(one), self._root(other)), key=in_program_order)
        self._parent[second] = first

    def couple(self, dimension: Dimension, operation: int, reason: str) -> None:
        """Forbid to split a dimension."""
        self._couplings.append((dimension, Coupling(operation, reason)))

    def members(self) -> list[frozenset[Dimension]]:
        """Return the classes, in the order of their first results in program order."""
        found: dict[Dimension, list[Dimension]] = {}
        for dimension in self._parent:
            found.setdefault(self._root(dimension), []).append(dimension)
        ordered = sorted(found.values(), key=lambda found: in_program_order(first_of(found)))
        return [frozenset(dimensions) for dimensions in ordered]

    def coupling(self, members: frozenset[Dimension]) -> Coupling | None:
        """Return the first reason in program order not to split a class, None if there is none."""
        return min(self.couplings(members), key=lambda coupling: coupling.operation, default=None)

    def couplings(self, members: frozenset[Dimension]) -> list[Coupling]:
        """Return every reason not to split a class."""
        return [coupling for dimension, coupling in self._couplings if dimension in members]

    def _root(self, dimension: Dimension) -> Dimension:
        while self._parent[dimension] != dimension:
            self._parent[dimension] = self._parent[self._parent[dimension]]
            dimension = self._parent[dimension]
        return dimension


def first_of(members: list[Dimension] | frozenset[Dimension]) -> Dimension:
    """Return the member that stands for a class: of the first result that has one."""
    return min(members, key=in_program_order)


def in_program_order(dimension: Dimension) -> tuple[bool, bool, int, int, int]:
    """Return a key that sorts dimensions: results first, then operands, then invariants."""
    owner, place, axis = dimension
    return (place != RESULT, owner < 0, owner, place, axis)


def tiles_of(loop: Loop, owner: int) -> list[tuple[int, Tile]]:
    """Return the tiles of an operation or invariant with their places."""
    if owner < 0:
        return [(0, loop.invariants[-1 - owner].tile)]
    operation = loop.operations[owner]
    made = [] if operation.result is None else [(RESULT, operation.result)]
    return [*enumerate(operation.operands), *made]


def extent(loop: Loop, dimension: Dimension) -> int:
    """Return how many elements lie along a dimension."""
    tiles = dict(tiles_of(loop, dimension.owner))
    return tiles[dimension.place].shape[dimension.axis]
