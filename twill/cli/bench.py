"""``twill bench``: measure the solver and the simulator."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twill.cli.options import Json, number, print_json
from twill.console import command, progress, say_written
from twill.files import make_folder, write_whole

if TYPE_CHECKING:
    from twill.studies.bench.solver import Bench, Case

app = typer.Typer(no_args_is_help=True, help="Measure the solver and the simulator.")


@app.command()
@command
def solver(
    case: Annotated[
        list[str] | None, typer.Option("--case", help="Only this kernel; may be repeated.")
    ] = None,
    engine: Annotated[
        list[str] | None, typer.Option("--engine", help="Only this engine; may be repeated.")
    ] = None,
    time: Annotated[
        list[str] | None,
        typer.Option("--time", help="Only this time mode of the kernels; may be repeated."),
    ] = None,
    growth: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES", help="Only synthetic loops, of these sizes, for example 10,20,50."
        ),
    ] = None,
    seeds: Annotated[str, typer.Option(help="Seeds of the synthetic loops.")] = "0,1,2",
    machine: Annotated[
        list[str] | None,
        typer.Option("--machine", help="Only synthetic loops for this machine; may be repeated."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds after which a case is stopped.")
    ] = 120.0,
    stop: Annotated[
        float, typer.Option(min=0.1, help="The same for the engine `verbatim`.")
    ] = 30.0,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Write bench.json and the plots into this folder."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Time kernels and synthetic loops, each in a process of its own.

    With neither --case nor --growth, everything. The exit status is 1 if a case has no schedule or
    fails; one that is stopped for time is a result like any other.
    """
    from twill.studies.bench.solver import GROWTH, bench, growth_cases, kernel_cases

    cases: list[Case] = []
    if case or growth is None:
        cases += kernel_cases(case, engine, time, timeout=timeout, stop=stop)
    if growth is not None or not case:
        sizes = GROWTH if growth is None else _numbers(growth, "--growth")
        cases += growth_cases(sizes, _numbers(seeds, "--seeds"), engine, machine, timeout=timeout)
    make_folder(output)
    with progress("bench") as report:
        measured = bench(cases, report)
    written = _write(measured, Path(output)) if output is not None else []
    _show(measured, written, as_json)
    if any(outcome.status in ("failed", "refused") for outcome in measured.outcomes):
        raise typer.Exit(1)


@app.command()
@command
def simulator(
    schedule_file: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCHEDULE]", help="What to run; attention forward on Hopper without it."
        ),
    ] = None,
    iterations: Annotated[str, typer.Option(help="Trip counts.")] = "128,512,2048",
    groups: Annotated[str, typer.Option(help="Groups of made-up programs.")] = "1,2,4,8",
    bundles: Annotated[str, typer.Option(help="Instructions executed as one.")] = "1,2,4,8",
    as_json: Json = False,
) -> None:
    """Measure how fast schedules are simulated, against bare SimPy timeouts."""
    from twill.artifacts.schedule import Schedule
    from twill.studies.bench.simulator import bench_simulator, print_simulator_bench

    schedule = None if schedule_file is None else Schedule.named(schedule_file)
    with progress("bench") as report:
        measured = bench_simulator(
            schedule,
            iterations=_numbers(iterations, "--iterations"),
            groups=_numbers(groups, "--groups"),
            bundles=_numbers(bundles, "--bundles"),
            report=report,
        )
    if as_json:
        print_json(asdict(measured))
    else:
        print_simulator_bench(measured)


def _show(measured: Bench, written: list[Path], as_json: bool) -> None:
    from twill.studies.bench.view import print_bench

    if as_json:
        print_json(measured.to_dict())
        return
    print_bench(measured)
    say_written(*written)


def _write(measured: Bench, folder: Path) -> list[Path]:
    """Write the figures, and the plots where there are synthetic loops; return the files."""
    file = folder / "bench.json"
    write_whole(str(file), json.dumps(measured.to_dict(), indent=1) + "\n")
    if not measured.synthetic:
        return [file]
    from twill.studies.bench.view import plot_growth

    return [file, *plot_growth(measured, folder)]


def _numbers(text: str, option: str) -> list[int]:
    """Split ``10,20,50``."""
    return [number(part.strip(), option) for part in text.split(",")]
