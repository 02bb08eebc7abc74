"""Judging a program on the simulated SM: how long an iteration takes, and what is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError, TwillError
from twill.polish.tuning import TUNING
from twill.sim.checks import check
from twill.sim.engine import Conditions
from twill.sim.engine.record import Recording
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import simulate, steady_state_of
from twill.verification import verify
from twill.verification.registers import registers_along_programs


class _Ended(Exception):  # noqa: N818 - nothing is wrong
    """A run has shown how many cycles an iteration takes, or None: more than is wanted."""

    def __init__(self, cycles: float | None) -> None:
        super().__init__()
        self.cycles = cycles


@dataclass(frozen=True)
class Judge:
    """Simulates programs under some conditions, of which the first counts most."""

    # The cost of a program is its interval under the first, plus a part (`Judging.others`) of its
    # worst excess over that, beyond `tolerance`, under the others.
    conditions: tuple[Conditions, ...]
    # Part by which a program may be slower under the other conditions at no cost.
    tolerance: float = TUNING.judging.tolerance

    def estimate(self, schedule: Schedule, limit: float | None = None) -> float | None:
        """Return about the cycles of one iteration, None if they are clearly more than a limit.

        Under the first conditions, with one context for all: exact where these are in step.

        Raises
        ------
        SimulationError
            If the program deadlocks, or reads what it should not.
        """
        conditions = replace(self.conditions[0], iterations=TUNING.judging.longest)
        sm = StreamingMultiprocessor(schedule, conditions, estimate=True)
        return _executed(sm, limit, whole=False)

    def energy(self, schedule: Schedule, limit: float = math.inf) -> float | None:
        """Return the cycles of one iteration once they repeat, None if more than a limit.

        An estimate comes first: most programs are clearly slower, as one context shows.

        Raises
        ------
        SimulationError
            If the program deadlocks, or reads what it should not.
        """
        conditions = replace(self.conditions[0], iterations=TUNING.judging.longest)
        sm = StreamingMultiprocessor(schedule, conditions, estimate=True)
        found = _executed(sm, TUNING.judging.near * limit, whole=False)
        if found is None or found > TUNING.judging.near * limit:
            return None
        if sm.in_step:
            return found
        return _executed(StreamingMultiprocessor(schedule, conditions), limit, whole=False)

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

    def given(self, schedule: Schedule, iterations: int) -> tuple[Schedule, float | None, str]:
        """Return a given schedule as an answer, and its interval; None, and why, if it is none.

        If its static times break a rule, the answer has none. A schedule that breaks a rule of
        programs, or fails to run, only serves as a beginning of the search.

        Raises
        ------
        InputError
            If no rule is broken but the proof is false.
        """
        bare = schedule.model_copy(update={"promise": None, "proof": None})
        if verify(bare).violations:
            schedule = bare = _without_times(bare)
        elif false := verify(schedule.model_copy(update={"promise": None})).violations:
            raise InputError(false[0].message, path=false[0].rule, file=schedule.file)
        if broken := verify(bare).violations:
            return schedule, None, str(broken[0])
        try:
            return schedule, self.interval(schedule, iterations), ""
        except TwillError as error:
            return schedule, None, str(error)

    def cost(self, schedule: Schedule, interval: float, iterations: int) -> float:
        """Return the cost of a program, given its interval under the first conditions.

        Raises
        ------
        SimulationError
            If the program deadlocks, or reads what it should not.
        """
        worst = interval
        for conditions in self.conditions[1:]:
            found = self.measured(schedule, conditions, iterations) / (1 + self.tolerance)
            worst = max(worst, found)
        return interval + TUNING.judging.others * (worst - interval)

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
        conditions = replace(self.conditions[0], iterations=TUNING.judging.first)
        run = simulate(schedule, conditions, recording)
        late = conditions.iterations * 2 // 3
        interval = run.measured_interval_cycles or run.total_cycles / conditions.iterations
        names = [operation.name for operation in schedule.loop.operations]
        starts = {name: round(recording.starts[name, late]) for name in names}
        first = min(starts.values())
        return math.ceil(interval), {name: time - first for name, time in starts.items()}

    def critical(self, schedule: Schedule) -> Mapping[str, float]:
        """Return the operations on the critical chain of a run, with their cycles on it."""
        conditions = replace(self.conditions[0], iterations=TUNING.judging.first)
        sm = StreamingMultiprocessor(schedule, conditions)
        sm.run()
        steady = steady_state_of(sm)
        if steady is None or steady.period is None:
            return {}  # no chain closes; recording and analysis would take three times as long
        recording = Recording()
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
        """Return a program's fault in words (a race, too many registers or bytes), or nothing."""
        try:
            found = check(schedule, live=registers_along_programs(schedule))
        except TwillError as error:
            return str(error)
        return ", ".join(f"more than there is of {name}" for name in found.exceeded)


def _without_times(schedule: Schedule) -> Schedule:
    placements = (one.model_copy(update={"start": None}) for one in schedule.placements)
    none = dict.fromkeys(("initiation_interval", "length", "stages"))
    return schedule.model_copy(update={**none, "placements": tuple(placements)})


def _executed(
    sm: StreamingMultiprocessor, limit: float | None, *, whole: bool = True
) -> float | None:
    """Return the cycles of one iteration, None if they are clearly more than a limit.

    `whole`: whether all iterations are executed, instead of those until the run has settled.
    """
    finished, tuning = sm.finished_at, TUNING.judging
    span = tuning.span

    def watch(iteration: int) -> None:
        if iteration < 2 * span:
            return
        last = finished[iteration] - finished[iteration - span]
        before = finished[iteration - span] - finished[iteration - 2 * span]
        if limit is not None and last > tuning.hopeless * limit * span:
            raise _Ended(None)
        settled = abs(last - before) <= tuning.alike * last or iteration == tuning.settled_by
        if not whole and settled:
            raise _Ended((last + before) / (2 * span))

    try:
        sm.run(watch)
    except _Ended as ended:
        return ended.cycles
    steady = steady_state_of(sm)
    return float(steady.interval) if steady else max(sm.finished_at) / len(sm.finished_at)
