"""The steady state of a schedule, as the report shows it: its timeline, stalls and roles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from twill.artifacts.schedule import Schedule
from twill.errors import TwillError
from twill.figures import HATCHES, STRONG, new_figure, svg_text
from twill.formats import count
from twill.names import elided
from twill.sim.engine.record import Recording
from twill.sim.execute import Run, run
from twill.sim.show.timeline import Slice, Track, tracks_within, window
from twill.tables import Column, Table

ITERATIONS = 32
INTERVALS = 4
"""Of the steady state that the timeline shows: enough to zoom into."""
CAUSES = {
    "issue": "issuing",
    "barrier": "waiting at barriers",
    "completion": "waiting for results",
    "synchronisation": "waits and arrives themselves",
    "scoreboard": "operands in registers",
    "pipe": "busy pipes",
    "issue slot": "taken issue slots",
    "queue": "full queues",
    "idle": "idle",
}
"""What a warp group's cycles go to, in words."""


ROLES = (
    Column("group"),
    Column("warps", form=count),
    Column("registers per thread", form=count),
    Column("issues, in order"),
    Column("waits at"),
)


@dataclass(frozen=True)
class Steady:
    """A schedule that was run for the report.

    Attributes
    ----------
    name : str
        Of the schedule, with its variant.
    schedule : Schedule
        What ran.
    latency : str
        Latency sources.
    result : Run or None
        The run; None if it failed.
    error : str
        Why it failed; empty if not.
    rows : tuple of Track
        The timeline.
    begin, end : float
        Its first and last cycle.
    """

    name: str
    schedule: Schedule
    latency: str
    result: Run | None
    error: str
    rows: tuple[Track, ...]
    begin: float
    end: float

    @property
    def spent(self) -> dict[str, dict[str, float]]:
        """Share of each group's cycles by cause, in the order of `CAUSES`."""
        found: dict[str, dict[str, float]] = {}
        if self.result is None or self.result.profile is None:
            return found
        for spent in self.result.profile.groups:
            shares = found.setdefault(spent.group, defaultdict(float))
            shares[spent.cause] += spent.share
        return {
            group: {cause: shares[cause] for cause in CAUSES if shares.get(cause)}
            for group, shares in found.items()
        }

    @property
    def roles(self) -> Table:
        """What each group does."""
        rows = [
            [
                *(group.name, group.warps, group.registers),
                ", ".join(_operations(self.schedule, group.name)) or None,
                ", ".join(_waits(self.schedule, group.name)) or None,
            ]
            for group in self.schedule.groups
        ]
        return Table(ROLES, rows)


def steady(name: str, schedule: Schedule, latency: str = "nominal") -> Steady:
    """Run a schedule and keep its steady state."""
    recording = Recording()
    source = None if latency == "nominal" else latency
    try:
        result = run(schedule, iterations=ITERATIONS, latency=source, recording=recording)
    except TwillError as error:
        return Steady(name, schedule, latency, None, str(error), (), 0.0, 0.0)
    last = ITERATIONS - 1 if result.profile is None else result.profile.last
    begin, end = window(recording, last, result.measured_interval_cycles, INTERVALS)
    found = tuple(tracks_within(schedule, recording, begin, end))
    return Steady(name, schedule, latency, result, "", found, begin, end)


def _operations(schedule: Schedule, group: str) -> tuple[str, ...]:
    names = []
    for program in schedule.programs:
        if program.group == group:
            deep = program.last_stage > 0
            names += [
                f"{part.operation} [{part.stage}]" if deep else part.operation
                for part in program.issues
            ]
    return tuple(dict.fromkeys(names))


def _waits(schedule: Schedule, group: str) -> tuple[str, ...]:
    names = [
        instruction.barrier
        for program in schedule.programs
        if program.group == group
        for instruction in program.body
        if instruction.do == "wait"
    ]
    return tuple(dict.fromkeys(names))


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
    count = len(STRONG)
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


WIDTH_INCHES, BAR_INCHES, FRAME_INCHES = 8.0, 0.28, 1.5
CHARACTER_INCHES, BARS_INCHES = 0.08, 3.0
"""Of a name beside a bar, and what is left for bars at least."""
LEGEND_COLUMNS = 3


def plot_stalls(found: Sequence[Steady]) -> str:
    """Return the plot as SVG."""
    bars = [
        (elided(f"{one.name}: {group}" if len(found) > 1 else group), shares)
        for one in found
        for group, shares in one.spent.items()
    ]
    causes = [cause for cause in CAUSES if any(cause in shares for _, shares in bars)]
    height = FRAME_INCHES + BAR_INCHES * len(bars)
    longest = max((len(name) for name, _ in bars), default=0)
    width = max(WIDTH_INCHES, CHARACTER_INCHES * longest + BARS_INCHES)
    with new_figure(width, height, font_size=9, hatch_color="white") as figure:
        axes = figure.subplots()
        left = [0.0] * len(bars)
        for number, cause in enumerate(causes):
            widths = [100 * shares.get(cause, 0.0) for _, shares in bars]
            axes.barh(
                range(len(bars)),
                widths,
                left=left,
                height=0.8,
                color=STRONG[number % len(STRONG)],
                hatch=HATCHES[number % len(HATCHES)],
                edgecolor="white",
                linewidth=0.4,
                label=CAUSES[cause],
            )
            left = [a + b for a, b in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(bars)), labels=[name for name, _ in bars])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of the steady state (%)")
        figure.legend(loc="outside lower center", ncols=LEGEND_COLUMNS, fontsize=8)
        return svg_text(figure)
