"""``twill emit``, ``run-kernel``: schedules as kernels, and whether those compute right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from twill.base.console import progress, say, say_written
from twill.base.errors import InputError, RefusedError
from twill.base.files import STANDARD_OUTPUT, write_whole
from twill.cli.command import command, tell
from twill.cli.options import (
    EffortName,
    Json,
    JudgeName,
    ScheduleName,
    numbers,
    parse_settings,
)

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule

HOPPER, BLACKWELL = (9, 0), (10, 0)
QUICK = EffortName("quick")
GIVEN_ITERATIONS = 8  # of the one run with arguments of one's own
AXES = 3  # of a grid
INTEGER = re.compile(r"-?[0-9]+")


@dataclass(frozen=True)
class Own:
    """Arguments of one's own: numbers by name, a file that makes them, and a seed."""

    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            help="NAME=VALUE: a number that replaces the file's own, or grid=2,4,1. "
            f"Without --iterations there is one run, for {GIVEN_ITERATIONS}.",
        ),
    ] = None
    arguments: Annotated[
        Path | None,
        Option(help="A Python file, which is executed, with another make_arguments."),
    ] = None
    seed: Annotated[int, Option(help="Seed of random arguments, and of the emulator's order.")] = 0

    @cached_property
    def given(self) -> dict[str, Any]:
        """Numbers by name."""
        return _given(self.settings or [])


