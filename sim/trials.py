"""Changes of a schedule, tried under the conditions of a run."""

from __future__ import annotations

from twill.artifacts.schedule import Schedule
from twill.sim.analysis.advice import advise
from twill.sim.analysis.rings import Changed
from twill.sim.checks.races import Races
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import Run, run

ITERATIONS_WITH_RACES = 16
MOST_UNITS = 2


def with_advice(schedule: Schedule, result: Run) -> Run:
    """Return a run with what to change in its schedule.

    `result`: the run. Changes are tried with its trip count, seed and latency.

    Raises
    ------
    SimulationError
        If the schedule as it is has a race: that comes first.
    """
    interval = result.measured_interval_cycles
    if interval is None:
        return result

    few = min(result.iterations, ITERATIONS_WITH_RACES)
    _look_for_races(schedule, few)

    def measure(changed: Changed) -> float | None:
        _look_for_races(changed.schedule, few)
        return run(
            changed.schedule,
            iterations=result.iterations,
            seed=result.seed,
            latency=None if result.latency == "nominal" else result.latency,
            warp_scheduler=result.warp_scheduler,
            bundle=result.bundle,
            without={*result.without, *changed.without},
            interference=result.interference,
        ).measured_interval_cycles

    advice = advise(schedule, interval, measure, _units(schedule, result))
    return result.model_copy(update={"advice": advice})


def _look_for_races(schedule: Schedule, iterations: int) -> None:
    StreamingMultiprocessor(schedule, iterations, observers=(Races(schedule),)).run()


def _units(schedule: Schedule, result: Run) -> tuple[str, ...]:
    """Return the units that set the pace, those with most of it first."""
    units = [u for u in schedule.machine.units if u != schedule.machine.issue_unit]
    if result.profile is None or result.profile.critical is None:
        return ()
    places = [key.split(" ", 1)[1] for key in result.profile.critical.shares if key[:5] == "unit "]
    busiest = sorted(result.utilization, key=lambda unit: -result.utilization[unit])
    ordered = dict.fromkeys([*places, *busiest])
    return tuple(unit for unit in ordered if unit in units)[:MOST_UNITS]
