"""Where the latency of variable-latency loads comes from."""

from __future__ import annotations

import random
from collections.abc import Callable

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
    kind, _, rest = text.partition(":")
    try:
        numbers = [int(part) for part in rest.split(",")]
    except ValueError:
        numbers = []
    if kind == "fixed" and len(numbers) == 1 and numbers[0] >= 0:
        return lambda _: numbers[0]
    if kind == "uniform" and len(numbers) == 2 and 0 <= numbers[0] <= numbers[1]:
        return lambda generator: generator.randint(numbers[0], numbers[1])
    raise InputError(
        f"a latency is fixed:N or uniform:A,B in cycles (got {short(text)})", path="latency"
    )
