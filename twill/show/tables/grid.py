"""Tables that are wider than a terminal: their columns go on below, nothing is cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from twill.console import PIPED_WIDTH
from twill.names import cell

EDGES = 2
GAPS = (2, 1)


@dataclass(frozen=True)
class Column:
    """A column; its heading may have several lines.

    Attributes
    ----------
    heading : str
        What stands above it.
    right : bool
        Whether it is aligned at the right.
    """

    heading: str
    right: bool = True


def output() -> Console:
    """Return the console that tables go to: the terminal, or wide text into a pipe."""
    console = Console(highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        return console
    return Console(highlight=False, markup=False, emoji=False, width=PIPED_WIDTH)


def grid(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    footer: Sequence[Sequence[str]] = (),
    console: Console | None = None,
) -> None:
    """Write a table; where the terminal is too narrow, in pieces that repeat the first column."""
    rows, footer = ([[cell(text) for text in row] for row in part] for part in (rows, footer))
    console = console or output()
    widths = [
        _width([column.heading, *(row[i] for row in (*rows, *footer))])
        for i, column in enumerate(columns)
    ]
    gap = next((g for g in GAPS if _total(widths, g) <= console.width), GAPS[-1])
    for piece in _pieces(widths, gap, console.width):
        table = Table(
            box=SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, gap - 1, 0, 0)
        )
        for i in piece:
            column = columns[i]
            table.add_column(
                column.heading,
                justify="right" if column.right else "left",
                vertical="bottom",
                no_wrap=True,
            )
        for row in rows:
            table.add_row(*(row[i] for i in piece))
        below = [row for row in footer if any(row[i] for i in piece[1:])]
        if below:
            table.add_section()
        for row in below:
            table.add_row(*(row[i] for i in piece))
        console.print(table)


def _width(cells: Sequence[str]) -> int:
    return max(cell_len(line) for cell in cells for line in cell.split("\n"))


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1) + EDGES


def _pieces(widths: Sequence[int], gap: int, room: int) -> list[list[int]]:
    """Split the columns so that each piece with the first column before it fits, evenly."""
    pieces = _filled(widths, gap, room)
    while room > 0:
        room -= 1
        narrower = _filled(widths, gap, room)
        if len(narrower) > len(pieces):
            break
        pieces = narrower
    return pieces


def _filled(widths: Sequence[int], gap: int, room: int) -> list[list[int]]:
    pieces: list[list[int]] = [[0]]
    for i in range(1, len(widths)):
        if len(pieces[-1]) > 1 and _total([widths[j] for j in (*pieces[-1], i)], gap) > room:
            pieces.append([0])
        pieces[-1].append(i)
    return pieces
