"""Placed iterations, an interval apart: prologue, steady state, epilogue (Figures 1d and 1e)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twill.artifacts.schedule import Schedule
from twill.figures import EDGE, Look, new_figure, save
from twill.show.pictures.look import codes, key, legend, looks
from twill.show.pictures.placed import Bar, Placed, Row, lanes, placed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, ROW, FRAME = 16.0, 0.34, 1.7
"""Inches: of the figure, of a lane, of what is around."""
STEADY_INTERVALS = 2
CHARACTERS = 230
KEY_CHARACTERS = 190
"""Characters of a label that fit side by side over the whole width."""
SHADES = {"prologue": "0.93", "steady state": "1.0", "epilogue": "0.93"}
ALONE = 1
"""Units with more instances are in the reservation table only."""


def draw_timeline(schedule: Schedule, file: str) -> None:
    """Draw a schedule's placed iterations.

    Raises
    ------
    InputError
        If nobody solved it, or the file cannot be written.
    """
    found = placed(schedule)
    rows = rows_of(found)
    iterations = found.stages - 1 + STEADY_INTERVALS
    heights = [row_lanes(row, found.interval, iterations) for row in rows]
    title = f"{schedule.name} on {schedule.machine.name}: {iterations} iterations"
    with new_figure(WIDTH, FRAME + ROW * sum(heights)) as figure:
        axes = figure.subplots()
        draw_rows(axes, found, rows, iterations)
        axes.set_title(
            f"{title}, one every {found.interval} {found.unit_of_time}; [n]: iteration n",
            fontsize=11,
        )
        legend(figure, schedule)
        save(figure, file, title)


def rows_of(found: Placed) -> list[Row]:
    """Return the rows of a timeline: groups, and units in use of which there is one."""
    alone = (row for row in found.units if row.capacity == ALONE and row.bars)
    return [*found.groups, *alone]


def _spans(row: Row, interval: int, iterations: int) -> list[tuple[Bar, int, int, int]]:
    """Return every bar with its iteration, begin and end, in the order of begins."""
    found = [
        (bar, i, bar.begin + i * interval, bar.begin + i * interval + bar.length)
        for bar in row.bars
        if bar.length
        for i in range(iterations)
    ]
    return sorted(found, key=lambda entry: (entry[2], -entry[3], entry[1]))


def row_lanes(row: Row, interval: int, iterations: int) -> int:
    """Return how many lanes a row needs, at least 1.

    `interval`, `iterations`: I, and iterations drawn.
    """
    spans = [(begin, end) for _, _, begin, end in _spans(row, interval, iterations)]
    return max(lanes(spans), default=0) + 1


def draw_rows(
    axes: Axes,
    found: Placed,
    rows: list[Row],
    iterations: int,
    marked: frozenset[str] = frozenset(),
    width: int | None = None,
    styles: dict[str, Look] | None = None,
) -> None:
    """Draw iterations on axes.

    `width`: time that the axes show; until the last iteration's end without it.
    `styles`: looks of groups by name; those of the schedule without it.
    """
    until_end = found.length + (iterations - 1) * found.interval
    end = width or until_end
    styles = styles or looks(found.schedule)
    shown = {"prologue": (0, (found.stages - 1) * found.interval),
             "steady state": ((found.stages - 1) * found.interval, iterations * found.interval),
             "epilogue": (iterations * found.interval, until_end)}  # fmt: skip
    top = 0
    ticks: list[float] = []
    short, used = codes(found.schedule, styles), set[str]()
    for row in rows:
        spans = _spans(row, found.interval, iterations)
        lane_of = lanes([(begin, until) for _, _, begin, until in spans])
        count = max(lane_of, default=0) + 1
        for (bar, iteration, begin, until), lane in zip(spans, lane_of, strict=True):
            look, bold = styles[bar.group], bar.operation in marked
            _bar(axes, (begin, until), top + lane, look, end, bold=bold)
            room = CHARACTERS * (until - begin) / end
            labels = (f"{bar.operation} [{iteration}]", bar.operation, short[bar.operation])
            label = next((text for text in labels if len(text) <= room), "")
            if label:
                _label(axes, label, (begin + until) / 2, top + lane + 0.5, look)
            if label == short[bar.operation]:
                used.add(bar.operation)
        ticks.append(top + count / 2)
        top += count
        axes.axhline(top, color="0.6" if row is not rows[-1] else "black", linewidth=0.5)
    for name, (begin, until) in shown.items():
        if until > begin:
            axes.axvspan(begin, until, facecolor=SHADES[name], edgecolor="none", zorder=0)
            axes.text((begin + until) / 2, -0.12, name, ha="center", va="bottom", fontsize=9)
    for begin in range(0, end + 1, found.interval):
        axes.axvline(begin, color="0.5", linewidth=0.6, linestyle=":", zorder=0.5)
    names = [f"{styles[r.name].letter}: {r.name}" if r.is_group else r.name for r in rows]
    axes.set_yticks(ticks, labels=names, fontsize=9)
    axes.set_xlim(0, end)
    axes.set_ylim(top, -0.75)
    axes.set_xlabel(found.unit_of_time + key(short, used, KEY_CHARACTERS), fontsize=9)


def _bar(
    axes: Axes, span: tuple[int, int], lane: int, look: Look, width: int, *, bold: bool
) -> None:
    from matplotlib.patches import Rectangle

    begin, end = span
    wide = (end - begin) / width
    axes.add_patch(
        Rectangle(
            (begin, lane + 0.08),
            end - begin,
            0.84,
            facecolor=look.colour,
            edgecolor="black" if bold else EDGE,
            linewidth=_thickness(wide, bold=bold),
            hatch=look.hatch if wide > 1 / 200 else "",
            zorder=3 if bold else 2,
        )
    )


def _thickness(wide: float, *, bold: bool) -> float:
    """Return the thickness of a bar's edge in points; that of a thin bar must not hide it."""
    if bold:
        return 1.8 if wide > 1 / 200 else 0.6
    return 0.5 if wide > 1 / 400 else 0.1


def _label(axes: Axes, text: str, x: float, y: float, look: Look) -> None:
    axes.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=7.5,
        clip_on=True,
        zorder=4,
        bbox={"facecolor": look.colour, "edgecolor": "none", "pad": 0.5} if look.hatch else None,
    )
