"""What loops find outside: random tiles, the same for the same seed and name."""

from __future__ import annotations

import numpy as np

from twill.artifacts.loop import Loop, Tile
from twill.sim.checks.tiles import Array

SPREAD = 0.5
"""Standard deviation of random tiles; small enough that sums of products of halves stay finite."""


class RandomInputs:
    """Random tiles, and first values that change nothing: zero, or the least of a maximum."""

    def __init__(self, loop: Loop, seed: int = 0) -> None:
        self._kinds = {operation.name: operation.kind for operation in loop.operations}
        self._seed = seed

    def load(self, operation: str, iteration: int, tile: Tile) -> Array:
        """Return normally distributed numbers; see `twill.sim.checks.dataflow.Inputs`."""
        return self._normal(tile, "load", operation, iteration)

    def first(self, value: str, before: int, tile: Tile) -> Array:
        """Return what changes nothing; see `twill.sim.checks.dataflow.Inputs`."""
        neutral = {"max": -np.inf, "min": np.inf}.get(self._kinds[value], 0)
        return np.full(tile.shape, neutral, np.float32)

    def invariant(self, name: str, tile: Tile) -> Array:
        """Return normally distributed numbers; see `twill.sim.checks.dataflow.Inputs`."""
        return self._normal(tile, "invariant", name, 0)

    def constant(self, operation: str, number: int, tile: Tile) -> Array:
        """Return one positive number below 1; see `twill.sim.checks.dataflow.Inputs`."""
        generator = self._generator("constant", operation, number)
        return np.full(tile.shape, generator.uniform(0.1, 0.9), np.float32)

    def factor(self, operation: str, number: int, iteration: int, tile: Tile) -> Array:
        """Return normally distributed numbers; see `twill.sim.checks.dataflow.Inputs`."""
        return self._normal(tile, "factor", f"{operation}.{number}", iteration)

    def _normal(self, tile: Tile, kind: str, name: str, number: int) -> Array:
        if tile.dtype == "i1":
            return self._generator(kind, name, number).random(tile.shape) < SPREAD
        made = self._generator(kind, name, number).normal(0, SPREAD, tile.shape)
        return np.round(made * 8) if tile.dtype.startswith("i") else made

    def _generator(self, kind: str, name: str, number: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, number, *kind.encode(), 0, *name.encode()])
