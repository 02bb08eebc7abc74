"""Tiles: the functions of the language that make tiles of numbers and of other tiles.

`OFFERED` has them by their names; those in `METHODS` are methods of tiles too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from twill.base.errors import InputError
from twill.sim.emulator.layouts import Layout, reduced
from twill.sim.emulator.machine import running
from twill.sim.emulator.values import (
    FLOAT32,
    INT32,
    Array,
    DType,
    Numbers,
    of_number,
    together,
)

OFFERED: dict[str, Any] = {}


def offered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Offer a function to kernels under its name without underscores."""
    OFFERED[function.__name__.strip("_")] = function
    return function


def array(value: Any, beside: DType | None = None) -> Array:
    """Return a value as an array."""
    if hasattr(value, "data") and hasattr(value, "dtype") and not isinstance(value, np.generic):
        return value if isinstance(value, Array) else Array(value.data, value.dtype)
    return Array(value, of_number(value, beside))


def constants(*values: Any) -> None:
    """Refuse values that are only known at run time where the compiler wants constants.

    Raises
    ------
    FaultError
        Of kind ``type``.
    """
    wrong = [value for value in values if isinstance(value, Array)]
    if wrong and running.machine is not None:
        raise running.machine.fault("type", f"a constant is wanted, not {wrong[0]!r} of run time")


def unknown(tile: Array) -> Array:
    """Return a tile whose layout is not known."""
    return Array(tile.data, tile.dtype)


# -- making tiles ------------------------------------------------------------------------------


@offered
def _full(shape: Any, value: Any, dtype: DType, layout: object = None) -> Array:
    constants(*shape)
    number = value.data if isinstance(value, Array) else value
    return Array(
        dtype.rounded(np.full([int(n) for n in shape], number, dtype.computed)), dtype, layout
    )


@offered
def _zeros(shape: Any, dtype: DType, layout: object = None) -> Array:
    return Array(np.zeros([int(n) for n in shape], dtype.computed), dtype, layout)


@offered
def _zeros_like(tile: Array) -> Array:
    return tile.made(np.zeros_like(tile.data))


@offered
def _arange(start: int, end: int, layout: object = None) -> Array:
    constants(start, end)
    return Array(np.arange(int(start), int(end)), INT32, layout)


@offered
def _to_tensor(value: Any) -> Array:
    return array(value)


# -- element by element ------------------------------------------------------------------------


def _elementwise(operation: Callable[[Numbers], Numbers]) -> Callable[..., Array]:
    def function(x: Any, **_: Any) -> Array:
        tile = array(x)
        dtype = tile.dtype if tile.dtype.is_floating_point else FLOAT32
        return tile.made(operation(tile.data.astype(dtype.computed)), dtype)

    return function


OFFERED |= {
    "exp": _elementwise(np.exp),
    "exp2": _elementwise(np.exp2),
    "log": _elementwise(np.log),
    "log2": _elementwise(np.log2),
    "sqrt": _elementwise(np.sqrt),
    "sqrt_rn": _elementwise(np.sqrt),
    "rsqrt": _elementwise(lambda x: 1 / np.sqrt(x)),
    "erf": _elementwise(np.vectorize(math.erf)),
    "sin": _elementwise(np.sin),
    "cos": _elementwise(np.cos),
    "floor": _elementwise(np.floor),
    "ceil": _elementwise(np.ceil),
}


@offered
def _abs(x: Any) -> Array:
    return array(x).made(np.abs(array(x).data))


def _pairwise(operation: Callable[..., Any]) -> Callable[..., Array]:
    def function(x: Any, y: Any, **_: Any) -> Array:
        first, second = array(x, getattr(y, "dtype", None)), array(y, getattr(x, "dtype", None))
        operands = together(Array, first, second)
        assert operands is not None
        a, b, dtype, layout = operands
        return Array(dtype.rounded(np.asarray(operation(a, b))), dtype, layout)

    return function


