"""The steady state's timeline as bars that a page can zoom."""

from __future__ import annotations

from dataclasses import dataclass

from twill.sim.show.slices import Slice
from twill.studies.drawing import COLOURS
from twill.studies.report.steady import CAUSES, Steady

ROW, GAP, TOP, LEFT, WIDTH = 26, 6, 8, 92, 1100
"""Pixels of a line, between lines, above and left of the bars, and of the whole without scripts."""
AXIS = 26
TICKS = 8
CHARACTER = 6.2
"""Pixels of a character of a label, about."""
WORKING = ("issue", "work")


@dataclass(frozen=True)
class Bar:
    """What one group or unit does for some cycles.

    Attributes
    ----------
    begin, end : float
        Cycles from the left end.
    x, y, width : float
        Place without scripts, in pixels.
    label, title : str
        On it if there is room, and in full.
    look : str
        CSS classes.
    """

    begin: float
    end: float
    x: float
    y: float
    width: float
    label: str
    title: str
    look: str

    @property
    def shown(self) -> str:
        """The label if there is room for it without scripts."""
        return self.label if len(self.label) * CHARACTER <= self.width else ""


@dataclass(frozen=True)
class Timeline:
    """All bars of a picture.

    Attributes
    ----------
    lines : tuple of (str, float)
        Names of the lines with their places from above, in pixels.
    bars : tuple of Bar
        The bars.
    ticks : tuple of (float, float)
        Cycles with their places from the left, in pixels.
    cycles : float
        Length of the picture.
    height : int
        In pixels.
    legend : tuple of (str, str)
        CSS classes of operations with their names.
    """

    lines: tuple[tuple[str, float], ...]
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, float], ...]
    cycles: float
    height: int
    legend: tuple[tuple[str, str], ...]


def timeline(found: Steady) -> Timeline:
    """Lay out the timeline of a steady state."""
    looks = _looks(found)
    length = max(found.end - found.begin, 1.0)
    scale = (WIDTH - LEFT) / length
    lines, bars = [], []
    for number, row in enumerate(found.rows):
        y = TOP + number * (ROW + GAP)
        lines.append((row.name, y))
        for piece in row.slices:
            begin, end = piece.begin - found.begin, piece.end - found.begin
            label, title, look = _described(piece, looks)
            place = (LEFT + begin * scale, y, max((end - begin) * scale, 0.3))
            bars.append(Bar(begin, end, *place, label=label, title=title, look=look))
    ticks = tuple(
        (round(k * length / TICKS), LEFT + round(k * length / TICKS) * scale)
        for k in range(TICKS + 1)
    )
    height = TOP + len(lines) * (ROW + GAP) + AXIS
    legend = tuple((look, name) for name, look in looks.items())
    return Timeline(tuple(lines), tuple(bars), ticks, length, height, legend)


def _looks(found: Steady) -> dict[str, str]:
    """Give every operation that works a colour, and marks where colours repeat."""
    lengths: dict[str, float] = {}
    for row in found.rows:
        for piece in row.slices:
            for name in piece.names if piece.kind in WORKING else ():
                lengths[name] = lengths.get(name, 0.0) + piece.end - piece.begin
    ordered = sorted(lengths, key=lambda name: (-lengths[name], name))
    count = len(COLOURS)
    return {name: f"op c{k % count} h{k // count % 4}" for k, name in enumerate(ordered)}


def _described(piece: Slice, looks: dict[str, str]) -> tuple[str, str, str]:
    cycles = f"{piece.end - piece.begin:g} cycles"
    if piece.kind in WORKING:
        named = [f"{n} [{i}]" for n, i in zip(piece.names, piece.iterations, strict=False)]
        text = " + ".join(named)
        return text, f"{text}: {cycles}", looks[piece.names[0]]
    subject = piece.names[0] if piece.names else ""
    cause = CAUSES.get(piece.kind, piece.kind)
    return f"{subject}", f"{cause} {subject}: {cycles}".replace("  ", " "), "stall"
