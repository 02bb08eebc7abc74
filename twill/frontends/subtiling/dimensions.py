"""Classes of tile dimensions that can only be split together, and what forbids splitting them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from twill.artifacts.loop import Axes, Dependence, Loop, Operation, Tile

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


FACTORS = (0, 1)
ACCUMULATOR = 2
SCALES = (3, 4)
# Each element of the result comes from, or goes to, the same place of the operands.
ALIKE = frozenset(
    {
        "atomic", "cast", "convert_layout", "load", "local_load", "local_store", "store",
        "tmem_copy", "tmem_drain", "tmem_load", "tmem_store", "tmem_update",
    }
)  # fmt: skip


def is_product(operation: Operation) -> bool:
    """Return whether an operation is a matrix product: ``mma``, ``mma_sync`` or ``mma_scaled``."""
    return operation.kind in ("mma", "mma_sync", "mma_scaled")


def dimension_classes(loop: Loop) -> Classes:
    """Return which dimensions of a loop's tiles can only be split together, or not at all."""
    classes = Classes(loop)
    for index, operation in enumerate(loop.operations):
        _relate(classes, index, operation)
        if operation.cost is not None:
            reason = "brings its own cost, which does not say what a part of its tile costs"
            _couple_all(classes, index, reason)
    position = {operation.name: index for index, operation in enumerate(loop.operations)}
    for dependence in loop.dependences:
        _follow(classes, dependence, position)
    for number in range(len(loop.invariants)):
        _follow_invariant(classes, number, position)
    return classes


def _relate(classes: Classes, index: int, operation: Operation) -> None:
    if is_product(operation):
        _relate_product(classes, index, operation)
    elif operation.kind == "reduce":
        _relate_reduction(classes, index, operation)
    elif operation.elementwise or operation.kind in ALIKE:
        _relate_alike(classes, index, operation)
    else:
        _couple_all(classes, index, f"may mix them, as far as its kind {operation.kind} says")


def _relate_product(classes: Classes, index: int, operation: Operation) -> None:
    """Result m x n, factors m x k and k x n, accumulator as the result; scales m x k and n x k."""
    result, operands = operation.result, operation.operands
    rank = len(result.shape) if result is not None else 0
    shapes = [tile.shape for tile in operands[: ACCUMULATOR + 1]]
    if len(operands) < 2 or rank < 2 or any(len(shape) != rank for shape in shapes):
        _couple_all(classes, index, "is a product of tiles of different ranks")
        return
    made = [Dimension(index, RESULT, axis) for axis in range(rank)]
    a, b = ([Dimension(index, factor, axis) for axis in range(rank)] for factor in FACTORS)
    for axis in range(rank - 2):
        classes.join(a[axis], made[axis])
        classes.join(b[axis], made[axis])
    classes.join(a[-2], made[-2])
    classes.join(b[-1], made[-1])
    classes.join(a[-1], b[-2])
    if len(operands) > ACCUMULATOR:
        for axis in range(rank):
            classes.join(Dimension(index, ACCUMULATOR, axis), made[axis])
    blocks_of = dict(zip(SCALES, (a[-2], b[-1]), strict=True))
    for place, tile in enumerate(operands[ACCUMULATOR + 1 :], start=ACCUMULATOR + 1):
        if place in blocks_of and len(tile.shape) == 2:
            classes.join(Dimension(index, place, 0), blocks_of[place])
            classes.join(Dimension(index, place, 1), a[-1])
        elif tile.elements > 1:
            _couple_tile(classes, index, place, tile, "has an operand of unknown use")


def _relate_reduction(classes: Classes, index: int, operation: Operation) -> None:
    axis = _reduced(operation)
    whole = operation.operands[0] if operation.operands else None
    result = operation.result
    if axis is None or whole is None or result is None:
        _couple_all(classes, index, "reduces along a dimension that it does not name")
        return
    kept = len(result.shape) == len(whole.shape)
    for place, tile in enumerate(operation.operands):
        if tile.shape != whole.shape:
            _couple_tile(classes, index, place, tile, "reduces tiles of different shapes")
            continue
        for along in range(len(tile.shape)):
            here = Dimension(index, place, along)
            if along == axis:
                classes.couple(here, index, "reduces along it")
            else:
                made = along if kept or along < axis else along - 1
                classes.join(here, Dimension(index, RESULT, made))


def _reduced(operation: Operation) -> int | None:
    """Return the dimension along which a reduction goes, from the shapes if it does not say."""
    if not operation.operands or operation.result is None:
        return None
    before, after = operation.operands[0].shape, operation.result.shape
    named = operation.attributes.get("axis")
    fitting = [axis for axis in range(len(before)) if after in _without(before, axis)]
    if named is not None:
        return named if isinstance(named, int) and named in fitting else None
    return fitting[0] if len(fitting) == 1 else None