OFFERED |= {
    # NaN gives way to the other operand, as on the device.
    "maximum": _pairwise(np.fmax),
    "minimum": _pairwise(np.fmin),
    "add": _pairwise(np.add),
    "add2": _pairwise(np.add),
    "sub": _pairwise(np.subtract),
    "sub2": _pairwise(np.subtract),
    "mul": _pairwise(np.multiply),
    "mul2": _pairwise(np.multiply),
    "fdiv": _pairwise(np.true_divide),
    "div_rn": _pairwise(np.true_divide),
}


@offered
def _umulhi(x: Any, y: Any) -> Array:
    """Return the upper halves of products of integers without a sign."""
    a = array(x, getattr(y, "dtype", None))
    both = together(Array, a, array(y, a.dtype))
    assert both is not None
    *pair, dtype, layout = both
    if dtype.name not in ("int32", "uint32"):
        raise InputError(f"umulhi of {dtype.name} is not emulated")
    first, second = (one.astype(np.uint32).astype(np.uint64) for one in pair)
    return Array((first * second >> np.uint64(32)).astype(np.uint32), dtype, layout)


@offered
def _fma(x: Any, y: Any, z: Any) -> Array:
    """Round once, as a fused operation does."""
    dtype = array(OFFERED["add"](OFFERED["mul"](x, y), z)).dtype
    exact = [array(one).data.astype(np.float64) for one in (x, y, z)]
    return array(x).made(exact[0] * exact[1] + exact[2], dtype)


OFFERED["fma2"] = _fma


@offered
def _where(condition: Any, x: Any, y: Any) -> Array:
    choice = OFFERED["add"](x, y)
    chosen = together(Array, array(condition), array(choice))
    if chosen is not None and choice.layout is None:
        choice.layout = chosen[-1]
    a, b = array(x, choice.dtype).data, array(y, choice.dtype).data
    return Array(np.where(array(condition).data, a, b), choice.dtype, choice.layout)


@offered
def _cdiv(x: Any, y: Any) -> Any:
    return (x + (y - 1)) // y


@offered
def _cast(x: Any, dtype: DType, bitcast: bool = False) -> Array:
    tile = array(x)
    if bitcast:
        bits = np.ascontiguousarray(tile.dtype.packed(tile.data)).view(dtype.stored)
        return Array(dtype.unpacked(bits), dtype, tile.layout)
    return tile.made(tile.data, dtype)


OFFERED["to"] = _cast


@offered
def _map_elementwise(function: Callable[..., Any], *tiles: Any) -> Any:
    return function(*tiles)


# -- shapes ------------------------------------------------------------------------------------


@offered
def _convert_layout(value: Any, layout: object, assert_trivial: bool = False) -> Array:
    return Array(value.data, value.dtype, layout)


@offered
def _set_auto_layout(value: Any, layout: object) -> Array:
    return Array(value.data, value.dtype, layout)


@offered
def _reshape(value: Array, *shape: Any) -> Array:
    sizes = shape[0] if isinstance(shape[0], list | tuple) else shape
    return unknown(value.made(value.data.reshape([int(n) for n in sizes])))


@offered
def _permute(value: Array, *order: Any) -> Array:
    axes = order[0] if isinstance(order[0], list | tuple) else order
    return unknown(value.made(value.data.transpose(tuple(axes))))


@offered
def _trans(value: Array, *order: Any) -> Array:
    return unknown(value.made(np.transpose(value.data, order or None)))


@offered
def _expand_dims(value: Array, axis: int) -> Array:
    places: list[slice | None] = [slice(None)] * value.data.ndim
    places.insert(axis % (value.data.ndim + 1), None)
    return value[tuple(places)]


@offered
def _broadcast_to(value: Array, *shape: Any) -> Array:
    sizes = shape[0] if isinstance(shape[0], list | tuple) else shape
    return value.made(np.broadcast_to(value.data, [int(n) for n in sizes]))


@offered
def _broadcast(x: Array, y: Array) -> tuple[Array, Array]:
    a, b = np.broadcast_arrays(x.data, y.data)
    return x.made(a), y.made(b)


@offered
def _join(x: Array, y: Array) -> Array:
    return unknown(x.made(np.stack(np.broadcast_arrays(x.data, y.data), axis=-1)))


