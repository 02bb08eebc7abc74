"""Counts in words."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, ``1 cycle`` or ``2 cycles``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def kinds_line(kinds: dict[str, int]) -> str:
    """Return counts by kind in one line."""
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())
