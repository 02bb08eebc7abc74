"""The steady state of a schedule, as the report shows it: its timeline, stalls and roles."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from twill.artifacts.schedule import Schedule
from twill.errors import TwillError
from twill.sim.engine.record import Recording
from twill.sim.execute import Run, run
from twill.sim.show.timeline import Row, rows, window

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


@dataclass(frozen=True)
class Role:
    """What one warp group does.

    Attributes
    ----------
    group : str
        Its name.
    warps : int
        How many.
    registers : int or None
        Registers per thread.
    operations : tuple of str
        What it issues, in program order, with the stage where there are several.
    waits : tuple of str
        Barriers that it waits at.
    """

    group: str
    warps: int
    registers: int | None
    operations: tuple[str, ...]
    waits: tuple[str, ...]


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
    rows : tuple of Row
        The timeline.
    begin, end : float
        Its first and last cycle.
    """

    name: str
    schedule: Schedule
    latency: str
    result: Run | None
    error: str
    rows: tuple[Row, ...]
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
    def roles(self) -> list[Role]:
        """What each group does."""
        return [
            Role(
                group=group.name,
                warps=group.warps,
                registers=group.registers,
                operations=_operations(self.schedule, group.name),
                waits=_waits(self.schedule, group.name),
            )
            for group in self.schedule.groups
        ]


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
    found = tuple(rows(schedule, recording, begin, end))
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
