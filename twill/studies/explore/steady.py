"""The steady state of a schedule: its run, and where the cycles of its groups go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from twill.artifacts.schedule import Schedule
from twill.base.errors import TwillError
from twill.base.figures import HATCHES, STRONG, new_figure, svg_text
from twill.base.names import elided
from twill.sim.engine.record import Recording
from twill.sim.execute import Run, run
from twill.sim.show.timeline import window

ITERATIONS = 32
INTERVALS = 4  # of the steady state that are shown: enough to zoom into
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


@dataclass(frozen=True)
class Steady:
    """A schedule that was run for the page."""

    # Of the schedule, with its variant.
    name: str
    schedule: Schedule
    # Latency sources.
    latency: str
    # None if it failed, for the reason that follows.
    result: Run | None
    error: str
    recording: Recording

    @property
    def interval(self) -> float | None:
        """Cycles of an iteration, None without a steady state."""
        return self.result.measured_interval_cycles if self.result else None

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

    def window(self, intervals: float = INTERVALS) -> tuple[float, float]:
        """Return the first and the last cycle of the last intervals."""
        profile = self.result.profile if self.result else None
        last = ITERATIONS - 1 if profile is None else profile.last
        return window(self.recording, last, self.interval, intervals)


def steady(name: str, schedule: Schedule, latency: str = "nominal") -> Steady:
    """Run a schedule and keep its steady state."""
    recording = Recording()
    try:
        result = run(schedule, iterations=ITERATIONS, latency=latency, recording=recording)
    except TwillError as error:
        return Steady(name, schedule, latency, None, str(error), recording)
    return Steady(name, schedule, latency, result, "", recording)


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
