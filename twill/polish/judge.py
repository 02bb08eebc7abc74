"""What the simulated SM says of a program: how long an iteration takes, and what is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from twill.artifacts.schedule import Schedule
from twill.errors import TwillError
from twill.sim.checks import check
from twill.sim.engine import Conditions
from twill.sim.engine.record import Recording
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import simulate, steady_state_of
from twill.verification.registers import registers_along_programs

FIRST_ITERATIONS = 16  # iterations in which a program is looked at first
# A run may be given up from that iteration on, by the distances of that many completions.
LEAST_ITERATIONS, SPAN = 7, 4
# It is where these are longer, by that factor, than the interval that it has to beat.
HOPELESS = 1.1
OTHERS = 0.1  # part that counts of what a program takes longer under other conditions


class _GivenUp(Exception):  # noqa: N818 - nothing is wrong
    """A run is slower than what is wanted."""


@dataclass(frozen=True)
class Judge:
    """Simulates programs under some conditions, of which the first counts most.

    Attributes
    ----------
    conditions : tuple of Conditions
        A program costs what it takes under the first, and a part (`OTHERS`) of what it takes more
        than `tolerance` longer under the others.
    tolerance : float
        Part by which a program may be slower under the other conditions at no cost.
    """

    conditions: tuple[Conditions, ...]
    tolerance: float = 0.03

    def estimate(self, schedule: Schedule, limit: float | None = None) -> float | None:
        """Return about the cycles of one iteration, None if they are clearly more than a limit.

        Under the first conditions, with one context for all: exact where these are in step.

        Raises
        ------
        SimulationError
            If the program deadlocks, or reads what it should not.
        """
        conditions = replace(self.conditions[0], iterations=FIRST_ITERATIONS)
        return _executed(StreamingMultiprocessor(schedule, conditions, estimate=True), limit)

    def interval(
        self, schedule: Schedule, iterations: int, limit: float | None = None
    ) -> float | None:
        """Return the cycles of one iteration under the first conditions, None if clearly too many.

        Raises
        ------
        SimulationError
            If the program deadlocks, or reads what it should not.
        """
        conditions = replace(self.conditions[0], iterations=iterations)
        return _executed(StreamingMultiprocessor(schedule, conditions), limit)

    def cost(self, schedule: Schedule, interval: float, iterations: int) -> float:
        """Return what a program costs, from what it takes under the first conditions.

        Raises
        ------
        SimulationError
            If the program deadlocks, or reads what it should not.
        """
        worst = interval
        for conditions in self.conditions[1:]:
            found = self.measured(schedule, conditions, iterations) / (1 + self.tolerance)
            worst = max(worst, found)
        return interval + OTHERS * (worst - interval)

    @staticmethod
    def measured(schedule: Schedule, conditions: Conditions, iterations: int) -> float:
        """Return the cycles of one iteration under some conditions.

        Raises
        ------
        SimulationError
            If the program deadlocks, or reads what it should not.
        """
        conditions = replace(conditions, iterations=iterations)
        found = _executed(StreamingMultiprocessor(schedule, conditions), None)
        assert found is not None
        return found

    def times(self, schedule: Schedule) -> tuple[int, dict[str, int]]:
        """Return the interval of a run in whole cycles, and when one iteration's operations start.

        Raises
        ------
        SimulationError
            If the program does not run.
        """
        recording = Recording(iterations=None)
        conditions = replace(self.conditions[0], iterations=FIRST_ITERATIONS)
        run = simulate(schedule, conditions, recording)
        late = FIRST_ITERATIONS * 2 // 3
        interval = run.measured_interval_cycles or run.total_cycles / FIRST_ITERATIONS
        names = [operation.name for operation in schedule.loop.operations]
        starts = {name: round(recording.starts[name, late]) for name in names}
        first = min(starts.values())
        return math.ceil(interval), {name: time - first for name, time in starts.items()}

    def critical(self, schedule: Schedule) -> Mapping[str, float]:
        """Return the operations on the critical chain of a run, with their cycles on it."""
        recording = Recording()
        conditions = replace(self.conditions[0], iterations=FIRST_ITERATIONS)
        run = simulate(schedule, conditions, recording)
        critical = run.profile.critical if run.profile else None
        names = {operation.name for operation in schedule.loop.operations}
        found: dict[str, float] = {}
        for step in critical.steps if critical else ():
            subject = step.subject
            name = subject if subject in names else subject.rpartition(".")[0]
            if name in names:
                found[name] = found.get(name, 0.0) + step.cycles
        return found

    @staticmethod
    def objection(schedule: Schedule) -> str:
        """Return what is wrong with a program: a race, too many registers or bytes; or nothing."""
        try:
            found = check(schedule, live=registers_along_programs(schedule))
        except TwillError as error:
            return str(error)
        return ", ".join(f"more than there is of {name}" for name in found.exceeded)


def _executed(sm: StreamingMultiprocessor, limit: float | None) -> float | None:
    """Return the cycles of one iteration, None if they are clearly more than a limit."""

    def watch(iteration: int) -> None:
        if limit is None or iteration < LEAST_ITERATIONS:
            return
        taken = sm.finished_at[iteration] - sm.finished_at[iteration - SPAN]
        if taken > HOPELESS * limit * SPAN:
            raise _GivenUp

    try:
        sm.run(watch)
    except _GivenUp:
        return None
    steady = steady_state_of(sm)
    return float(steady.interval) if steady else max(sm.finished_at) / len(sm.finished_at)
