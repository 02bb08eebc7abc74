"""``twill verify``, ``explain``: judging schedules, and saying why nothing is faster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Self

import typer
from typer import Option

from twill.base.console import Report, progress, warn
from twill.base.errors import InputError, MissingLibraryError, TwillError
from twill.cli.command import command, print_json, refusals
from twill.cli.options import PROGRAMS, EffortName, Json, ScheduleName, Workers, processes

if TYPE_CHECKING:
    from twill.artifacts.bound import BoundFile
    from twill.artifacts.schedule import Schedule
    from twill.explain.programs import ProgramLever
    from twill.sim.checks import Checks
    from twill.sim.promise import Kept
    from twill.verification import Verdict


@dataclass(frozen=True)
class Asked:
    """Further checks of a schedule."""

    reprove: Annotated[
        bool, Option("--reprove", help="Repeat each refutation with the other engine.")
    ] = False
    timeout: Annotated[float | None, Option(min=0.001, help="Seconds for each refutation.")] = None
    execute: Annotated[
        bool,
        Option(
            "--run",
            help="Execute it on the simulated SM with every check of `twill sim run`, and compare "
            "the run with its promise.",
        ),
    ] = False
    values: Annotated[
        bool, Option("--values", help="With --run: compare results too, as `twill sim run` does.")
    ] = False


@command
def verify(schedule_file: ScheduleName, asked: Asked, as_json: Json = False) -> None:
    """Check a schedule against every rule of the model; exit status 1 if one is broken.

    For a file that `twill explain --bound` has written, the certificate of the bound is checked.

    With --reprove the status is also 1 if a refutation is false, or is not repeated in time. With
    --run it is also 1 if there is a race, memory or registers are exceeded, or a run takes longer
    than promised or than the static interval.
    """
    if asked.values and not asked.execute:
        raise InputError("only of use with --run", path="--values")
    if (bound := _bound_file(schedule_file)) is None:
        _verify_schedule(schedule_file, asked, as_json=as_json)
    elif asked.reprove or asked.execute:
        raise InputError("only of use with a schedule", path="--reprove, --run")
    else:
        _verify_bound(bound, as_json=as_json)


def _verify_schedule(file: str, asked: Asked, *, as_json: bool) -> None:
    """Print whether a schedule keeps every rule; exit status 1 if not."""
    from twill.explain import reprove as again
    from twill.frontends.schedules import load_schedule
    from twill.show.proof import print_reproof, print_verdict
    from twill.verification import verify as check

    schedule = load_schedule(file)
    verdict = check(schedule)
    reproofs = []
    ran = Ran()
    if not as_json:
        print_verdict(verdict)
    if asked.reprove and verdict.valid:
        with progress(f"reproving {schedule.name}") as report:
            for reproof in again(schedule, asked.timeout, report):
                reproofs.append(reproof)
                if not as_json:
                    print_reproof(reproof)
    if asked.execute and verdict.valid:
        with refusals(as_json=as_json), progress(f"running {schedule.name}"):
            ran = Ran.of(schedule, values=asked.values)
        if not as_json:
            ran.print()
    if as_json:
        again_told = [asdict(reproof) for reproof in reproofs] if asked.reprove else None
        ran_told = ran.data if asked.execute else {"runs": None, "checks": None}
        print_json("verdict", {**_verdict(verdict), "reproved": again_told, **ran_told})
    reproved = all(reproof.outcome == "refuted" for reproof in reproofs)
    if not (verdict.valid and reproved and ran.passed):
        raise typer.Exit(1)


def _bound_file(name: str) -> BoundFile | None:
    """Return the bound that a file has, None if it is of something else."""
    from twill.artifacts.base import says_schema
    from twill.artifacts.bound import BoundFile
    from twill.base.files import read_bytes

    if not name.endswith(".json"):
        return None
    text = read_bytes(name)
    return BoundFile.from_json(text, file=name) if says_schema(text, "twill.bound") else None


def _verify_bound(bound: BoundFile, *, as_json: bool) -> None:
    """Print whether the certificate of a bound proves it."""
    from twill.show.proof import print_verdict
    from twill.verification import verify_bound

    verdict = verify_bound(bound)
    if as_json:
        nothing = {"reproved": None, "runs": None, "checks": None}
        print_json("verdict", {**_verdict(verdict), **nothing})
    else:
        print_verdict(verdict)
    if not verdict.valid:
        raise typer.Exit(1)


@dataclass(frozen=True)
class Ran:
    """Results of runs: promises kept or not, and the checks, once for each latency."""

    runs: tuple[Kept, ...] = ()
    checks: tuple[Checks, ...] = ()

    @classmethod
    def of(cls, schedule: Schedule, *, values: bool) -> Self:
        """Run a schedule under all conditions of its promise, as `twill sim run` does."""
        from twill.cli.run import checked
        from twill.sim.promise import promised_conditions, promises_kept

        runs = (*promises_kept(schedule), *_machine_code_kept(schedule), *_on_gpu_kept(schedule))
        by_latency = {one.latency: one for one in promised_conditions(schedule)}
        checks = (checked(schedule, one, values=values) for one in by_latency.values())
        return cls(runs, tuple(checks))

    @property
    def passed(self) -> bool:
        """Whether every promise is kept, and nothing is wrong or exceeded."""
        return all(run.kept for run in self.runs) and all(
            found.right and not found.exceeded for found in self.checks
        )

    @property
    def data(self) -> dict[str, object]:
        """The same as data."""
        return {
            "runs": [asdict(run) for run in self.runs],
            "checks": [found.model_dump(mode="json") for found in self.checks],
        }

    def print(self) -> None:
        """Print it."""
        from twill.sim.show import print_checks, print_kept

        for found in self.checks:
            print_checks(found)
        print_kept(self.runs)


def _machine_code_kept(schedule: Schedule) -> Iterator[Kept]:
    """Compile the kernel of a promise that was made by machine code, and execute it again."""
    from twill.compiled import compile_file
    from twill.emit import emitted
    from twill.sim.promise import kept_of
    from twill.studies.choice import judged_text

    promise = schedule.promise
    if promise is None or promise.machine_code is None:
        return
    said = promise.machine_code
    try:
        found = judged_text(emitted(schedule), schedule.machine, compile_file)
    except MissingLibraryError as missing:
        warn(f"the machine code is not executed again: {missing}")
        return
    yield kept_of(f"machine code of {said.compiler}", said.interval_cycles, found.cycles)


def _on_gpu_kept(schedule: Schedule) -> Iterator[Kept]:
    """Measure the kernel of a promise that was made on a GPU again."""
    from twill.emit import emitted
    from twill.sim.promise import kept_of
    from twill.studies.on_gpu import TOLERANCE, check_gpu, measured_in_rounds

    promise = schedule.promise
    if promise is None or promise.on_gpu is None:
        return
    said = promise.on_gpu
    try:
        check_gpu()
    except TwillError as missing:
        warn(f"the kernel is not measured again: {missing}")
        return
    (found,) = measured_in_rounds([emitted(schedule)])
    if isinstance(found, TwillError):
        warn(str(found))
        yield kept_of(said.device, said.interval_cycles, None)
    elif found.device != said.device:
        warn(f"promised for {said.device}, and not comparable with {found.device}")
    else:
        yield kept_of(said.device, said.interval_cycles, found.interval_cycles, TOLERANCE)


def _verdict(verdict: Verdict) -> dict[str, object]:
    return {"valid": verdict.valid, "rules": verdict.rules, **asdict(verdict)}


@command
def explain(
    schedule_file: ScheduleName,
    levers: Annotated[bool, Option(help="Also look for changes that make it faster.")] = True,
    timeout: Annotated[
        float,
        Option(min=0.001, help="Seconds to explain a static schedule, and seconds for each lever."),
    ] = 20.0,
    effort: Annotated[
        EffortName, Option(help=f"Simulations for each lever of a program: {PROGRAMS}.")
    ] = EffortName.quick,
    bound: Annotated[
        str | None,
        Option(
            "--bound",
            metavar="FILE",
            help="Write the bound of all programs, with its certificate, for `twill verify`.",
        ),
    ] = None,
    jobs: Workers = None,
    as_json: Json = False,
) -> None:
    """Explain why the interval is not shorter, and find changes that would shorten it.

    For a schedule that was polished, or made by hand: the chain that sets the pace of its program
    on the simulated SM, and the bound of all programs. For a schedule that the static model proved:
    why the interval below fails.
    """
    from twill.frontends.schedules import load_schedule
    from twill.polish import programs_of

    schedule = load_schedule(schedule_file)
    if bound is not None:
        _write_bound(schedule, bound)
    with refusals(as_json=as_json), progress(f"explaining {schedule_file}") as report:
        if schedule.promise is not None or schedule.proof is None:
            simulations = programs_of(effort.value, schedule.loop) if levers else 0
            _explain_program(schedule, simulations, jobs, report, as_json=as_json)
        else:
            _explain_proof(schedule, timeout, report, levers=levers, as_json=as_json)


def _write_bound(schedule: Schedule, file: str) -> None:
    """Write the bound of a schedule's loop, under the first conditions of its promise."""
    from twill.artifacts.bound import BoundFile
    from twill.bounds.programs import program_bound
    from twill.explain.programs import bound_latency

    latency = bound_latency(schedule)
    found = program_bound(schedule.loop, schedule.machine, latency=latency)
    BoundFile(loop=schedule.loop, machine=schedule.machine, latency=latency, bound=found).save(file)


