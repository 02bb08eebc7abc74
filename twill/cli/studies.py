"""Commands of studies: ``compare``, ``explore``, ``reproduce``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from twill.base.console import progress, say, say_written
from twill.base.errors import InputError, short
from twill.base.files import STANDARD_OUTPUT, make_folder, write_whole
from twill.cli.command import command, print_json
from twill.cli.options import (
    PROGRAMS,
    EffortName,
    Jobs,
    Json,
    Machines,
    ResultsFolder,
    RunOptions,
    SolverSeconds,
)


@dataclass(frozen=True)
class Subjects:
    """Where loops run, and how long they may be scheduled."""

    machine: Machines = None
    timeout: SolverSeconds = None


@command
def compare(
    items: Annotated[
        list[str],
        Argument(
            metavar="LOOP|SCHEDULE...", help="Packaged names or files; a loop is scheduled first."
        ),
    ],
    how: RunOptions,
    where: Subjects,
    output: ResultsFolder = None,
    as_json: Json = False,
) -> None:
    """Run loops as written, pipelined and jointly scheduled, and experts' schedules of them.

    A variant that cannot run is a row with its reason; the exit status is 1 if that is a schedule
    itself.
    """
    from twill.studies import compare as study
    from twill.studies.subjects import subjects

    make_folder(output)
    with progress("comparing") as report:
        found = [
            study.compare(subject, how.conditions(), timeout=where.timeout, report=report)
            for subject in subjects(items, where.machine or ())
        ]
    written = [] if output is None else study.write_comparisons(found, Path(output))
    if as_json:
        say(study.document(found).to_json().removesuffix("\n"))
    else:
        study.print_comparisons(found)
        say_written(*written)
    if any(v.variant == "joint" and v.note for one in found for v in one.variants):
        raise typer.Exit(1)


@command
def explore(
    subjects: Annotated[
        list[str],
        Argument(
            metavar="SCHEDULE|KERNEL.py|TIMELINE...",
            help="Schedules, which are shown side by side, kernel files, whose machine code is "
            "executed, and what run-kernel --timeline wrote.",
        ),
    ],
    output: Annotated[
        str, Option("--output", "-o", metavar="FILE.html", help="Where to write the page.")
    ] = "explore.html",
    source: Annotated[
        Path | None,
        Option(
            metavar="FILE|FOLDER",
            help="Source of the schedules' loops. By default their own folders and the packaged "
            "kernels are searched.",
        ),
    ] = None,
) -> None:
    """Write an interactive page that needs no network: timeline, graph, memory, program.

    For example: twill explore schedule.json other.json -o explore.html
    """
    from twill.studies.explore import sections
    from twill.studies.explore.page import page

    if output != STANDARD_OUTPUT and not output.endswith((".html", ".htm")):
        raise InputError(f"must end in .html (got {short(output)})", path="--output")
    with progress("exploring") as report:
        text = page(sections([Path(place) for place in subjects], report, source))
    write_whole(output, text)
    say_written(output)


@command
def reproduce(
    case: Annotated[
        list[str] | None, Option("--case", help="Only this case; may be repeated.")
    ] = None,
    timeout: Annotated[
        float, Option(min=0.1, help="Seconds for each search; a claim not decided fails.")
    ] = 120.0,
    effort: Annotated[
        EffortName, Option(help=f"Programs that are simulated to polish a kernel: {PROGRAMS}.")
    ] = EffortName.normal,
    jobs: Jobs = 2,
    as_json: Json = False,
) -> None:
    """Compute the paper's claims; exit status 1 if one does not hold."""
    from twill.studies.reproduce import print_claims
    from twill.studies.reproduce import reproduce as compute

    with progress("reproduce") as report:
        results = compute(case, timeout=timeout, effort=effort.value, jobs=jobs, report=report)
    claims = [claim for result in results for claim in result.claims]
    if as_json:
        print_json("claims", {"claims": [claim.to_dict() for claim in claims]})
    else:
        print_claims(results)
    if not all(claim.passed for claim in claims):
        raise typer.Exit(1)
