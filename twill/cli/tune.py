"""``twill tune``: from a loop or a kernel to the tiles that make it fastest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from twill.base.console import counted, note, say, say_written
from twill.base.errors import InputError, RefusedError
from twill.base.files import check_target, write_whole
from twill.cli.command import command
from twill.cli.options import (
    PROGRAMS,
    EffortName,
    Json,
    LoadedClock,
    ResultsFolder,
    SolverSeconds,
    loaded_clock,
    numbers,
    parse_settings,
    sizes,
)
from twill.cli.run import BlockOptions
from twill.cli.sweep import Workers

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule
    from twill.artifacts.sweep import Tuned
    from twill.studies.tune.candidates import Choices
    from twill.studies.tune.evaluate import Question

AT_A_TIME = 16  # candidates that a cluster is given at once


@dataclass(frozen=True)
class ChoiceOptions:
    """Choices of tiles, sub-tiles, constants and warps."""

    tile: Annotated[
        list[str] | None,
        Option(
            metavar="TILES",
            help="Tiles of a loop, for example 128x128,128x176 (rows, and rows streamed by an "
            "iteration) or 128x256x64 (rows, columns, depth of a product). By default many usual "
            "ones.",
        ),
    ] = None
    subtiles: Annotated[
        str | None,
        Option(
            metavar="N,N,...",
            help="Sub-tiles to cut each tile into; by default all numbers from 1 to 4 that fit.",
        ),
    ] = None
    change: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUES",
            help="Values of a kernel's constant (64,128; by default 64,128,256), or the type of "
            "another argument, which may name constants (tensordesc<fp16[M,D]>). Also limits of "
            "scheduling: groups, registers, stages, transfers. May be repeated.",
        ),
    ] = None
    warps: Annotated[
        str, Option(metavar="N,N,...", help="Warps that a Triton kernel is compiled for.")
    ] = "4"
    loop: Annotated[
        str | None, Option("--loop", help="Which loop, by name or number, where there are several.")
    ] = None

    def choices(self) -> Choices:
        """Return them as they are enumerated."""
        from twill.studies.tune.candidates import Choices, parse_tile

        tiles = [part for text in self.tile or () for part in text.split(",")]
        return Choices(
            tiles=[parse_tile(part.strip(), "--tile") for part in tiles],
            subtiles=() if self.subtiles is None else numbers(self.subtiles, "--subtiles"),
            given=parse_settings(self.change or []),
            warps=numbers(self.warps, "--warps"),
        )


@dataclass(frozen=True)
class ProblemOptions(BlockOptions):
    """Problems for which the kernel is to be fastest."""

    size: Annotated[
        list[str] | None,
        Option(
            metavar="MxNxK",
            help="Rows, columns and depth of a matrix product; by default 8192x8192x8192. May be "
            "repeated: the sum of the times counts.",
        ),
    ] = None
    sequence: Annotated[
        str | None,
        Option(metavar="N,N,...", help="Sequence lengths of attention; by default 8192."),
    ] = None
    clock: LoadedClock = None


@dataclass(frozen=True)
class Search:
    """Effort of the search."""

    effort: Annotated[
        EffortName, Option(help=f"Programs to simulate for each candidate: {PROGRAMS}.")
    ] = EffortName.quick
    within: Annotated[
        float,
        Option(
            min=0.0,
            max=1000.0,
            help="Also solve candidates whose bound is above the best time by at most this part; "
            "0: only candidates that may win.",
        ),
    ] = 0.01
    timeout: SolverSeconds = None


@dataclass(frozen=True)
class Results:
    """Files for the answer."""

    output: ResultsFolder = None
    emit: Annotated[
        str | None,
        Option(
            metavar="FILE.py",
            help="Rank only candidates that can be emitted, and write the fastest as a kernel.",
        ),
    ] = None
    as_json: Json = False


@command
def tune(
    subject: Annotated[
        str,
        Argument(
            metavar="LOOP|FILE.py:KERNEL",
            help="A loop: a packaged name or a file; or a kernel decorated with triton.jit.",
        ),
    ],
    machine: Annotated[str, Option("--machine", "-m", help="A packaged name or a file.")],
    choice: ChoiceOptions,
    problem: ProblemOptions,
    search: Search,
    workers: Workers,
    results: Results,
) -> None:
    """Find the tiles, sub-tiles and limits that make the fastest whole kernel.

    Every candidate gets a bound first; candidates that cannot win are not solved. The others are
    scheduled, simulated and ranked by the time of the whole kernel. With -o an interrupted run
    resumes where it ended, and table.md can be read meanwhile. The exit status is 1 if no candidate
    runs.

    For example: twill tune gemm_hopper -m hopper_h100 --tile 128x128x64,128x256x64 -j 2
    """
    from twill.studies import tune as study
    from twill.studies.tune.search import tuned_table

    check_target(results.emit)
    question = _question(subject, machine, problem, search, emits=results.emit is not None)
    folder = None if results.output is None else Path(results.output)
    with counted("tune", "candidates") as counter, workers.executor() as executor:
        every = study.candidates(question, choice.choices(), choice.loop)
        at_a_time = workers.jobs if workers.cluster is None else AT_A_TIME
        found, schedules = study.tune(
            question, every, folder, executor, counter, at_a_time=at_a_time
        )
    if results.as_json:
        say(found.to_json().removesuffix("\n"))
    else:
        tuned_table(found).print()
        if folder is not None:
            say_written(folder / study.NAME, folder / study.TABLE)
    if found.rows[0].rank is None:
        raise typer.Exit(RefusedError.exit_status)
    if results.emit is not None:
        _emit(found, schedules, results.emit, as_json=results.as_json)


def _question(
    subject: str, machine: str, problem: ProblemOptions, search: Search, *, emits: bool
) -> Question:
    from twill.artifacts.machine import Machine
    from twill.sim.analysis.whole_kernel import parse_sequences
    from twill.studies.tune.evaluate import Question

    if problem.size and problem.sequence:
        raise InputError("either --size or --sequence", path="--size")
    return Question(
        subject=subject,
        machine=Machine.named(machine),
        sizes=sizes(problem.size or ()),
        sequences=() if problem.sequence is None else parse_sequences(problem.sequence),
        tokens=problem.tokens,
        heads=problem.heads,
        causal=problem.causal,
        window=problem.window,
        persistent=problem.persistent,
        clock=loaded_clock(problem.clock),
        effort=search.effort.value,
        within=search.within,
        timeout=search.timeout,
        emits=emits,
    )


def _emit(found: Tuned, schedules: Mapping[int, Schedule], file: str, *, as_json: bool) -> None:
    """Write the first of the ranking, which is of those that can be a kernel."""
    from twill.emit import emitted
    from twill.studies.tune.search import candidate_text

    row = found.rows[0]
    write_whole(file, emitted(schedules[row.point]))
    if not as_json:
        say_written(file)
    note(f"{file} is rank {row.rank}, {candidate_text(row)}")
