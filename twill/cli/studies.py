"""Commands of studies: ``compare``, ``explore``, ``published``, ``reproduce``, ``bench``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from twill.base.console import progress, say, say_written
from twill.base.errors import InputError, short
from twill.base.files import STANDARD_OUTPUT, check_target, inside, make_folder, write_whole
from twill.cli import (
    PROGRAMS,
    EffortName,
    Jobs,
    Json,
    Machines,
    ResultsFolder,
    RunOptions,
    SolverSeconds,
    command,
    json_text,
    numbers,
    print_json,
    tell,
)

bench = typer.Typer(no_args_is_help=True, help="Measure the solver and the simulator.")


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
    results: Annotated[
        list[str],
        Argument(
            metavar="SCHEDULE|RESULTS...",
            help="Schedules, which are shown beside each other, or folders that `sweep -o` or "
            "`compare -o` wrote.",
        ),
    ],
    output: Annotated[
        str, Option("--output", "-o", metavar="FILE.html", help="Where to write the page.")
    ] = "explore.html",
    source: Annotated[
        Path | None,
        Option(
            metavar="FILE|FOLDER",
            help="The source of the schedules' loops. Without it their own folders are looked "
            "through, and the packaged kernels.",
        ),
    ] = None,
) -> None:
    """Write one page to look around in, which needs no network: timeline, graph, memory, program.

    For example: twill explore schedule.json other.json -o explore.html
    """
    from twill.studies.explore import sections
    from twill.studies.explore.page import page

    if output != STANDARD_OUTPUT and not output.endswith((".html", ".htm")):
        raise InputError(f"must end in .html (got {short(output)})", path="--output")
    with progress("exploring") as report:
        text = page(sections([Path(place) for place in results], report, source))
    write_whole(output, text)
    say_written(output)


@command
def published(
    switches: Annotated[
        bool, Option("--switches", help="Switch one mechanism at a time instead.")
    ] = False,
    bounds: Annotated[
        bool,
        Option(
            "--bounds",
            help="Hold all published figures against what no program is below instead; status 1 "
            "if one is below.",
        ),
    ] = False,
    curves: Annotated[
        bool,
        Option(
            "--curves",
            help="Compare whole kernels of attention over the sequence length instead, each over "
            "its longest.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare hand-written schedules of published kernels with what was measured."""
    from twill.studies import published as study
    from twill.studies import published_bounds, published_curves

    if switches + bounds + curves > 1:
        raise InputError("--switches, --bounds and --curves exclude each other", path="published")
    with progress("published figures") as report:
        tried = study.experiments(report) if switches else []
        held = published_bounds.held() if bounds else []
        shapes = published_curves.curves(report) if curves else []
        found = [] if switches or bounds or curves else study.figures(report)
    if as_json:
        print_json(
            "published",
            {
                "figures": [asdict(one) for one in found],
                "switches": [asdict(one) for one in tried],
                "bounds": [asdict(one) for one in held],
                "curves": [asdict(one) for one in shapes],
            },
        )
    elif bounds:
        published_bounds.print_held(held)
    elif curves:
        published_curves.print_curves(shapes)
    elif switches:
        study.print_experiments(tried)
    else:
        study.print_figures(found)
    if any(one.below for one in held):
        raise typer.Exit(1)


