"""Readers that turn other people's formats into loops."""

from __future__ import annotations

from pydantic import ValidationError

from twill.errors import short


def complaint(error: ValidationError) -> str:
    """Return the first of a model's complaints: key, reason and value."""
    first = error.errors()[0]
    return f"{first['loc'][0]}: {first['msg']} (got {short(first['input'])})"
