"""The points of a sweep: every combination of what runs and of values, and what comes of each."""

from __future__ import annotations

import functools
import importlib.metadata
import itertools
import math
import threading
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import SCHEDULES, JournalRow, Scalar, Sweep, SweptRun, text_hash
from twill.base.console import Report, silent
from twill.base.errors import InputError, RefusedError, TwillError, short
from twill.base.names import file_name
from twill.search.cache import Cache, code_hash
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.sim.analysis.rings import with_depth, with_more_slots
from twill.sim.engine import Conditions
from twill.sim.execute import simulate
from twill.studies.pipelined import excess
from twill.studies.subjects import Subject, Variant, subjects, variant
from twill.studies.sweep.parameters import (
    changed_loop,
    changed_machine,
    limits,
    parameter,
    run_options,
    values,
)

MOST_POINTS = 1_000_000
# Parameters that change the same thing.
SAME = {
    ("tma-latency", "latency"): "how long loads take",
    ("depth", "deeper"): "how many slots rings have",
}


@dataclass(frozen=True)
class Runnable:
    """The subject of points: a schedule, or a loop on a machine that is to be scheduled."""

    # As ``sweep.json`` has it.
    run: SweptRun
    # JSON text; empty without a schedule.
    schedule: str = ""

    @property
    def name(self) -> str:
        """Name that is unique in the sweep, also of its file."""
        return f"{self.run.item}.{self.run.machine}.{self.run.variant}"

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """JSON texts of schedule, loop and machine, and the note, as far as there are any."""
        documents = (self.run.loop_document, self.run.machine_document)
        loop, machine = ("" if one is None else one.to_json() for one in documents)
        return self.schedule, loop, machine, self.run.note

    def told(self, **changes: Any) -> Runnable:
        """Return the same with other entries in ``sweep.json``."""
        return replace(self, run=self.run.model_copy(update=changes))

    @property
    def digest(self) -> str:
        """SHA-256 of all that it says."""
        return text_hash("\n".join(self.texts))


@dataclass(frozen=True)
class Task:
    """A point, ready to be sent to another process."""

    # Its place in the table.
    index: int
    # The runnable's texts, compressed.
    subject: bytes
    # Columns that say what runs.
    labels: dict[str, str]
    # Values by parameter.
    point: dict[str, Scalar]
    # What is the same for all points; without items and axes.
    sweep: Sweep


