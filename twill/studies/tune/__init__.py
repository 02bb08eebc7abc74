"""Tuning: which tiles, sub-tiles and limits make the fastest whole kernel.

`candidates` enumerates choices, `evaluate` bounds and simulates each, `search` solves them in the
order of their bounds and ranks them in a table.
"""

from twill.studies.tune.search import NAME, TABLE, candidates, tune

__all__ = ["NAME", "TABLE", "candidates", "tune"]
