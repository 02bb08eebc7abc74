"""Placed iterations of a schedule as a Gantt chart: the paper's Figure 1d."""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError
from twill.base.figures import EDGE, legend, new_figure, save
from twill.show import Looks, looks, unit_of_time
from twill.show.placed import Bar, Placed, Track, lanes, placed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, LANE, FRAME = 16.0, 0.34, 1.7  # inches: of the figure, of a lane, of what is around
STEADY_INTERVALS = 2
MOST_STAGES = 200  # of a picture that can still be read; packaged schedules have ten at most
# Characters of a label that fit side by side over the whole width.
CHARACTERS, KEY_CHARACTERS = 230, 190
SHADE = "0.93"


def draw_timeline(schedule: Schedule, file: str) -> None:
    """Draw a schedule's placed iterations.

    Raises
    ------
    InputError
        If it was not solved, has more than `MOST_STAGES`, or the file cannot be written.
    """
    found = placed(schedule)
    if found.stages > MOST_STAGES:
        raise InputError(f"a picture has at most {MOST_STAGES} stages (got {found.stages})")
    line = _Timeline(found, found.stages - 1 + STEADY_INTERVALS)
    title = f"{schedule.name} on {schedule.machine.name}: {line.iterations} iterations"
    with new_figure(WIDTH, FRAME + LANE * line.height) as figure:
        axes = figure.subplots()
        line.draw(axes)
        pace = f"one every {found.interval} {unit_of_time(schedule)}"
        axes.set_title(f"{title}, {pace}; [n]: iteration n", fontsize=11)
        _groups_legend(figure, line.styles)
        save(figure, file)


class _Timeline:
    """Iterations of a schedule, an interval apart, on groups and on units of which there is one."""

    def __init__(self, found: Placed, iterations: int) -> None:
        self.found, self.iterations = found, iterations
        self.styles = looks(found.schedule)
        self.end = found.length + (iterations - 1) * found.interval
        alone = (track for track in found.units if track.capacity == 1 and track.bars)
        self.tracks = [(track, self._spans(track)) for track in (*found.groups, *alone)]
        self.height = sum(_height(spans) for _, spans in self.tracks)

    def _spans(self, track: Track) -> list[_Span]:
        begun = [
            (bar, iteration, bar.begin + iteration * self.found.interval)
            for bar in track.bars
            for iteration in range(self.iterations if bar.length else 0)
        ]
        begun.sort(key=lambda entry: (entry[2], -entry[0].length - entry[2], entry[1]))
        where = lanes([(begin, begin + bar.length) for bar, _, begin in begun])
        return [
            _Span(bar, iteration, begin, lane)
            for (bar, iteration, begin), lane in zip(begun, where, strict=True)
        ]

    def draw(self, axes: Axes) -> None:
        """Draw all tracks, the phases above them and a key of short names below."""
        short, used = _codes(self.found.schedule, self.styles), set[str]()
        top, ticks, names = 0, [], []
        for track, spans in self.tracks:
            for span in spans:
                used |= self._draw_span(axes, span, top, short[span.bar.operation])
            ticks.append(top + _height(spans) / 2)
            names.append(
                f"{self.styles[track.name].letter}: {track.name}" if track.is_group else track.name
            )
            top += _height(spans)
            last = track is self.tracks[-1][0]
            axes.axhline(top, color="black" if last else "0.6", linewidth=0.5)
        self._draw_phases(axes)
        for begin in range(0, self.end + 1, self.found.interval):
            axes.axvline(begin, color="0.5", linewidth=0.6, linestyle=":", zorder=0.5)
        axes.set_yticks(ticks, labels=names, fontsize=9)
        axes.set_xlim(0, self.end)
        axes.set_ylim(top, -0.75)
        unit = unit_of_time(self.found.schedule)
        axes.set_xlabel(unit + _key(short, used, KEY_CHARACTERS), fontsize=9)

    def _draw_span(self, axes: Axes, span: _Span, top: int, code: str) -> set[str]:
        """Draw an operation; return its name if only its code has room in the bar."""
        from matplotlib.patches import Rectangle

        name, style, low = span.bar.operation, self.styles[span.bar.group], top + span.lane
        length = span.bar.length
        wide = length / self.end
        line = 0.5 if wide > 1 / 400 else 0.1
        bar = Rectangle((span.begin, low + 0.08), length, 0.84, linewidth=line, zorder=2)
        hatch = style.hatch if wide > 1 / 200 else ""
        bar.set(facecolor=style.colour, hatch=hatch, edgecolor=EDGE)
        axes.add_patch(bar)
        names = (f"{name} [{span.iteration}]", name, code)
        text = next((one for one in names if len(one) <= CHARACTERS * wide), "")
        if text:
            # A box behind the text, so that no pattern crosses it.
            box = {"facecolor": style.colour, "edgecolor": "none", "pad": 0.5}
            axes.text(
                *(span.begin + length / 2, low + 0.5, text),
                ha="center",
                va="center",
                fontsize=7.5,
                bbox=box if style.hatch else None,
                clip_on=True,
                zorder=4,
            )
        return {name} if text == code else set()

    def _draw_phases(self, axes: Axes) -> None:
        interval = self.found.interval
        first, last = (self.found.stages - 1) * interval, self.iterations * interval
        names, edges = ("prologue", "steady state", "epilogue"), (0, first, last, self.end)
        for name, (begin, end) in zip(names, itertools.pairwise(edges), strict=True):
            if end > begin:
                shade = "1.0" if name == "steady state" else SHADE
                axes.axvspan(begin, end, facecolor=shade, edgecolor="none", zorder=0)
                axes.text((begin + end) / 2, -0.12, name, ha="center", va="bottom", fontsize=9)


@dataclass(frozen=True)
class _Span:
    """A bar of some iteration, in a lane of its track."""

    bar: Bar
    iteration: int
    begin: int
    lane: int


def _height(spans: list[_Span]) -> int:
    """Return how many lanes a track needs, at least 1."""
    return max((span.lane for span in spans), default=0) + 1


def _codes(schedule: Schedule, styles: Looks) -> dict[str, str]:
    """Return a short name for each operation, its group's letter and a number, for narrow bars."""
    counts, found = Counter[str](), {}
    for operation in schedule.loop.operations:
        letter = styles[schedule.assignment[operation.name]].letter
        counts[letter] += 1
        found[operation.name] = f"{letter}{counts[letter]}"
    return found


def _key(short: dict[str, str], used: set[str], characters: int) -> str:
    """Return lines that say which operations short names stand for, an empty one before them."""
    entries = sorted((text[0], int(text[1:]), name) for name, text in short.items() if name in used)
    words = [f"{letter}{number}\u00a0{name}" for letter, number, name in entries]
    return "\n".join(["", *textwrap.wrap(",  ".join(words), characters)]) if words else ""


def _groups_legend(figure: Figure, styles: Looks) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(**style.patch, linewidth=0.5, label=f"{style.letter}: {name}")
        for name, style in styles.items()
    ]
    ncols = min(6, len(patches))
    legend(figure, patches, ncols=ncols, fontsize=9, handlelength=3, handleheight=1.4)
