"""The printed system: the paper's Figures 4 to 6 over time-indexed Booleans, solved by Yices."""

from __future__ import annotations

from twill.engines.paper.verbatim import VerbatimEngine

__all__ = ["VerbatimEngine"]
