"""How warp groups look: a letter, a colour and a pattern each, so that no one is told by colour."""

from __future__ import annotations

import string
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twill.artifacts.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

COLOURS = ("#9fd0ee", "#f3c766", "#86cfb4", "#f0a285", "#d9b3cf", "#f4ec8f", "#8fb0d8", "#c8c8c8")
"""Okabe and Ito's colours for all kinds of sight ("Color Universal Design", 2008), lightened so
that black text is legible on each; the last one is grey."""
HATCHES = ("", "////", "\\\\\\\\", "xxxx", "||||", "----", "++++", "//--")
TERMINAL = ("cyan", "yellow", "green", "red", "magenta", "bright_yellow", "blue", "white")
"""The same for terminals, by rich's names of ANSI colours."""
EDGE = "0.25"


@dataclass(frozen=True)
class Look:
    """What tells a warp group from the others.

    Attributes
    ----------
    letter : str
        A, B, ... in the order of the schedule's groups.
    colour, hatch : str
        In pictures.
    terminal : str
        Colour in a terminal.
    """

    letter: str
    colour: str
    hatch: str
    terminal: str


def looks(schedule: Schedule) -> dict[str, Look]:
    """Return how each warp group looks."""
    found = {}
    for number, group in enumerate(schedule.groups):
        again, position = divmod(number, len(COLOURS))
        letter = string.ascii_uppercase[number % 26] + (str(number // 26) if number > 25 else "")
        hatch = HATCHES[(position + again) % len(HATCHES)]
        found[group.name] = Look(letter, COLOURS[position], hatch, TERMINAL[position])
    return found


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
