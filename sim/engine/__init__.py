"""The simulated SM: warps, issue stage, units, memory and barriers."""

from __future__ import annotations

from twill.sim.engine.conditions import (
    DEFAULT_ITERATIONS,
    DEFAULT_TOLERANCE,
    MECHANISMS,
    UNMODELLED,
    WARP_SCHEDULERS,
    Conditions,
    Mechanism,
    WarpScheduler,
    latency_texts,
)

__all__ = [
    "DEFAULT_ITERATIONS",
    "DEFAULT_TOLERANCE",
    "MECHANISMS",
    "UNMODELLED",
    "WARP_SCHEDULERS",
    "Conditions",
    "Mechanism",
    "WarpScheduler",
    "latency_texts",
]
