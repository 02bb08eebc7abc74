"""Whether a schedule keeps what is promised of it on the simulated SM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from twill.artifacts.schedule import Schedule
from twill.sim.engine import DEFAULT_TOLERANCE, Conditions
from twill.sim.execute import simulate

MEASURED_TOLERANCE = 0.005  # part by which a run may take longer than the run that was promised


@dataclass(frozen=True)
class Kept:
    """One interval that is promised, beside what a run took.

    Attributes
    ----------
    what : str
        Conditions of the run, in words.
    promised : float
        Cycles an iteration.
    measured : float or None
        The same of the run; None where it reaches no steady state.
    kept : bool
        Whether the run took no longer, within a tolerance.
    """

    what: str
    promised: float
    measured: float | None
    kept: bool


def promises_kept(schedule: Schedule) -> Iterator[Kept]:
    """Execute a schedule under all conditions of its promise, or for its static interval.

    Raises
    ------
    SimulationError
        If the program deadlocks, or reads what it should not.
    """
    promise, conditions = schedule.promise, promised_conditions(schedule)
    if promise is None:
        yield from _kept(schedule, conditions[0], None, DEFAULT_TOLERANCE)
        return
    for said, under in zip(promise.conditions, conditions, strict=True):
        yield from _kept(schedule, under, said.interval_cycles, MEASURED_TOLERANCE)


def promised_conditions(schedule: Schedule) -> tuple[Conditions, ...]:
    """Return the conditions of a promise, and the usual ones without it."""
    promise = schedule.promise
    if promise is None:
        return (Conditions(),)
    return tuple(
        Conditions.of(
            latency=said.latency,
            warp_scheduler=said.warp_scheduler,
            iterations=promise.iterations,
        )
        for said in promise.conditions
    )


def _kept(
    schedule: Schedule, conditions: Conditions, promised: float | None, tolerance: float
) -> Iterator[Kept]:
    """Yield what became of an interval; without one, of the static interval if there is one."""
    run = simulate(schedule, conditions)
    said = run.static_interval_cycles if promised is None else promised
    if said is not None:
        taken = run.measured_interval_cycles
        what = f"warps {conditions.warp_scheduler}, latency {conditions.latency_text}"
        yield Kept(what, said, taken, taken is not None and taken <= said * (1 + tolerance))
