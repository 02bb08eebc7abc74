"""A schedule over time, drawn: placed iterations, the modular reservation table, two schedules.

Placed iterations and the table are the paper's Figures 1d and 1e.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twill.artifacts.schedule import Schedule
from twill.base.figures import EDGE, Look, look, new_figure, save
from twill.show import Looks, codes, groups_legend, key, label, looks, unit_of_time
from twill.show.differences import Comparison
from twill.show.placed import Bar, Placed, Track, lanes, placed, reservation_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches: of the figure, of a lane, of what is around one timeline or two.
WIDTH, LANE, FRAME, FRAME_OF_TWO = 16.0, 0.34, 1.7, 2.6
# Inches: of a reservation table, of a unit, of one with several instances, of what is around.
TABLE_WIDTH, TRACK, SHARED_TRACK, TABLE_FRAME = 15.0, 0.42, 1.0, 1.6
STEADY_INTERVALS = 2
# Characters of a label that fit side by side over the whole width.
CHARACTERS, KEY_CHARACTERS, TABLE_CHARACTERS = 230, 190, 210
MOST_ROWS = 48  # rows of a reservation table up to which each is drawn as a cell of its own
LEAST_HEIGHT = 0.11  # inches of a bar that has a label
SHADE, BOLD = "0.93", 1.8
Box = tuple[float, float, float, float]  # left, top, width and height


def draw_timeline(schedule: Schedule, file: str) -> None:
    """Draw a schedule's placed iterations.

    Raises
    ------
    InputError
        If nobody solved it, or the file cannot be written.
    """
    found = placed(schedule)
    line = _Timeline(found, found.stages - 1 + STEADY_INTERVALS)
    title = f"{schedule.name} on {schedule.machine.name}: {line.iterations} iterations"
    with new_figure(WIDTH, FRAME + LANE * line.height) as figure:
        axes = figure.subplots()
        line.draw(axes, line.end)
        pace = f"one every {found.interval} {unit_of_time(schedule)}"
        axes.set_title(f"{title}, {pace}; [n]: iteration n", fontsize=11)
        groups_legend(figure, schedule)
        save(figure, file, title)


def draw_differences(found: Comparison, file: str) -> None:
    """Draw two solved schedules on one scale of time, with a thick frame around what has moved.

    Raises
    ------
    InputError
        If one of them was not solved, or the file cannot be written.
    """
    from matplotlib.patches import Patch

    sides = zip(map(placed, (found.first, found.second)), matched_looks(found), strict=True)
    lines = [_Timeline(side, side.stages, styles) for side, styles in sides]
    scales = [line.found.schedule.time.cycles_per_unit for line in lines]
    cycles = max(line.end * scale for line, scale in zip(lines, scales, strict=True))
    heights = [line.height for line in lines]
    title = f"{found.first.name} and {found.second.name}"
    with new_figure(WIDTH, FRAME_OF_TWO + LANE * sum(heights)) as figure:
        both = figure.subplots(2, 1, height_ratios=heights)
        for axes, line, scale, name in zip(both, lines, scales, ("first", "second"), strict=True):
            line.draw(axes, -int(-cycles // scale), found.moved)
            schedule = line.found.schedule
            pace = f"one iteration every {line.found.interval} {unit_of_time(schedule)}"
            what = f"{name}: {schedule.name} on {schedule.machine.name}"
            axes.set_title(f"{what}, {pace}", fontsize=10, loc="left")
        moved = Patch(facecolor="white", edgecolor="black", linewidth=BOLD, label="moved")
        unchanged = Patch(facecolor="white", edgecolor=EDGE, linewidth=0.5, label="as it was")
        groups_legend(figure, found.first, moved, unchanged)
        save(figure, file, title)


def matched_looks(found: Comparison) -> tuple[Looks, Looks]:
    """Return the looks of both schedules' groups; groups that match look alike."""
    first = looks(found.first)
    free = iter(range(len(first), len(first) + len(found.second.groups)))
    second = {}
    for group in found.second.groups:
        partner = found.groups.get(group.name)
        second[group.name] = first[partner] if partner is not None else look(next(free))
    return first, second


