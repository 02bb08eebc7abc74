"""A few iterations of the steady state as a picture: what every warp group and unit does when."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from twill.artifacts.schedule import Schedule
from twill.errors import InputError, short
from twill.figures import drawing, shorten_words
from twill.files import check_target, write_whole
from twill.names import elided
from twill.sim.engine.record import Recording
from twill.sim.show.slices import Slice, of_pipes, of_unit, of_warp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png")
INTERVALS = 2
THIN = 1 / 800
"""Share of the width below which a bar has no white edge, which would hide it."""
HATCHES = ("", "////", "....", "xxxx")
"""Marks of the first, second, ... operation of one colour."""
WIDTH_INCHES, ROW_INCHES, FRAME_INCHES = 16.0, 0.42, 2.0
LEGEND_COLUMNS = 12
DOTS_PER_INCH = 110
CHARACTERS = 200
"""Characters of a label that fit side by side over the whole width."""
HEIGHT = 0.8
STALL_COLOURS = {"barrier": "0.80", "completion": "0.80", "synchronisation": "0.55"}
OTHER_STALL = "0.90"
PALETTE = "tab20"
GREYS = (14, 15)  # of the palette; grey is waiting
WORKING = ("issue", "work")
Colour = tuple[float, float, float, float]
Look = tuple[Colour, str]
"""Colour and hatch."""


@dataclass(frozen=True)
class Row:
    """A line of the picture.

    Attributes
    ----------
    name : str
        The group or unit.
    slices : tuple of Slice
        What it does within the window, cut at its edges.
    """

    name: str
    slices: tuple[Slice, ...]


def rows(schedule: Schedule, recording: Recording, begin: float, end: float) -> list[Row]:
    """Return the lines of the picture between two cycles: groups, asynchronous units, pipes.

    `begin`, `end`: cycles.
    """
    found = [
        (group.name, of_warp(recording.spans.get((group.name, 0), ()))) for group in schedule.groups
    ]
    found += [(unit, of_unit(recording.uses[unit])) for unit in sorted(recording.uses)]
    found += list(of_pipes(recording).items())
    return [Row(name, tuple(_cut(slices, begin, end))) for name, slices in found]


def window(
    recording: Recording, last: int, interval: float | None, intervals: int = INTERVALS
) -> tuple[float, float]:
    """Return the cycles of the last few intervals before an iteration is complete.

    They end before any operation would start once more but for the end of the loop, so that loads
    which run ahead are in the picture, unless that reaches back beyond the middle of the run.

    `interval`: cycles from one iteration to the next; everything until then without it.
    """
    until = [cycle for (_, of), cycle in recording.completions.items() if of <= last]
    end = max(until, default=1.0)
    if interval is None:
        return 0.0, end
    starts: dict[str, float] = {}
    for (operation, _), cycle in recording.starts.items():
        starts[operation] = max(cycle, starts.get(operation, cycle))
    drained = min(starts.values(), default=end) + interval
    if drained - intervals * interval >= end / 2:
        end = min(end, drained)
    return max(0.0, end - intervals * interval), end


def check_timeline(file: str | Path | None) -> None:
    """Refuse a file that is no picture, or that cannot be written.

    Raises
    ------
    InputError
        If it does not end in ``.svg`` or ``.png``, or `check_target` refuses it.
    """
    check_target(file)
    if file is not None and Path(file).suffix not in FORMATS:
        raise InputError(
            f"a timeline ends in .svg or .png (got {short(Path(file).name)})", path="timeline"
        )


def draw_timeline(
    schedule: Schedule, recording: Recording, begin: float, end: float, file: str | Path
) -> None:
    """Draw what happens between two cycles.

    `begin`, `end`: cycles.

    Raises
    ------
    InputError
        If the file has another ending, or cannot be written.
    """
    check_timeline(file)
    file = Path(file)
    lines = rows(schedule, recording, begin, end)
    with drawing():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(
            figsize=(WIDTH_INCHES, FRAME_INCHES + ROW_INCHES * len(lines)), layout="constrained"
        )
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        looks = _looks(lines)
        for number, row in enumerate(lines):
            for piece in row.slices:
                _bar(axes, number, piece, looks, end - begin)
        _frame(axes, schedule, lines, begin, end)
        _legend(figure, schedule, looks)
        metadata = {"Date": None} if file.suffix == ".svg" else None
        shorten_words(figure)
        drawn = io.BytesIO()
        figure.savefig(drawn, format=file.suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata)
    write_whole(file, drawn.getvalue())


def _cut(slices: Sequence[Slice], begin: float, end: float) -> list[Slice]:
    return [
        Slice(max(s.begin, begin), min(s.end, end), s.names, s.iterations, s.kind)
        for s in slices
        if s.begin < end and s.end > begin
    ]


def _looks(lines: Sequence[Row]) -> dict[str, Look]:
    """Give the operations that are longest in sight colours of their own, hatch the others."""
    import matplotlib as mpl

    lengths: dict[str, float] = defaultdict(float)
    for row in lines:
        for piece in row.slices:
            for name in piece.names if piece.kind in WORKING else ():
                lengths[name] += piece.end - piece.begin
    every = mpl.colormaps[PALETTE]
    palette = [every(number) for number in range(every.N) if number not in GREYS]
    ordered = sorted(lengths, key=lambda name: (-lengths[name], name))
    return {
        name: (palette[number % len(palette)], HATCHES[number // len(palette) % len(HATCHES)])
        for number, name in enumerate(ordered)
    }


def _bar(axes: Axes, number: int, piece: Slice, looks: dict[str, Look], width: float) -> None:
    """Draw a slice: one colour, or a stripe for each of the operations that alternate."""
    length = piece.end - piece.begin
    working = piece.kind in WORKING
    shares = piece.names if working else piece.names[:1]
    for place, name in enumerate(shares):
        height = HEIGHT / len(shares)
        grey = STALL_COLOURS.get(piece.kind, OTHER_STALL)
        colour, hatch = looks[name] if working else (grey, "")
        axes.broken_barh(
            [(piece.begin, length)],
            (number - HEIGHT / 2 + place * height, height),
            facecolors=colour,
            edgecolor="white",
            linewidth=0.4 if length > THIN * width else 0,
            hatch=hatch,
        )
        label = _label(name, piece, working=working, room=CHARACTERS * length / width)
        if label and len(shares) <= 2:
            axes.text(
                piece.begin + length / 2,
                number - HEIGHT / 2 + (place + 0.5) * height,
                label,
                ha="center",
                va="center",
                fontsize=7 if len(shares) == 1 else 5.5,
                color="black" if working else "0.25",
                clip_on=True,
                bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.6} if hatch else None,
            )


def _label(name: str, piece: Slice, *, working: bool, room: float) -> str:
    """Return the longest label that fits."""
    iteration = dict(zip(piece.names, piece.iterations, strict=False)).get(name, 0)
    long = f"{name} [{iteration}]" if working else f"wait {name}"
    return next((label for label in (long, name) if len(label) <= room), "")


def _frame(axes: Axes, schedule: Schedule, lines: Sequence[Row], begin: float, end: float) -> None:
    axes.set_xlim(begin, end)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_yticks(range(len(lines)), labels=[elided(row.name) for row in lines])
    axes.set_xlabel("cycles")
    axes.ticklabel_format(axis="x", style="plain", useOffset=False)
    axes.set_title(
        f"{schedule.name} on {schedule.machine.name}: colours are operations, [n] iterations, grey "
        "is waiting",
        fontsize=10,
    )
    groups = len(schedule.groups)
    axes.axhline(groups - 0.5, color="black", linewidth=0.8)
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.set_axisbelow(True)


def _legend(figure: Figure, schedule: Schedule, looks: dict[str, Look]) -> None:
    from matplotlib.patches import Patch

    names = [o.name for o in schedule.loop.operations if o.name in looks]
    patches = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0, label=name)
        for name, (colour, hatch) in ((name, looks[name]) for name in names)
    ]
    figure.legend(
        handles=patches, loc="outside lower center", ncols=LEGEND_COLUMNS, fontsize=7, frameon=False
    )
