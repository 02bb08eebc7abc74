"""A schedule against the naive loops, on the simulated SM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from twill.artifacts.schedule import Schedule
from twill.baselines import multi_warp, sequential
from twill.console import Report, silent
from twill.errors import RefusedError
from twill.sim.execute import DEFAULT_ITERATIONS, DEFAULT_TOLERANCE, Run, run
from twill.studies.modulo_loop import excess, software_pipelined


@dataclass(frozen=True)
class Variant:
    """One way to execute the loop, with what it achieved.

    Attributes
    ----------
    variant : str
        ``sequential``, ``multi-warp``, ``swp`` or ``joint`` (the schedule).
    interval_cycles : float or None
        Measured cycles from one iteration to the next.
    iterations_per_cycle : float or None
        Its inverse.
    speedup_over_sequential : float or None
        How many times as fast as the loop as written.
    tensor_core_utilization : float or None
        Share of the steady state for which the tensor core works.
    note : str
        Why the SM could not execute it as it is, or why there is none; empty if it could.
    """

    variant: str
    interval_cycles: float | None
    iterations_per_cycle: float | None
    speedup_over_sequential: float | None
    tensor_core_utilization: float | None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the variant as plain data."""
        return asdict(self)


def compare(
    schedule: Schedule,
    *,
    iterations: int = DEFAULT_ITERATIONS,
    seed: int = 0,
    latency: str | Iterable[str] | None = None,
    report: Report = silent,
) -> list[Variant]:
    """Simulate a schedule and the naive loops of its loop and machine.

    Parameters
    ----------
    schedule : Schedule
        The schedule; the naive loops use its loop, machine and ring depths.
    iterations : int
        Trip count.
    seed : int
        Seed of the variable latencies.
    latency : str or iterable of str, optional
        Latency sources of variable-latency loads (see `twill.sim.run`).
    report : Report, optional
        Told what is being simulated.
    """
    loop, machine = schedule.loop, schedule.machine
    candidates: dict[str, Schedule | None] = {
        "sequential": sequential(loop, machine),
        "multi-warp": multi_warp(loop, machine, schedule.pipeline_depths),
        "swp": None,
        "joint": schedule,
    }
    notes = {}
    try:
        candidates["swp"] = pipelined = software_pipelined(loop, machine, report=report)
        notes["swp"] = excess(pipelined)
    except RefusedError as error:
        notes["swp"] = str(error)
    runs: dict[str, Run | None] = {}
    for name, candidate in candidates.items():
        report(name)
        if candidate is None:
            runs[name] = None
            continue
        runs[name] = run(
            candidate,
            iterations=iterations,
            seed=seed,
            latency=latency,
            tolerance=DEFAULT_TOLERANCE,
        )
    first = runs["sequential"]
    base = first.measured_interval_cycles if first is not None else None
    return [
        _variant(name, result, base, schedule, notes.get(name, "")) for name, result in runs.items()
    ]


def _variant(
    name: str, result: Run | None, base: float | None, schedule: Schedule, note: str
) -> Variant:
    if result is None:
        return Variant(name, None, None, None, None, note)
    interval = result.measured_interval_cycles
    units = [unit for unit, u in schedule.machine.units.items() if u.in_order]
    return Variant(
        variant=name,
        interval_cycles=interval,
        iterations_per_cycle=result.iterations_per_cycle,
        speedup_over_sequential=base / interval if base and interval else None,
        tensor_core_utilization=result.utilization.get(units[0]) if units else None,
        note=note,
    )