def axes(sweep: Sweep) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of each parameter of a sweep.

    Raises
    ------
    InputError
        If a parameter is not known, has values of another kind, or needs `resolve`.
    """
    found = {}
    for name, given in sweep.axes.items():
        known = parameter(name)
        if known.resolve and not sweep.resolve:
            raise InputError(
                f"{name} changes what is scheduled: add --resolve (resolve = true)", path="axes"
            )
        found[name] = values(given, known.kind, f"axes.{name}")
        least = min((v for v in found[name] if not isinstance(v, str)), default=0)
        if least < known.least:
            raise InputError(f"no value below {known.least}", path=f"axes.{name}")
    _check_count(math.prod(map(len, found.values())))
    for pair, what in SAME.items():
        if set(pair) <= set(found):
            raise InputError(f"{' and '.join(pair)} both say {what}: keep one", path="axes")
    return found


def _check_count(points: int) -> None:
    if points > MOST_POINTS:
        raise InputError(f"at most {MOST_POINTS} points (got {points})", path="axes")


def runnables(sweep: Sweep, report: Report = silent) -> list[Runnable]:
    """Return what a sweep runs; loops are scheduled unless each point does so."""
    made = _loops if sweep.resolve else _schedules
    names: Counter[str] = Counter()
    found: list[Runnable] = []
    for subject in subjects(sweep.items, sweep.machines):
        for one in made(sweep, subject, report):
            # Items that have one name, as two schedules of one loop do, are numbered.
            names[one.name] += 1
            count = names[one.name]
            named = one.told(item=one.run.item if count == 1 else f"{one.run.item}#{count}")
            file = f"{SCHEDULES}/{file_name(named.name)}.json" if one.schedule else None
            found.append(named.told(file=file, hash=one.digest))
    return found


def _loops(sweep: Sweep, subject: Subject, _report: Report) -> Iterator[Runnable]:
    documents = {"loop_document": subject.loop, "machine_document": subject.machine}
    for name in sweep.variants:
        yield Runnable(_run(subject, subject.name, Variant(name, None), **documents))


def _schedules(sweep: Sweep, subject: Subject, report: Report) -> Iterator[Runnable]:
    schedule = subject.solved(seed=sweep.seed, timeout=sweep.timeout, report=report)
    item = subject.name if subject.schedule is None else schedule.name
    for name in sweep.variants:
        report(f"{item} on {subject.machine.name}: {name}")
        way = variant(name, Subject.of(schedule), report)
        text = "" if way.schedule is None else way.schedule.to_json()
        yield Runnable(_run(subject, item, way), text)


def _run(subject: Subject, item: str, way: Variant, **more: Any) -> SweptRun:
    loop, machine = subject.loop.name, subject.machine.name
    return SweptRun(
        item=item, loop=loop, machine=machine, variant=way.name, note=way.note, hash="", **more
    )


def tasks(sweep: Sweep, found: Sequence[Runnable]) -> list[Task]:
    """Return every point of a sweep in the order of its table: what runs first, last axis fastest.

    Raises
    ------
    InputError
        If there are more than a million.
    """
    every = axes(sweep)
    _check_count(len(found) * math.prod(map(len, every.values())))
    grid = [dict(zip(every, point, strict=True)) for point in itertools.product(*every.values())]
    common = sweep.model_copy(update={"items": (), "machines": (), "axes": {}})
    made: list[Task] = []
    for one in found:
        subject = zlib.compress("\0".join(one.texts).encode())
        labels = {name: getattr(one.run, name) for name in ("item", "loop", "machine", "variant")}
        made += [Task(len(made) + i, subject, labels, p, common) for i, p in enumerate(grid)]
    return made


def check_points(rows: Mapping[int, Mapping[str, Any]], every: Sequence[Task], file: str) -> None:
    """Refuse rows that are not of the points of a sweep.

    Raises
    ------
    InputError
        If a row is of no point, or does not say what ran, or with which values.
    """
    for index, row in rows.items():
        if index >= len(every):
            raise InputError(f"a row of point {short(index)} of {len(every)}", file=file)
        for name, value in {**every[index].labels, **every[index].point}.items():
            if name not in row:
                raise InputError(f"the row of point {index} has no {short(name)}", file=file)
            if row[name] != value:
                message = f"the row of point {index} ran {short(value)} (got {short(row[name])})"
                raise InputError(message, path=name, file=file)


# Of the sweep, where no parameter says otherwise.
CONDITIONS = ("iterations", "seed", "latency", "tolerance", "clock")
DIGITS = 16  # hexadecimal digits of hashes in tables
# What each parameter of rings does to them.
RESIZED = {"depth": with_depth, "deeper": with_more_slots}
KEPT = 16  # schedules that a process keeps parsed
Row = dict[str, Any]
# Threads share one interpreter lock, so nothing is lost; and `ast.parse`, which reads the machines'
# expressions, fails now and then in several threads ("AST constructor recursion depth mismatch",
# seen with Python 3.11.7).
ONE_AT_A_TIME = threading.Lock()


def evaluate(task: Task) -> Row:
    """Run one point; what goes wrong is a row with ``status`` ``failed`` and its ``error``.

    Returns: A row of the table: what ran, values by parameter, conditions, results, provenance.
    """
    sweep = task.sweep
    row: Row = {"point": task.index, **task.labels, **task.point}
    known: Row = {
        "iterations": sweep.iterations,
        "seed": sweep.seed,
        "latency": run_options(task.point).get("latency") or " ".join(sweep.latency) or "nominal",
        "error": "",
        "needs": "",
        "subject_hash": _digest(task.subject),
        "twill_version": _version("twill-gpu"),
        "simpy_version": _version("simpy"),
        "code_hash": code_digest(),
    }
    for name in JournalRow.model_fields:
        row.setdefault(name, known.get(name))
    try:
        with ONE_AT_A_TIME:
            row |= _results(task)
    except TwillError as error:
        row |= {"status": "failed", "error": str(error)}
    except Exception as error:
        row |= {"status": "failed", "error": f"unexpected {type(error).__name__}: {error}"}
    return row


def _results(task: Task) -> Row:
    schedule = _changed(task)
    needs = _parsed(task.subject)[1]
    for name in RESIZED.keys() & task.point.keys():
        changed = RESIZED[name](schedule, int(task.point[name]))
        schedule = changed.schedule
        needs = changed.needs if task.labels["variant"] == "joint" else excess(schedule)
    common = {name: getattr(task.sweep, name) for name in CONDITIONS}
    conditions = Conditions.of(**{**common, **run_options(task.point)})
    result = simulate(schedule, conditions)
    interval, anew = result.measured_interval_cycles, task.sweep.resolve
    units = [unit for unit, u in schedule.machine.units.items() if u.in_order]
    return {
        "status": "ok",
        "fits": not needs,
        "needs": needs,
        "static_interval_cycles": result.static_interval_cycles,
        "interval_cycles": interval,
        "half_width_cycles": result.confidence and result.confidence.half_width_cycles,
        "period": result.period,
        "iterations_per_kilocycle": 1000 / interval if interval else None,
        "tflops": result.tflops,
        "clock_mhz": result.clock_mhz,
        "tensor_core_utilization": result.utilization.get(units[0]) if units else None,
        "achieved": result.achieved,
        "total_cycles": result.total_cycles,
        "schedule_hash": _short_hash(schedule.to_json()) if anew else _digest(task.subject),
    }


def _changed(task: Task) -> Schedule:
    """Return what the point runs, before the depth of its rings is changed."""
    given = _parsed(task.subject)[0]
    if isinstance(given, Schedule):
        machine = changed_machine(given.machine, task.point)
        loop = changed_loop(given.loop, machine, task.point, resolve=False)
        if machine is given.machine and loop is given.loop:
            return given
        update = {"machine": machine, "loop": loop, "machine_hash": None}
        return given.model_copy(update=update)
    machine = changed_machine(given[1], task.point)
    loop = changed_loop(given[0], machine, task.point, resolve=True)
    seed = int(task.point.get("seed", task.sweep.seed))
    request = Request(loop, machine, limits=limits(task.point), seed=seed)
    # Variants but the joint one need no solver, only its rings' depths.
    solved = solve(request, timeout=task.sweep.timeout, cache=Cache())
    way = variant(task.labels["variant"], Subject.of(solved.schedule))
    if way.schedule is None:
        raise RefusedError(way.note)
    return way.schedule


def _short_hash(text: str) -> str:
    return text_hash(text)[:DIGITS]


@functools.lru_cache(maxsize=KEPT)
def _parsed(subject: bytes) -> tuple[Schedule | tuple[Loop, Machine], str]:
    """Return what runs, and what it needs that its machine lacks."""
    schedule, loop, machine, note = zlib.decompress(subject).decode().split("\0")
    if schedule:
        return Schedule.from_json(schedule), note
    if note:
        raise RefusedError(note)
    return (Loop.from_json(loop), Machine.from_json(machine)), ""


@functools.lru_cache(maxsize=KEPT)
def _digest(subject: bytes) -> str:
    return _short_hash(zlib.decompress(subject).decode())


@functools.cache
def code_digest() -> str:
    """Return a hash of all code that rows follow from."""
    return _short_hash(code_hash() + code_hash("sim"))


@functools.cache
def _version(package: str) -> str:
    return importlib.metadata.version(package)
