"""Sweeps: loops and schedules under changed parameters, point by point.

`parameters` says what can change, `points` what runs and what came of it, `runs` gives points to an
executor, `journal` keeps what is done, `answers` and `table` tell the result.
"""

from twill.studies.sweep.runs import load, run_sweep

__all__ = ["load", "run_sweep"]
