"""Cases of which a sample runs by default, and the others with the slow tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], every: int) -> list[Any]:
    """Return the cases, marked `slow` but for the first of so many, and the first after those."""
    return [
        case if place % every == 0 else pytest.param(*_values(case), marks=pytest.mark.slow)
        for place, case in enumerate(cases)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
