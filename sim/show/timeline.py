"""Timelines of warp groups and units: tracks of slices, and a picture of the steady state."""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError, short
from twill.base.figures import COLOURS, HATCHES, legend, new_figure, save
from twill.base.files import check_target
from twill.sim.engine.record import Instance, Recording, Span, Use, in_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEAR = 32  # cycles between instructions of one operation that are still one slice
# Stalls that end a slice; others are shorter than an instruction's turn.
WAITS = ("barrier", "completion", "synchronisation", "queue")
FORMATS = (".svg", ".png")
INTERVALS = 2
THIN = 1 / 800  # share of the width below which a bar has no white edge, which would hide it
WIDTH_INCHES, ROW_INCHES, FRAME_INCHES = 16.0, 0.42, 2.0
LEGEND_COLUMNS = 12
CHARACTERS = 200  # characters of a label that fit side by side over the whole width
HEIGHT = 0.8
STALL_COLOURS = {"barrier": "0.80", "completion": "0.80", "synchronisation": "0.55"}
OTHER_STALL = "0.90"
OF_OPERATIONS = COLOURS[:-1]  # the last one is grey, which is waiting
WORKING = ("issue", "work")
Look = tuple[str, str]  # colour and hatch


@dataclass(frozen=True)
class Slice:
    """Cycles of one track."""

    begin: float
    end: float
    names: tuple[str, ...]  # operations that are executed, or what is waited for
    iterations: tuple[int, ...]  # of each of them
    kind: str  # ``issue``, ``work`` (of a unit) or the kind of a stall

    @property
    def name(self) -> str:
        """All names in one."""
        return " + ".join(self.names)


@dataclass(frozen=True)
class Track:
    """A warp group (its first warp), an asynchronous unit or a pipe, and its work in order."""

    name: str
    kind: Literal["group", "unit", "pipe"]
    slices: tuple[Slice, ...]


def tracks(schedule: Schedule, recording: Recording) -> Iterator[Track]:
    """Yield the work of every group, asynchronous unit and pipe; no two slices of one overlap."""
    for group in schedule.groups:
        spans = recording.spans.get((group.name, 0), ())
        yield Track(group.name, "group", tuple(_of_warp(spans)))
    for unit in sorted(recording.uses):
        yield Track(unit, "unit", tuple(_of_unit(recording.uses[unit])))
    for unit, slices in _of_pipes(recording):
        yield Track(unit, "pipe", tuple(slices))


def tracks_within(
    schedule: Schedule, recording: Recording, begin: float, end: float
) -> list[Track]:
    """Return the tracks between two cycles, slices cut there."""
    return [
        replace(
            track,
            slices=tuple(
                replace(piece, begin=max(piece.begin, begin), end=min(piece.end, end))
                for piece in track.slices
                if piece.begin < end and piece.end > begin
            ),
        )
        for track in tracks(schedule, recording)
    ]


def _of_warp(spans: Iterable[Span]) -> list[Slice]:
    """Return a warp's slices: operations, joined where they alternate, and stalls between."""
    spans = in_time(spans)
    busy = _alternating([run for found in _runs(spans).values() for run in found])
    covered = [(piece.begin, piece.end) for piece in busy]
    stalls = [
        Slice(s.begin, s.end, (s.subject,), (s.iteration,), s.kind)
        for s in spans
        if s.kind != "issue" and not _inside(s, covered)
    ]
    return _disjoint([*busy, *stalls])


def _of_unit(uses: Iterable[Use]) -> list[Slice]:
    """Return an asynchronous unit's slices."""
    joined: list[Slice] = []
    for use in in_time(uses):
        piece = Slice(use.begin, use.end, (use.operation,), (use.iteration,), "work")
        last = joined[-1] if joined else piece
        same = (last.names, last.iterations) == (piece.names, piece.iterations)
        if joined and same and piece.begin - last.end <= NEAR:
            joined[-1] = replace(last, end=piece.end)
        else:
            joined.append(piece)
    return _disjoint(joined)


def _of_pipes(recording: Recording) -> Iterator[tuple[str, list[Slice]]]:
    """Yield the instructions of all groups' first warps, by synchronous pipe."""
    runs: dict[str, list[Slice]] = defaultdict(list)
    for (_, warp), spans in recording.spans.items():
        by_unit: dict[str, list[Span]] = defaultdict(list)
        for span in spans if warp == 0 else ():
            if span.kind == "issue" and span.unit not in recording.uses:
                by_unit[span.unit].append(span)
        for unit, issued in by_unit.items():
            for found in _runs(issued).values():
                runs[unit].extend(found)
    for unit in sorted(runs):
        yield unit, _alternating(runs[unit])


def _runs(spans: Sequence[Span]) -> dict[Instance, list[Slice]]:
    """Return runs of nearby instructions of each operation, cut where the warp waits."""
    waits = [s.begin for s in spans if s.kind in WAITS]
    runs: dict[Instance, list[Slice]] = defaultdict(list)
    for span in spans:
        if span.kind != "issue":
            continue
        following = bisect.bisect_right(waits, span.begin)
        end = min([span.end, *waits[following : following + 1]])
        found = runs[span.subject, span.iteration]
        piece = Slice(span.begin, end, (span.subject,), (span.iteration,), "issue")
        last = found[-1] if found else piece
        waited = bisect.bisect_left(waits, last.begin) != bisect.bisect_left(waits, span.begin)
        if found and span.begin - last.end <= NEAR and not waited:
            found[-1] = replace(last, end=max(last.end, end))
        else:
            found.append(piece)
    return runs


