"""What loops find outside, and packaged kernels whose results have a formula.

Attention is softmax(Q K^T / sqrt(D)) V over the keys that the loop streams; its gradients are
those of sum(O * dO), over the queries that the loop streams; a matrix product is a sum over tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twill.artifacts.loop import Loop, Tile
from twill.sim.checks.tiles import Array, rounded

SPREAD = 0.5
"""Standard deviation of random tiles; small enough that sums of products of halves stay finite."""
LOG2_E = 1.4426950408889634
TOLERANCE = 4 * 2.0**-11
"""Of the largest element: a few roundings to float16, whose unit is 2^-11 of a number."""
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


class Inputs(Protocol):
    """What a loop takes from outside, each an array that fits the tile."""

    def load(self, operation: str, iteration: int, tile: Tile) -> Array:
        """Return what a load finds in global memory."""

    def first(self, value: str, before: int, tile: Tile) -> Array:
        """Return the instance of a value `before` iterations ahead of the first one."""

    def invariant(self, name: str, tile: Tile) -> Array:
        """Return a value that lives across the loop."""

    def constant(self, operation: str, number: int, tile: Tile) -> Array:
        """Return an operand that nothing in the loop makes."""

    def factor(self, operation: str, number: int, iteration: int, tile: Tile) -> Array:
        """Return a factor of a product that no load of the loop brings."""


class RandomInputs:
    """Random tiles, and first values that change nothing: zero, or the least of a maximum."""

    def __init__(self, loop: Loop, seed: int = 0) -> None:
        self._kinds = {operation.name: operation.kind for operation in loop.operations}
        self._seed = seed

    def load(self, operation: str, iteration: int, tile: Tile) -> Array:
        """Return normally distributed numbers; see `Inputs`."""
        return self._normal(tile, "load", operation, iteration)

    def first(self, value: str, before: int, tile: Tile) -> Array:
        """Return what changes nothing; see `Inputs`."""
        neutral = {"max": -np.inf, "min": np.inf}.get(self._kinds[value], 0)
        return np.full(tile.shape, neutral, np.float32)

    def invariant(self, name: str, tile: Tile) -> Array:
        """Return normally distributed numbers; see `Inputs`."""
        return self._normal(tile, "invariant", name, 0)

    def constant(self, operation: str, number: int, tile: Tile) -> Array:
        """Return one positive number below 1; see `Inputs`."""
        generator = self._generator("constant", operation, number)
        return np.full(tile.shape, generator.uniform(0.1, 0.9), np.float32)

    def factor(self, operation: str, number: int, iteration: int, tile: Tile) -> Array:
        """Return normally distributed numbers; see `Inputs`."""
        return self._normal(tile, "factor", f"{operation}.{number}", iteration)

    def _normal(self, tile: Tile, kind: str, name: str, number: int) -> Array:
        if tile.dtype == "i1":
            return self._generator(kind, name, number).random(tile.shape) < SPREAD
        made = self._generator(kind, name, number).normal(0, SPREAD, tile.shape)
        return np.round(made * 8) if tile.dtype.startswith("i") else made

    def _generator(self, kind: str, name: str, number: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, number, *kind.encode(), 0, *name.encode()])


@dataclass(frozen=True)
class Kernel:
    """A loop whose results have a formula.

    Attributes
    ----------
    inputs : Inputs
        What it takes from outside; the scale of attention is what the formula says.
    expected : dict
        Results by name, in float64.
    made : callable
        From the loop's results by operation and iteration to the same names.
    """

    inputs: Inputs
    expected: Named
    made: Callable[[Results], Named]

    def error(self, results: Results) -> float:
        """Return the largest error of all results, relative to the largest element of each."""
        made = self.made(results)
        return max(
            float(np.abs(made[name] - right).max() / np.abs(right).max())
            for name, right in self.expected.items()
        )


class _Scaled(RandomInputs):
    """Random inputs with the kernel's scale for constants, and some loads given."""

    def __init__(self, loop: Loop, seed: int, depth: int, given: Named) -> None:
        super().__init__(loop, seed)
        self._scale, self._given = depth**-0.5, given

    def constant(self, operation: str, number: int, tile: Tile) -> Array:
        """Return the scale, in powers of two where an exponential follows."""
        exponential = operation.endswith(".mul") and operation[0] in "np"
        return np.full(tile.shape, self._scale * (LOG2_E if exponential else 1.0))

    def load(self, operation: str, iteration: int, tile: Tile) -> Array:
        """Return what is given, or random numbers."""
        if operation in self._given:
            return np.asarray(self._given[operation][iteration])
        return super().load(operation, iteration, tile)


def known(loop: Loop, iterations: int, seed: int = 0) -> Kernel | None:
    """Return a packaged kernel's inputs and formula; None for a loop without one."""
    kernel = loop.origin.kernel if loop.origin is not None else ""
    named = {operation.name for operation in loop.operations}
    if kernel in PRODUCTS and named >= PRODUCTS[kernel].keys():
        return _product(loop, PRODUCTS[kernel], iterations, seed)
    if kernel in FORWARD and named >= {f"o{part}" for part in FORWARD[kernel]}:
        masked = any(operation.kind == "select" for operation in loop.operations)
        return None if masked else _forward(loop, FORWARD[kernel], iterations, seed)
    if kernel in BACKWARD and named >= {f"dk{part}" for part in BACKWARD[kernel]}:
        return _backward(loop, BACKWARD[kernel], iterations, seed)
    return None


def _loaded(loop: Loop, inputs: Inputs, name: str, iterations: int) -> Array:
    """Return the tiles that a load brings, one after the other, in float64."""
    tile = loop.operation(name).result
    assert tile is not None
    every = [rounded(inputs.load(name, i, tile), tile.dtype) for i in range(iterations)]
    return np.stack(every).astype(np.float64)


def _invariant(loop: Loop, inputs: Inputs, name: str) -> Array:
    tile = next(i.tile for i in loop.invariants if i.name == name)
    return rounded(inputs.invariant(name, tile), tile.dtype).astype(np.float64)


def _product(
    loop: Loop, factors: Mapping[str, tuple[str, str]], iterations: int, seed: int
) -> Kernel:
    inputs = RandomInputs(loop, seed)
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