def _explain_program(
    schedule: Schedule, simulations: int, jobs: int | None, report: Report, *, as_json: bool
) -> None:
    """Explain a program; without simulations there are no levers."""
    from twill.explain.programs import explain_program, program_levers
    from twill.show.proof import (
        print_program_explanation,
        print_program_levers,
        program_explanation_data,
    )

    found = explain_program(schedule)
    if not as_json:
        print_program_explanation(found)
    levers: list[ProgramLever] | None = [] if simulations else None
    stopped = False
    if levers is not None:
        try:
            levers.extend(
                program_levers(
                    schedule, found, simulations=simulations, jobs=processes(jobs), report=report
                )
            )
        except KeyboardInterrupt:
            stopped = True
    if as_json:
        print_json("program-explanation", program_explanation_data(found, levers))
    elif levers:
        print_program_levers(levers, simulations)
    if stopped:
        raise KeyboardInterrupt("other changes were not looked at")


def _explain_proof(
    schedule: Schedule, timeout: float, report: Report, *, levers: bool, as_json: bool
) -> None:
    """Explain a static schedule."""
    from twill.explain import explain as explained
    from twill.explain.levers import levers as pulled
    from twill.search.request import engine_factory
    from twill.show.proof import explanation_data, print_explanation, print_levers

    engine = engine_factory("difference")
    found = explained(schedule, engine, timeout, report)
    if not as_json:
        print_explanation(found)
    found_levers = pulled(schedule, engine, timeout, report) if levers else None
    if as_json:
        print_json("explanation", explanation_data(found, found_levers))
    elif found_levers:
        print_levers(found_levers)
