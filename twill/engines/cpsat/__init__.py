"""The second engine, and the prover: OR-Tools CP-SAT with the interval as a variable."""

from __future__ import annotations

from twill.engines.cpsat.prover import CpSatEngine, CpSatProver
from twill.engines.cpsat.run import Run

__all__ = ["CpSatEngine", "CpSatProver", "Run"]