@command
def reproduce(
    case: Annotated[
        list[str] | None, Option("--case", help="Only this case; may be repeated.")
    ] = None,
    timeout: Annotated[
        float, Option(min=0.1, help="Seconds for each search; a claim not decided fails.")
    ] = 120.0,
    stop: Annotated[
        float, Option(min=0.1, help="Seconds after which the paper's printed encoding is stopped.")
    ] = 30.0,
    effort: Annotated[
        EffortName, Option(help=f"Programs that are simulated to polish a kernel: {PROGRAMS}.")
    ] = EffortName.normal,
    jobs: Jobs = 2,
    markdown: Annotated[
        str | None,
        Option(metavar="FILE", help="Write the results as a page, with figures beside it."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the paper's claims; exit status 1 if one does not hold."""
    from twill.studies.reproduce import print_claims, write_page
    from twill.studies.reproduce import reproduce as compute

    if markdown == STANDARD_OUTPUT:
        raise InputError("figures go beside the page: name a file", path="--markdown")
    check_target(markdown)
    with progress("reproduce") as report:
        results = compute(
            case,
            timeout=timeout,
            stop=stop,
            effort=effort.value,
            jobs=jobs,
            report=report,
        )
    written = [] if markdown is None else write_page(results, Path(markdown))
    claims = [claim for result in results for claim in result.claims]
    if as_json:
        print_json("claims", {"claims": [claim.to_dict() for claim in claims]})
    else:
        print_claims(results)
        say_written(*written)
    if not all(claim.passed for claim in claims):
        raise typer.Exit(1)


@dataclass(frozen=True)
class Kernels:
    """Which kernels the solver is measured on, and how it solves them."""

    case: Annotated[
        list[str] | None, Option("--case", help="Only this kernel; may be repeated.")
    ] = None
    engine: Annotated[
        list[str] | None, Option("--engine", help="Only this engine; may be repeated.")
    ] = None
    time: Annotated[
        list[str] | None,
        Option("--time", help="Only this time mode of the kernels; may be repeated."),
    ] = None


@dataclass(frozen=True)
class Growth:
    """Which synthetic loops the solver is measured on."""

    growth: Annotated[
        str | None,
        Option(metavar="SIZES", help="Only synthetic loops, of these sizes, for example 10,20,50."),
    ] = None
    seeds: Annotated[str, Option(help="Seeds of the synthetic loops.")] = "0,1,2"
    machine: Annotated[
        list[str] | None,
        Option("--machine", help="Only synthetic loops for this machine; may be repeated."),
    ] = None


@bench.command()
@command
def solver(
    kernels: Kernels,
    loops: Growth,
    timeout: Annotated[
        float, Option(min=0.1, help="Seconds after which a case is stopped.")
    ] = 120.0,
    stop: Annotated[float, Option(min=0.1, help="The same for the engine `verbatim`.")] = 30.0,
    output: Annotated[
        str | None,
        Option("--output", "-o", help="Write bench.json and the plots into this folder."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Time kernels and synthetic loops, each in a process of its own.

    With neither --case nor --growth, everything. The exit status is 1 if a case has no schedule or
    fails; one that is stopped for time is a result like any other.
    """
    from twill.studies import bench as study
    from twill.studies.bench.view import plot_growth, print_bench

    case, engine, growth = kernels.case, kernels.engine, loops.growth
    cases: list[study.Case] = []
    if case or growth is None:
        cases += study.kernel_cases(case, engine, kernels.time, timeout=timeout, stop=stop)
    if growth is not None or not case:
        sizes = study.GROWTH if growth is None else numbers(growth, "--growth")
        seeds = numbers(loops.seeds, "--seeds")
        cases += study.growth_cases(sizes, seeds, engine, loops.machine, timeout=timeout)
    make_folder(output)
    written = [] if output is None else [inside(output, "bench.json")]
    with progress("bench") as report:
        measured = study.bench(cases, report)
    if output is not None:
        write_whole(written[0], json_text("bench", measured.to_dict()) + "\n")
        written += plot_growth(measured, Path(output)) if measured.synthetic else ()
    if as_json:
        print_json("bench", measured.to_dict())
    else:
        print_bench(measured)
        say_written(*written)
    if any(outcome.status in ("failed", "refused") for outcome in measured.outcomes):
        raise typer.Exit(1)


@bench.command()
@command
def simulator(
    schedule_file: Annotated[
        str | None,
        Argument(metavar="SCHEDULE", help="What to run; attention forward on Hopper without it."),
    ] = None,
    iterations: Annotated[str, Option(help="Trip counts.")] = "128,512,2048",
    groups: Annotated[str, Option(help="Groups of made-up programs.")] = "1,2,4,8",
    bundles: Annotated[str, Option(help="Instructions executed as one.")] = "1,2,4,8",
    as_json: Json = False,
) -> None:
    """Measure how fast schedules are simulated, against bare SimPy timeouts."""
    from twill.frontends.schedules import load_schedule
    from twill.studies.bench.simulator import bench_simulator, print_simulator_bench

    schedule = None if schedule_file is None else load_schedule(schedule_file)
    with progress("bench") as report:
        measured = bench_simulator(
            schedule,
            iterations=numbers(iterations, "--iterations"),
            groups=numbers(groups, "--groups"),
            bundles=numbers(bundles, "--bundles"),
            report=report,
        )
    data, show = partial(asdict, measured), partial(print_simulator_bench, measured)
    tell("bench-simulator", data, show, as_json=as_json)
