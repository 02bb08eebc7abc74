"""The steady state of a schedule: its run, and where the cycles of its groups go."""

from __future__ import annotations

from dataclasses import dataclass

from twill.artifacts.schedule import Schedule
from twill.base.errors import TwillError
from twill.sim.engine.record import Recording
from twill.sim.execute import Run, run
from twill.sim.show.printed import SMALL
from twill.sim.show.timeline import window

ITERATIONS = 32
INTERVALS = 4  # of the steady state that are shown: enough to zoom into
# What the cycles of a warp group that does not issue go to, in words.
CAUSES = {
    "barrier": "waiting at barriers",
    "completion": "waiting for results",
    "queue": "full queues",
    **SMALL,
}


@dataclass(frozen=True)
class Steady:
    """A schedule that was run for the page."""

    # Of the schedule, with its variant.
    name: str
    schedule: Schedule
    # None if it failed, for the reason that follows.
    result: Run | None
    error: str
    recording: Recording

    @property
    def interval(self) -> float | None:
        """Cycles of an iteration, None without a steady state."""
        return self.result.measured_interval_cycles if self.result else None

    def window(self, intervals: float = INTERVALS) -> tuple[float, float]:
        """Return the first and the last cycle of the last intervals."""
        profile = self.result.profile if self.result else None
        last = ITERATIONS - 1 if profile is None else profile.last
        return window(self.recording, last, self.interval, intervals)


def steady(name: str, schedule: Schedule) -> Steady:
    """Run a schedule and keep its steady state."""
    recording = Recording()
    try:
        result = run(schedule, iterations=ITERATIONS, recording=recording)
    except TwillError as error:
        return Steady(name, schedule, None, str(error), recording)
    return Steady(name, schedule, result, "", recording)
