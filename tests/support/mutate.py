"""Whether the simulator's checks find mistakes: programs with one mistake each, judged by numbers.

A mutant is harmful if its results on NumPy tiles differ from those of the loop as written, or if it
does not end, in any of some runs without checks, with random latencies and other seeds. The checks
have one run, without perturbation, to report it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from tests.support.mutants import Mutant, mutants
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, command, progress, run_app, say, silent
from twill.base.formats import count
from twill.base.tables import Column, Table
from twill.cli.options import Json
from twill.frontends import load_loop, packaged_loops
from twill.frontends.schedules import load_schedule, packaged_schedules
from twill.lower.baselines import multi_warp, sequential
from twill.sim.checks.dataflow import Dataflow
from twill.sim.checks.races import Races
from twill.sim.checks.tiles import known
from twill.sim.checks.values import Values
from twill.sim.engine import WARP_SCHEDULERS, Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.engine.sm import StreamingMultiprocessor

DEFAULT_RUNS = 20
DEFAULT_ITERATIONS = 8
SPREADS = ((1, 2), (1, 8), (0, 1), (4, 16))
"""Least and largest latency of perturbed runs, as multiples of the largest nominal one."""


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant."""

    kind: str
    change: str
    harm: str | None  # how numbers show it, None if they never did
    reported: str | None  # the check that reported it, and what it said
    message: str


@dataclass(frozen=True)
class Study:
    """The mutants of one program."""

    program: str
    false_alarm: str | None  # what a check said of the program itself
    verdicts: tuple[Verdict, ...]

    @property
    def harmful(self) -> list[Verdict]:
        """The mutants that numbers show to be wrong."""
        return [verdict for verdict in self.verdicts if verdict.harm]

    @property
    def missed(self) -> list[Verdict]:
        """The harmful mutants that no check reported."""
        return [verdict for verdict in self.harmful if not verdict.reported]

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain data."""
        return asdict(self)


def study(
    schedule: Schedule,
    *,
    runs: int = DEFAULT_RUNS,
    iterations: int = DEFAULT_ITERATIONS,
    most: int | None = None,
    seed: int = 0,
    report: Report = silent,
) -> Study:
    """Judge the mutants of a program by their numbers and by the checks."""
    schedule = _costed(schedule)
    known_kernel = known(schedule.loop, iterations, seed)
    inputs = known_kernel.inputs if known_kernel is not None else None
    values = Values(schedule, iterations, inputs, dataflow=Dataflow.of(schedule.loop))
    alarm = _reported(schedule, iterations)
    every = _chosen(mutants(schedule), most, seed)
    verdicts = []
    for number, mutant in enumerate(every):
        report(f"{schedule.name}: {number + 1} of {len(every)}, {mutant.change}")
        found = _reported(mutant.schedule, iterations)
        harm = _harm(values, mutant.schedule, iterations, runs, seed)
        kind, message = found or (None, "")
        verdicts.append(Verdict(mutant.kind, mutant.change, harm, kind, message))
    return Study(schedule.name, alarm[1] if alarm else None, tuple(verdicts))


def _costed(schedule: Schedule) -> Schedule:
    """Write each operation's cost into it, so that thousands of runs need not work it out."""
    operations = tuple(
        operation.model_copy(update={"cost": schedule.machine.cost(operation)})
        for operation in schedule.loop.operations
    )
    loop = schedule.loop.model_copy(update={"operations": operations})
    return schedule.model_copy(update={"loop": loop})


def _chosen(every: Iterable[Mutant], most: int | None, seed: int) -> list[Mutant]:
    found = list(every)
    if most is None or most >= len(found):
        return found
    chosen = random.Random(seed).sample(range(len(found)), most)
    return [found[k] for k in sorted(chosen)]


def _reported(schedule: Schedule, iterations: int) -> tuple[str, str] | None:
    """Return which check reports something, and what, in one run without perturbation."""
    try:
        StreamingMultiprocessor(
            schedule, Conditions(iterations=iterations), [Races(schedule)]
        ).run()
    except SimulationError as error:
        return error.kind, error.message
    return None


