"""Where the latency of variable-latency loads comes from."""

from __future__ import annotations

import random
from collections.abc import Callable

from twill.artifacts.expressions import MOST_CYCLES
from twill.errors import InputError, short

Source = Callable[[random.Random], int]


def parse_latency(text: str) -> Source:
    """Return a latency source, in cycles.

    Parameters
    ----------
    text : str
        ``fixed:N`` or ``uniform:A,B``.

    Raises
    ------
    InputError
        If the text has another form.
    """
    kind, _, rest = str(text).partition(":")
    try:
        numbers = [int(part) for part in rest.split(",")]
    except ValueError:
        numbers = []
    possible = all(0 <= number <= MOST_CYCLES for number in numbers)
    if kind == "fixed" and len(numbers) == 1 and possible:
        return lambda _: numbers[0]
    if kind == "uniform" and len(numbers) == 2 and possible and numbers[0] <= numbers[1]:
        return lambda generator: generator.randint(numbers[0], numbers[1])
    raise InputError(
        f"a latency is fixed:N or uniform:A,B in cycles up to {MOST_CYCLES} (got {short(text)})",
        path="latency",
    )
