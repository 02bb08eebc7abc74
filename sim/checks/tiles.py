"""Operations on NumPy tiles, and packaged kernels whose results have a formula.

Elements are rounded to their type after every operation; products take their factors in that type
and accumulate in float32, as tensor cores do.

Attention is softmax(Q K^T / sqrt(D)) V over the keys that the loop streams. Its gradients are
those of sum(O * dO), over the queries that the loop streams. A matrix product is a sum over tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from twill.artifacts.loop import Axes, ElementType, Loop, Operation, Tile
from twill.base.errors import InputError, short

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Function = Callable[..., Any]

# NumPy's types; a bfloat16 is a float32 whose lower half is zero.
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

COPIES = {
    "cast",
    "convert_layout",
    "local_load",
    "local_store",
    "store",
    "tmem_copy",
    "tmem_load",
    "tmem_store",
}
# By kind and number of operands; ``max`` of one is its absolute value.
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
    ("rsqrt", 1): lambda value: 1 / np.sqrt(value),
    **{
        (name, 1): getattr(np, name)
        for name in ("exp2", "exp", "log2", "log", "sqrt", "sin", "cos", "tanh")
    },
}
# Products and sums by what is negated, rounded once: products of float32 are exact in float64.
FUSED: dict[object, Function] = {
    None: lambda left, right, other: left.astype(np.float64) * right + other,
    "addend": lambda left, right, other: left.astype(np.float64) * right - other,
    "product": lambda left, right, other: other - left.astype(np.float64) * right,
}
COMBINES: dict[str, Function] = {"max": np.max, "min": np.min, "add": np.sum, "mul": np.prod}
# Operations of two operands that may stand between a load from tensor memory and its store.
COMMUTATIVE: dict[str, Function] = {
    "arith.mulf": np.multiply,
    "arith.addf": np.add,
    **dict.fromkeys(("arith.maxnumf", "arith.maximumf"), np.maximum),
    **dict.fromkeys(("arith.minnumf", "arith.minimumf"), np.minimum),
}
ROUNDINGS = frozenset({"arith.truncf", "arith.extf", "tt.fp_to_fp"})


def function_of(operation: Operation, between: Sequence[str] = ()) -> Function:
    """Return the function that an operation computes of its operands.

    `between`: the arithmetic between load and store of an operation that goes through tensor memory
    chunk by chunk.

    Raises
    ------
    InputError
        If the operation does not define it.
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
    negated = operation.attributes.get("negated")
    if (kind, count) == ("fma", 3) and negated in FUSED:
        return FUSED[negated]
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


# -- what a loop finds outside ----------------------------------------------------------------

# Standard deviation of random tiles; small enough that sums of products of halves stay finite.
SPREAD = 0.5
LOG2_E = 1.4426950408889634
# Of the largest element: a few roundings to float16, whose unit is 2^-11 of a number.
TOLERANCE = 4 * 2.0**-11
PRODUCTS = {
    "gemm": {"c": ("a", "b")},
    "gemm_pointers": {"c": ("a", "b")},
    "gemm_persistent": {"c": ("a", "b")},
    "gemm_two_tiles": {"c0": ("a0", "b"), "c1": ("a1", "b")},
    "gemm_geglu": {"g": ("a", "gate"), "u": ("a", "up")},
}
FORWARD = {
    "attention_forward": ("",),
    "attention_forward_causal": ("",),
    "attention_forward_two_tiles": ("0", "1"),
}
BACKWARD = {"attention_backward": ("",), "attention_backward_two_tiles": ("0", "1")}

Results = Mapping[tuple[str, int], Array]
Named = dict[str, Array]


class Inputs:
    """Inputs of a loop from outside, each an array that fits the tile.

    Random tiles, and first values that change nothing: zero, or the least of a maximum.
    """

    def __init__(self, loop: Loop, seed: int = 0) -> None:
        self._kinds = {operation.name: operation.kind for operation in loop.operations}
        self._seed = seed

    def load(self, operation: str, iteration: int, tile: Tile) -> Array:
        """Return what a load finds in global memory."""
        return self._normal(tile, "load", operation, iteration)

    def first(self, value: str, before: int, tile: Tile) -> Array:
        """Return the instance of a value `before` iterations ahead of the first one."""
        neutral = {"max": -np.inf, "min": np.inf}.get(self._kinds[value], 0)
        return np.full(tile.shape, neutral, np.float32)

    def invariant(self, name: str, tile: Tile) -> Array:
        """Return a value that lives across the loop."""
        return self._normal(tile, "invariant", name, 0)

    def constant(self, operation: str, number: int, tile: Tile) -> Array:
        """Return an operand that nothing in the loop makes: one positive number below 1."""
        generator = self._generator("constant", operation, number)
        return np.full(tile.shape, generator.uniform(0.1, 0.9), np.float32)

    def factor(self, operation: str, number: int, iteration: int, tile: Tile) -> Array:
        """Return a factor of a product that no load of the loop brings."""
        return self._normal(tile, "factor", f"{operation}.{number}", iteration)

    def _normal(self, tile: Tile, kind: str, name: str, number: int) -> Array:
        if tile.dtype == "i1":
            return self._generator(kind, name, number).random(tile.shape) < SPREAD
        made = self._generator(kind, name, number).normal(0, SPREAD, tile.shape)
        return np.round(made * 8) if tile.dtype.startswith("i") else made

    def _generator(self, kind: str, name: str, number: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, number, *kind.encode(), 0, *name.encode()])


# -- kernels with a formula -------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """A loop whose results have a formula."""

    inputs: Inputs
    expected: Named  # results by name, in float64
    made: Callable[[Results], Named]  # the same names, of the loop's results

    def error(self, results: Results) -> float:
        """Return the largest error of all results, relative to the largest element of each."""
        made = self.made(results)
        return max(
            float(np.abs(made[name] - right).max() / np.abs(right).max())
            for name, right in self.expected.items()
        )


