"""What all views of a schedule share: letters, colours and short names, and its unit of time."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from twill.artifacts.schedule import Schedule
from twill.base.figures import Look, legend, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

Looks = dict[str, Look]  # how each warp group looks, by name


def looks(schedule: Schedule) -> Looks:
    """Return how each warp group looks: A, B, ... in the order of the schedule's groups."""
    return {group.name: look(number) for number, group in enumerate(schedule.groups)}


def unit_of_time(schedule: Schedule) -> str:
    """Return the unit of a schedule's times: cycles, or several of them."""
    if schedule.time.mode != "normalized":
        return "cycles"
    return f"units of {schedule.time.cycles_per_unit:.3g} cycles"


def codes(schedule: Schedule, styles: Looks) -> dict[str, str]:
    """Return a short name for each operation, its group's letter and a number, for narrow bars."""
    counts: dict[str, int] = {}
    found = {}
    for operation in schedule.loop.operations:
        letter = styles[schedule.assignment[operation.name]].letter
        counts[letter] = counts.get(letter, 0) + 1
        found[operation.name] = f"{letter}{counts[letter]}"
    return found


def key(short: dict[str, str], used: set[str], characters: int) -> str:
    """Return lines that say which operations short names stand for, an empty one before them."""
    entries = sorted((text[0], int(text[1:]), name) for name, text in short.items() if name in used)
    words = [f"{letter}{number}\u00a0{name}" for letter, number, name in entries]
    return "\n".join(["", *textwrap.wrap(",  ".join(words), characters)]) if words else ""


def groups_legend(figure: Figure, schedule: Schedule, *more: Patch) -> None:
    """Put a legend of the warp groups below a figure."""
    from matplotlib.patches import Patch

    patches = [
        Patch(**style.patch, linewidth=0.5, label=f"{style.letter}: {name}")
        for name, style in looks(schedule).items()
    ]
    every = [*patches, *more]
    legend(figure, every, ncols=min(6, len(every)), fontsize=9, handlelength=3, handleheight=1.4)


def label(
    axes: Axes, place: tuple[float, float], text: str, size: float, box: str = "", **settings: Any
) -> None:
    """Write a text around a place, on a box of that colour so that a pattern does not cross it.

    `settings`: of Matplotlib's text; `pad` is that of the box, in points.
    """
    pad = settings.pop("pad", 0.4)
    behind = {"facecolor": box, "edgecolor": "none", "pad": pad} if box else None
    axes.text(*place, text, ha="center", va="center", fontsize=size, bbox=behind, **settings)
