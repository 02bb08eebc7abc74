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

    Parameters
    ----------
    given : str, int, float or tuple
        One value, several, or a range as text.
    kind : str
        ``whole``: evenly spaced values are rounded. ``text``: taken as it is.
    path : str
        For messages.

    Raises
    ------
    InputError
        If it has none of these forms.
    """
    parts: Iterable[Scalar] = given if isinstance(given, tuple) else (given,)
    found: dict[Scalar, None] = {}
    for part in parts:
        found |= dict.fromkeys(_values(part, kind, path))
    if not found:
        raise InputError("at least one value", path=path)
    if len(found) > MOST_VALUES:
        raise InputError(f"at most {MOST_VALUES} values (got {len(found)})", path=path)
    return tuple(found)


def _values(part: Scalar, kind: Kind, path: str) -> list[Scalar]:
    if kind == "text":
        return [str(part)]
    if isinstance(part, bool) or (isinstance(part, float) and not math.isfinite(part)):
        raise _refused(part, path)
    if not isinstance(part, str):
        return [_as(float(part), kind, part, path)]
    if "," in part:
        return [_as(_number(text, part, path), kind, part, path) for text in part.split(",")]
    spaced = np.geomspace if part.startswith("log:") else np.linspace
    bounds = [_number(text, part, path) for text in part.removeprefix("log:").split(":")]
    if len(bounds) == 1 and spaced is np.linspace:
        return [_as(bounds[0], kind, part, path)]
    if len(bounds) == 2 and spaced is np.linspace:
        first, last = (_as(bound, "whole", part, path) for bound in bounds)
        return _checked(list(range(int(first), int(last) + 1)), part, path)
    if len(bounds) != 3 or not 1 <= bounds[2] <= MOST_VALUES or bounds[2] % 1:
        raise _refused(part, path)
    if spaced is np.geomspace and min(bounds[:2]) <= 0:
        raise _refused(part, path)
    points = [float(f"{x:.{DIGITS}g}") for x in spaced(bounds[0], bounds[1], int(bounds[2]))]
    return [round(x) if kind == "whole" else x for x in points]


def _checked(found: list[Scalar], part: str, path: str) -> list[Scalar]:
    if not found or len(found) > MOST_VALUES:
        raise _refused(part, path)
    return found


def _as(number: float, kind: Kind, given: Scalar, path: str) -> int | float:
    if kind == "whole" and number % 1:
        raise InputError(f"whole numbers (got {short(given)})", path=path)
    return int(number) if kind == "whole" or number == int(number) else number


def _number(text: str, given: str, path: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise _refused(given, path) from None
    if not math.isfinite(number) or abs(number) > 1e15:
        raise _refused(given, path)
    return number


def _refused(given: Scalar, path: str) -> InputError:
    return InputError(f"{FORMS} (got {short(given)})", path=path)