class _Scaled(Inputs):
    """Random inputs with the kernel's scale for constants, and some loads given."""

    def __init__(self, loop: Loop, seed: int, depth: int, given: Named) -> None:
        super().__init__(loop, seed)
        self._scale, self._given = depth**-0.5, given

    def constant(self, operation: str, number: int, tile: Tile) -> Array:
        """Return the scale, in powers of two where an exponential follows."""
        exponential = operation.endswith((".mul", ".fma")) and operation[0] in "np"
        return np.full(tile.shape, self._scale * (LOG2_E if exponential else 1.0))

    def load(self, operation: str, iteration: int, tile: Tile) -> Array:
        """Return the given tile, or random numbers."""
        if operation in self._given:
            return np.asarray(self._given[operation][iteration])
        return super().load(operation, iteration, tile)


def known(loop: Loop, iterations: int, seed: int = 0) -> Kernel | None:
    """Return a packaged kernel's inputs and formula; None for a loop without one."""
    kernel = loop.origin.kernel if loop.origin is not None else ""
    named = {operation.name for operation in loop.operations}
    if kernel in PRODUCTS and named >= PRODUCTS[kernel].keys():
        return _sum_of_products(loop, PRODUCTS[kernel], iterations, seed)
    if kernel in FORWARD and named >= {f"o{part}" for part in FORWARD[kernel]}:
        masked = any(operation.kind == "select" for operation in loop.operations)
        return None if masked else _forward(loop, FORWARD[kernel], iterations, seed)
    if kernel in BACKWARD and named >= {f"dk{part}" for part in BACKWARD[kernel]}:
        return _backward(loop, BACKWARD[kernel], iterations, seed)
    return None


def _loaded(loop: Loop, inputs: Inputs, name: str, iterations: int) -> Array:
    """Return the tiles that a load brings, in float64."""
    tile = loop.operation(name).result
    assert tile is not None
    every = [rounded(inputs.load(name, i, tile), tile.dtype) for i in range(iterations)]
    return np.stack(every).astype(np.float64)


def _invariant(loop: Loop, inputs: Inputs, name: str) -> Array:
    tile = next(i.tile for i in loop.invariants if i.name == name)
    return rounded(inputs.invariant(name, tile), tile.dtype).astype(np.float64)


def _sum_of_products(
    loop: Loop, factors: Mapping[str, tuple[str, str]], iterations: int, seed: int
) -> Kernel:
    inputs = Inputs(loop, seed)
    expected = {
        name: np.matmul(
            _loaded(loop, inputs, left, iterations), _loaded(loop, inputs, right, iterations)
        ).sum(0)
        for name, (left, right) in factors.items()
    }
    last = iterations - 1
    return Kernel(inputs, expected, lambda made: {name: made[name, last] for name in factors})


def _probabilities(queries: Array, keys: Array) -> Array:
    scores = queries @ keys.T / np.sqrt(queries.shape[1])
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def _forward(loop: Loop, parts: tuple[str, ...], iterations: int, seed: int) -> Kernel:
    depth = next(i.tile.shape[1] for i in loop.invariants if i.name == f"q{parts[0]}")
    inputs = _Scaled(loop, seed, depth, {})
    keys, values = (
        np.concatenate(list(_loaded(loop, inputs, name, iterations))) for name in ("k", "v")
    )
    expected = {
        f"o{part}": _probabilities(_invariant(loop, inputs, f"q{part}"), keys) @ values
        for part in parts
    }
    last = iterations - 1

    def made(results: Results) -> Named:
        return {f"o{p}": results[f"o{p}", last] / results[f"l{p}", last][:, None] for p in parts}

    return Kernel(inputs, expected, made)


def _backward(loop: Loop, parts: tuple[str, ...], iterations: int, seed: int) -> Kernel:
    depth = next(i.tile.shape[1] for i in loop.invariants if i.name == f"k{parts[0]}")
    inputs = _Scaled(loop, seed, depth, {})
    q, do = (_loaded(loop, inputs, name, iterations) for name in ("q", "do"))
    k = {part: _invariant(loop, inputs, f"k{part}") for part in parts}
    v = {part: _invariant(loop, inputs, f"v{part}") for part in parts}
    keys, values = np.concatenate(list(k.values())), np.concatenate(list(v.values()))
    scores = q @ keys.T * depth**-0.5
    given = {"lse": np.log2(np.exp(scores).sum(2))}
    p = np.exp(scores) / np.exp(scores).sum(2, keepdims=True)
    dp = do @ values.T
    given["delta"] = (p * dp).sum(2)
    ds = p * (dp - given["delta"][..., None]) * depth**-0.5
    expected = {f"dq of iteration {i}": ds[i] @ keys for i in range(iterations)}
    bounds = np.cumsum([0, *(len(k[part]) for part in parts)])
    for part, begin, end in zip(parts, bounds, bounds[1:], strict=False):
        expected[f"dk{part}"] = np.einsum("imn,imd->nd", ds[..., begin:end], q)
        expected[f"dv{part}"] = np.einsum("imn,imd->nd", p[..., begin:end], do)
    last = iterations - 1

    def made(results: Results) -> Named:
        found = {f"dq of iteration {i}": results["dq_desc.store", i] for i in range(iterations)}
        for part in parts:
            # The kernel scales dK after the loop.
            found[f"dk{part}"] = results[f"dk{part}", last] * depth**-0.5
            found[f"dv{part}"] = results[f"dv{part}", last]
        return found

    return Kernel(_Scaled(loop, seed, depth, given), expected, made)
