"""From completion times to an initiation interval, with its certainty, and to TFLOP/s."""

from __future__ import annotations

from twill.sim.analysis.rates import clock_of, flop_per_iteration, tflops
from twill.sim.analysis.steady_state import Batches, SteadyState, confidence, mser, steady_state

__all__ = [
    "Batches",
    "SteadyState",
    "clock_of",
    "confidence",
    "flop_per_iteration",
    "mser",
    "steady_state",
    "tflops",
]
