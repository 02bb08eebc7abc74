"""Values of a parameter as people write them: one, a list, or a range."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import numpy as np

from twill.artifacts.sweep import Scalar, Values
from twill.errors import InputError, short

Kind = Literal["whole", "number", "text"]
MOST_VALUES = 100_000
DIGITS = 12
"""Significant digits of computed values: evenly spaced ones read as people would write them."""
FORMS = (
    "numbers with commas between, A:B for whole numbers, START:STOP:COUNT for evenly spaced ones, "
    "or log:START:STOP:COUNT"
)


def values(given: Values, kind: Kind, path: str) -> tuple[Scalar, ...]:
    """Return the values of a parameter, each once, in the order given.

    `kind`: ``whole``: evenly spaced values are rounded. ``text``: taken as it is.

    Raises
    ------
    InputError
        If it has none of these forms.
    """
    parts: Iterable[Scalar] = given if isinstance(given, tuple) else (given,)
    found: dict[Scalar, None] = {}
    for part in parts:
        found |= dict.fromkeys(_values(part, kind, path))
        if len(found) > MOST_VALUES:
            raise _too_many(part, path)
    if not found:
        raise InputError("at least one value", path=path)
    return tuple(found)


def _values(part: Scalar, kind: Kind, path: str) -> list[Scalar]:
    if kind == "text":
        return [str(part)]
    if isinstance(part, bool):
        raise _refused(part, path)
    if not isinstance(part, str):
        return [_as(_number(str(part), part, path), kind, part, path)]
    if "," in part:
        return [_as(_number(text, part, path), kind, part, path) for text in part.split(",")]
    texts = part.removeprefix("log:").split(":")
    bounds = [_number(text, part, path) for text in texts]
    if len(bounds) == 3:
        return _spaced(part, bounds, kind, path)
    if part.startswith("log:") or len(bounds) > 3:
        raise _refused(part, path)
    if len(bounds) == 1:
        return [_as(bounds[0], kind, part, path)]
    first, last = (int(_as(bound, "whole", part, path)) for bound in bounds)
    if last < first:
        raise _refused(part, path)
    if last - first >= MOST_VALUES:
        raise _too_many(part, path)
    return list(range(first, last + 1))


def _spaced(part: str, bounds: list[float], kind: Kind, path: str) -> list[Scalar]:
    first, last, count = bounds
    logarithmic = part.startswith("log:")
    if count < 1 or count % 1 or (logarithmic and min(first, last) <= 0):
        raise _refused(part, path)
    if count > MOST_VALUES:
        raise _too_many(part, path)
    spaced = (np.geomspace if logarithmic else np.linspace)(first, last, int(count))
    points = [float(f"{x:.{DIGITS}g}") for x in spaced]
    return [round(x) if kind == "whole" else x for x in points]


def _as(number: float, kind: Kind, given: Scalar, path: str) -> int | float:
    if kind == "whole" and number % 1:
        raise InputError(f"whole numbers (got {short(given)})", path=path)
    return int(number) if kind == "whole" or number == int(number) else number


def _number(text: str, given: Scalar, path: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise _refused(given, path) from None
    if not math.isfinite(number) or abs(number) > 1e15:
        raise _refused(given, path)
    return number


def _too_many(given: Scalar, path: str) -> InputError:
    return InputError(f"at most {MOST_VALUES} values (got {short(given)})", path=path)


def _refused(given: Scalar, path: str) -> InputError:
    return InputError(f"{FORMS} (got {short(given)})", path=path)
