"""Run a schedule and report what it achieved."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

from pydantic import Field

from twill.artifacts.base import Artifact
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.errors import InputError, short
from twill.sim.latency import parse_latency
from twill.sim.measure import LEAST_ITERATIONS, steady_state
from twill.sim.sm import StreamingMultiprocessor
from twill.sim.warps import ISSUE

DEFAULT_ITERATIONS = 64
MOST_ITERATIONS = 10_000_000
DEFAULT_TOLERANCE = 0.02


class Run(Artifact):
    """What a simulated run achieved.

    Attributes
    ----------
    schedule, machine : str
        What ran where.
    iterations, seed : int
        Trip count, and seed of the variable latencies.
    latency : str
        Source of the variable latencies; ``nominal`` for those in the machine file.
    static_interval_cycles : float, optional
        The initiation interval that the schedule promises.
    measured_interval_cycles : float, optional
        The interval between iterations in the steady state; absent where there are too few
        iterations to see one.
    iterations_per_cycle : float, optional
        Its inverse.
    period : int, optional
        Iterations after which completions repeat exactly.
    tolerance : float
        Relative excess that still counts as achieved.
    achieved : bool, optional
        Whether the promise is kept; absent if there is nothing to compare.
    total_cycles : float
        From the first issue to the last completion, prologue and epilogue included.
    utilization : dict
        Share of each unit's capacity in use in the steady state.
    stalls : dict
        Cycles by cause over the whole run, of the first warp of every group added up.
    groups : dict
        For each group, all cycles of its first warp by cause; ``issue`` is work, not a stall.
    """

    schema_name: Literal["twill.run"] = Field("twill.run", alias="schema")
    schema_version: Literal[1] = 1
    schedule: str
    machine: str
    iterations: int
    seed: int
    latency: str
    static_interval_cycles: float | None
    measured_interval_cycles: float | None
    iterations_per_cycle: float | None
    period: int | None
    tolerance: float
    achieved: bool | None
    total_cycles: float
    utilization: dict[str, float]
    stalls: dict[str, float]
    groups: dict[str, dict[str, float]]


def run(
    schedule: Schedule,
    *,
    iterations: int = DEFAULT_ITERATIONS,
    seed: int = 0,
    latency: str | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
) -> Run:
    """Execute a schedule on the simulated SM.

    Parameters
    ----------
    schedule : Schedule
        With programs; it need not have been solved.
    iterations : int
        Trip count of the loop, at least 1.
    seed : int
        Seed of the variable latencies.
    latency : str, optional
        ``fixed:N`` or ``uniform:A,B`` cycles for every variable-latency load; their nominal
        latency without it.
    tolerance : float
        Relative excess over the static interval that still counts as achieved.

    Raises
    ------
    InputError
        If an argument is out of range, or an operation cannot be costed.
    SimulationError
        If the program reads a wrong value, overwrites one too early or deadlocks.
    """
    if not isinstance(iterations, int) or not 1 <= iterations <= MOST_ITERATIONS:
        raise InputError(
            f"a whole number from 1 to {MOST_ITERATIONS} (got {short(iterations)})",
            path="iterations",
        )
    if not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise InputError(f"between 0 and 1 (got {short(tolerance)})", path="tolerance")
    source = None if latency is None else parse_latency(latency)
    sm = StreamingMultiprocessor(schedule, iterations, seed=seed, latency=source)
    sm.run()
    steady = steady_state(
        sm.finished_at,
        schedule.stages or 1,
        fill=max((storage.slots for storage in schedule.storage), default=0),
        least=max(_busy(schedule).values(), default=0.0),
    )
    static = static_interval(schedule)
    measured = float(steady.interval) if steady else None
    achieved = measured <= static * (1 + tolerance) if measured and static else None
    return Run(
        schedule=schedule.name,
        machine=schedule.machine.name,
        iterations=iterations,
        seed=seed,
        latency=latency or "nominal",
        static_interval_cycles=static,
        measured_interval_cycles=measured,
        iterations_per_cycle=1 / measured if measured else None,
        period=steady.period if steady else None,
        tolerance=tolerance,
        achieved=achieved,
        total_cycles=max(sm.finished_at),
        utilization=_utilization(schedule, measured) if measured else {},
        stalls=_stalls(sm),
        groups={
            warp.group.name: dict(sorted(warp.spent.items())) for warp in sm.warps if warp.lane == 0
        },
    )


def static_interval(schedule: Schedule) -> float | None:
    """Return the promised interval in clock cycles, None if there is none.

    Parameters
    ----------
    schedule : Schedule
        In exact or normalized time; the latter is scaled by its cycles per unit.
    """
    if schedule.initiation_interval is None:
        return None
    return schedule.initiation_interval * schedule.time.cycles_per_unit


def _utilization(schedule: Schedule, interval: float) -> dict[str, float]:
    """Work of one iteration on each unit over what the unit could do in the interval."""
    return {unit: cycles / interval for unit, cycles in _busy(schedule).items()}


def _busy(schedule: Schedule) -> dict[str, float]:
    """Return the cycles for which one iteration fills each unit, issue slots aside."""
    machine: Machine = schedule.machine
    busy = dict.fromkeys(machine.units, 0.0)
    for operation in schedule.loop.operations:
        for step in machine.cost(operation).steps:
            busy[step.unit] += step.cycles * step.count / machine.units[step.unit].capacity
    if machine.issue_unit is not None:
        busy.pop(machine.issue_unit)
    return busy


def _stalls(sm: StreamingMultiprocessor) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    for warp in sm.warps:
        for cause, cycles in warp.spent.items() if warp.lane == 0 else ():
            if cause != ISSUE:
                total[cause] += cycles
    return dict(sorted(total.items()))


__all__ = ["LEAST_ITERATIONS", "Run", "run", "static_interval"]
