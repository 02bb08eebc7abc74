"""When operations work in the steady state, scheduled or simulated, and what lies under what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twill.artifacts.schedule import Schedule
from twill.problem.build import build_problem
from twill.sim.engine.record import Recording
from twill.sim.execute import run

SIMULATED_ITERATIONS = 32
MIDDLE = (14, 22)
"""Iterations whose windows count: the pipeline is full and has not begun to drain."""

Window = tuple[float, float]


@dataclass(frozen=True)
class Windows:
    """When each operation works, iteration by iteration.

    Attributes
    ----------
    of : dict
        Begin and end in cycles of the work of each operation, in consecutive iterations.
    middle : range
        Iterations around which all others are there too.
    interval_cycles : float
        From one iteration to the next.
    """

    of: Mapping[str, Mapping[int, Window]]
    middle: range
    interval_cycles: float

    def share_under(self, over: Iterable[str], under: Iterable[str]) -> float:
        """Return for what share of the time of some operations others work, 0 to 1."""
        others = _merged(window for name in under for window in self.of[name].values())
        mine = [self.of[name][i] for name in over for i in self.middle]
        total = sum(end - begin for begin, end in mine)
        shared = sum(
            max(0.0, min(end, stop) - max(begin, start))
            for begin, end in mine
            for start, stop in others
        )
        return shared / total if total else 0.0


def scheduled(schedule: Schedule) -> Windows:
    """Return the windows of a solved schedule, modulo its interval."""
    interval = schedule.initiation_interval
    assert interval is not None
    problem = build_problem(
        schedule.loop, schedule.machine, rules=schedule.rules, scale=schedule.time
    )
    stages = (schedule.stages or 1) + 1
    windows = {
        o.name: {
            i: (
                schedule.start[o.name] + i * interval,
                schedule.start[o.name] + i * interval + o.cycles,
            )
            for i in range(-stages, stages + 1)
        }
        for o in problem.operations
    }
    return Windows(windows, range(1), interval)


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


def _merged(windows: Iterable[Window]) -> list[Window]:
    merged: list[Window] = []
    for begin, end in sorted(windows):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged
