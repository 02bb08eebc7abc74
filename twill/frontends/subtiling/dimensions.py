"""Classes of tile dimensions that can only be split together, and what forbids splitting them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from twill.artifacts.loop import Axes, Dependence, Loop, Operation, Tile

RESULT = -1
ACCUMULATOR = 2
SCALES = (3, 4)
# Each element of the result comes from, or goes to, the same place of the operands.
ALIKE = frozenset(
    {
        "atomic", "cast", "convert_layout", "load", "local_load", "local_store", "store",
        "tmem_copy", "tmem_drain", "tmem_load", "tmem_store", "tmem_update",
    }
)  # fmt: skip
UNSAID = "reads a tile, and the loop does not say as which operand"
MIXED = "reads a tile through a view that mixes its dimensions"


class Dimension(NamedTuple):
    """A dimension of a tile of a loop.

    `owner` is the position of the operation, ``-1 - n`` for invariant n; `place` which operand the
    tile is, or `RESULT`, and 0 for an invariant.
    """

    owner: int
    place: int
    axis: int


class Coupling(NamedTuple):
    """Why an operation couples the elements along a dimension: a phrase that follows its name."""

    operation: int
    reason: str


class Classes:
    """Dimensions in classes, and why some of them cannot be split."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self._couplings: list[tuple[Dimension, Coupling]] = []
        self._tiles = {
            (owner, place): tile
            for owner in (*range(len(loop.operations)), *range(-len(loop.invariants), 0))
            for place, tile in tiles_of(loop, owner)
        }
        self._members = {d: {d} for place in self._tiles for d in self.of(*place)}

    def of(self, owner: int, place: int) -> list[Dimension]:
        """Return the dimensions of a tile, of none if there is no such tile."""
        tile = self._tiles.get((owner, place))
        return [Dimension(owner, place, axis) for axis in range(len(tile.shape) if tile else 0)]

    def join(self, one: Dimension, other: Dimension) -> None:
        """Put two dimensions into one class."""
        fewer, more = sorted((self._members[one], self._members[other]), key=len)
        if fewer is not more:
            more |= fewer
            self._members.update(dict.fromkeys(fewer, more))

    def tie(self, one: Dimension, other: Dimension, operation: int) -> None:
        """Join two dimensions of equal extent; one of extent 1 is repeated along the other."""
        here, there = extent(self.loop, one), extent(self.loop, other)
        if here == there:
            self.join(one, other)
        elif here != 1:
            for dimension in (one, other):
                self.couple(dimension, operation, f"ties {here} elements to {there}")

    def couple(self, dimension: Dimension, operation: int, reason: str) -> None:
        """Forbid to split a dimension."""
        self._couplings.append((dimension, Coupling(operation, reason)))

    def couple_tiles(
        self, operation: int, reason: str, places: Iterable[int] | None = None
    ) -> None:
        """Forbid to split any dimension of these tiles of an operation, by default of all."""
        every = (RESULT, *range(len(self.loop.operations[operation].operands)))
        for place in every if places is None else places:
            for dimension in self.of(operation, place):
                self.couple(dimension, operation, reason)

    def members(self) -> list[frozenset[Dimension]]:
        """Return the classes, in the order of their first results in program order."""
        found = {id(members): members for members in self._members.values()}.values()
        return sorted(map(frozenset, found), key=lambda each: in_program_order(first_of(each)))

    def members_with(self, dimension: Dimension) -> frozenset[Dimension]:
        """Return the class of a dimension."""
        return frozenset(self._members[dimension])

    def couplings(self, members: frozenset[Dimension]) -> list[Coupling]:
        """Return every reason not to split a class."""
        return [coupling for dimension, coupling in self._couplings if dimension in members]


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


