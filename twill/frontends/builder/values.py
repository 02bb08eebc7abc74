"""Values of a loop under construction, and what may be written with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self, TypedDict

from twill.artifacts.loop import Cost, ElementType, MemoryName, Tile
from twill.base.errors import InputError

Shape = tuple[int, ...]


class Said(TypedDict, total=False):
    """Options of every operation."""

    name: str | None  # unique in the loop; made from the kind without it
    cost: Cost | None  # in place of the machine's rule


class Lies(TypedDict, total=False):
    """How a tile from outside the loop lies, where it does not lie as usual."""

    memory: MemoryName | None
    elements_per_thread: int | None


@dataclass(eq=False)
class Outside:
    """A value that the loop reads and does not make; only an invariant takes room."""

    name: str
    tile: Tile


@dataclass(eq=False)
class Variable:
    """A loop-carried variable: `value`, assigned last, is read `distance` iterations later."""

    name: str
    tile: Tile
    distance: int
    location: str
    value: Value | None = None


@dataclass(eq=False)
class Node:
    """An operation under construction, as in the artifact but for its operands, which are values.

    Its tile is without the elements per thread that follow from them. The operation updates the
    operand `in_place` where it lies, and reduces along an axis. `read` says whether an operation
    reads it.
    """

    kind: str
    location: str
    warps: int
    operands: list[Value]
    tile: Tile | None
    elementwise: bool = False
    attributes: dict[str, str | bool | int | float] = field(default_factory=dict)
    cost: Cost | None = None
    name: str | None = None
    in_place: int | None = None
    axis: int | None = None
    read: bool = False


@dataclass(eq=False)
class Order:
    """A dependence that the user wrote, with its attributes."""

    first: Node
    then: Node
    location: str
    said: dict[str, Any]


class _Recording(Protocol):
    """The methods of `twill.frontends.builder.recorder.Recorder` that values call."""

    name: str

    def elementwise(self, kind: str, *operands: Value | float) -> Value: ...
    def mma(self, a: Value, b: Value) -> Value: ...
    def cast(self, x: Value, dtype: ElementType) -> Value: ...
    def reduce(self, x: Value, combine: Literal["max", "add"], axis: int) -> Value: ...
    def accumulate(self, total: Value, term: Value | float) -> Value: ...
    def assign(self, carried: Carried, value: Value) -> None: ...
    def give_name(self, value: Value, name: str) -> None: ...
    def reading(self, value: Value) -> Value: ...
    def tile(self, shape: Shape, dtype: ElementType, memory: MemoryName) -> Tile: ...
    def error(self, message: str) -> InputError: ...


def _binary(kind: str) -> Callable[[Value, Value | float], Value]:
    """Return the operator of an element-wise operation."""
    return lambda one, other: one.loop.elementwise(kind, one, other)


def _reflected(kind: str) -> Callable[[Value, float], Value]:
    """Return the operator for a number on the left."""
    return lambda one, other: one.loop.elementwise(kind, other, one)


class Value:
    """A typed tile: an operation's result, an earlier iteration's, or one from outside the loop.

    ``+ - *`` are element-wise and ``@`` is a matrix product. Tiles of different ranks go together
    after ``x[:, None]``, as in NumPy; numbers and scalars go with everything.

    Attributes
    ----------
    loop : LoopBuilder
        The loop that it belongs to.
    source : Node, Variable or Outside
        The origin of the value; a variable stands for its value of an earlier iteration.
    views : tuple of str
        Free operations between the source and this value.
    axes : tuple of int
        Along which of its dimensions each dimension of the source lies.
    accumulated_at : str
        Where it was accumulated into another value, after which it no longer exists.
    """

    def __init__(
        self,
        loop: _Recording,
        tile: Tile | None,
        source: Node | Variable | Outside,
        views: tuple[str, ...] = (),
        axes: tuple[int, ...] | None = None,
    ) -> None:
        self.loop, self.source, self.views = loop, source, views
        self.axes = tuple(range(len(tile.shape) if tile else 0)) if axes is None else axes
        self.accumulated_at = ""
        self._tile = tile

    @property
    def tile(self) -> Tile:
        """Shape, element type and memory.

        Raises
        ------
        InputError
            If it stands for an operation without a result, for example a store.
        """
        if self._tile is None:
            kind = self.source.kind if isinstance(self.source, Node) else "operation"
            raise self.loop.error(f"a {kind} has no result to read")
        return self._tile

    @property
    def shape(self) -> Shape:
        """Elements along each dimension."""
        return self.tile.shape

    @property
    def dtype(self) -> ElementType:
        """Element type."""
        return self.tile.dtype

    @property
    def memory(self) -> MemoryName:
        """Where it lives."""
        return self.tile.memory

    @property
    def T(self) -> Value:  # noqa: N802 - NumPy's name
        """The transposed view of a matrix in memory; it costs nothing.

        Raises
        ------
        InputError
            If it is in registers, where transposing is work, or no matrix.
        """
        if self.memory == "registers" or len(self.shape) != 2:
            raise self.loop.error(f"only a matrix in memory has a view T, not {describe(self)}")
        return self._view("transpose", self.shape[::-1], self.dtype, (1, 0))

    def __getitem__(self, key: tuple[slice | None, ...]) -> Value:
        """Insert dimensions of one element: ``x[:, None]``, ``x[None, :]``."""
        keys = key if isinstance(key, tuple) else (key,)
        kept = sum(k == slice(None) for k in keys)
        if kept != len(self.shape) or kept + sum(k is None for k in keys) != len(keys):
            raise self.loop.error(
                f"an index is made of None and one : for each dimension of {describe(self)}"
            )
        extents = iter(self.shape)
        shape = tuple(1 if k is None else next(extents) for k in keys)
        places = tuple(place for place, k in enumerate(keys) if k is not None)
        return self._view("expand_dims", shape, self.dtype, places)

    def free_cast(self, dtype: ElementType) -> Value:
        """Return the tile as if it had another element type, at no cost.

        For abstract machines: the paper's example leaves the conversion of P out.

        Parameters
        ----------
        dtype : str
            The element type.
        """
        return self._view("cast", self.shape, dtype, tuple(range(len(self.shape))))

    def cast(self, dtype: ElementType) -> Value:
        """Convert to another element type (see `Recorder.cast`)."""
        return self.loop.cast(self, dtype)

    def max(self, axis: int) -> Value:
        """Return the largest elements along a dimension (see `Recorder.reduce`)."""
        return self.loop.reduce(self, "max", axis)

    def sum(self, axis: int) -> Value:
        """Return the sums along a dimension (see `Recorder.reduce`)."""
        return self.loop.reduce(self, "add", axis)

    def named(self, name: str) -> Self:
        """Name the operation that makes this value, and return the value.

        Parameters
        ----------
        name : str
            Unique in the loop.

        Raises
        ------
        InputError
            If another operation has the name, or no operation of this loop makes the value.
        """
        self.loop.give_name(self, name)
        return self

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")

    def __matmul__(self, other: Value) -> Value:
        return self.loop.mma(self, other)

    def _view(self, kind: str, shape: Shape, dtype: ElementType, places: Shape) -> Value:
        seen = self.loop.reading(self)
        tile = self.loop.tile(shape, dtype, self.memory)
        axes = tuple(places[axis] for axis in seen.axes)
        return Value(self.loop, tile, seen.source, (*seen.views, kind), axes)


class Carried(Value):
    """A variable of the loop: until it is assigned, its value of an earlier iteration.

    `assign`, ``+=``, ``-=`` and ``*=`` give it a new value, and ``x += a @ b`` is a product that
    accumulates in place. Its content at the end of the body is what a later iteration begins with.
    """

    def __init__(self, loop: _Recording, variable: Variable) -> None:
        super().__init__(loop, variable.tile, variable)
        self.variable = variable

    @property
    def previous(self) -> Value:
        """The value of the earlier iteration, also after an assignment."""
        return Value(self.loop, self.variable.tile, self.variable)

    def assign(self, value: Value) -> None:
        """Give the variable a new value.

        Parameters
        ----------
        value : Value
            A tile of the declared shape, element type and memory.

        Raises
        ------
        InputError
            If the tile is another one.
        """
        self.loop.assign(self, value)

    def __iadd__(self, other: Value | float) -> Self:
        self.assign(self.loop.accumulate(self, other))
        return self

    def __isub__(self, other: Value | float) -> Self:
        self.assign(self - other)
        return self

    def __imul__(self, other: Value | float) -> Self:
        self.assign(self * other)
        return self


def describe(value: Value | Tile) -> str:
    """Return a type as people write it, for example ``64 x 128 f32 in registers``."""
    shape = " x ".join(map(str, value.shape)) or "scalar"
    return f"{shape} {value.dtype} in {value.memory}"
