"""Recording of the operations of a loop under construction."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from typing import Literal, Unpack

from pydantic import ValidationError

from twill.artifacts.loop import Cost, ElementType, Loop, MemoryName, Tile
from twill.base.errors import InputError, short
from twill.base.names import wrong
from twill.frontends.builder.values import (
    Carried,
    Node,
    Order,
    Outside,
    Said,
    Shape,
    Value,
    Variable,
    describe,
)
from twill.frontends.shared import complaint

OWN_MODULES = "twill.frontends.builder"
Products = Literal["registers", "tmem"]


class Recorder:
    """Records operations in program order, with the lines that they were written on."""

    def __init__(
        self,
        name: str,
        *,
        description: str = "",
        warps: int = 4,
        products: Products = "registers",
    ) -> None:
        self.name, self.description = name, description
        self.warps, self.products = warps, products
        self.nodes: list[Node] = []
        self.invariants: list[Outside] = []
        self.variables: list[Variable] = []
        self.orders: list[Order] = []
        self.finished: Loop | None = None
        self.check_name(name)

    def operation(
        self,
        kind: str,
        *operands: Value,
        result: Tile | None,
        name: str | None = None,
        warps: int | None = None,
        elementwise: bool = False,
        in_place: int | None = None,
        axis: int | None = None,
        attributes: Mapping[str, str | bool | int | float] | None = None,
        cost: Cost | None = None,
    ) -> Value:
        """Add an operation of any kind and return its result.

        Parameters
        ----------
        kind : str
            The kind for which machines have rules.
        operands : Value
            Its operands, in order.
        result : Tile or None
            The tile of its result.
        name : str, optional
            Unique in the loop; made from the kind without it.
        warps : int, optional
            Warps that execute it together, those of the builder without it.
        elementwise, attributes, cost
            As in `twill.artifacts.loop.Operation`.
        in_place : int, optional
            The operand that it updates where it lies.
        axis : int, optional
            The dimension along which it reduces.

        Raises
        ------
        InputError
            If the loop is closed, or an operand belongs to another one or no longer exists.
        """
        self.check_open()
        node = Node(
            kind=kind,
            location=here(),
            warps=self.warps if warps is None else warps,
            operands=[self.reading(operand) for operand in operands],
            tile=result,
            elementwise=elementwise,
            attributes=dict(attributes or {}),
            cost=cost,
            in_place=in_place,
            axis=axis,
        )
        for operand in node.operands:
            if isinstance(operand.source, Node):
                operand.source.read = True
        self.nodes.append(node)
        value = Value(self, result, node)
        return value if name is None else value.named(name)

    def mma(
        self,
        a: Value,
        b: Value,
        accumulator: Value | None = None,
        *,
        memory: MemoryName | None = None,
        warps: int | None = None,
        **said: Unpack[Said],
    ) -> Value:
        """Add a matrix product, ``a @ b`` or ``accumulator + a @ b`` in place.

        Sums are f32, of integers i32. A product into tensor memory is issued by one warp (PTX ISA
        9.0, tcgen05.mma: a single thread), one into registers by the warps that hold the result.

        Parameters
        ----------
        a, b : Value
            Factors, m x k and k x n.
        accumulator : Value, optional
            An m x n tile that is updated where it lies.
        name, warps, cost
            As in `operation`.
        memory : str, optional
            Where the result lives: the accumulator's memory, else the builder's `products`.

        Raises
        ------
        InputError
            If shapes or types do not go together.
        """
        a, b = self.reading(a), self.reading(b)
        if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
            raise self.error(
                f"mma: the factors must be m x k and k x n (got {describe(a)} and {describe(b)})"
            )
        if a.dtype != b.dtype:
            raise self.error(f"mma: the factors differ in type (got {a.dtype} and {b.dtype})")
        dtype: ElementType = "i32" if a.dtype.startswith("i") else "f32"
        where = memory or (accumulator.memory if accumulator is not None else self.products)
        result = self.tile((a.shape[0], b.shape[1]), dtype, where)
        operands = [a, b]
        if accumulator is not None:
            operands.append(self.fitting(accumulator, result, "mma: the accumulator"))
        return self.operation(
            "mma",
            *operands,
            result=result,
            warps=warps or (1 if where == "tmem" else None),
            in_place=2 if accumulator is not None else None,
            **said,
        )

    def elementwise(
        self,
        kind: str,
        *operands: Value | float,
        dtype: ElementType | None = None,
        **said: Unpack[Said],
    ) -> Value:
        """Add an element-wise operation in registers.

        Parameters
        ----------
        kind : str
            ``add``, ``max``, ``exp2``, ...
        operands : Value or number
            Tiles of shapes that broadcast against each other; a number is part of the instruction.
        dtype : str, optional
            Type of the result, that of the operands without it.
        name, cost
            As in `operation`.

        Raises
        ------
        InputError
            If shapes, types or memories do not go together.
        """
        self.check_open()
        tiles = [self.reading(operand) for operand in operands if isinstance(operand, Value)]
        if not tiles:
            raise self.error(f"{kind}: no operand is a tile")
        for tile in tiles:
            if tile.shape and tile.memory != "registers":
                raise self.error(f"{kind}: an operand is not in registers (got {describe(tile)})")
            if tile.dtype != tiles[0].dtype:
                raise self.error(
                    f"{kind}: the operands differ in type (got {tiles[0].dtype} and {tile.dtype})"
                )
        shape = self._broadcast(kind, [tile.shape for tile in tiles])
        result = self.tile(shape, dtype or tiles[0].dtype, "registers")
        return self.operation(kind, *tiles, result=result, elementwise=True, **said)

    def cast(self, x: Value, dtype: ElementType, **said: Unpack[Said]) -> Value:
        """Add a conversion to another element type (see `elementwise`)."""
        return self.elementwise("cast", x, dtype=dtype, **said)

    def reduce(
        self,
        x: Value,
        combine: Literal["max", "min", "add"],
        axis: int,
        *,
        lanes: int | None = None,
        lane_warps: int | None = None,
        elements_per_thread: int | None = None,
        **said: Unpack[Said],
    ) -> Value:
        """Add a reduction along one dimension of a tile in registers.

        Parameters
        ----------
        x : Value
            The tile.
        combine : str
            How two elements become one.
        axis : int
            The dimension; negative ones count from the last.
        lanes, lane_warps : int, optional
            Lanes, and warps, that share a row of it. They follow from the operation that `x` comes
            from: 4 lanes for a product in registers, 1 for a read of tensor memory (see
            `twill.frontends.builder.finish`).
        elements_per_thread : int, optional
            Elements of the result that a thread holds; follows likewise.
        name, cost
            As in `operation`.

        Raises
        ------
        InputError
            If there is no such dimension, or the tile is not in registers.
        """
        x = self.reading(x)
        rank = len(x.shape)
        if x.memory != "registers" or not -rank <= axis < rank:
            raise self.error(f"reduce: no dimension {axis} in registers (got {describe(x)})")
        axis %= rank
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        result = self.tile(shape, x.dtype, "registers", elements_per_thread)
        given = {"combine": combine, "lanes": lanes, "lane_warps": lane_warps}
        attributes = {key: value for key, value in given.items() if value is not None}
        return self.operation("reduce", x, result=result, axis=axis, attributes=attributes, **said)

    def accumulate(self, total: Value, term: Value | float) -> Value:
        """Return ``total + term``, in place if the term is a product that nothing has read."""
        if isinstance(term, Carried) or not isinstance(term, Value) or term.views:
            return self.elementwise("add", total, term)
        node = term.source
        if not isinstance(node, Node) or node.read or (node.kind, node.in_place) != ("mma", None):
            return self.elementwise("add", total, term)
        self.reading(term)
        total = self.reading(total)
        result = self.tile(term.shape, term.dtype, total.memory)
        node.operands.append(self.fitting(total, result, "mma: the accumulator"))
        node.in_place = 2
        if total.memory != term.memory:
            node.warps = 1 if total.memory == "tmem" else self.warps
        node.tile = result
        if isinstance(total.source, Node):
            total.source.read = True
        # The product may have been written down before the value that it now adds to.
        self.nodes.remove(node)
        self.nodes.append(node)
        term.accumulated_at = here()
        return Value(self, result, node)

    def _broadcast(self, kind: str, shapes: list[Shape]) -> Shape:
        tiles = [shape for shape in shapes if shape]
        first = tiles[0] if tiles else ()
        result = first
        for shape in tiles:
            extents = list(zip(result, shape, strict=False))
            if len(shape) != len(first) or any(1 not in e and e[0] != e[1] for e in extents):
                raise self.error(
                    f"{kind}: shapes {_times(first)} and {_times(shape)} do not go together; "
                    "x[:, None] adds a dimension"
                )
            result = tuple(map(max, extents))
        return result

    def assign(self, carried: Carried, value: Value) -> None:
        """Give a carried variable a new value (see `Carried.assign`)."""
        carried.variable.value = self.fitting(
            value, carried.variable.tile, f"carried {short(carried.variable.name)}: the new value"
        )

    def give_name(self, value: Value, name: str) -> None:
        """Name the operation that makes `value` (see `Value.named`)."""
        self.check_open()
        self.check_name(name)
        node = self.reading(value).source
        if not isinstance(node, Node):
            raise self.error(f"no operation of this iteration makes the value named {short(name)}")
        for other in self.nodes:
            if other.name == name and other is not node:
                raise self.error(
                    f"a second operation named {short(name)}, the first is at {other.location}"
                )
        node.name = name

    def reading(self, value: Value) -> Value:
        """Return what reading `value` here and now reads; refuse what is no longer there."""
        self.check_open()
        if not isinstance(value, Value):
            raise self.error(f"not a value of this loop (got {short(value)})")
        if value.loop is not self:
            raise self.error(f"a value of another loop ({short(value.loop.name)})")
        if isinstance(value, Carried):
            return value.variable.value or value.previous
        if value.accumulated_at:
            raise self.error(
                "this product was accumulated in place into another value at "
                f"{value.accumulated_at}; read that one"
            )
        return value

    def tile(
        self, shape: Shape, dtype: ElementType, memory: MemoryName, each: int | None = None
    ) -> Tile:
        """Return a tile with `each` elements per thread, or say what is wrong with its type."""
        try:
            return Tile(shape=shape, dtype=dtype, memory=memory, elements_per_thread=each)
        except ValidationError as error:
            raise self.error(complaint(error)) from None

    def error(self, message: str, location: str | None = None) -> InputError:
        """Return an error that names the loop and the user's line, if no other is given."""
        return InputError(message, path=self.name, file=location or here())

    def fitting(self, value: Value, tile: Tile, what: str) -> Value:
        """Return what reading `value` reads; refuse it, called `what`, if its type is another."""
        seen = self.reading(value)
        if (seen.shape, seen.dtype, seen.memory) != (tile.shape, tile.dtype, tile.memory):
            raise self.error(f"{what} must be {describe(tile)} (got {describe(seen)})")
        return seen

    def check_open(self) -> None:
        """Refuse to go on once the loop is closed."""
        if self.finished is not None:
            raise self.error("the loop is closed; nothing can be added after build()")

    def check_name(self, name: str) -> str:
        """Return `name`, or refuse it if it is no name."""
        why = wrong(name) if isinstance(name, str) else "a name is text"
        if why:
            raise InputError(f"{why} (got {short(name)})", file=here())
        return name


def _times(shape: Shape) -> str:
    return " x ".join(map(str, shape))


def here() -> str:
    """Return ``file:line:column`` of the expression outside the builder that is being executed."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to the caller's line
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(OWN_MODULES):
        frame = frame.f_back
    positions = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    line, _, column, _ = next(positions, (None, None, None, None))
    file = frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{file}:{line or frame.f_lineno}:{(column or 0) + 1}"
