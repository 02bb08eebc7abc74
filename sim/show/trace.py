"""A recording as a trace for Perfetto (Chrome's trace event format, JSON).

One cycle is shown as one nanosecond. Tracks: every warp group (its first warp), every asynchronous
unit, every synchronous pipe; arrows lead from an arrive to the wait that it ended; counters show
what is live in SMEM, TMEM and registers.
"""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from twill.artifacts.schedule import Schedule
from twill.sim.engine.record import Arrival, Recording, Wakeup
from twill.sim.show.coverage import coverage
from twill.sim.show.slices import Slice, of_pipes, of_unit, of_warp

Event = dict[str, Any]
GROUPS, UNITS, MEMORY = 1, 2, 3
PROCESSES = {GROUPS: "warp groups", UNITS: "units", MEMORY: "memory"}
CYCLES_PER_MICROSECOND = 1000


class Tracks:
    """The tracks of a trace: slices that do not overlap, by process and thread."""

    def __init__(self, schedule: Schedule, recording: Recording) -> None:
        self._slices: dict[tuple[int, int], list[Slice]] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._numbers: dict[tuple[int, str], int] = {}
        for group in schedule.groups:
            spans = recording.spans.get((group.name, 0), ())
            warps = f"{group.warps} warps" if group.warps > 1 else "1 warp"
            self._add(GROUPS, group.name, of_warp(spans), f"{group.name} ({warps})")
        for unit in sorted(recording.uses):
            self._add(UNITS, unit, of_unit(recording.uses[unit]), unit)
        for unit, slices in of_pipes(recording).items():
            self._add(UNITS, f"pipe {unit}", slices, f"{unit} (pipe)")

    def _add(self, process: int, key: str, slices: list[Slice], name: str) -> None:
        number = sum(p == process for p, _ in self._slices) + 1
        self._numbers[process, key] = number
        self._slices[process, number] = slices
        self._names[process, number] = name

    def find(self, process: int, key: str, cycle: float) -> tuple[int, Slice] | None:
        """Return the track of a name and its slice at a cycle, or None if there is none.

        `cycle`: cycle.
        """
        number = self._numbers.get((process, key))
        slices = self._slices.get((process, number or 0), [])
        index = bisect.bisect_right(slices, cycle, key=lambda piece: piece.begin) - 1
        if number is None or index < 0 or slices[index].end <= cycle:
            return None
        return number, slices[index]

    def events(self) -> Iterator[Event]:
        """Yield the names of all tracks, then their slices."""
        for process, name in PROCESSES.items():
            yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}
            order = {"sort_index": process}
            yield {"ph": "M", "name": "process_sort_index", "pid": process, "args": order}
        for (process, number), name in self._names.items():
            track = {"pid": process, "tid": number}
            yield {"ph": "M", "name": "thread_name", **track, "args": {"name": name}}
            order = {"sort_index": number}
            yield {"ph": "M", "name": "thread_sort_index", **track, "args": order}
        for (process, number), slices in self._slices.items():
            for piece in slices:
                yield _slice(process, number, piece)


def trace(schedule: Schedule, recording: Recording) -> str:
    """Return a trace as JSON text; equal recordings give equal bytes."""
    tracks = Tracks(schedule, recording)
    events = [
        *tracks.events(),
        *_arrows(tracks, recording),
        *_counters(schedule, recording),
    ]
    lines = ",\n".join(json.dumps(event, sort_keys=True) for event in events)
    about = json.dumps(
        {"machine": schedule.machine.name, "schedule": schedule.name, "unit": "1 ns is 1 cycle"},
        sort_keys=True,
    )
    return f'{{"displayTimeUnit": "ns",\n"otherData": {about},\n"traceEvents": [\n{lines}\n]}}\n'


def _stamp(cycle: float) -> float:
    """Return microseconds, a cycle being a nanosecond."""
    return int(cycle) / CYCLES_PER_MICROSECOND


def _slice(process: int, number: int, piece: Slice) -> Event:
    verb = {"barrier": "wait ", "completion": "wait ", "synchronisation": "sync "}
    waiting = piece.kind not in ("issue", "work")
    return {
        "ph": "X",
        "cat": piece.kind,
        "name": verb.get(piece.kind, f"{piece.kind} " if waiting else "") + piece.name,
        "pid": process,
        "tid": number,
        "ts": _stamp(piece.begin),
        "dur": (int(piece.end) - int(piece.begin)) / CYCLES_PER_MICROSECOND,
        "args": {
            "cycles": piece.end - piece.begin,
            "iteration": ", ".join(map(str, dict.fromkeys(piece.iterations))),
        },
    }


# -- arrows -----------------------------------------------------------------------------------


def _arrows(tracks: Tracks, recording: Recording) -> Iterator[Event]:
    number = 0
    for wakeup in recording.wakeups:
        if wakeup.lane:
            continue
        to = tracks.find(GROUPS, wakeup.group, wakeup.cycle)
        source = _source(tracks, recording, wakeup)
        if to is None or source is None or source[2] > wakeup.cycle:
            continue
        number += 1
        process, track, cycle = source
        common = {"cat": wakeup.kind, "name": wakeup.subject, "id": number}
        yield {"ph": "s", **common, "pid": process, "tid": track, "ts": _stamp(cycle)}
        place = {"pid": GROUPS, "tid": to[0], "ts": _stamp(wakeup.cycle)}
        yield {"ph": "f", "bp": "e", **common, **place}


def _source(tracks: Tracks, recording: Recording, wakeup: Wakeup) -> tuple[int, int, float] | None:
    """Return process, track and cycle of what a wait ended with."""
    if wakeup.kind == "completion":
        return _completion(tracks, recording, wakeup.subject, wakeup.iteration)
    arrival = _last(recording.arrivals[wakeup.subject, wakeup.iteration])
    if arrival is None:
        return None
    if not arrival.group:
        return _completion(tracks, recording, arrival.operation, wakeup.iteration)
    found = tracks.find(GROUPS, arrival.group, arrival.cycle)
    return (GROUPS, found[0], arrival.cycle) if found is not None else None


def _last(arrivals: Sequence[Arrival]) -> Arrival | None:
    return max(arrivals, key=lambda a: (a.visible, a.cycle), default=None)


def _completion(
    tracks: Tracks, recording: Recording, operation: str, iteration: int
) -> tuple[int, int, float] | None:
    """Return the last cycle of an asynchronous operation's work on its unit."""
    ends = recording.work_ends.get((operation, iteration))
    if ends is None:
        return None
    unit, end = ends
    found = tracks.find(UNITS, unit, end - 1)
    return (UNITS, found[0], end - 1) if found is not None else None


# -- counters ---------------------------------------------------------------------------------


def _counters(schedule: Schedule, recording: Recording) -> Iterator[Event]:
    for name, levels in coverage(schedule, recording.lifetimes()).items():
        for stamp, amount in _visible((_stamp(one.cycle), one.amount) for one in levels).items():
            shown = int(amount) if amount == int(amount) else amount
            unit = name.split()[-1] if name.split()[0].isupper() else "per thread"
            yield {
                "ph": "C",
                "name": name,
                "pid": MEMORY,
                "tid": 0,
                "ts": stamp,
                "args": {unit: shown},
            }


def _visible(levels: Iterable[tuple[float, float]]) -> dict[float, float]:
    """Return the last amount of every time stamp."""
    return dict(levels)
