"""Tables for people: on a terminal, where nothing is wider than it or cut, Markdown and HTML."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from twill.base.console import paragraph
from twill.base.names import cell

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 200
GAPS = (2, 1)  # characters between two columns, where there is room and where there is little
EDGES = 2
NARROWEST = 24  # characters to which words are folded at most
HEADING_LINES = 2
UNKNOWN = "-"
Widths = list[int]
Texts = list[list[str]]


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    heading: str  # on two lines where its cells are narrower
    unit: str = ""  # in brackets below the heading
    # How numbers are written (`twill.base.formats`), aligned right; without it they are words.
    form: Callable[[Any], str] | None = None

    @property
    def title(self) -> str:
        """Heading and unit in a line."""
        return f"{' '.join(self.heading.split())}{f' ({self.unit})' if self.unit else ''}"

    def text(self, value: object) -> str:
        """Return a cell: words as they are, numbers in the column's form, ``-`` for none."""
        if value is None:
            return UNKNOWN
        form = str if self.form is None or isinstance(value, str) else self.form
        return cell(form(value))


@dataclass(frozen=True)
class Table:
    """Rows of cells below columns, the first of which is repeated where columns go on below."""

    columns: Sequence[Column]
    # A cell for each column: words, a number, or None where nothing is known.
    rows: Sequence[Sequence[object]]
    totals: Sequence[Sequence[object]] = ()  # below a line
    notes: Sequence[str] = ()  # paragraphs below the table

    def print(self, console: Console | None = None) -> None:
        """Write it to a console, by default standard output.

        Where it has to be narrower, words wrap; then names are folded. Where that is not enough
        columns go on below.
        """
        console = console or output()
        rows, totals = self._texts(self.rows), self._texts(self.totals)
        for gap, piece in self._pieces([*rows, *totals], console.width):
            self._print_piece(console, rows, totals, gap, piece)
        for note in self.notes:
            paragraph(note)

    def markdown(self) -> str:
        """Return it in Markdown, its notes as lines below."""
        lines = [
            [column.title for column in self.columns],
            ["---" if column.form is None else "--:" for column in self.columns],
            *self._texts([*self.rows, *self.totals]),
        ]
        shown = [f"| {' | '.join(text.replace('|', chr(92) + '|') for text in line)} |"
                 for line in lines]  # fmt: skip
        return "\n".join([*shown, *(f"\n{note}" for note in self.notes), ""])

    def html(self, caption: str = "", marked: Callable[[str], str] = escape) -> str:
        """Return it in HTML, its notes as paragraphs below.

        `marked`: writes the text of a cell as HTML.
        """
        kinds = ["" if column.form else ' class="words"' for column in self.columns]
        heads = "".join(
            f'<th scope="col"{kind}>{escape(column.title)}</th>'
            for kind, column in zip(kinds, self.columns, strict=True)
        )
        cells = [
            [f"<td{kind}>{marked(text)}</td>" for kind, text in zip(kinds, row, strict=True)]
            for row in self._texts([*self.rows, *self.totals])
        ]
        rows = "\n".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        notes = "".join(f"\n<p>{escape(note)}</p>" for note in self.notes)
        said = f"<caption>{escape(caption)}</caption>\n" if caption else ""
        return (
            f"<table>\n{said}<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n"
            f"</table>{notes}"
        )

    def _texts(self, rows: Sequence[Sequence[object]]) -> Texts:
        return [
            [column.text(value) for column, value in zip(self.columns, row, strict=True)]
            for row in rows
        ]

    def _pieces(self, rows: Texts, room: int) -> Iterator[tuple[int, dict[int, int]]]:
        """Yield the gap between columns and the widths of columns, by number, of each piece."""
        natural, words, folded = [], [], []
        for number, column in enumerate(self.columns):
            texts = [row[number] for row in rows]
            least = max((_width(word) for text in texts for word in text.split()), default=0)
            widest = max((_width(line) for text in texts for line in text.split("\n")), default=0)
            natural.append(_heading_width(column, widest))
            narrow = natural[-1] if column.form else _heading_width(column, least)
            words.append(min(natural[-1], narrow))
            folded.append(words[-1] if column.form else min(words[-1], NARROWEST))
        every = range(len(natural))
        for least_widths in (natural, words, folded):
            for gap in GAPS:
                widths = _shrunk(natural, least_widths, room - EDGES - gap * (len(natural) - 1))
                if widths is not None:
                    yield gap, dict(zip(every, widths, strict=True))
                    return
        for piece in _split(folded, GAPS[-1], room - EDGES):
            least_widths = [folded[i] for i in piece]
            inside = room - EDGES - GAPS[-1] * (len(piece) - 1)
            widths = _shrunk([natural[i] for i in piece], least_widths, inside)
            yield GAPS[-1], dict(zip(piece, widths or least_widths, strict=True))

    def _print_piece(
        self, console: Console, rows: Texts, totals: Texts, gap: int, piece: dict[int, int]
    ) -> None:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as Drawn

        drawn = Drawn(
            box=SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, gap - 1, 0, 0)
        )
        headings = {i: _heading_lines(self.columns[i], width) for i, width in piece.items()}
        deepest = max(map(len, headings.values()))
        for number, lines in headings.items():
            justify: Literal["left", "right"] = "right" if self.columns[number].form else "left"
            heading = "\n" * (deepest - len(lines)) + "\n".join(lines)
            drawn.add_column(heading, justify=justify, width=piece[number], overflow="fold")
        for row in rows:
            drawn.add_row(*(row[i] for i in piece))
        below = [row for row in totals if any(row[i] for i in list(piece)[1:])]
        if below:
            drawn.add_section()
        for row in below:
            drawn.add_row(*(row[i] for i in piece))
        console.print(drawn)


def output() -> Console:
    """Return the console that tables go to.

    Its width is that of the terminal or of ``COLUMNS``; into a pipe, wide enough for scripts.
    """
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if not (console.is_terminal or "COLUMNS" in os.environ):
        console.width = PIPED_WIDTH
    return console


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _heading_lines(column: Column, width: int) -> list[str]:
    lines = [line for part in column.heading.split("\n") for line in textwrap.wrap(part, width)]
    return [*lines, *([f"({column.unit})"] if column.unit else [])]


def _heading_width(column: Column, cells: int) -> int:
    """Return the least width that holds cells and, in two lines, the heading."""
    words = (*column.heading.split(), f"({column.unit})" if column.unit else "")
    width = max([cells, 1, *map(_width, words)])
    most = max(HEADING_LINES, column.heading.count("\n") + 1) + bool(column.unit)
    while len(_heading_lines(column, width)) > most:
        width += 1
    return width


def _shrunk(natural: Widths, least: Widths, room: int) -> Widths | None:
    """Return widths that fit, the widest columns made narrower first; None if none do."""
    widths = list(natural)
    while sum(widths) > room:
        wider = [i for i, width in enumerate(widths) if width > least[i]]
        if not wider:
            return None
        widths[max(wider, key=lambda i: widths[i])] -= 1
    return widths


def _split(widths: Widths, gap: int, room: int) -> list[list[int]]:
    """Split the columns so that each piece with the first column before it fits, evenly."""
    pieces = _filled(widths, gap, room)
    while room > 0:
        room -= 1
        narrower = _filled(widths, gap, room)
        if len(narrower) > len(pieces):
            break
        pieces = narrower
    return pieces


def _filled(widths: Widths, gap: int, room: int) -> list[list[int]]:
    pieces: list[list[int]] = [[0]]
    for i in range(1, len(widths)):
        last = pieces[-1]
        if len(last) > 1 and sum(widths[j] + gap for j in (*last, i)) - gap > room:
            pieces.append([0])
        pieces[-1].append(i)
    return pieces
