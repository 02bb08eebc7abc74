"""The modular reservation table: every unit, every slot of the interval (Figure 1d)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twill.artifacts.schedule import Schedule
from twill.figures import EDGE, new_figure, save
from twill.show.pictures.look import codes, key, legend, looks
from twill.show.pictures.placed import Placed, Row, placed, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SLOTS = 48
"""Slots up to which each is drawn as a cell of its own."""
WIDTH, ROW, SHARED_ROW, FRAME = 15.0, 0.42, 1.0, 1.6
"""Inches: of the figure, of a unit, of a unit with several instances, of what is around."""
CHARACTERS = 210
"""Characters of a label that fit side by side over the whole width."""
LEAST_HEIGHT = 0.11
"""Inches of a bar that has a label."""


def draw_reservations(schedule: Schedule, file: str) -> None:
    """Draw a schedule's modular reservation table.

    Raises
    ------
    InputError
        If nobody solved it, or the file cannot be written.
    """
    found = placed(schedule)
    heights = [ROW if row.capacity == 1 else SHARED_ROW for row in found.units]
    slots = found.interval if found.interval <= MOST_SLOTS else None
    width = WIDTH if slots is None else min(WIDTH, max(8.0, 2.0 + 0.9 * slots))
    title = f"{schedule.name} on {schedule.machine.name}: modular reservation table"
    pace = f"I = {found.interval} {found.unit_of_time}"
    with new_figure(width, FRAME + sum(heights)) as figure:
        axes = figure.subplots()
        _draw(axes, found, heights, CHARACTERS * width / WIDTH)
        axes.set_title(f"{title}\n{pace}", fontsize=11)
        legend(figure, schedule)
        save(figure, file, title)


def _draw(axes: Axes, found: Placed, heights: list[float], characters: float) -> None:
    from matplotlib.patches import Rectangle

    styles, short, used = looks(found.schedule), codes(found.schedule), set[str]()
    top, ticks, labels = 0.0, [], []
    for row, height in zip(found.units, heights, strict=True):
        cells = table(row, found.interval)
        widest = {c.operation: c for c in sorted(cells, key=lambda c: (c.end - c.begin, -c.begin))}
        for cell in cells:
            look = styles[cell.group]
            low = top + height * (1 - (cell.low + cell.count) / row.capacity)
            size = height * cell.count / row.capacity
            wide = (cell.end - cell.begin) / found.interval
            axes.add_patch(
                Rectangle(
                    (cell.begin, low),
                    cell.end - cell.begin,
                    size,
                    facecolor=look.colour,
                    edgecolor=EDGE,
                    linewidth=0.5 if wide > 1 / 300 else 0.1,
                    hatch=look.hatch if wide > 1 / 150 else "",
                    zorder=2,
                )
            )
            if cell is widest[cell.operation] and size >= LEAST_HEIGHT:
                names = (cell.operation, short[cell.operation])
                label = next((n for n in names if len(n) <= characters * wide), "")
                _label(axes, label, (cell.begin + cell.end) / 2, low + size / 2, size, look.colour)
                if label == short[cell.operation]:
                    used.add(cell.operation)
        busy = sum(c.count * (c.end - c.begin) for c in cells) / (row.capacity * found.interval)
        labels.append(_name(row, busy))
        ticks.append(top + height / 2)
        top += height
        axes.axhline(top, color="black", linewidth=0.5)
    axes.set_yticks(ticks, labels=labels, fontsize=9)
    axes.set_ylim(top, 0)
    axes.set_xlim(0, found.interval)
    below = key(short, used, int(0.85 * characters))
    axes.set_xlabel(f"slot modulo I ({found.unit_of_time}){below}", fontsize=9)
    if found.interval <= MOST_SLOTS:
        axes.set_xticks([s + 0.5 for s in range(found.interval)],
                        labels=[str(s) for s in range(found.interval)])  # fmt: skip
        for slot in range(found.interval + 1):
            axes.axvline(slot, color="0.5", linewidth=0.5, zorder=1)


def _name(row: Row, busy: float) -> str:
    several = "" if row.capacity == 1 else f" ({row.capacity})"
    return f"{row.name}{several}\n{busy:.0%} busy"


def _label(axes: Axes, text: str, x: float, y: float, height: float, colour: str) -> None:
    if text:
        axes.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=7.5 if height > 0.2 else 6,
            zorder=3,
            bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.3},
        )