def _alternating(runs: Sequence[Slice]) -> list[Slice]:
    """Return pieces in which the same operations are under way."""
    changes: list[tuple[float, int, Slice]] = []
    for run in runs:
        if run.end > run.begin:
            changes += [(run.begin, 1, run), (run.end, 0, run)]
    changes.sort(key=lambda change: (change[0], change[1], change[2].names))
    pieces: list[Slice] = []
    active: list[Slice] = []
    at = 0.0
    for cycle, begins, run in changes:
        if active and cycle > at:
            names = tuple(name for one in active for name in one.names)
            iterations = tuple(number for one in active for number in one.iterations)
            pieces.append(Slice(at, cycle, names, iterations, "issue"))
        at = cycle
        if begins:
            active.append(run)
        else:
            active.remove(run)
    return pieces


def _inside(span: Span, covered: Sequence[tuple[float, float]]) -> bool:
    index = bisect.bisect_right(covered, (span.begin, float("inf"))) - 1
    return index >= 0 and span.end <= covered[index][1]


def _disjoint(slices: Iterable[Slice]) -> list[Slice]:
    """Cut every slice where the next begins; drop what is empty."""
    ordered = sorted(slices, key=lambda piece: (piece.begin, piece.end))
    cut = [
        replace(piece, end=min(piece.end, after.begin))
        for piece, after in itertools.pairwise(ordered)
    ]
    return [piece for piece in [*cut, *ordered[-1:]] if piece.end > piece.begin]


# -- the picture ------------------------------------------------------------------------------


def window(
    recording: Recording, last: int, interval: float | None, intervals: float = INTERVALS
) -> tuple[float, float]:
    """Return the cycles of the last intervals before an iteration is complete.

    The window ends before the end of the loop first keeps an operation from starting once more.
    Loads that run ahead are then in the picture. If such a window reached back beyond the middle of
    the run, it ends with the iteration instead.

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

    Raises
    ------
    InputError
        If the file has another ending, or cannot be written.
    """
    check_timeline(file)
    lines = tracks_within(schedule, recording, begin, end)
    looks = _looks(lines)
    with new_figure(WIDTH_INCHES, FRAME_INCHES + ROW_INCHES * len(lines)) as figure:
        from matplotlib.patches import Patch

        axes = figure.subplots()
        for number, track in enumerate(lines):
            for piece in track.slices:
                _draw_slice(axes, number, piece, looks, end - begin)
        axes.set_xlim(begin, end)
        axes.set_ylim(len(lines) - 0.4, -0.6)
        axes.set_yticks(range(len(lines)), labels=[track.name for track in lines])
        axes.set_xlabel("cycles")
        axes.ticklabel_format(axis="x", style="plain", useOffset=False)
        said = "colours are operations, [n] iterations, grey is waiting"
        axes.set_title(f"{schedule.name} on {schedule.machine.name}: {said}", fontsize=10)
        axes.axhline(len(schedule.groups) - 0.5, color="black", linewidth=0.8)
        axes.grid(visible=True, axis="x", alpha=0.3)
        axes.set_axisbelow(True)
        patches = [
            Patch(facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0, label=name)
            for name in (o.name for o in schedule.loop.operations if o.name in looks)
            for colour, hatch in (looks[name],)
        ]
        legend(figure, patches, ncols=LEGEND_COLUMNS, fontsize=7)
        save(figure, file)


def _looks(lines: Sequence[Track]) -> dict[str, Look]:
    """Give the operations that are longest in sight colours of their own, hatch the others."""
    lengths: dict[str, float] = defaultdict(float)
    for track in lines:
        for piece in track.slices:
            for name in piece.names if piece.kind in WORKING else ():
                lengths[name] += piece.end - piece.begin
    ordered = sorted(lengths, key=lambda name: (-lengths[name], name))
    return {
        name: (OF_OPERATIONS[place], HATCHES[again % len(HATCHES)])
        for number, name in enumerate(ordered)
        for again, place in (divmod(number, len(OF_OPERATIONS)),)
    }


def _draw_slice(
    axes: Axes, number: int, piece: Slice, looks: dict[str, Look], width: float
) -> None:
    """Draw a slice: one colour, or a stripe for each of the operations that alternate."""
    length = piece.end - piece.begin
    working = piece.kind in WORKING
    shares = piece.names if working else piece.names[:1]
    height = HEIGHT / len(shares)
    room = CHARACTERS * length / width
    waiting = STALL_COLOURS.get(piece.kind, OTHER_STALL), ""
    for place, (name, iteration) in enumerate(zip(shares, piece.iterations, strict=False)):
        colour, hatch = looks[name] if working else waiting
        top = number - HEIGHT / 2 + place * height
        axes.broken_barh(
            [(piece.begin, length)],
            (top, height),
            facecolors=colour,
            edgecolor="white",
            linewidth=0.4 if length > THIN * width else 0,
            hatch=hatch,
        )
        long = f"{name} [{iteration}]" if working else f"wait {name}"
        label = next((label for label in (long, name) if len(label) <= room), "")
        if label and len(shares) <= 2:
            axes.text(
                piece.begin + length / 2,
                top + height / 2,
                label,
                ha="center",
                va="center",
                fontsize=7 if len(shares) == 1 else 5.5,
                color="black" if working else "0.25",
                clip_on=True,
                bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.6} if hatch else None,
            )
