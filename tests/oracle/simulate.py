"""What the simulated SM says against a schedule's programs."""

from __future__ import annotations

import twill
from twill.sim.checks.dataflow import Dataflow
from twill.sim.checks.occupancy import Occupancy
from twill.sim.checks.occupied import Occupied
from twill.sim.checks.races import Races
from twill.sim.checks.tiles import known
from twill.sim.checks.values import Values
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.verification.registers import registers_along_programs

TRIP_COUNTS = (1, 2, 3, 7, 24)


def simulated(schedule: twill.Schedule, trip_counts: tuple[int, ...] = TRIP_COUNTS) -> list[str]:
    """Return every objection to the first run with any: races, values, and what is exceeded."""
    dataflow = Dataflow.of(schedule.loop)
    for iterations in trip_counts:
        found = _run(schedule, dataflow, iterations)
        if found:
            return [f"{iterations} iterations: {objection}" for objection in found]
    return []


def _run(schedule: twill.Schedule, dataflow: Dataflow, iterations: int) -> list[str]:
    kernel = known(schedule.loop, iterations)
    inputs = kernel.inputs if kernel is not None else None
    values = Values(schedule, iterations, inputs, dataflow=dataflow)
    watched, occupancy = values.watch(), Occupancy(schedule)
    machine = StreamingMultiprocessor(
        schedule, Conditions(iterations=iterations), [Races(schedule), occupancy, watched]
    )
    try:
        machine.run()
    except SimulationError as error:
        return [str(error)]
    wrong = [f"{d.operation} of iteration {d.iteration} is wrong" for d in
             values.differences(watched)]  # fmt: skip
    report = occupancy.report(max(machine.finished_at), registers_along_programs(schedule))
    return wrong + [f"{name} exceeded" for name, entry in report.items() if _exceeded(entry)]


def _exceeded(entry: Occupied) -> bool:
    """Whether memory is; registers are given out along programs, whatever the times are."""
    most = entry.along_program if "registers" in entry.unit else entry.peak
    return entry.capacity is not None and max(most or 0, entry.allocated) > entry.capacity
