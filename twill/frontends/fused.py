"""Products that are one operation with the sum or difference that reads them."""

from __future__ import annotations

NEGATED = ("addend", "product")
"""The negated operand of a difference whose product is operand 0 or 1: a * b - c, c - a * b."""
