"""Why a program takes as long as it does on the simulated SM, and what would make it faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.errors import RefusedError
from twill.bounds.arguments import Argument
from twill.bounds.programs import program_bound, program_bounds
from twill.explain.levers import machine_with_a_group, scaled_signals, with_unit_faster
from twill.polish import polish
from twill.sim.analysis.profile import Critical
from twill.sim.engine.record import Recording
from twill.sim.execute import simulate
from twill.sim.promise import promised_conditions

ARGUMENTS = 4  # that are told, the largest bounds
UNITS = 2  # that are made faster, those with the largest bounds
MANY = 4  # times as much memory is as good as no limit


@dataclass(frozen=True)
class ProgramExplanation:
    """The pace of a program, with its cause, and the bounds of all programs."""

    interval_cycles: float  # cycles an iteration, under the first conditions of its promise
    critical: Critical | None  # the chain that sets the pace; None where no steady state is reached
    arguments: tuple[Argument, ...]  # of the bound, the largest first


@dataclass(frozen=True)
class ProgramLever:
    """A changed machine, with the fastest program that was found for it.

    `name`: the change in words.
    `interval_cycles`: of the fastest program; None if none was found that runs.
    `bound_cycles`: the bound of all programs with the change.
    `gain`: further iterations in the same time, as a part: 0.5 is half as many again.
    """

    name: str
    interval_cycles: float | None
    bound_cycles: float
    gain: float | None


def explain_program(schedule: Schedule) -> ProgramExplanation:
    """Execute a schedule, and say what sets its pace and what no program is below.

    Raises
    ------
    SimulationError
        If the program deadlocks, or reads what it should not.
    """
    conditions = promised_conditions(schedule)[0]
    run = simulate(schedule, conditions, Recording())
    taken = run.measured_interval_cycles or run.total_cycles / conditions.iterations
    critical = run.profile.critical if run.profile else None
    latency = bound_latency(schedule)
    arguments = program_bounds(schedule.loop, schedule.machine, latency=latency)
    return ProgramExplanation(taken, critical, arguments[:ARGUMENTS])


def bound_latency(schedule: Schedule) -> int | None:
    """Return what loads take at least under the first conditions of a promise; None if nominal."""
    return 0 if promised_conditions(schedule)[0].latency else None


def program_levers(
    schedule: Schedule,
    found: ProgramExplanation,
    *,
    simulations: int,
    jobs: int = 1,
    report: Report = silent,
) -> Iterator[ProgramLever]:
    """Look for faster programs with one thing changed, from a schedule on.

    The intervals found are no least ones: with more `simulations` there may be more to gain. Where
    the program is at the bound that a change leaves as it is, nothing is looked for.
    """
    for name, change in _changes(found.arguments):
        report(name)
        changed = change(schedule).model_copy(update={"promise": None, "proof": None})
        bound = program_bound(changed.loop, changed.machine).cycles
        if bound >= found.interval_cycles:
            yield ProgramLever(name, found.interval_cycles, bound, 0.0)
            continue
        taken, gain = None, None
        try:
            best = polish(
                changed,
                simulations=simulations,
                conditions=promised_conditions(schedule),
                jobs=jobs,
            )
        except RefusedError:
            pass
        else:
            assert best.schedule.promise is not None
            taken = best.schedule.promise.interval_cycles
            gain = found.interval_cycles / taken - 1
        yield ProgramLever(name, taken, bound, gain)


Change = Callable[[Schedule], Schedule]


def _changes(arguments: tuple[Argument, ...]) -> Iterator[tuple[str, Change]]:
    """Yield what there is to change; nothing, first, is what further search brings."""
    yield "nothing changed, searched further", lambda schedule: schedule
    yield "no limit of registers", _on(lambda m: m.model_copy(update={"registers": None}))
    yield "one more warp group", _on(_with_a_group)
    yield f"{MANY} times the memory", _on(_with_memory)
    yield "signals that take no time", _on(partial(scaled_signals, factor=0))
    units = [unit for a in arguments if a.reason in ("work", "issue slots") for unit in a.of]
    for unit in list(dict.fromkeys(units))[:UNITS]:
        yield f"{unit} twice as fast", partial(_with_unit, unit)


def _on(change: Callable[[Machine], Machine]) -> Change:
    return lambda s: s.model_copy(update={"machine": change(s.machine)})


def _with_a_group(machine: Machine) -> Machine:
    """Return the machine with one more group of the widest that it has several of."""
    width = max(pool.warps for pool in machine.groups if pool.count > 1 or len(machine.groups) == 1)
    return machine_with_a_group(machine, width)


def _with_memory(machine: Machine) -> Machine:
    larger = {
        name: memory.model_copy(update={"capacity": MANY * memory.capacity})
        for name in ("smem", "tmem")
        if (memory := getattr(machine.memories, name)) is not None
    }
    return machine.model_copy(update={"memories": machine.memories.model_copy(update=larger)})


def _with_unit(unit: str, schedule: Schedule) -> Schedule:
    loop = with_unit_faster(schedule.loop, schedule.machine, unit)
    return schedule.model_copy(update={"loop": loop})
