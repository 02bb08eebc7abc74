"""The steady state of a schedule, as the report shows it: its timeline, stalls and roles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
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
INTERVALS = 4  # of the steady state that the timeline shows: enough to zoom into
# What a warp group's cycles go to, in words.
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


ROLES = (
    Column("group"),
    Column("warps", form=count),
    Column("registers per thread", form=count),
    Column("issues, in order"),
    Column("waits at"),
)


@dataclass(frozen=True)
class Steady:
    """A schedule that was run for the report."""

    # Of the schedule, with its variant.
    name: str
    schedule: Schedule
    # Latency sources.
    latency: str
    # None if it failed, for the reason that follows.
    result: Run | None
    error: str
    # The timeline, with its first and last cycle.
    rows: tuple[Track, ...] = ()
    begin: float = 0.0
    end: float = 0.0

    @property
    def spent(self) -> dict[str, dict[str, float]]:
        """Share of each group's cycles by cause, in the order of `CAUSES`."""
        found: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(CAUSES, 0.0))
        profile = self.result.profile if self.result else None
        for spent in profile.groups if profile else ():
            found[spent.group][spent.cause] += spent.share
        return {
            group: {cause: share for cause, share in shares.items() if share}
            for group, shares in found.items()
        }

    @property
    def roles(self) -> Table:
        """What each group does."""
        rows = [
            [
                *(group.name, group.warps, group.registers),
                ", ".join(dict.fromkeys(_operations(self.schedule, group.name))) or None,
                ", ".join(dict.fromkeys(_waits(self.schedule, group.name))) or None,
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
        return Steady(name, schedule, latency, None, str(error))
    last = ITERATIONS - 1 if result.profile is None else result.profile.last
    begin, end = window(recording, last, result.measured_interval_cycles, INTERVALS)
    found = tuple(tracks_within(schedule, recording, begin, end))
    return Steady(name, schedule, latency, result, "", found, begin, end)


def _operations(schedule: Schedule, group: str) -> Iterator[str]:
    """Yield what a group issues, with its stages where there are several."""
    for program in schedule.programs:
        if program.group == group:
            for issue in program.issues:
                yield (
                    f"{issue.operation} [{issue.stage}]" if program.last_stage else issue.operation
                )


def _waits(schedule: Schedule, group: str) -> Iterator[str]:
    """Yield the barriers at which a group waits."""
    for program in schedule.programs:
        if program.group == group:
            yield from (i.barrier for i in program.body if i.do == "wait")


# Pixels of a line, between lines, above and left of the bars, and of the whole without scripts.
ROW, GAP, TOP, LEFT, WIDTH = 26, 6, 8, 92, 1100
AXIS = 26
TICKS = 8
CHARACTER = 6.2  # pixels of a character of a label, about
WORKING = ("issue", "work")


@dataclass(frozen=True)
class Bar:
    """What one group or unit does for some cycles."""

    # Cycles from the left end.
    begin: float
    end: float
    # Place without scripts, in pixels.
    x: float
    y: float
    width: float
    # On it if there is room, and in full.
    label: str
    title: str
    # CSS classes.
    look: str

    @property
    def shown(self) -> str:
        """The label if there is room for it without scripts."""
        return self.label if len(self.label) * CHARACTER <= self.width else ""


@dataclass(frozen=True)
class Timeline:
    """All bars of a picture."""

    # Names of the lines with their places from above, in pixels.
    lines: tuple[tuple[str, float], ...]
    bars: tuple[Bar, ...]
    # Cycles with their places from the left, in pixels.
    ticks: tuple[tuple[float, float], ...]
    # Length of the picture.
    cycles: float
    # In pixels.
    height: int
    # CSS classes of operations with their names.
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
    cycles = (round(k * length / TICKS) for k in range(TICKS + 1))
    ticks = tuple((cycle, LEFT + cycle * scale) for cycle in cycles)
    height = TOP + len(lines) * (ROW + GAP) + AXIS
    legend = tuple((look, name) for name, look in looks.items())
    return Timeline(tuple(lines), tuple(bars), ticks, length, height, legend)


def _looks(found: Steady) -> dict[str, str]:
    """Give every operation that works a colour, and marks where colours repeat."""
    lengths: dict[str, float] = defaultdict(float)
    for piece in (piece for row in found.rows for piece in row.slices if piece.kind in WORKING):
        for name in piece.names:
            lengths[name] += piece.end - piece.begin
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
# Of a name beside a bar, and what is left for bars at least.
CHARACTER_INCHES, BARS_INCHES = 0.08, 3.0
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
