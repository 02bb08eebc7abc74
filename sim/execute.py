"""Run a schedule and report what it achieved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from twill.artifacts.base import Artifact
from twill.artifacts.schedule import Schedule
from twill.sim.analysis import (
    Batches,
    SteadyState,
    clock_of,
    flop_per_iteration,
    steady_state,
    tflops,
)
from twill.sim.analysis.profile import Profile, profile
from twill.sim.analysis.whole_kernel import Kernel
from twill.sim.checks import Checks
from twill.sim.engine import (
    DEFAULT_ITERATIONS,
    DEFAULT_TOLERANCE,
    UNMODELLED,
    Conditions,
    Mechanism,
    WarpScheduler,
)
from twill.sim.engine.record import Recording
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.engine.warps import ISSUE

if TYPE_CHECKING:
    import pandas as pd


class Run(Artifact):
    """The result of a simulated run.

    Attributes
    ----------
    schedule, machine : str
        The schedule that ran, and its machine.
    iterations, seed : int
        Trip count, and seed of the variable latencies.
    latency : str
        Sources of the variable latencies; ``nominal`` for those in the machine file.
    warp_scheduler : str
        Choice of a context among several ready warps.
    without : tuple of str
        Mechanisms that were switched off.
    static_interval_cycles : float, optional
        The initiation interval that the schedule promises.
    measured_interval_cycles : float, optional
        The interval between iterations in the steady state; absent where the run is too short to
        reach one.
    modelled_interval_cycles : float, optional
        The same without mechanisms that the static model leaves out, where those cost more than
        the tolerance.
    iterations_per_cycle : float, optional
        Its inverse.
    period : int, optional
        Iterations after which completions repeat exactly.
    warm_up_iterations : int, optional
        Iterations at the beginning that the measurement leaves out.
    confidence : Batches, optional
        How far the interval is known where completions do not repeat.
    clock_mhz, clock_source : float, str
        The clock at which TFLOP/s are stated, and where it comes from.
    flop_per_iteration : int
        Floating-point operations of the matrix products of one iteration on one SM.
    tflops : float, optional
        Rate of all SMs of the chip, in the steady state; absent where there is no product.
    tolerance : float
        Relative excess that still counts as achieved.
    achieved : bool, optional
        Whether the static interval is kept, with mechanisms that the static model leaves out or
        without; absent if there is nothing to compare.
    total_cycles : float
        From the first issue to the last completion, prologue and epilogue included.
    utilization : dict
        Share of each unit's capacity in use in the steady state.
    stalls : dict
        Cycles by cause over the whole run, of the first warp of every group added up.
    groups : dict
        For each group, all cycles of its first warp by cause; ``issue`` is work, not a stall.
    profile : Profile, optional
        Where the cycles of the steady state go, and what sets the pace, if it was asked for.
    kernel : Kernel, optional
        Estimates of the whole kernel for some problems, if they were asked for.
    checks : Checks, optional
        Races, occupancy and numbers of a short run, if they were asked for.
    """

    schema_name: Literal["twill.run"] = Field("twill.run", alias="schema")
    schema_version: Literal[6] = 6
    schedule: str
    machine: str
    iterations: int
    seed: int
    latency: str
    warp_scheduler: WarpScheduler = "round-robin"
    without: tuple[Mechanism, ...] = ()
    static_interval_cycles: float | None = None
    measured_interval_cycles: float | None = None
    modelled_interval_cycles: float | None = None
    iterations_per_cycle: float | None = None
    period: int | None = None
    warm_up_iterations: int | None = None
    confidence: Batches | None = None
    clock_mhz: float
    clock_source: str
    flop_per_iteration: int
    tflops: float | None = None
    tolerance: float
    achieved: bool | None = None
    total_cycles: float
    utilization: dict[str, float]
    stalls: dict[str, float]
    groups: dict[str, dict[str, float]]
    profile: Profile | None = None
    kernel: Kernel | None = None
    checks: Checks | None = None

    @property
    def summary(self) -> str:
        """Schedule, machine and the interval that was measured."""
        taken = self.measured_interval_cycles
        said = "no steady state" if taken is None else f"{taken:g} cycles an iteration"
        return f"{self.schedule} on {self.machine}: {said} over {self.iterations} iterations"

    def to_pandas(self) -> pd.DataFrame:
        """Return the cycles of the first warp of every group, by cause.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``group`` and ``cause`` (``issue`` is work): ``cycles`` of the whole run, and
            their ``share`` of the group's.
        """
        import pandas as pd

        rows = [
            (group, cause, spent, spent / (sum(causes.values()) or 1.0))
            for group, causes in self.groups.items()
            for cause, spent in causes.items()
        ]
        names = ["group", "cause", "cycles", "share"]
        return pd.DataFrame(rows, columns=names).set_index(names[:2])


def run(
    schedule: Schedule,
    *,
    iterations: int = DEFAULT_ITERATIONS,
    seed: int = 0,
    latency: str | Iterable[str] | None = None,
    warp_scheduler: WarpScheduler = "round-robin",
    without: Iterable[str] = (),
    tolerance: float = DEFAULT_TOLERANCE,
    clock: float | None = None,
    recording: Recording | None = None,
) -> Run:
    """Execute a schedule on the simulated SM.

    Parameters
    ----------
    schedule : Schedule
        A schedule with programs; it need not have been solved.
    iterations : int
        Trip count of the loop, at least 1.
    seed : int
        Seed of the variable latencies, and of the ages of warps.
    latency : str or iterable of str, optional
        Latency of variable-latency loads, in cycles, by default nominal: see
        `twill.sim.engine.latency.parse_latencies`.
    warp_scheduler : str
        Choice of a context among several ready warps: ``round-robin`` or ``oldest``.
    without : iterable of str
        Mechanisms of the machine that are switched off: see `twill.sim.engine`.
    tolerance : float
        Relative excess over the static interval that still counts as achieved.
    clock : float, optional
        Clock in MHz at which TFLOP/s are stated; the machine's without it.
    recording : Recording, optional
        Recording to fill with the run's events, or with those of the last iterations that it asks
        for; the run is then profiled too.

    Raises
    ------
    InputError
        If an argument is out of range, or an operation cannot be costed.
    SimulationError
        If the program reads a wrong value, overwrites one too early or deadlocks.
    """
    conditions = Conditions.of(
        iterations=iterations,
        seed=seed,
        latency=latency,
        warp_scheduler=warp_scheduler,
        without=without,
        tolerance=tolerance,
        clock=clock,
    )
    return simulate(schedule, conditions, recording)


def simulate(
    schedule: Schedule, conditions: Conditions | None = None, recording: Recording | None = None
) -> Run:
    """Execute a schedule under some conditions, see `run`."""
    conditions = conditions or Conditions()
    clock_mhz, clock_source = clock_of(schedule.machine, conditions.clock)
    observers = () if recording is None else (recording,)
    wanted = recording.iterations if recording is not None else None
    watched_from = 0 if wanted is None else max(0, conditions.iterations - wanted)
    sm = StreamingMultiprocessor(schedule, conditions, observers, watched_from=watched_from)
    sm.run()
    busy, steady = _busy(schedule), steady_state_of(sm)
    static = static_interval(schedule)
    measured = float(steady.interval) if steady else None
    most = static * (1 + conditions.tolerance) if static else None
    modelled = None
    if measured and most and measured > most:
        modelled = _modelled(schedule, conditions)
    work = flop_per_iteration(schedule.loop)
    multiprocessors = schedule.machine.multiprocessors.value
    stalls, groups = _spent(sm)
    return Run(
        schedule=schedule.name,
        machine=schedule.machine.name,
        iterations=conditions.iterations,
        seed=conditions.seed,
        latency=conditions.latency_text,
        warp_scheduler=conditions.warp_scheduler,
        without=tuple(sorted(conditions.without)),
        static_interval_cycles=static,
        measured_interval_cycles=measured,
        modelled_interval_cycles=modelled,
        iterations_per_cycle=1 / measured if measured else None,
        period=steady.period if steady else None,
        warm_up_iterations=steady.first if steady else None,
        confidence=steady.confidence if steady else None,
        clock_mhz=clock_mhz,
        clock_source=clock_source,
        flop_per_iteration=work,
        tflops=tflops(work, measured, multiprocessors, clock_mhz) if measured and work else None,
        tolerance=conditions.tolerance,
        achieved=(modelled or measured) <= most if measured and most else None,
        total_cycles=max(sm.finished_at),
        utilization={unit: cycles / measured for unit, cycles in busy.items()} if measured else {},
        stalls=stalls,
        groups=groups,
        profile=_profile(sm, recording, steady) if recording is not None and steady else None,
    )


def _modelled(schedule: Schedule, conditions: Conditions) -> float | None:
    """Return the interval without mechanisms that the static model leaves out, if there are any."""
    if schedule.machine.mechanisms is None:
        return None
    without = conditions.without | frozenset(UNMODELLED)
    sm = StreamingMultiprocessor(schedule, replace(conditions, without=without))
    sm.run()
    steady = steady_state_of(sm)
    return float(steady.interval) if steady else None


def steady_state_of(sm: StreamingMultiprocessor) -> SteadyState | None:
    """Return the steady state of an execution that is over, None if it was too short."""
    schedule = sm.schedule
    return steady_state(
        sm.finished_at,
        schedule.stages or sm.in_flight,
        fill=max((storage.slots for storage in schedule.storage), default=0),
        least=max(_busy(schedule).values(), default=0.0),
    )


def _profile(sm: StreamingMultiprocessor, recording: Recording, steady: SteadyState) -> Profile:
    count = len(sm.hardware.contexts)
    contexts = {
        (warp.group.name, warp.number + k): (sm.hardware.contexts.index(warp.context) + k) % count
        for warp in sm.warps
        for k in range(warp.stands_for)
    }
    return profile(sm.schedule, recording, steady, sm.finished_at, sm.works, contexts)


def static_interval(schedule: Schedule) -> float | None:
    """Return the promised interval in clock cycles, None if there is none.

    `schedule`: in exact or normalized time; the latter is scaled by its cycles per unit.
    """
    if schedule.initiation_interval is None:
        return None
    return schedule.initiation_interval * schedule.time.cycles_per_unit


def _busy(schedule: Schedule) -> dict[str, float]:
    """Return the cycles for which one iteration fills each unit, issue slots aside."""
    machine = schedule.machine
    busy = dict.fromkeys(machine.units, 0.0)
    for operation in schedule.loop.operations:
        for step in machine.cost(operation).steps:
            busy[step.unit] += step.cycles * step.count / machine.units[step.unit].capacity
    if machine.issue_unit is not None:
        busy.pop(machine.issue_unit)
    return busy


def _spent(sm: StreamingMultiprocessor) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Return the cycles of the groups' first warps: stalls of all of them, everything of each."""
    groups = {w.group.name: dict(sorted(w.spent.items())) for w in sm.warps if w.number == 0}
    stalls: dict[str, float] = defaultdict(float)
    for cause, cycles in (spent for group in groups.values() for spent in group.items()):
        if cause != ISSUE:
            stalls[cause] += cycles
    return dict(sorted(stalls.items())), groups
