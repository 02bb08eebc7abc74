"""How fast the simulator is: ``python -m tests.validation.simulator_bench [SCHEDULE]``.

Against bare SimPy timeouts, and as what it runs grows.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

import simpy
from typer import Argument, Option

from tests.validation import AsJson, counts, program, tell
from twill.artifacts.loop import Cost, Loop, Operation, Step
from twill.artifacts.machine import Machine
from twill.artifacts.program import Issue, Program
from twill.artifacts.schedule import Group, Placement, Schedule
from twill.base.console import Report, progress, run_app, say, silent
from twill.base.formats import count, ratio
from twill.base.tables import Column, Table
from twill.frontends import load_loop
from twill.frontends.schedules import load_schedule
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.sim.engine import Conditions
from twill.sim.engine.sm import StreamingMultiprocessor

LOOP, MACHINE = "fa_fwd_hopper", "hopper_h100"
REPEATS = 3
PIPES = {"fma": 1, "alu": 2, "mufu": 8}  # cycles of an instruction
INSTRUCTIONS = 64
KIB = 1024
COLUMNS = (
    Column("runs"),
    Column("iter.", form=count),
    Column("time", "s", "{:.3f}".format),
    Column("cycles", "M/s", "{:.2f}".format),
    Column("events", form=count),
    Column("events", "M/s", "{:.2f}".format),
    Column("timeouts", form=ratio),
)
Result = TypeVar("Result")


@dataclass(frozen=True)
class Speed:
    """How fast one run was; the best of several.

    Attributes
    ----------
    name : str
        What ran.
    iterations, groups : int
        Trip count and warp groups.
    cycles : float
        Simulated cycles.
    instructions : int
        Instructions of the warps that are executed.
    events : int
        Those, and all that happens at units, barriers and waits: what a simulator
        without shortcuts would have an event for each.
    queued : int
        Events that went through SimPy's queue.
    seconds, timeout_seconds : float
        Processor time of the run, and of as many bare SimPy timeouts as it has events.
    cycles_per_second, events_per_second, timeouts_per_second : float
        Of that time.
    times_a_timeout : float
        Cost of an event in bare SimPy timeouts.
    """

    name: str
    iterations: int
    groups: int
    cycles: float
    instructions: int
    events: int
    queued: int
    seconds: float
    timeout_seconds: float

    cycles_per_second: float
    events_per_second: float
    timeouts_per_second: float
    times_a_timeout: float


@dataclass(frozen=True)
class SimulatorBench:
    """All that was measured, and the most memory that the process had resident, in bytes."""

    speeds: tuple[Speed, ...]
    peak_bytes: int


def bench_simulator(
    schedule: Schedule | None,
    *,
    iterations: Sequence[int],
    groups: Sequence[int],
    repeats: int = REPEATS,
    report: Report = silent,
) -> SimulatorBench:
    """Measure a schedule over trip counts, and made-up programs over groups.

    `iterations`, `groups`: what to measure at; groups at the first of the trip counts.
    """
    if schedule is None:
        report(f"scheduling {LOOP}")
        schedule = solve(Request(load_loop(LOOP), Machine.named(MACHINE))).schedule
    speeds = []
    for trips in iterations:
        report(f"{schedule.name}, {trips} iterations")
        speeds.append(measure(schedule, trips, repeats=repeats))
    for number in groups:
        report(f"{number} groups")
        speeds.append(measure(crowd(number), iterations[0], repeats=repeats))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    return SimulatorBench(tuple(speeds), peak)


def measure(schedule: Schedule, iterations: int, *, repeats: int = REPEATS) -> Speed:
    """Measure one run, and as many bare SimPy timeouts as it has events.

    `iterations`: trip count.
    """

    def run() -> StreamingMultiprocessor:
        sm = StreamingMultiprocessor(schedule, Conditions(iterations=iterations))
        sm.run()
        return sm

    runs, waits = [], []
    for _ in range(repeats):
        took, sm = _timed(run)
        runs.append(took)
        waits.append(_timed(partial(_bare_timeouts, sm.events))[0])
    seconds, timeouts, events = min(runs), min(waits), sm.events
    return Speed(
        name=schedule.name,
        iterations=iterations,
        groups=len(schedule.groups),
        cycles=max(sm.finished_at),
        instructions=sm.instructions,
        events=events,
        queued=sm.clock.events,
        seconds=seconds,
        timeout_seconds=timeouts,
        cycles_per_second=max(sm.finished_at) / seconds,
        events_per_second=events / seconds,
        timeouts_per_second=events / timeouts,
        times_a_timeout=seconds / timeouts,
    )


def _timed(action: Callable[[], Result]) -> tuple[float, Result]:
    """Return the processor seconds that something takes, and what it returns."""
    begin = time.process_time()
    result = action()
    return time.process_time() - begin, result


def _bare_timeouts(number: int) -> None:
    """Let one SimPy process wait so many times."""
    environment = simpy.Environment()

    def wait() -> Any:
        for _ in range(number):
            yield environment.timeout(1)

    environment.process(wait())
    environment.run()


def crowd(groups: int) -> Schedule:
    """Return groups that have nothing to do with each other and compete for pipes."""
    made = {f"group{g}": [_work(f"{unit}{g}", unit) for unit in PIPES] for g in range(groups)}
    operations = tuple(operation for mine in made.values() for operation in mine)
    loop = Loop(name=f"crowd of {groups}", operations=operations, dependences=())
    return Schedule(
        name=loop.name,
        groups=tuple(Group(name=group, warps=4) for group in made),
        placements=tuple(
            Placement(operation=o.name, group=group) for group, mine in made.items() for o in mine
        ),
        programs=tuple(
            Program(group=group, body=tuple(Issue(operation=o.name) for o in mine))
            for group, mine in made.items()
        ),
        loop=loop,
        machine=Machine.named(MACHINE),
    )


def _work(name: str, unit: str) -> Operation:
    cycles = INSTRUCTIONS * PIPES[unit]
    step = Step(unit=unit, cycles=cycles, instructions=INSTRUCTIONS)
    return Operation(name=name, kind="work", warps=4, cost=Cost(steps=(step,), latency=cycles + 4))


def print_simulator_bench(measured: SimulatorBench) -> None:
    """Print what was measured."""
    rows = [
        [
            *(s.name, s.iterations, s.seconds, s.cycles_per_second / 1e6),
            *(s.events, s.events_per_second / 1e6, s.times_a_timeout),
        ]
        for s in measured.speeds
    ]
    Table(COLUMNS, rows).print()
    say("timeouts: what an event costs, in bare SimPy timeouts of the same number and run")
    say(f"peak resident memory {count(measured.peak_bytes / 2**20)} MiB")


def main(
    schedule_file: Annotated[
        str | None,
        Argument(metavar="SCHEDULE", help="What to run; attention forward on Hopper without it."),
    ] = None,
    iterations: Annotated[str, Option(help="Trip counts.")] = "128,512,2048",
    groups: Annotated[str, Option(help="Groups of made-up programs.")] = "1,2,4,8",
    as_json: AsJson = False,
) -> None:
    """Measure how fast schedules are simulated, against bare SimPy timeouts."""
    schedule = None if schedule_file is None else load_schedule(schedule_file)
    trips, numbers = counts(iterations, "--iterations"), counts(groups, "--groups")
    with progress("bench") as report:
        measured = bench_simulator(schedule, iterations=trips, groups=numbers, report=report)
    tell(measured.speeds, lambda: print_simulator_bench(measured), as_json=as_json)


app = program(main)
if __name__ == "__main__":
    run_app(app)
