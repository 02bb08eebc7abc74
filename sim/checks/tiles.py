"""What operations compute, on NumPy tiles.

Elements are rounded to their type after every operation; products take their factors in that type
and accumulate in float32, as tensor cores do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from twill.artifacts.loop import Axes, ElementType, Operation
from twill.errors import InputError, short

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Function = Callable[..., Any]

TYPES: dict[ElementType, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.float32,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i1": np.bool_,
}
"""NumPy's types; a bfloat16 is a float32 whose lower half is zero."""

COPIES = frozenset(
    {
        "cast",
        "convert_layout",
        "local_load",
        "local_store",
        "store",
        "tmem_copy",
        "tmem_load",
        "tmem_store",
    }
)
ELEMENTWISE: dict[tuple[str, int], Function] = {
    ("add", 2): np.add,
    ("mul", 2): np.multiply,
    ("divide", 2): np.divide,
    ("max", 1): np.absolute,
    ("max", 2): np.maximum,
    ("min", 2): np.minimum,
    ("sub", 1): np.negative,
    ("sub", 2): np.subtract,
    ("select", 3): np.where,
    ("fma", 3): lambda value, factor, other: value * factor + other,
    ("exp2", 1): np.exp2,
    ("exp", 1): np.exp,
    ("log2", 1): np.log2,
    ("log", 1): np.log,
    ("sqrt", 1): np.sqrt,
    ("rsqrt", 1): lambda value: 1 / np.sqrt(value),
    ("sin", 1): np.sin,
    ("cos", 1): np.cos,
    ("tanh", 1): np.tanh,
}
"""By kind and number of operands; ``max`` of one is its absolute value."""
COMBINES: dict[str, Function] = {
    "max": np.max,
    "min": np.min,
    "add": np.sum,
    "mul": np.prod,
}
COMMUTATIVE: dict[str, Function] = {
    "arith.mulf": np.multiply,
    "arith.addf": np.add,
    "arith.maxnumf": np.maximum,
    "arith.maximumf": np.maximum,
    "arith.minnumf": np.minimum,
    "arith.minimumf": np.minimum,
}
"""Operations of two operands that may stand between a load from tensor memory and its store."""
ROUNDINGS = frozenset({"arith.truncf", "arith.extf", "tt.fp_to_fp"})


def function_of(operation: Operation, between: Sequence[str] = ()) -> Function:
    """Return what an operation computes of its operands.

    `between`: what stands between load and store of one that goes through tensor memory chunk by
    chunk.

    Raises
    ------
    InputError
        If the operation does not say it.
    """
    kind, count = operation.kind, len(operation.operands)
    if kind in ("tmem_update", "tmem_drain"):
        return _chunks(operation, between)
    if kind in COPIES and count == 1:
        return lambda value: value
    if kind == "mma" and count in (2, 3):
        return _product
    if kind == "reduce" and count == 1:
        return _reduction(operation)
    if (kind, count) in ELEMENTWISE:
        return ELEMENTWISE[kind, count]
    raise unknown(operation, f"kind {short(kind)} with {count} operands does not say what")


def anything(shape: Shape, *operands: Array) -> Array:
    """Return some function of all elements of all operands, finite whatever they are."""
    total = np.zeros(shape)
    for number, value in enumerate(operands, start=1):
        wide = np.asarray(value, np.float64)
        total += number * (np.resize(wide, shape) + wide.mean())
    return np.where(np.isnan(total), np.nan, np.sin(np.clip(total, -1e6, 1e6)))


def unknown(operation: Operation, why: str) -> InputError:
    """Return the error for an operation that cannot be computed."""
    return InputError(f"values cannot be computed: {why}", path=f"operations.{operation.name}")


def _product(left: Array, right: Array, accumulator: Array | None = None) -> Array:
    made: Array = np.matmul(left.astype(np.float32), right.astype(np.float32))
    return made if accumulator is None else made + accumulator


def _reduction(operation: Operation) -> Function:
    combine, axis = operation.attributes.get("combine"), operation.attributes.get("axis")
    if combine not in COMBINES or not isinstance(axis, int):
        raise unknown(operation, f"a reduction by {short(combine)} along {short(axis)}")
    function = COMBINES[str(combine)]
    return lambda value: function(value, axis=axis)


def _chunks(operation: Operation, between: Sequence[str]) -> Function:
    strange = [kind for kind in between if kind not in COMMUTATIVE and kind not in ROUNDINGS]
    if strange or len(between) != operation.attributes.get("arithmetic"):
        raise unknown(
            operation,
            f"which operand of {strange[0]} the tile is does not show"
            if strange
            else "what stands between its load and its store is not recorded",
        )

    def compute(value: Array, *more: Array) -> Array:
        rest = iter(more)
        for kind in between:
            if kind in COMMUTATIVE:
                value = COMMUTATIVE[kind](value, next(rest))
        return value

    return compute


def operands_between(between: Sequence[str]) -> int:
    """Return how many more operands the operations between a load and a store take."""
    return sum(kind in COMMUTATIVE for kind in between)


def rounded(value: Array, dtype: ElementType) -> Array:
    """Return a tile in an element type.

    `dtype`: the element type; one that `TYPES` does not list is not rounded to.
    """
    made = np.asarray(value).astype(TYPES.get(dtype, np.float32))
    if dtype != "bf16":
        return made
    bits = made.view(np.uint32).astype(np.uint64)
    nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.where(np.isnan(made), made, nearest.astype(np.uint32).view(np.float32))


def placed(value: Array, axes: Axes | None, shape: Shape) -> Array:
    """Return a value as an operand: its dimensions along `axes`, repeated along the others.

    `axes`: for each dimension the operand's dimension along which it lies, None for one of extent 1
    that is dropped; without it the first dimensions in their order.
    """
    where = tuple(range(value.ndim)) if axes is None else axes
    dropped = tuple(n for n, axis in enumerate(where) if axis is None)
    kept = [axis for axis in where if axis is not None]
    value = value.squeeze(dropped).transpose(np.argsort(kept))
    extents = [1] * len(shape)
    for axis, extent in zip(sorted(kept), value.shape, strict=True):
        extents[axis] = extent
    return np.broadcast_to(value.reshape(extents), shape)
