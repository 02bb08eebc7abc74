"""Loops on machines: naive loops, pipelining alone, joint schedules and experts' side by side."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from twill.artifacts.base import Part
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import KeptSchedule, Sealed, text_hash
from twill.bounds import bounds
from twill.console import Report, silent
from twill.errors import RefusedError
from twill.names import file_name
from twill.problem import build_problem
from twill.sim.analysis import clock_of, flop_per_iteration
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.execute import Run, simulate
from twill.studies.subjects import VARIANTS, Subject, experts, variant
from twill.studies.subjects import Variant as Way

FILE = "comparison.json"


class Variant(Part):
    """One way to execute the loop, with what it achieved.

    Attributes
    ----------
    variant : str
        ``sequential``, ``multi-warp``, ``swp``, ``joint`` (the schedule), or the name of a
        hand-written schedule of the same kernel.
    interval_cycles : float or None
        Measured cycles from one iteration to the next.
    iterations_per_cycle, iterations_per_kilocycle : float or None
        Its inverse.
    flop_per_iteration : int
        Floating-point operations of one iteration's matrix products on one SM: an expert's
        iteration may do more or less than ours.
    tflops : float or None
        TFLOP/s of the chip at the stated clock; None where there is no product.
    tensor_core_utilization : float or None
        Share of the steady state for which the tensor core works.
    utilization : dict
        The same for every unit.
    speedup_over_sequential : float or None
        How many times as fast as the loop as written: work per time over work per time.
    bound_cycles : int
        No interval is smaller: the work of the busiest unit, or the slowest recurrence.
    over_bound : float or None
        By what part of the bound the interval exceeds it.
    note : str
        Why the SM could not execute it (as it is), or why there is none; empty if it could.
    """

    variant: str
    interval_cycles: float | None
    iterations_per_cycle: float | None
    iterations_per_kilocycle: float | None
    flop_per_iteration: int
    tflops: float | None
    tensor_core_utilization: float | None
    utilization: dict[str, float]
    speedup_over_sequential: float | None
    bound_cycles: int
    over_bound: float | None
    note: str = ""


class Comparison(Part):
    """One loop on one machine.

    Attributes
    ----------
    loop, machine : str
        Which loop where.
    iterations, seed : int
        Of every run.
    latency : str
        Sources of the variable latencies; ``nominal`` for those in the machine file.
    clock_mhz : float
        Clock at which TFLOP/s are stated.
    clock_source : str
        Where the clock comes from.
    variants : tuple of Variant
        In the order of `twill.studies.subjects.VARIANTS`, then experts.
    files : dict
        Where `-o` puts what ran, by variant.
    schedules : dict
        What ran, by variant; not in the document.
    """

    loop: str
    machine: str
    iterations: int
    seed: int
    latency: str
    clock_mhz: float
    clock_source: str
    variants: tuple[Variant, ...]
    files: dict[str, KeptSchedule] = {}
    schedules: SkipJsonSchema[dict[str, Schedule]] = Field({}, exclude=True, repr=False)


class Comparisons(Sealed):
    """Loops on machines, compared (``comparison.json``).

    Attributes
    ----------
    comparisons : tuple of Comparison
        In the order in which they were named.
    """

    schema_name: Literal["twill.comparison"] = Field("twill.comparison", alias="schema")
    schema_version: Literal[2] = 2
    comparisons: Annotated[tuple[Comparison, ...], Field(min_length=1)]

    @classmethod
    def read(cls, folder: Path) -> tuple[Comparison, ...]:
        """Return what a folder holds, with the schedules that ran.

        Raises
        ------
        InputError
            If a file is missing, not valid, or was changed.
        """
        return tuple(
            one.model_copy(
                update={"schedules": {name: kept.read(folder) for name, kept in one.files.items()}}
            )
            for one in cls.load(folder / FILE).comparisons
        )


def document(comparisons: Iterable[Comparison]) -> Comparisons:
    """Return comparisons as the document that ``compare --json`` prints.

    Schedules of one name get files that are told apart.
    """
    taken: set[str] = set()
    found = tuple(
        one.model_copy(
            update={
                "files": {
                    name: KeptSchedule(
                        file=_free(f"{one.loop}.{one.machine}.{name}", taken),
                        hash=text_hash(schedule.to_json()),
                    )
                    for name, schedule in one.schedules.items()
                }
            }
        )
        for one in comparisons
    )
    return Comparisons(comparisons=found).seal()


def _free(name: str, taken: set[str]) -> str:
    """Return a file's name that is not taken yet, and take it."""
    numbered = (name if count == 1 else f"{name}#{count}" for count in itertools.count(1))
    found = next(f for f in (f"{file_name(n)}.json" for n in numbered) if f not in taken)
    taken.add(found)
    return found


