"""``python -m twill.sim sweep``: schedules under changed parameters."""

from __future__ import annotations

import json
import textwrap
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from twill.base.console import WIDTH, counted, say, say_written
from twill.base.errors import InputError, RefusedError, short
from twill.base.files import inside, make_folder, write_whole
from twill.cli.command import command, print_json
from twill.cli.options import Clock, Jobs, Json, Machines, ResultsFolder, SolverSeconds, pairs

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from twill.artifacts.sweep import Sweep
    from twill.studies.sweep.answers import Answer

MOST_ROWS = 40  # points of a table on the screen; the files have all
FIGURES = ("interval_cycles", "tflops", "tensor_core_utilization", "fits")


@dataclass(frozen=True)
class Parameters:
    """Parameters with values."""

    tma_latency: Annotated[
        str | None, Option(metavar="VALUES", help="Cycles of loads, for example 200:4000:20.")
    ] = None
    latency: Annotated[
        list[str] | None,
        Option(metavar="SOURCE", help="Latency source, as for `run`; may be repeated."),
    ] = None
    depth: Annotated[
        str | None, Option(metavar="VALUES", help="Ring slots of loads, for example 1:6.")
    ] = None
    change: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUES", help="Any parameter by name; may be repeated."),
    ] = None

    def axes(self) -> dict[str, Any]:
        """Return values by parameter."""
        names = ("tma_latency", "depth", "latency")
        given = {name.replace("_", "-"): getattr(self, name) for name in names}
        named = {name: value for name, value in given.items() if value}
        return {**named, **dict(pairs(self.change, "=", "--set"))}


@dataclass(frozen=True)
class Common:
    """Settings that are the same for all points; the sweep's file has those that are not given."""

    machine: Machines = None
    variant: Annotated[
        list[str] | None,
        Option(help="sequential, multi-warp, swp, triton or joint; may be repeated."),
    ] = None
    resolve: Annotated[bool | None, Option("--resolve", help="Schedule again at each point.")] = (
        None
    )
    iterations: Annotated[int | None, Option(min=1, help="Trip count, 64 by default.")] = None
    seed: Annotated[int | None, Option(min=0, help="Seed of latencies, 0 by default.")] = None
    tolerance: Annotated[
        float | None, Option(help="Excess over the best interval that holds, 0.02 by default.")
    ] = None
    clock: Clock = None
    timeout: SolverSeconds = None

    def sweep(self, items: list[str], axes: dict[str, Any]) -> Sweep:
        """Return the named sweep, with the changes that options make."""
        from twill.artifacts.sweep import Sweep, packaged_sweeps

        named = [item for item in items if item.endswith(".toml") or item in packaged_sweeps()]
        if named and len(items) > 1:
            raise InputError(f"one sweep alone, or loops and schedules (got {short(items)})")
        base = Sweep.named(items[0]) if named else Sweep(items=tuple(items))
        data = _plain(base)
        keys = {"machine": "machines", "variant": "variants"}
        given = {
            keys.get(k, k): value for k, value in asdict(self).items() if value not in (None, [])
        }
        return Sweep.from_json(json.dumps({**data, **given, "axes": {**data["axes"], **axes}}))


@dataclass(frozen=True)
class Workers:
    """Processes that run the points."""

    jobs: Jobs = 1
    cluster: Annotated[
        str | None, Option(metavar="ADDRESS", help="Dask scheduler (needs the extra `cluster`).")
    ] = None

    def executor(self) -> AbstractContextManager[Executor | None]:
        """Return an executor, none where this process is enough."""
        from twill.base.executors import cluster, local

        if self.cluster is None:
            return local(self.jobs)
        if self.jobs > 1:
            raise InputError("either --jobs or --cluster", path="--cluster")
        return cluster(self.cluster)


@command
def sweep(
    items: Annotated[
        list[str],
        Argument(
            metavar="SPEC|LOOP|SCHEDULE...",
            help="A sweep: a .toml file or a packaged one; or loops and schedules.",
        ),
    ],
    parameters: Parameters,
    common: Common,
    workers: Workers,
    output: ResultsFolder = None,
    as_json: Json = False,
) -> None:
    """Run schedules under changed latencies, depths and other named parameters.

    VALUES are numbers with commas between, A:B for whole numbers, START:STOP:COUNT for evenly
    spaced ones or log:START:STOP:COUNT. With -o an interrupted sweep resumes where it ended.
    """
    from twill.studies.sweep import run_sweep
    from twill.studies.sweep.answers import answers
    from twill.studies.sweep.table import points_table

    asked = common.sweep(items, parameters.axes())
    make_folder(output)
    folder = None if output is None else Path(output)
    with counted("sweep", "points") as counter, workers.executor() as executor:
        found = run_sweep(asked, folder, executor, counter)
    told = answers(asked, found)
    written = [] if folder is None else _write(asked, found, told, folder)
    if as_json:
        rows = json.loads(found.to_json(orient="records"))
        data = {"sweep": _plain(asked), "answers": [*map(asdict, told)], "rows": rows}
        print_json("sweep-results", data)
    else:
        points_table(asked, found, MOST_ROWS, FIGURES).print()
        for answer in told:
            say(textwrap.fill(answer.words, WIDTH, subsequent_indent="  ", break_on_hyphens=False))
        say_written(*written)
    if not found.empty and (found["status"] == "failed").all():
        raise typer.Exit(RefusedError.exit_status)


def _plain(asked: Sweep) -> dict[str, Any]:
    return asked.model_dump(mode="json", by_alias=True, exclude_none=True)


def _write(asked: Sweep, found: pd.DataFrame, told: list[Answer], folder: Path) -> list[Path]:
    from twill.studies.sweep.table import csv_text, plot_sweep

    texts = {
        "results.csv": csv_text(found),
        "answers.txt": "".join(f"{answer.words}\n" for answer in told),
        "throughput.svg": plot_sweep(asked, found),
        "interval.svg": plot_sweep(asked, found, interval=True),
    }
    for name, text in texts.items():
        write_whole(inside(folder, name), text)
    return [folder / name for name in texts]
