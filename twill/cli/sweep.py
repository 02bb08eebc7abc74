"""``python -m twill.sim sweep``: schedules under changed parameters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twill.cli.options import Jobs, Json, pairs, print_json
from twill.console import command, counted, say, say_written
from twill.errors import InputError, RefusedError, short
from twill.files import make_folder, write_whole

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from twill.artifacts.sweep import Sweep
    from twill.studies.sweep.answers import Answer

WIDTH = 80
MOST_ROWS = 40
"""Points of a table on the screen; the files have all."""
FIGURES = ("interval_cycles", "tflops", "tensor_core_utilization", "fits")


@command
def sweep_command(
    items: Annotated[
        list[str],
        typer.Argument(
            metavar="SPEC|LOOP|SCHEDULE...",
            help="A sweep: a .toml file or a packaged one; or loops and schedules.",
        ),
    ],
    machine: Annotated[
        list[str] | None,
        typer.Option("--machine", "-m", help="Where loops run; may be repeated."),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(help="sequential, multi-warp, swp or joint; may be repeated."),
    ] = None,
    tma_latency: Annotated[
        str | None,
        typer.Option(metavar="VALUES", help="Cycles of loads, for example 200:4000:20."),
    ] = None,
    latency: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE", help="Latency source, as for `run`; may be repeated."),
    ] = None,
    depth: Annotated[
        str | None, typer.Option(metavar="VALUES", help="Ring slots of loads, for example 1:6.")
    ] = None,
    deeper: Annotated[
        str | None,
        typer.Option(metavar="VALUES", help="Ring slots more than there are, for example 0:2."),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUES", help="Any parameter by name; may be repeated."
        ),
    ] = None,
    resolve: Annotated[
        bool | None, typer.Option("--resolve", help="Schedule anew at each point.")
    ] = None,
    iterations: Annotated[int | None, typer.Option(min=1, help="Trip count; 64.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of latencies; 0.")] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Excess over the best interval that still holds; 0.02.")
    ] = None,
    clock: Annotated[float | None, typer.Option(metavar="MHZ", help="Clock for TFLOP/s.")] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds to schedule a loop.")
    ] = None,
    jobs: Jobs = 1,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Dask scheduler (needs the extra [cluster])."),
    ] = None,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Write Parquet too (needs the extra [parquet]).")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Keep points, table, answers and plots here; the same command goes on with it.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run schedules under changed latencies, depths and whatever else has a name.

    VALUES are numbers with commas between, A:B for whole numbers, START:STOP:COUNT for evenly
    spaced ones or log:START:STOP:COUNT. A sweep with -o that was interrupted goes on where it was.
    """
    from twill.studies.sweep.answers import answers
    from twill.studies.sweep.run import run_sweep
    from twill.studies.sweep.table import check_parquet

    if parquet:
        check_parquet()
        if output is None:
            raise InputError("needs a folder: add -o FOLDER", path="--parquet")
    axes: dict[str, Any] = {"tma-latency": tma_latency, "depth": depth, "deeper": deeper}
    axes["latency"] = tuple(latency) if latency else None
    sweep = _sweep(
        items,
        [*((name, value) for name, value in axes.items() if value), *pairs(change, "=", "--set")],
        machines=tuple(machine) if machine else None,
        variants=tuple(variant) if variant else None,
        resolve=resolve,
        iterations=iterations,
        seed=seed,
        tolerance=tolerance,
        clock=clock,
        timeout=timeout,
    )
    make_folder(output)
    folder = None if output is None else Path(output)
    with (
        counted("sweep", "points") as counter,
        _executor(jobs, cluster) as executor,
    ):
        found = run_sweep(sweep, folder, executor, counter)
    told = answers(sweep, found)
    written = [] if folder is None else _write(sweep, found, told, folder, parquet=parquet)
    if as_json:
        print_json(_document(sweep, found, told))
    else:
        _print(sweep, found, told)
        say_written(*written)
    if not found.empty and (found["status"] == "failed").all():
        raise typer.Exit(RefusedError.exit_status)


def _sweep(items: list[str], axes: Iterable[tuple[str, Any]], **options: Any) -> Sweep:
    """Return the sweep that was named, with what flags change of it."""
    import json

    from twill.artifacts.sweep import Sweep, packaged_sweeps

    named = [item for item in items if item.endswith(".toml") or item in packaged_sweeps()]
    if named and len(items) > 1:
        raise InputError(f"one sweep alone, or loops and schedules (got {short(items)})")
    given = {name: value for name, value in options.items() if value is not None}
    base = Sweep.named(items[0]) if named else Sweep(items=tuple(items))
    data = base.model_dump(mode="json", by_alias=True, exclude_none=True)
    data |= given
    data["axes"] = {**data["axes"], **dict(axes)}
    return Sweep.from_json(json.dumps(data))


def _executor(jobs: int, address: str | None) -> AbstractContextManager[Executor | None]:
    from twill.studies.executors import cluster, local

    if address is None:
        return local(jobs)
    if jobs > 1:
        raise InputError("either --jobs or --cluster", path="--cluster")
    return cluster(address)


def _write(
    sweep: Sweep, found: pd.DataFrame, told: list[Answer], folder: Path, *, parquet: bool
) -> list[Path]:
    from twill.studies.sweep.table import plot_sweep, write_tables

    files = write_tables(found, folder, parquet=parquet)
    texts = {
        "answers.txt": "".join(f"{answer.words}\n" for answer in told),
        "throughput.svg": plot_sweep(sweep, found),
        "interval.svg": plot_sweep(sweep, found, interval=True),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [*files, *(folder / name for name in texts)]


def _document(sweep: Sweep, found: pd.DataFrame, told: list[Answer]) -> dict[str, Any]:
    import json

    return {
        "schema": "twill.sweep-results",
        "schema_version": 1,
        "sweep": sweep.model_dump(mode="json", by_alias=True, exclude_none=True),
        "answers": [answer.to_dict() for answer in told],
        "rows": json.loads(found.to_json(orient="records")),
    }


def _print(sweep: Sweep, found: pd.DataFrame, told: list[Answer]) -> None:
    from twill.studies.sweep.table import points_table

    points_table(sweep, found, MOST_ROWS, FIGURES).print()
    for answer in told:
        say(textwrap.fill(answer.words, WIDTH, subsequent_indent="  ", break_on_hyphens=False))
