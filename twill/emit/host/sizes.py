"""Numbers that depend on how many iterations are asked for, and what integers in memory are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SCATTERED = 5  # tiles that indices name, in another order than their own
ROWS = 251  # rows that indices name; no multiple of it is a place in a table of whole tiles
UNIT = 16  # of numbers that bound tiles: what is copied in parts of 16 bytes needs it


@dataclass(frozen=True)
class Size:
    """``each`` for every ``of`` iterations, and ``more``.

    ``later`` is added but for one iteration, ``even`` for even numbers of them.
    """

    each: int = 0
    of: int = 1
    more: int = 0
    least: int | None = None
    most: int | None = None
    later: int = 0
    even: int = 0

    def __call__(self, iterations: int) -> int:
        """Return the number for so many iterations."""
        number = self.each * -(-iterations // self.of) + self.more
        number += self.later * (iterations > 1) + self.even * (iterations % 2 == 0)
        number = number if self.least is None else max(number, self.least)
        return number if self.most is None else min(number, self.most)

    @property
    def text(self) -> str:
        """The number as Python computes it from `iterations`."""
        if not self.each:
            return str(self.more)
        rounds = "iterations" if self.of == 1 else f"-(-iterations // {self.of})"
        text = rounds if self.each == 1 else f"{self.each} * {rounds}"
        if self.more:
            text += f" {'+' if self.more > 0 else '-'} {abs(self.more)}"
        for number, when in ((self.later, "> 1"), (self.even, "% 2 == 0")):
            if number:
                text += f" + {f'{number} * ' * (number != 1)}(iterations {when})"
        if self.least is not None:
            text = f"max({text}, {self.least})"
        return text if self.most is None else f"min({text}, {self.most})"

    @property
    def aligned(self) -> bool:
        """Whether it is always a multiple of 16."""
        parts = (self.each, self.more, self.later, self.even, self.least or 0, self.most or 0)
        return not any(part % UNIT for part in parts)


@dataclass(frozen=True)
class Entries:
    """Integers in memory, by their place: scattered indices, lengths, or where parts begin.

    Attributes
    ----------
    kind : str
        ``tiles``, ``rows``, ``spread`` below a size, ``lengths`` of a size and fewer, ``begins`` of
        parts of a size.
    size : Size
        Of the last three.
    fewer : int
        By how much lengths at odd places are shorter.
    """

    kind: str
    size: Size = Size()
    fewer: int = 0

    def __call__(self, place: Any, iterations: int) -> Any:
        """Return what is at places."""
        size = self.size(iterations)
        return {
            "tiles": lambda: (2 * place + 1) % SCATTERED,
            "rows": lambda: 37 * place % ROWS,
            "spread": lambda: 37 * place % max(size, 1),
            "lengths": lambda: size - place % 2 * self.fewer,
            "begins": lambda: place * size,
        }[self.kind]()

    @property
    def text(self) -> str:
        """The same as Python computes it from `place` and `iterations`."""
        size = self.size.text
        return {
            "tiles": f"(2 * place + 1) % {SCATTERED}",
            "rows": f"37 * place % {ROWS}",
            "spread": f"37 * place % ({size})",
            "lengths": f"{size} - place % 2 * {self.fewer}"
            if self.fewer
            else f"place * 0 + {size}",
            "begins": f"place * ({size})",
        }[self.kind]
