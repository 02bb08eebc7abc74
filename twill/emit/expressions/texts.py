"""Expressions as text, with as many brackets as they need."""

from __future__ import annotations

import math
from typing import NamedTuple

CLOSED, TIMES, PLUS, LOOSE = range(4)  # how strongly an expression's last operator binds
BINDING = {"*": TIMES, "/": TIMES, "//": TIMES, "%": TIMES, "+": PLUS, "-": PLUS}


class Text(NamedTuple):
    """An expression, how strongly its last operator binds, and whether it is a variable."""

    text: str
    binding: int = CLOSED
    is_variable: bool = False

    def __str__(self) -> str:
        """Return the expression as an operand of anything."""
        return self.text if self.binding == CLOSED else f"({self.text})"


def joined(left: Text, sign: str, right: Text) -> Text:
    """Return two expressions with an operator between, in brackets where they need some."""
    binding = BINDING.get(sign, LOOSE)
    first = left.text if left.binding <= binding < LOOSE else str(left)
    second = right.text if right.binding < binding < LOOSE else str(right)
    return Text(f"{first} {sign} {second}", binding)


def number_text(number: float) -> str:
    """Return a number as Python writes it."""
    if isinstance(number, bool | int):
        return str(number)
    if not math.isfinite(number):
        return f'float("{number}")'
    return repr(float(number))
