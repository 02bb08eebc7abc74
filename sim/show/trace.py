"""A recording as a trace for Perfetto (Chrome's trace event format, JSON).

A cycle is shown as one nanosecond. There is a track for every warp group (its first warp), every
asynchronous unit and every synchronous pipe. Arrows lead from an arrive to the wait that it ended.
Counters show how much of SMEM, TMEM and the registers holds live values.
"""

from __future__ import annotations

import bisect
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from twill.artifacts.program import Storage
from twill.artifacts.schedule import Schedule
from twill.base.formats import plural
from twill.sim.engine.events import Waited
from twill.sim.engine.record import Lifetime, Recording
from twill.sim.engine.slots import copy_for
from twill.sim.show.timeline import Slice, tracks

Event = dict[str, Any]
GROUPS, UNITS, MEMORY = 1, 2, 3
PROCESSES = {GROUPS: "warp groups", UNITS: "units", MEMORY: "memory"}
CYCLES_PER_MICROSECOND = 1000
SMEM, TMEM = "SMEM bytes", "TMEM columns"
HALVES = 2
Extent = tuple[int, int, int]  # begin, end and half of the lanes of tensor memory


def trace(schedule: Schedule, recording: Recording) -> str:
    """Return a trace as JSON text; equal recordings give equal bytes."""
    threads = _Threads(schedule, recording)
    events = [*threads.events(), *threads.arrows(), *_counters(schedule, recording)]
    lines = ",\n".join(json.dumps(event, sort_keys=True) for event in events)
    about = json.dumps(
        {"machine": schedule.machine.name, "schedule": schedule.name, "unit": "1 ns is 1 cycle"},
        sort_keys=True,
    )
    return f'{{"displayTimeUnit": "ns",\n"otherData": {about},\n"traceEvents": [\n{lines}\n]}}\n'


def _stamp(cycle: float) -> float:
    """Return microseconds, a cycle being a nanosecond."""
    return int(cycle) / CYCLES_PER_MICROSECOND


class _Threads:
    """Tracks as threads of two processes, warp groups and units."""

    def __init__(self, schedule: Schedule, recording: Recording) -> None:
        self._recording = recording
        self._names: dict[tuple[int, int], str] = {}
        self._slices: dict[tuple[int, int], tuple[Slice, ...]] = {}
        self._numbers: dict[tuple[int, str], int] = {}
        warps = {group.name: plural(group.warps, "warp") for group in schedule.groups}
        counts = {GROUPS: 0, UNITS: 0}
        for track in tracks(schedule, recording):
            process = GROUPS if track.kind == "group" else UNITS
            counts[process] += 1
            thread = process, counts[process]
            self._slices[thread] = track.slices
            self._names[thread] = {
                "group": f"{track.name} ({warps.get(track.name)})",
                "unit": track.name,
                "pipe": f"{track.name} (pipe)",
            }[track.kind]
            if track.kind != "pipe":
                self._numbers[process, track.name] = counts[process]

    def events(self) -> Iterator[Event]:
        """Yield the names of all threads, then their slices."""
        for process, name in PROCESSES.items():
            yield from _named("process", name, process, {"pid": process})
        for (process, number), name in self._names.items():
            yield from _named("thread", name, number, {"pid": process, "tid": number})
        for (process, number), slices in self._slices.items():
            for piece in slices:
                yield _slice(process, number, piece)

    def arrows(self) -> Iterator[Event]:
        """Yield the two ends of an arrow for each wait that ended with something in sight."""
        number = 0
        for wakeup in self._recording.wakeups:
            to = None if wakeup.warp else self._find(GROUPS, wakeup.group, wakeup.cycle)
            source = self._source(wakeup) if to is not None else None
            if to is None or source is None:
                continue
            number += 1
            common = {"cat": wakeup.kind, "name": wakeup.subject, "id": number}
            yield {"ph": "s", **common, **source}
            yield {"ph": "f", "bp": "e", **common, **to}

    def _find(self, process: int, name: str, cycle: float) -> Event | None:
        """Return a cycle on the thread of a group or unit, or None if no slice is there."""
        number = self._numbers.get((process, name), 0)
        slices = self._slices.get((process, number), ())
        index = bisect.bisect_right(slices, cycle, key=lambda piece: piece.begin) - 1
        if index < 0 or slices[index].end <= cycle:
            return None
        return {"pid": process, "tid": number, "ts": _stamp(cycle)}

    def _source(self, wakeup: Waited) -> Event | None:
        """Return the event that ended a wait: an arrive, or the end of an operation's work."""
        operation = wakeup.subject
        if wakeup.kind != "completion":
            arrivals = self._recording.arrivals[wakeup.subject, wakeup.iteration]
            last = max(arrivals, key=lambda a: (a.visible, a.cycle), default=None)
            if last is None:
                return None
            if last.group:
                seen = last.cycle <= wakeup.cycle
                return self._find(GROUPS, last.group, last.cycle) if seen else None
            operation = last.operation
        unit, end = self._recording.work_ends.get((operation, wakeup.iteration), ("", math.inf))
        return self._find(UNITS, unit, end - 1) if end - 1 <= wakeup.cycle else None


