"""Tuning: which tiles, sub-tiles and limits make the fastest whole kernel.

`candidates` says what there is to choose from, `evaluate` what each takes, at least and as it is
simulated, `search` solves them in the order of their bounds, `table` shows them.
"""

from twill.studies.tune.search import NAME, TABLE, candidates, tune

__all__ = ["NAME", "TABLE", "candidates", "tune"]