@offered
def _split(value: Array) -> tuple[Array, Array]:
    return unknown(value.made(value.data[..., 0])), unknown(value.made(value.data[..., 1]))


# -- reductions --------------------------------------------------------------------------------


def _reduction(operation: Callable[..., Any]) -> Callable[..., Array]:
    def function(x: Array, axis: int | None = None, keep_dims: bool = False, **_: Any) -> Array:
        numbers = x.data
        if x.dtype.is_floating_point:
            numbers = numbers.astype(np.promote_types(numbers.dtype, np.float32), copy=False)
        made = x.made(operation(numbers, axis=axis, keepdims=keep_dims))
        made.layout = x.layout if keep_dims else reduced(x.layout, axis, x.data.ndim)
        return made

    return function


OFFERED |= {
    "max": _reduction(np.fmax.reduce),
    "min": _reduction(np.fmin.reduce),
    "sum": _reduction(np.sum),
    "xor_sum": _reduction(np.bitwise_xor.reduce),
}


@offered
def _reduce(tiles: Any, axis: int, combine_fn: Callable[..., Any], keep_dims: bool = False) -> Any:
    """Combine halves until one is left; a last dimension of one stands for what a thread holds."""
    several = isinstance(tiles, tuple)
    parts = [np.moveaxis(one.data, axis, 0) for one in (tiles if several else (tiles,))]
    like = tiles[0] if several else tiles
    while (length := len(parts[0])) > 1:
        half = length // 2
        given = [like.made(part[k : k + half, ..., None]) for k in (0, half) for part in parts]
        combined = combine_fn(*given)
        made = combined if isinstance(combined, tuple) else (combined,)
        rest = [part[2 * half :] for part in parts]
        shape = (half, *parts[0].shape[1:])
        parts = [
            np.concatenate([one.data.reshape(shape), end])
            for one, end in zip(made, rest, strict=True)
        ]
    ends = [part[0] for part in parts]
    tops = [like.made(np.expand_dims(end, axis) if keep_dims else end) for end in ends]
    layout = like.layout if keep_dims else reduced(like.layout, axis, like.data.ndim)
    found = tuple(Array(top.data, top.dtype, layout) for top in tops)
    return found if several else found[0]


@offered
def _associative_scan(
    tiles: Any, axis: int, combine_fn: Callable[..., Any], reverse: bool = False
) -> Any:
    """Combine each element along an axis with those before it, one after the other."""
    several = isinstance(tiles, tuple)
    every = tiles if several else (tiles,)
    _alike(every)
    length = every[0].shape[axis]
    rows: list[tuple[Array, ...]] = []
    for place in range(length - 1, -1, -1) if reverse else range(length):
        here = tuple(one.made(np.take(one.data, place, axis)) for one in every)
        combined = combine_fn(*rows[-1], *here) if rows else here
        rows.append(combined if isinstance(combined, tuple) else (combined,))
    rows = rows[::-1] if reverse else rows
    found = tuple(
        like.made(np.stack([one.data for one in column], axis), like.dtype)
        for like, column in zip(every, zip(*rows, strict=True), strict=True)
    )
    return found if several else found[0]


def _alike(tiles: tuple[Array, ...]) -> None:
    """Refuse tiles of different shapes, as Triton does."""
    if any(one.shape != tiles[0].shape for one in tiles):
        shapes = ", ".join(str(list(one.shape)) for one in tiles)
        raise InputError(f"a scan of tiles of {shapes}")


METHODS = (
    *(
        "abs",
        "associative_scan",
        "broadcast_to",
        "cast",
        "expand_dims",
        "max",
        "min",
        "permute",
        "reduce",
        "reshape",
    ),
    *("split", "sum", "to", "trans"),
)
Array.functions = {name: OFFERED[name] for name in METHODS}


def _type(self: Array) -> Any:
    return Layout(
        shape=list(self.shape), layout=self.layout, element_ty=self.dtype, scalar=self.dtype
    )


Array.type = property(_type)  # type: ignore[attr-defined] # `values` does not know tiles
