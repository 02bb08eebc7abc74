"""When operations of any schedule work, as the simulated SM executes it."""

from __future__ import annotations

from collections import defaultdict

from twill.artifacts.schedule import Schedule
from twill.sim.engine.record import Recording
from twill.sim.execute import run
from twill.studies.reproduce.strategy import Window, Windows

SIMULATED_ITERATIONS = 32
MIDDLE = (14, 22)
"""Iterations whose windows count: the pipeline is full and has not begun to drain."""


def simulated(schedule: Schedule) -> Windows:
    """Return the windows of any schedule, as the simulated SM executes it."""
    recording = Recording(iterations=None)
    found = run(schedule, iterations=SIMULATED_ITERATIONS, recording=recording)
    windows: dict[str, dict[int, Window]] = defaultdict(dict)
    works = _works(recording, schedule)
    for instance, start in recording.starts.items():
        name, iteration = instance
        windows[name][iteration] = works.get(instance, (start, recording.completions[instance]))
    assert found.measured_interval_cycles is not None  # there are enough iterations to see one
    return Windows(windows, range(*MIDDLE), found.measured_interval_cycles)


def _works(recording: Recording, schedule: Schedule) -> dict[tuple[str, int], Window]:
    """Return when units worked on asynchronous operations, which may wait in a queue first."""
    cost = schedule.machine.cost
    asynchronous = {o.name for o in schedule.loop.operations if cost(o).asynchronous}
    found: dict[tuple[str, int], Window] = {}
    for uses in recording.uses.values():
        for use in uses:
            if use.operation in asynchronous:
                key = use.operation, use.iteration
                begin, end = found.get(key, (use.begin, use.end))
                found[key] = min(use.begin, begin), max(use.end, end)
    return found