def _named(kind: str, name: str, order: int, track: Event) -> Iterator[Event]:
    yield {"ph": "M", "name": f"{kind}_name", **track, "args": {"name": name}}
    yield {"ph": "M", "name": f"{kind}_sort_index", **track, "args": {"sort_index": order}}


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
            "cycles": float(piece.end - piece.begin),
            "iteration": ", ".join(map(str, dict.fromkeys(piece.iterations))),
        },
    }


# -- counters ---------------------------------------------------------------------------------


def _counters(schedule: Schedule, recording: Recording) -> Iterator[Event]:
    for name, amounts in live(schedule, recording.lifetimes()).items():
        unit = name.split()[-1] if name.split()[0].isupper() else "per thread"
        last = {_stamp(cycle): amount for cycle, amount in amounts}
        for stamp, amount in last.items():
            shown = int(amount) if amount == int(amount) else amount
            track = {"name": name, "pid": MEMORY, "tid": 0}
            yield {"ph": "C", **track, "ts": stamp, "args": {unit: shown}}


def live(schedule: Schedule, lifetimes: Iterable[Lifetime]) -> dict[str, list[tuple[float, float]]]:
    """Return the live amounts over time: SMEM bytes, TMEM columns, registers by group.

    Addresses that several live values share count once. A value is live from the begin of its
    write to the end of its last read; invariants in SMEM and TMEM are live throughout. The result
    of an elementwise operation takes over an operand's registers, so that it counts from the end of
    its write.
    """
    places = _places(schedule)
    elementwise = {o.name for o in schedule.loop.operations if o.elementwise}
    lives: dict[str, list[tuple[float, float, Extent]]] = defaultdict(list)
    for life in lifetimes:
        if life.warp == 0 or life.place in ("smem", "tmem"):
            for name, extent in places.get((life.value, life.place, life.slot), ()):
                late = life.value in elementwise and name not in (SMEM, TMEM)
                lives[name].append((life.written if late else life.begin, life.end, extent))
    fixed: dict[str, int] = defaultdict(int)
    for value in schedule.fixed:
        fixed[SMEM if value.memory == "smem" else TMEM] += value.size
    return {
        name: [(cycle, amount + fixed[name]) for cycle, amount in _amounts(lives[name])]
        for name in sorted(lives)
    }


def _places(schedule: Schedule) -> dict[tuple[str, str, int], list[tuple[str, Extent]]]:
    """Return, for every slot of every value, which extent of which memory it takes."""
    found: dict[tuple[str, str, int], list[tuple[str, Extent]]] = defaultdict(list)
    beyond: dict[str, int] = defaultdict(lambda: 1 << 40)
    home = schedule.assignment
    for storage in schedule.storage:
        name, place = _name(storage, home)
        for slot in range(storage.slots):
            begin = storage.addresses[slot] if storage.addresses else beyond[name]
            beyond[name] += storage.size
            halves = (storage.halves[slot],) if storage.halves else range(HALVES)
            for half in halves if name == TMEM else (0,):
                extent = (begin, begin + storage.size, half)
                found[storage.value, place, slot].append((name, extent))
    return found


def _name(storage: Storage, home: dict[str, str]) -> tuple[str, str]:
    """Return the counter of a value's slots, and the recording's name for their place."""
    if storage.transfer and storage.memory == "smem":
        return SMEM, "staging in smem"
    if storage.memory == "registers":
        group = storage.group or home[storage.value]
        if storage.reader is not None:
            place = copy_for(storage.reader, storage.distance)
            return f"registers of {home[storage.reader]}", place
        return f"registers of {group}", f"registers of {home[storage.value]}"
    return (SMEM if storage.memory == "smem" else TMEM), storage.memory


def _amounts(lives: list[tuple[float, float, Extent]]) -> Iterator[tuple[float, float]]:
    """Yield the extent of the union of live addresses, whenever it changes."""
    bounds = sorted({edge for _, _, (begin, end, _) in lives for edge in (begin, end)})
    index = {edge: number for number, edge in enumerate(bounds)}
    halves = {half for _, _, (_, _, half) in lives}
    weight = 1 / HALVES if len(halves) > 1 or 1 in halves else 1.0
    changes = sorted(
        change for begin, end, where in lives for change in ((begin, 1, where), (end, -1, where))
    )
    count: dict[tuple[int, int], int] = defaultdict(int)
    amount, shown = 0.0, -1.0
    for number, (cycle, change, (low, high, half)) in enumerate(changes):
        for piece in range(index[low], index[high]):
            before = count[piece, half] > 0
            count[piece, half] += change
            after = count[piece, half] > 0
            amount += (after - before) * weight * (bounds[piece + 1] - bounds[piece])
        last = number + 1 == len(changes) or changes[number + 1][0] > cycle
        if last and amount != shown:
            shown = amount
            yield cycle, amount