def _without(shape: tuple[int, ...], axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a shape without a dimension, and with the dimension as one element."""
    return (*shape[:axis], *shape[axis + 1 :]), (*shape[:axis], 1, *shape[axis + 1 :])


def _relate_alike(classes: Classes, index: int, operation: Operation) -> None:
    tiles = list(enumerate(operation.operands))
    if operation.result is not None:
        tiles.insert(0, (RESULT, operation.result))
    if not tiles:
        return
    first, like = tiles[0]
    for place, tile in tiles[1:]:
        if tile.elements == 1:
            continue
        if len(tile.shape) != len(like.shape):
            for where, shape in ((first, like), (place, tile)):
                _couple_tile(classes, index, where, shape, "has operands of different ranks")
            continue
        for axis, (here, there) in enumerate(zip(tile.shape, like.shape, strict=True)):
            _tie(
                classes,
                Dimension(index, place, axis),
                Dimension(index, first, axis),
                (here, there),
                index,
            )


def _tie(
    classes: Classes, one: Dimension, other: Dimension, extents: tuple[int, int], index: int
) -> None:
    """Join two dimensions of equal extent; the first of extent 1 is repeated along the other."""
    if extents[0] == extents[1]:
        classes.join(one, other)
    elif extents[0] != 1:
        for dimension in (one, other):
            classes.couple(dimension, index, f"ties {extents[0]} elements to {extents[1]}")


def _follow(classes: Classes, dependence: Dependence, position: dict[str, int]) -> None:
    producer, consumer = position[dependence.producer], position[dependence.consumer]
    if dependence.delay is not None:
        reason = "has a dependence with a delay of its own, which is for whole tiles"
        for index in (producer, consumer):
            _couple_all(classes, index, reason)
    made = classes.loop.operations[producer].result
    if dependence.kind == "data" and made is not None:
        source = [Dimension(producer, RESULT, axis) for axis in range(len(made.shape))]
        _flow(classes, source, made, consumer, dependence.operand, dependence.axes)


def _follow_invariant(classes: Classes, number: int, position: dict[str, int]) -> None:
    invariant = classes.loop.invariants[number]
    source = [Dimension(-1 - number, 0, axis) for axis in range(len(invariant.tile.shape))]
    for read in invariant.reads:
        user = position[read.operation]
        _flow(classes, source, invariant.tile, user, read.operand, read.axes)
    for name in invariant.used_by:
        if all(read.operation != name for read in invariant.reads):
            _flow(classes, source, invariant.tile, position[name], None, None)


def _flow(
    classes: Classes,
    source: list[Dimension],
    tile: Tile,
    consumer: int,
    operand: int | None,
    axes: Axes | None,
) -> None:
    """Join the dimensions of a value with those of the operand as which it is read."""
    operands = classes.loop.operations[consumer].operands
    if tile.elements == 1:
        return
    if operand is None or operand >= len(operands):
        reason = "reads a tile, and the loop does not say as which operand"
        for dimension in source:
            classes.couple(dimension, consumer, reason)
        for place in _unsourced(classes.loop, consumer):
            _couple_tile(classes, consumer, place, operands[place], reason)
        return
    shape = operands[operand].shape
    places = _places(tile, axes)
    reason = "reads a tile through a view that mixes its dimensions"
    mixed = False
    for here, lies in zip(source, places, strict=True):
        size = tile.shape[here.axis]
        if lies is not None and lies < len(shape):
            target = Dimension(consumer, operand, lies)
            _tie(classes, here, target, (size, shape[lies]), consumer)
        elif size > 1:
            mixed = True
            classes.couple(here, consumer, reason)
    for axis in range(len(shape)):
        if mixed and axis not in places:
            classes.couple(Dimension(consumer, operand, axis), consumer, reason)


def _places(tile: Tile, axes: Axes | None) -> Axes:
    rank = len(tile.shape)
    if axes is None:
        return tuple(range(rank))
    return axes if len(axes) == rank else (None,) * rank


def _unsourced(loop: Loop, consumer: int) -> Iterator[int]:
    """Yield the operands of which no dependence and no invariant says where they come from."""
    name = loop.operations[consumer].name
    known = {d.operand for d in loop.dependences if d.consumer == name and d.kind == "data"}
    known |= {r.operand for i in loop.invariants for r in i.reads if r.operation == name}
    yield from (p for p in range(len(loop.operations[consumer].operands)) if p not in known)


def _couple_all(classes: Classes, index: int, reason: str) -> None:
    operation = classes.loop.operations[index]
    if operation.result is not None:
        _couple_tile(classes, index, RESULT, operation.result, reason)
    for place, tile in enumerate(operation.operands):
        _couple_tile(classes, index, place, tile, reason)


def _couple_tile(classes: Classes, index: int, place: int, tile: Tile, reason: str) -> None:
    for axis in range(len(tile.shape)):
        classes.couple(Dimension(index, place, axis), index, reason)
