"""Whether a schedule keeps what is promised of it on the simulated SM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from twill.artifacts.schedule import Schedule
from twill.sim.engine import DEFAULT_ITERATIONS, DEFAULT_TOLERANCE, Conditions
from twill.sim.execute import simulate

MEASURED_TOLERANCE = 0.005  # part by which a run may take longer than the run that was promised
MOST_ITERATIONS = 1000  # of a run, however many are promised; what repeats itself shows before


@dataclass(frozen=True)
class Kept:
    """A promised interval, compared with the interval of a run."""

    what: str  # conditions of the run, in words
    promised: float  # cycles an iteration
    measured: float | None  # the same of the run; None where it reaches no steady state
    kept: bool  # whether the run took no longer, within a tolerance


def promises_kept(schedule: Schedule) -> Iterator[Kept]:
    """Execute a schedule under all conditions of its promise, or for its static interval.

    No run has more than `MOST_ITERATIONS`.

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
    """Return the conditions of a promise, its iterations bounded; the usual ones without it."""
    promise = schedule.promise
    if promise is None:
        return (Conditions(),)
    return tuple(
        Conditions.of(
            latency=said.latency,
            warp_scheduler=said.warp_scheduler,
            iterations=min(promise.iterations, MOST_ITERATIONS),
        )
        for said in promise.conditions
    )


def _kept(
    schedule: Schedule, conditions: Conditions, promised: float | None, tolerance: float
) -> Iterator[Kept]:
    """Yield the comparison of a run with a promise, or else with the static interval if any."""
    run = simulate(schedule, conditions)
    said = run.static_interval_cycles if promised is None else promised
    if said is not None:
        taken = run.measured_interval_cycles
        what = f"warps {conditions.warp_scheduler}, latency {conditions.latency_text}"
        over = DEFAULT_ITERATIONS if schedule.promise is None else schedule.promise.iterations
        if over > conditions.iterations:
            what += f", {conditions.iterations} iterations of the {over} that are promised"
        yield kept_of(what, said, taken, tolerance)


def kept_of(
    what: str, promised: float, taken: float | None, tolerance: float = MEASURED_TOLERANCE
) -> Kept:
    """Compare a promised interval with the interval of a run, in cycles."""
    return Kept(what, promised, taken, taken is not None and taken <= promised * (1 + tolerance))
