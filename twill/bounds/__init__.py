"""Lower bounds on the initiation interval that need no search: ResMII, RecMII and their kin."""

from __future__ import annotations

from twill.bounds.intervals import (
    Bounds,
    ResourceArgument,
    bounds,
    every_bound,
    recurrence_bound,
    resource_argument,
    resource_bound,
)
from twill.bounds.paths import (
    NO_PATH,
    closure,
    delays,
    least_length,
    least_stages,
    longest,
    longest_paths,
)
from twill.bounds.registers import RELAXED, average_registers, lacks_registers, least_lifetimes

__all__ = [
    "NO_PATH",
    "RELAXED",
    "Bounds",
    "ResourceArgument",
    "average_registers",
    "bounds",
    "closure",
    "delays",
    "every_bound",
    "lacks_registers",
    "least_length",
    "least_lifetimes",
    "least_stages",
    "longest",
    "longest_paths",
    "recurrence_bound",
    "resource_argument",
    "resource_bound",
]