class _Timeline:
    """Iterations of a schedule, an interval apart, on groups and on units of which there is one."""

    def __init__(self, found: Placed, iterations: int, styles: Looks | None = None) -> None:
        self.found, self.iterations = found, iterations
        self.styles = styles or looks(found.schedule)
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
            _Span(bar, iteration, begin, begin + bar.length, lane)
            for (bar, iteration, begin), lane in zip(begun, where, strict=True)
        ]

    def draw(self, axes: Axes, end: int, marked: frozenset[str] = frozenset()) -> None:
        """Draw it from time 0 to `end`, operations that are marked in a thick frame."""
        short, used = codes(self.found.schedule, self.styles), set[str]()
        top, ticks, names = 0, [], []
        for track, spans in self.tracks:
            for span in spans:
                used |= self._draw_span(axes, span, top, end, short, bold=span.name in marked)
            ticks.append(top + _height(spans) / 2)
            names.append(
                f"{self.styles[track.name].letter}: {track.name}" if track.is_group else track.name
            )
            top += _height(spans)
            last = track is self.tracks[-1][0]
            axes.axhline(top, color="black" if last else "0.6", linewidth=0.5)
        self._draw_phases(axes)
        for begin in range(0, end + 1, self.found.interval):
            axes.axvline(begin, color="0.5", linewidth=0.6, linestyle=":", zorder=0.5)
        axes.set_yticks(ticks, labels=names, fontsize=9)
        axes.set_xlim(0, end)
        axes.set_ylim(top, -0.75)
        unit = unit_of_time(self.found.schedule)
        axes.set_xlabel(unit + key(short, used, KEY_CHARACTERS), fontsize=9)

    def _draw_span(
        self, axes: Axes, span: _Span, top: int, end: int, short: dict[str, str], *, bold: bool
    ) -> set[str]:
        """Draw an operation; return its name if it is called by its short one."""
        style, low, length = self.styles[span.bar.group], top + span.lane, span.end - span.begin
        wide = length / end
        thick, thin, least = (BOLD, 0.6, 1 / 200) if bold else (0.5, 0.1, 1 / 400)
        line, box = (thick if wide > least else thin), (span.begin, low + 0.08, length, 0.84)
        _bar(axes, box, style, line=line, hatched=wide > 1 / 200, bold=bold)
        names = (f"{span.name} [{span.iteration}]", span.name, short[span.name])
        text = next((name for name in names if len(name) <= CHARACTERS * wide), "")
        if text:
            middle = (span.begin + span.end) / 2, low + 0.5
            behind = style.colour if style.hatch else ""
            label(axes, middle, text, 7.5, behind, pad=0.5, clip_on=True, zorder=4)
        return {span.name} if text == short[span.name] else set()

    def _draw_phases(self, axes: Axes) -> None:
        interval = self.found.interval
        first, last = (self.found.stages - 1) * interval, self.iterations * interval
        until_end = self.found.length + (self.iterations - 1) * interval
        names, edges = ("prologue", "steady state", "epilogue"), (0, first, last, until_end)
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
    end: int
    lane: int

    @property
    def name(self) -> str:
        return self.bar.operation


def _height(spans: list[_Span]) -> int:
    """Return how many lanes a track needs, at least 1."""
    return max((span.lane for span in spans), default=0) + 1


def draw_reservations(schedule: Schedule, file: str) -> None:
    """Draw a schedule's modular reservation table.

    Raises
    ------
    InputError
        If nobody solved it, or the file cannot be written.
    """
    found = placed(schedule)
    heights = [TRACK if track.capacity == 1 else SHARED_TRACK for track in found.units]
    width = TABLE_WIDTH
    if found.interval <= MOST_ROWS:
        width = min(width, max(8.0, 2.0 + 0.9 * found.interval))
    title = f"{schedule.name} on {schedule.machine.name}: modular reservation table"
    with new_figure(width, TABLE_FRAME + sum(heights)) as figure:
        axes = figure.subplots()
        _draw_table(axes, found, heights, TABLE_CHARACTERS * width / TABLE_WIDTH)
        axes.set_title(f"{title}\nI = {found.interval} {unit_of_time(schedule)}", fontsize=11)
        groups_legend(figure, schedule)
        save(figure, file, title)


def _draw_table(axes: Axes, found: Placed, heights: list[float], characters: float) -> None:
    styles, interval = looks(found.schedule), found.interval
    short, used = codes(found.schedule, styles), set[str]()
    top, ticks, names = 0.0, [], []
    for track, height in zip(found.units, heights, strict=True):
        cells = reservation_table(track, interval)
        widest = {c.operation: c for c in sorted(cells, key=lambda c: (c.end - c.begin, -c.begin))}
        for cell in cells:
            low = top + height * (1 - (cell.low + cell.count) / track.capacity)
            size, length = height * cell.count / track.capacity, cell.end - cell.begin
            wide, style = length / interval, styles[cell.group]
            line, box = (0.5 if wide > 1 / 300 else 0.1), (cell.begin, low, length, size)
            _bar(axes, box, style, line=line, hatched=wide > 1 / 150)
            if cell is widest[cell.operation] and size >= LEAST_HEIGHT:
                both = (cell.operation, short[cell.operation])
                text = next((name for name in both if len(name) <= characters * wide), "")
                if text:
                    place, font = (
                        (cell.begin + length / 2, low + size / 2),
                        7.5 if size > 0.2 else 6,
                    )
                    label(axes, place, text, font, style.colour, pad=0.3, zorder=3)
                used |= {cell.operation} if text == both[1] else set()
        busy = sum(c.count * (c.end - c.begin) for c in cells) / (track.capacity * interval)
        several = "" if track.capacity == 1 else f" ({track.capacity})"
        names.append(f"{track.name}{several}\n{busy:.0%} busy")
        ticks.append(top + height / 2)
        top += height
        axes.axhline(top, color="black", linewidth=0.5)
    axes.set_yticks(ticks, labels=names, fontsize=9)
    axes.set_ylim(top, 0)
    axes.set_xlim(0, interval)
    below = key(short, used, int(0.85 * characters))
    axes.set_xlabel(f"slot modulo I ({unit_of_time(found.schedule)}){below}", fontsize=9)
    if interval <= MOST_ROWS:
        rows = range(interval)
        axes.set_xticks([row + 0.5 for row in rows], labels=[str(row) for row in rows])
        for row in range(interval + 1):
            axes.axvline(row, color="0.5", linewidth=0.5, zorder=1)


def _bar(
    axes: Axes, box: Box, style: Look, *, line: float, hatched: bool, bold: bool = False
) -> None:
    from matplotlib.patches import Rectangle

    left, top, width, height = box
    edge, order = ("black", 3) if bold else (EDGE, 2)
    bar = Rectangle((left, top), width, height, linewidth=line, edgecolor=edge, zorder=order)
    bar.set(facecolor=style.colour, hatch=style.hatch if hatched else "")
    axes.add_patch(bar)