def with_tiles(operation: Operation, change: Callable[[int, Tile], Tile]) -> Operation:
    """Return an operation with what `change` makes of its tiles, given their places."""
    made = operation.result
    operands = tuple(change(place, tile) for place, tile in enumerate(operation.operands))
    result = None if made is None else change(RESULT, made)
    return operation.model_copy(update={"operands": operands, "result": result})


def part_of(tile: Tile, axis: int, factor: int) -> Tile:
    """Return one of `factor` equal parts of a tile."""
    shape = tuple(e // factor if i == axis else e for i, e in enumerate(tile.shape))
    held = tile.elements_per_thread
    fewer = None if held is None else max(1, -(-held // factor))
    return tile.model_copy(update={"shape": shape, "elements_per_thread": fewer})


def shared_vector(vector: Tile, whole: Tile, part: Tile, factor: int) -> Tile:
    """Return what a thread holds of a vector along the columns of a tile whose rows were split.

    `vector`: the vector, of which a thread holds the columns that it has of the tile.
    `whole`, `part`: the tile before and after, both with their elements per thread.
    """
    columns = vector.elements_per_thread
    before, after = whole.elements_per_thread, part.elements_per_thread
    if columns is None or before is None or after is None or before % columns:
        return vector
    rows = max(1, before // columns // factor)
    return vector.model_copy(update={"elements_per_thread": max(1, min(columns, after // rows))})


def extent(loop: Loop, dimension: Dimension) -> int:
    """Return how many elements lie along a dimension."""
    return dict(tiles_of(loop, dimension.owner))[dimension.place].shape[dimension.axis]


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
            classes.couple_tiles(index, reason)
    position = {operation.name: index for index, operation in enumerate(loop.operations)}
    for dependence in loop.dependences:
        _follow(classes, dependence, position)
    for number, invariant in enumerate(loop.invariants):
        source = classes.of(-1 - number, 0)
        for read in invariant.reads:
            _flow(classes, source, position[read.operation], read.operand, read.axes)
        said = {read.operation for read in invariant.reads}
        for name in (name for name in invariant.used_by if name not in said):
            _flow(classes, source, position[name], None, None)
    return classes


def _relate(classes: Classes, index: int, operation: Operation) -> None:
    """Relate the dimensions of what an operation reads and makes."""
    if is_product(operation):
        _relate_product(classes, index, operation)
    elif operation.kind == "reduce":
        _relate_reduction(classes, index, operation)
    elif operation.elementwise or operation.kind in ALIKE:
        _relate_alike(classes, index)
    else:
        classes.couple_tiles(index, f"may mix them, as far as its kind {operation.kind} says")


def _relate_product(classes: Classes, index: int, operation: Operation) -> None:
    """Result m x n, factors m x k and k x n, accumulator as the result; scales m x k and n x k."""
    operands = operation.operands
    made, a, b = (classes.of(index, place) for place in (RESULT, 0, 1))
    shapes = [tile.shape for tile in operands[: ACCUMULATOR + 1]]
    if len(operands) < 2 or len(made) < 2 or any(len(shape) != len(made) for shape in shapes):
        classes.couple_tiles(index, "is a product of tiles of different ranks")
        return
    for axis, one in enumerate(made[:-2]):
        classes.join(a[axis], one)
        classes.join(b[axis], one)
    classes.join(a[-2], made[-2])
    classes.join(b[-1], made[-1])
    classes.join(a[-1], b[-2])
    for one, other in zip(classes.of(index, ACCUMULATOR), made, strict=False):
        classes.join(one, other)
    blocks_of = dict(zip(SCALES, (a[-2], b[-1]), strict=True))
    for place, tile in enumerate(operands[ACCUMULATOR + 1 :], start=ACCUMULATOR + 1):
        if place in blocks_of and len(tile.shape) == 2:
            rows, along = classes.of(index, place)
            classes.join(rows, blocks_of[place])
            classes.join(along, a[-1])
        elif tile.elements > 1:
            classes.couple_tiles(index, "has an operand of unknown use", [place])


def _relate_reduction(classes: Classes, index: int, operation: Operation) -> None:
    axis = _reduced(operation)
    if axis is None:
        classes.couple_tiles(index, "reduces along a dimension that it does not name")
        return
    whole = operation.operands[0].shape
    made = classes.of(index, RESULT)
    if len(made) == len(whole):
        del made[axis]
    lies = dict(zip((a for a in range(len(whole)) if a != axis), made, strict=True))
    for place, tile in enumerate(operation.operands):
        if tile.shape != whole:
            classes.couple_tiles(index, "reduces tiles of different shapes", [place])
            continue
        for here in classes.of(index, place):
            if here.axis == axis:
                classes.couple(here, index, "reduces along it")
            else:
                classes.join(here, lies[here.axis])


def _reduced(operation: Operation) -> int | None:
    """Return the dimension along which a reduction goes, from the shapes if it does not say."""
    if not operation.operands or operation.result is None:
        return None
    before, after = operation.operands[0].shape, operation.result.shape
    named = operation.attributes.get("axis")
    fitting = [
        axis
        for axis in range(len(before))
        if after in ((*before[:axis], *kept, *before[axis + 1 :]) for kept in ((), (1,)))
    ]
    if named is not None:
        return named if isinstance(named, int) and named in fitting else None
    return fitting[0] if len(fitting) == 1 else None


def _relate_alike(classes: Classes, index: int) -> None:
    tiles = sorted(tiles_of(classes.loop, index), key=lambda entry: entry[0])
    for place, tile in tiles[1:]:
        first, like = tiles[0]
        if tile.elements > 1 and len(tile.shape) != len(like.shape):
            classes.couple_tiles(index, "has operands of different ranks", [first, place])
        elif tile.elements > 1:
            for here, there in zip(classes.of(index, place), classes.of(index, first), strict=True):
                classes.tie(here, there, index)


def _follow(classes: Classes, dependence: Dependence, position: dict[str, int]) -> None:
    """Relate the dimensions of what a dependence hands on to those of what reads it."""
    producer, consumer = position[dependence.producer], position[dependence.consumer]
    if dependence.delay is not None:
        for index in (producer, consumer):
            classes.couple_tiles(
                index, "has a dependence with a delay of its own, which is for whole tiles"
            )
    if dependence.kind == "data":
        source = classes.of(producer, RESULT)
        _flow(classes, source, consumer, dependence.operand, dependence.axes)


def _flow(
    classes: Classes, source: list[Dimension], consumer: int, operand: int | None, axes: Axes | None
) -> None:
    """Join the dimensions of a value with those of the operand as which it is read."""
    loop = classes.loop
    if all(extent(loop, here) == 1 for here in source):
        return
    if operand is None or operand >= len(loop.operations[consumer].operands):
        for dimension in source:
            classes.couple(dimension, consumer, UNSAID)
        classes.couple_tiles(consumer, UNSAID, _unsourced(loop, consumer))
        return
    read, rank = classes.of(consumer, operand), len(source)
    places: Axes = tuple(range(rank)) if axes is None else axes
    places = places if len(places) == rank else (None,) * rank
    mixed = False
    for here, lies in zip(source, places, strict=True):
        if lies is not None and lies < len(read):
            classes.tie(here, read[lies], consumer)
        elif extent(loop, here) > 1:
            mixed = True
            classes.couple(here, consumer, MIXED)
    for there in read:
        if mixed and there.axis not in places:
            classes.couple(there, consumer, MIXED)


def _unsourced(loop: Loop, consumer: int) -> list[int]:
    """Return the operands of which no dependence and no invariant says where they come from."""
    name = loop.operations[consumer].name
    known = {d.operand for d in loop.dependences if d.consumer == name and d.kind == "data"}
    known |= {r.operand for i in loop.invariants for r in i.reads if r.operation == name}
    return [p for p in range(len(loop.operations[consumer].operands)) if p not in known]
