"""Checks of a program by a short run: races, occupancy, and its numbers.

A program repeats itself, so that a run somewhat longer than its slots, stages and distances shows
every race that it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import NonNegativeInt

from twill.artifacts.base import Part
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError
from twill.sim.checks.dataflow import Dataflow
from twill.sim.checks.occupancy import Occupancy
from twill.sim.checks.occupied import Occupied
from twill.sim.checks.races import Races
from twill.sim.checks.tiles import known
from twill.sim.checks.values import Numbers, Values
from twill.sim.engine import Conditions
from twill.sim.engine.events import Observer
from twill.sim.engine.operations import reach
from twill.sim.engine.sm import StreamingMultiprocessor

SPARE_ITERATIONS = 4
# Packaged schedules take 10 to 30; a thousand of a large one take tens of seconds.
MOST_ITERATIONS = 1000


class Checks(Part):
    """Results of a short run of a program; races and wrong reads end the run instead.

    `iterations`: iterations that were executed.
    `occupancy`: how full memories and registers were.
    `numbers`: results on NumPy tiles, if they were asked for.
    """

    iterations: NonNegativeInt
    occupancy: dict[str, Occupied]
    numbers: Numbers | None = None

    @property
    def exceeded(self) -> list[str]:
        """Memories, and registers of groups, of which more is occupied than there is."""
        return [name for name, entry in self.occupancy.items() if entry.exceeded]

    @property
    def right(self) -> bool:
        """Whether the numbers, if they were asked for, are those of the loop as written."""
        return self.numbers is None or self.numbers.right


def enough_iterations(schedule: Schedule) -> int:
    """Return how many iterations show all that a program does."""
    return 2 * reach(schedule) + SPARE_ITERATIONS


def check(
    schedule: Schedule,
    *,
    iterations: int | None = None,
    seed: int = 0,
    latency: str | Iterable[str] | None = None,
    values: bool = False,
    live: Mapping[str, int] | None = None,
) -> Checks:
    """Execute a program with every check.

    `values`: also compute each operation on NumPy tiles, from the actual contents of its slots; if
    an operation does not define its computation, all but loads compute stand-ins.
    `live`: registers live along each group's program, to compare with its allocation; see
    `Occupancy.report`. By default the occupied registers are compared.

    Raises
    ------
    InputError
        If a complete check takes more than `MOST_ITERATIONS` and no trip count is given.
    SimulationError
        If a read finds a wrong instance or a slot is overwritten too early, or nothing puts two
        accesses in order, or the program deadlocks.
    """
    count = enough_iterations(schedule) if iterations is None else iterations
    if iterations is None and count > MOST_ITERATIONS:
        raise InputError(
            f"all that its slots, stages and distances may bring about takes {count} iterations "
            f"to check, and more than {MOST_ITERATIONS} are checked only if asked for",
            file=schedule.file or schedule.name,
        )
    occupancy = Occupancy(schedule)
    observers: list[Observer] = [Races(schedule), occupancy]
    kernel = None
    if values:
        dataflow = Dataflow.of(schedule.loop)
        kernel = None if dataflow.silent else known(schedule.loop, count)
        inputs = kernel.inputs if kernel is not None else None
        computed = Values(schedule, count, inputs, dataflow=dataflow)
        watched = computed.watch()
        observers.append(watched)
    conditions = Conditions.of(iterations=count, seed=seed, latency=latency)
    sm = StreamingMultiprocessor(schedule, conditions, observers)
    sm.run()
    return Checks(
        iterations=count,
        occupancy=occupancy.report(max(sm.finished_at), live),
        numbers=computed.compared(watched, kernel) if values else None,
    )