def _harm(values: Values, schedule: Schedule, iterations: int, runs: int, seed: int) -> str | None:
    """Return how a program's numbers are wrong in some run without checks, None if they are not."""
    for run, latency in zip(range(runs), _latencies(schedule), strict=False):
        watched = values.watch(schedule)
        try:
            StreamingMultiprocessor(
                schedule,
                Conditions.of(
                    iterations=iterations,
                    seed=seed + run,
                    latency=latency,
                    warp_scheduler=WARP_SCHEDULERS[run % len(WARP_SCHEDULERS)],
                ),
                [watched],
                checks=False,
            ).run()
        except SimulationError as error:
            return f"run {run}: {error.kind}"
        wrong = values.differences(watched)
        if wrong:
            worst = max(wrong, key=lambda difference: difference.different)
            return f"run {run}: {worst.operation} of iteration {worst.iteration}"
    return None


def _latencies(schedule: Schedule) -> Iterator[str | None]:
    """Yield the latency sources of perturbed runs, after none for the first."""
    costs = (schedule.machine.cost(operation) for operation in schedule.loop.operations)
    nominal = max((cost.latency for cost in costs if cost.variable_latency), default=0)
    yield None
    while True:
        for least, most in SPREADS:
            yield f"uniform:{least * nominal},{most * nominal}"


def summary(studies: Sequence[Study]) -> list[list[object]]:
    """Return a row for each program and one for all: mutants, harmful ones, reported ones."""
    rows: list[list[object]] = []
    for name, part in [*((s.program, [s]) for s in studies), ("all", list(studies))]:
        verdicts = [verdict for one in part for verdict in one.verdicts]
        harmful = [verdict for verdict in verdicts if verdict.harm]
        reported = sum(verdict.reported is not None for verdict in harmful)
        also = sum(v.reported is not None for v in verdicts if not v.harm)
        rows.append([name, len(verdicts), len(harmful), reported, also])
    return rows


COLUMNS = ("program", "mutants", "harmful", "reported", "harmless, reported")


def program(name: str) -> Schedule:
    """Return a program by name.

    `name`: A packaged schedule or a file ending in ``.json``; a packaged loop, which is scheduled
    for its machine; ``sequential:LOOP`` or ``multi-warp:LOOP`` for a naive program.

    Raises
    ------
    TwillError
        If there is none.
    """
    kind, _, loop_name = name.rpartition(":")
    packaged = packaged_loops().get(loop_name)
    if packaged is None:
        return load_schedule(name)
    loop, machine = load_loop(loop_name), Machine.named(packaged.machine)
    if kind == "sequential":
        return sequential(loop, machine)
    if kind == "multi-warp":
        return multi_warp(loop, machine)
    from tests.support.static import static_schedule as schedule

    return schedule(loop, machine)


Programs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PROGRAM",
        help="A packaged schedule or loop, a schedule.json, sequential:LOOP or "
        "multi-warp:LOOP; without any, every packaged schedule.",
    ),
]
Most = Annotated[
    int | None, typer.Option(min=1, help="Most mutants of each program, chosen at random.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of the choice and the perturbations.")]
Runs = Annotated[int, typer.Option(min=1, help="Runs by which numbers are judged.")]
NAME = "python -m tests.support.mutate"
app = typer.Typer(name=NAME, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@command
def main(
    programs: Programs = None,
    runs: Runs = DEFAULT_RUNS,
    iterations: Annotated[int, typer.Option(min=1, help="Trip count.")] = DEFAULT_ITERATIONS,
    most: Most = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Make one mistake after the other in programs and see whether the checks report it."""
    studies = []
    for name in programs or packaged_schedules():
        with progress(name) as report:
            studies.append(
                study(
                    program(name),
                    runs=runs,
                    iterations=iterations,
                    most=most,
                    seed=seed,
                    report=report,
                )
            )
    if as_json:
        say(json.dumps([one.to_dict() for one in studies], indent=1))
        return
    columns = [Column(COLUMNS[0]), *(Column(heading, form=count) for heading in COLUMNS[1:])]
    Table(columns, summary(studies)).print()
    harmful, missed = (sum(len(s.harmful) for s in studies), sum(len(s.missed) for s in studies))
    share = f"{1 - missed / harmful:.1%}" if harmful else "none"
    alarms = sum(one.false_alarm is not None for one in studies)
    say(f"{share} of the harmful mutants are reported; false alarms: {alarms}")
    for one in studies:
        if one.false_alarm is not None:
            say(f"{one.program}: FALSE ALARM: {one.false_alarm}")
        for verdict in one.missed:
            say(f"{one.program}: MISSED {verdict.change} ({verdict.harm})")


if __name__ == "__main__":
    run_app(app)