def compare_all(
    subjects: Sequence[Subject],
    conditions: Conditions | None = None,
    *,
    timeout: float | None = None,
    report: Report = silent,
) -> list[Comparison]:
    """Compare every subject's variants; loops without a schedule are scheduled first.

    `timeout`: seconds for each loop that has to be scheduled.

    Raises
    ------
    RefusedError
        If a loop has no schedule on its machine.
    """
    found = []
    for subject in subjects:
        title = f"{subject.name} on {subject.machine.name}"
        report(title)

        def within(message: str, title: str = title) -> None:
            report(f"{title}: {message}")

        try:
            schedule = subject.solved(timeout=timeout, report=within)
        except RefusedError as error:
            raise RefusedError(f"{title}: {error}", error.about) from None
        found.append(comparison(schedule, conditions, within))
    return found


def comparison(
    schedule: Schedule, conditions: Conditions | None = None, report: Report = silent
) -> Comparison:
    """Simulate a schedule, the naive loops of its loop and machine, and experts' schedules.

    `schedule`: the schedule; the naive loops use its loop, machine and ring depths.
    `conditions`: a latency source for a single load concerns hand-written schedules only where they
    have a load of that name.
    """
    conditions = conditions or Conditions()
    ways = [variant(name, schedule, report) for name in VARIANTS] + experts(schedule)
    runs: list[tuple[Way, Run | None]] = []
    for way in ways:
        report(way.name)
        runs.append(_run(way, conditions))
    clock_mhz, clock_source = clock_of(schedule.machine, conditions.clock)
    base = _pace(runs[0][1])
    return Comparison(
        loop=schedule.loop.name,
        machine=schedule.machine.name,
        iterations=conditions.iterations,
        seed=conditions.seed,
        latency=conditions.latency_text,
        clock_mhz=clock_mhz,
        clock_source=clock_source,
        variants=tuple(_variant(way, result, base, schedule) for way, result in runs),
        schedules={way.name: way.schedule for way, _ in runs if way.schedule is not None},
    )


def _run(way: Way, conditions: Conditions) -> tuple[Way, Run | None]:
    """Return what a variant achieved; nothing, and a note that says why, if it cannot run."""
    if way.schedule is None:
        return way, None
    names = {operation.name for operation in way.schedule.loop.operations}
    own = tuple(t for t in conditions.latency if "=" not in t or t.partition("=")[0] in names)
    try:
        return way, simulate(way.schedule, replace(conditions, latency=own))
    except SimulationError as error:
        return replace(way, note=str(error)), None


def _pace(result: Run | None) -> float | None:
    """Return work per cycle: FLOP where there are products, else iterations."""
    if result is None or not result.measured_interval_cycles:
        return None
    return (result.flop_per_iteration or 1) / result.measured_interval_cycles


def _variant(way: Way, result: Run | None, base: float | None, schedule: Schedule) -> Variant:
    ran = way.schedule or schedule
    interval = None if result is None else result.measured_interval_cycles
    bound = bounds(build_problem(ran.loop, ran.machine)).interval
    pace = _pace(result)
    units = [unit for unit, u in ran.machine.units.items() if u.in_order]
    utilization = {} if result is None else result.utilization
    return Variant(
        variant=way.name,
        interval_cycles=interval,
        iterations_per_cycle=1 / interval if interval else None,
        iterations_per_kilocycle=1000 / interval if interval else None,
        flop_per_iteration=flop_per_iteration(ran.loop),
        tflops=None if result is None else result.tflops,
        tensor_core_utilization=utilization.get(units[0]) if units else None,
        utilization=utilization,
        speedup_over_sequential=pace / base if pace and base else None,
        bound_cycles=bound,
        over_bound=interval / bound - 1 if interval else None,
        note=way.note,
    )
