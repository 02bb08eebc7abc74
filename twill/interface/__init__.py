"""What is called from Python: loops, machines and schedules by name, by path or as they are."""

from __future__ import annotations

from twill.interface.schedules import annotate, compare, emit, explain, run, verify
from twill.interface.solving import polish, schedule, subtile

__all__ = [
    "annotate",
    "compare",
    "emit",
    "explain",
    "polish",
    "run",
    "schedule",
    "subtile",
    "verify",
]
