"""One point of a sweep: change, schedule if asked, simulate, and say what came of it."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import threading
import zlib
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.errors import RefusedError, TwillError
from twill.search.cache import Cache, code_hash
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.sim.analysis.rings import with_depth, with_more_slots
from twill.sim.engine.conditions import Conditions
from twill.sim.execute import Run, simulate
from twill.studies.modulo_loop import excess
from twill.studies.subjects import variant
from twill.studies.sweep.parameters import changed_loop, changed_machine, limits, run_options
from twill.studies.sweep.points import Task

CONDITIONS = ("iterations", "seed", "latency", "tolerance", "clock")
"""Of the sweep, where no parameter says otherwise."""
VERSIONS = ("twill-gpu", "simpy")
DIGITS = 16
"""Hexadecimal digits of hashes in tables."""
RESIZED = {"depth": with_depth, "deeper": with_more_slots}
"""What each parameter of rings does to them."""
KEPT = 16
"""Schedules that a process keeps parsed."""
Row = dict[str, Any]
# Threads share one interpreter lock, so nothing is lost; and `ast.parse`, which reads the machines'
# expressions, fails now and then in several threads ("AST constructor recursion depth mismatch",
# seen with Python 3.11.7).
ONE_AT_A_TIME = threading.Lock()
RESULTS = (
    "status",
    "error",
    "fits",
    "needs",
    "static_interval_cycles",
    "interval_cycles",
    "half_width_cycles",
    "period",
    "iterations_per_kilocycle",
    "tflops",
    "clock_mhz",
    "tensor_core_utilization",
    "achieved",
    "total_cycles",
)
"""Columns of what came of a point."""


def evaluate(task: Task) -> Row:
    """Run one point; what goes wrong is a row with ``status`` ``failed`` and its ``error``.

    Returns: A row of the table: what ran, values by parameter, conditions, results, provenance.
    """
    sweep = task.sweep
    latency = run_options(task.point).get("latency") or " ".join(sweep.latency) or "nominal"
    conditions = {"iterations": sweep.iterations, "seed": sweep.seed, "latency": latency}
    row: Row = {
        "point": task.index,
        **task.labels,
        **task.point,
        **{name: value for name, value in conditions.items() if name not in task.point},
        **dict.fromkeys(RESULTS),
        "error": "",
        "needs": "",
        "schedule_hash": None,
        "subject_hash": _digest(task.subject),
        **{f"{name.removesuffix('-gpu')}_version": _version(name) for name in VERSIONS},
        "code_hash": code_digest(),
    }
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
    found: Row = {"fits": not needs, "needs": needs}
    for name in RESIZED.keys() & task.point.keys():
        changed = RESIZED[name](schedule, int(task.point[name]))
        schedule = changed.schedule
        needs = changed.needs if task.labels["variant"] == "joint" else excess(schedule)
        found = {"fits": not needs, "needs": needs}
    common = {name: getattr(task.sweep, name) for name in CONDITIONS}
    conditions = Conditions.of(**{**common, **run_options(task.point)})
    result = simulate(schedule, conditions)
    return {**found, **measured(schedule, result), "schedule_hash": _schedule_hash(task, schedule)}


def measured(schedule: Schedule, result: Run) -> Row:
    """Return the columns that say what a run achieved."""
    interval = result.measured_interval_cycles
    units = [unit for unit, u in schedule.machine.units.items() if u.in_order]
    return {
        "status": "ok",
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
    loop, machine = given
    machine = changed_machine(machine, task.point)
    return _solved(task, changed_loop(loop, machine, task.point, resolve=True), machine)


def _solved(task: Task, loop: Loop, machine: Machine) -> Schedule:
    seed = int(task.point.get("seed", task.sweep.seed))
    request = Request(loop, machine, limits=limits(task.point), seed=seed)
    # Variants but the joint one need no solver, only its rings' depths.
    solved = solve(request, timeout=task.sweep.timeout, cache=Cache())
    way = variant(task.labels["variant"], solved.schedule)
    if way.schedule is None:
        raise RefusedError(way.note)
    return way.schedule


def _schedule_hash(task: Task, schedule: Schedule) -> str:
    if task.sweep.resolve:
        return hashlib.sha256(schedule.to_json().encode()).hexdigest()[:DIGITS]
    return _digest(task.subject)


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
    return hashlib.sha256(zlib.decompress(subject)).hexdigest()[:DIGITS]


@functools.cache
def code_digest() -> str:
    """Return a hash of all code that rows follow from."""
    text = code_hash() + code_hash("sim")
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


@functools.cache
def _version(package: str) -> str:
    return importlib.metadata.version(package)
