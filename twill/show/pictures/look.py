"""How warp groups look: a letter, a colour and a pattern each, so that no one is told by colour."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from twill.artifacts.schedule import Schedule
from twill.figures import EDGE, Look, look

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch


def looks(schedule: Schedule) -> dict[str, Look]:
    """Return how each warp group looks: A, B, ... in the order of the schedule's groups."""
    return {group.name: look(number) for number, group in enumerate(schedule.groups)}


def codes(schedule: Schedule, styles: dict[str, Look] | None = None) -> dict[str, str]:
    """Return a short name for each operation, its group's letter and a number, for narrow bars."""
    letters, group = styles or looks(schedule), schedule.assignment
    counts: dict[str, int] = {}
    found = {}
    for operation in schedule.loop.operations:
        name = group[operation.name]
        counts[name] = counts.get(name, 0) + 1
        found[operation.name] = f"{letters[name].letter}{counts[name]}"
    return found


def key(short: dict[str, str], used: set[str], characters: int) -> str:
    """Return lines that say which operations short names stand for, an empty one before them."""
    entries = sorted((text[0], int(text[1:]), name) for name, text in short.items() if name in used)
    words = [f"{letter}{number}\u00a0{name}" for letter, number, name in entries]
    return "\n".join(["", *textwrap.wrap(",  ".join(words), characters)]) if words else ""


def legend(figure: Figure, schedule: Schedule, more: list[Patch] | None = None) -> None:
    """Put a legend of the warp groups below a figure."""
    from matplotlib.patches import Patch

    patches = [
        Patch(
            facecolor=look.colour,
            hatch=look.hatch,
            edgecolor=EDGE,
            linewidth=0.5,
            label=f"{look.letter}: {name}",
        )
        for name, look in looks(schedule).items()
    ]
    figure.legend(
        handles=[*patches, *(more or [])],
        loc="outside lower center",
        ncols=min(6, len(patches) + len(more or [])),
        fontsize=9,
        frameon=False,
        handlelength=3,
        handleheight=1.4,
    )
