"""Runs with advice: changes of the schedule, tried under the run's conditions."""

from __future__ import annotations

from dataclasses import replace

from twill.artifacts.schedule import Schedule
from twill.sim.analysis.advice import advise
from twill.sim.analysis.rings import Changed
from twill.sim.checks.races import Races
from twill.sim.engine import Conditions
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import Run, simulate

ITERATIONS_WITH_RACES = 16  # iterations in which a changed schedule is looked at for races
MOST_UNITS = 2  # units that are tried twice as fast


def with_advice(schedule: Schedule, result: Run, conditions: Conditions) -> Run:
    """Return a run with what to change in its schedule, tried under the run's conditions.

    Raises
    ------
    SimulationError
        If the schedule as it is has a race: that comes first.
    """
    interval = result.measured_interval_cycles
    if interval is None:
        return result
    few = Conditions(iterations=min(conditions.iterations, ITERATIONS_WITH_RACES))

    def look_for_races(schedule: Schedule) -> None:
        StreamingMultiprocessor(schedule, few, (Races(schedule),)).run()

    def measure(changed: Changed) -> float | None:
        look_for_races(changed.schedule)
        without = conditions.without | set(changed.without)
        run = simulate(changed.schedule, replace(conditions, without=without))
        return run.measured_interval_cycles

    look_for_races(schedule)
    advice = advise(schedule, interval, measure, _pacing(schedule, result))
    return result.model_copy(update={"advice": advice})


def _pacing(schedule: Schedule, result: Run) -> tuple[str, ...]:
    """Return the units that set the pace, those with most of it first."""
    units = [u for u in schedule.machine.units if u != schedule.machine.issue_unit]
    if result.profile is None or result.profile.critical is None:
        return ()
    places = [key.split(" ", 1)[1] for key in result.profile.critical.shares if key[:5] == "unit "]
    busiest = sorted(result.utilization, key=lambda unit: -result.utilization[unit])
    ordered = dict.fromkeys([*places, *busiest])
    return tuple(unit for unit in ordered if unit in units)[:MOST_UNITS]
