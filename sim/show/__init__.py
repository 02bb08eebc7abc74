"""A run as text for people: what was achieved, where the cycles went, what sets the pace."""

from __future__ import annotations

from twill.sim.show.printed import (
    pace_table,
    print_checks,
    print_kept,
    print_kernel,
    print_pace,
    print_run,
    stalls_table,
)

__all__ = [
    "pace_table",
    "print_checks",
    "print_kept",
    "print_kernel",
    "print_pace",
    "print_run",
    "stalls_table",
]