@command
def emit(
    schedule_file: ScheduleName,
    output: Annotated[
        str | None,
        Option("--output", "-o", help="Write the kernel here; - or nothing is stdout."),
    ] = None,
    checked: Annotated[
        bool,
        Option(
            "--check",
            help="Compile the kernel and check the result against it: registers, spills, memory, "
            "order. Needs Triton, and no GPU; the status is 1 if there is a finding.",
        ),
    ] = False,
    unverified: Annotated[
        bool, Option("--unverified", help="Write it even if the schedule breaks a rule.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a schedule as a Gluon kernel: complete, with launch, reference, tests and benchmark.

    The kernel is the one that the loop was read from, with the schedule's partitions, rings,
    barriers and orders. An operation without a template is refused by name, and so is a schedule
    that `twill verify` refuses.
    """
    from twill.frontends.schedules import load_schedule
    from twill.interface import emit as written

    if checked and output in (None, STANDARD_OUTPUT):
        raise InputError("name the kernel's file with -o", path="--check")
    if as_json and not checked:
        raise InputError("only of use with --check", path="--json")
    schedule = load_schedule(schedule_file)
    text = written(schedule, unverified=unverified)
    if output is None or output == STANDARD_OUTPUT:
        say(text.removesuffix("\n"))
        return
    write_whole(output, text)
    if not as_json:
        say_written(output)
    if checked:
        _check(schedule, output, as_json=as_json)


def _check(schedule: Schedule, file: str, *, as_json: bool) -> None:
    from twill.studies.judged import judged_file, print_judged

    with progress("compiling") as report:
        found = judged_file(file, schedule.machine, mechanisms=True, report=report)
    promise = schedule.promise
    promised: float | None = schedule.initiation_interval
    bound = None
    if promise is not None:
        promised = promise.interval_cycles
        bound = None if promise.bound is None else promise.bound.cycles
    data, show = partial(found.data, promised, bound), partial(print_judged, found, promised, bound)
    tell("compiled", data, show, as_json=as_json)
    if found.made.findings:
        raise typer.Exit(1)


@command
def run_kernel(
    kernel_file: Annotated[
        Path, Argument(help="An emitted kernel: a Python program, which is executed.")
    ],
    own: Own,
    emulate: Annotated[
        bool,
        Option("--emulate", help="Emulate it on NumPy, without Triton and without a GPU."),
    ] = False,
    iterations: Annotated[
        str | None,
        Option(help="Trip counts, as 2,3,8; by default the least, the next two, and 8."),
    ] = None,
    victims: Annotated[
        bool,
        Option(help="Also delay each partition and each kind of transfer and product in turn."),
    ] = True,
    timeline: Annotated[
        Path | None,
        Option(
            metavar="FILE.json",
            help="Also read the SM's clock in each round, on the GPU and simulated, and write both "
            "as a trace for Perfetto.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run an emitted kernel and compare what it writes with its own reference.

    The kernel runs on the GPU at hand, with times, or on NumPy with --emulate. The exit status is 1
    if it breaks a rule or computes something else. The file is a program that runs with your
    rights: first read a file that you do not trust.
    """
    if not kernel_file.is_file():
        raise InputError("there is no such file", file=str(kernel_file))
    if emulate and timeline is not None:
        way = f"python -m twill.sim run {kernel_file} --trace {timeline}"
        raise InputError(f"a GPU is needed; without one: {way}", path="--timeline")
    counts = None if iterations is None else numbers(iterations, "--iterations", least=1)
    if own.arguments is not None and not own.arguments.is_file():
        raise InputError("there is no such file", file=str(own.arguments))
    if counts is None and (own.given or own.arguments):
        counts = [GIVEN_ITERATIONS]
    passed = (
        _emulated(kernel_file, counts, own, victims=victims, as_json=as_json)
        if emulate
        else _measured(kernel_file, counts, own, as_json=as_json)
    )
    if not passed:
        raise typer.Exit(1)
    if timeline is not None:
        _write_timeline(kernel_file, timeline, own, as_json=as_json)


def _write_timeline(file: Path, output: Path, own: Own, *, as_json: bool) -> None:
    from twill.studies.timeline import print_timeline, timeline, trace

    with progress("timeline") as report:
        found = timeline(file, own.given, own.arguments, report=report)
    write_whole(output, trace(found))
    if not as_json:
        print_timeline(found)
        say_written(str(output))


def _emulated(
    file: Path, counts: Sequence[int] | None, own: Own, *, victims: bool, as_json: bool
) -> bool:
    from twill.sim import emulator
    from twill.studies.kernels import emulation_data, print_emulation

    text = emulator.source_of(file)
    capability = BLACKWELL if "nvidia.blackwell" in text else HOPPER
    found = emulator.emulate(
        file,
        iterations=counts,
        victims=victims,
        seed=own.seed,
        capability=capability,
        given=own.given,
        arguments=own.arguments,
    )
    show = partial(print_emulation, found)
    tell("emulation", partial(emulation_data, found), show, as_json=as_json)
    return found.passed


def _measured(file: Path, counts: Sequence[int] | None, own: Own, *, as_json: bool) -> bool:
    from dataclasses import asdict

    from twill.studies.kernels import measured, print_measured

    found = measured(file, counts, own.given, own.arguments)
    show = partial(print_measured, found)
    tell("measured-kernel", partial(asdict, found), show, as_json=as_json)
    return found.passed


def _given(settings: list[str]) -> dict[str, Any]:
    """Return numbers of a kernel, and its grid, by name."""
    found: dict[str, Any] = {}
    for setting in settings:
        name, sign, text = setting.partition("=")
        try:
            if name == "grid":
                found[name] = programs = tuple(int(part) for part in text.split(","))
                sign = sign if len(programs) == AXES and min(programs) > 0 else ""
            else:
                found[name] = int(text) if INTEGER.fullmatch(text) else float(text)
        except ValueError:
            sign = ""
        if not sign or not name.isidentifier():
            wrong = f"NAME=NUMBER, or grid=2,4,1 (got {setting})"
            raise InputError(wrong, path="--set")
    return found


@command
def build(
    kernel: Annotated[
        str, Argument(metavar="FILE.py:KERNEL", help="A kernel that programs call by twill.jit.")
    ],
    settings: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="As of loop dump: a value, or a type."),
    ] = None,
    like: Annotated[
        list[str] | None,
        Option("--like", metavar="NAME=VALUE,...", help="As of loop dump: an example call."),
    ] = None,
    machine: Annotated[
        str | None,
        Option("--machine", "-m", help="The machine that it will run on; by default the file's."),
    ] = None,
    warps: Annotated[int | None, Option(min=1, help="Warps that the call names.")] = None,
    effort: Annotated[
        EffortName, Option(help="Where the file has no twill.jit: how far to look.")
    ] = QUICK,
    judged_by: Annotated[
        JudgeName | None, Option("--judge", help="Where the file has no twill.jit: who chooses.")
    ] = None,
) -> None:
    """Find the answer to a call before it happens; status 1 if Triton's own kernel will run."""
    from twill.artifacts.machine import Machine
    from twill.decorated.ahead import built
    from twill.decorated.answers import How

    on = None if machine is None else Machine.named(machine)
    how = How(effort.value, None if judged_by is None else judged_by.value)
    found = built(kernel, parse_settings(settings or []), like or (), on, how, warps)
    if found.file is None:
        raise RefusedError(found.refused)
    say_written(str(found.file))
