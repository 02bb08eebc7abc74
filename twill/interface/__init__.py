"""The interface in Python: loops, machines and schedules by name, by path or as they are."""

from __future__ import annotations

from twill.interface.functions import (
    annotate,
    compare,
    emit,
    explain,
    polish,
    run,
    schedule,
    subtile,
    verify,
)

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
