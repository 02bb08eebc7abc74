"""Errors of readers, and products that they make one operation with a sum."""

from __future__ import annotations

from pydantic import ValidationError

from twill.base.errors import RefusedError, short


def complaint(error: ValidationError) -> str:
    """Return the first of a model's complaints: key, reason and value."""
    first = error.errors()[0]
    return f"{first['loc'][0]}: {first['msg']} (got {short(first['input'])})"


def refused(file: str, why: str) -> RefusedError:
    """Return the error about what a dump has and cannot be scheduled."""
    return RefusedError(f"{file or 'dump'}: {why}")


NEGATED = ("addend", "product")
"""The negated operand of a difference whose product is operand 0 or 1: a * b - c, c - a * b."""
