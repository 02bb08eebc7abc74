"""``python -m twill.sim``: what executes schedules, and what needs solvers and simulator."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from twill.cli.compare import compare_command
from twill.cli.options import Json
from twill.cli.report import report_command
from twill.cli.run import run_command
from twill.cli.sweep import sweep_command
from twill.console import command, progress, say

app = typer.Typer(
    name="python -m twill.sim",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Execute warp-specialized schedules on a simulated SM.",
)
app.command("compare")(compare_command)
app.command("sweep")(sweep_command)
app.command("report")(report_command)
app.command("run")(run_command)


@app.command("published")
@command
def published_command(
    switches: Annotated[
        bool, typer.Option("--switches", help="Switch one mechanism at a time instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare hand-written schedules of published kernels with what was measured."""
    from twill.studies.published import (
        comparisons,
        experiments,
        print_comparisons,
        print_experiments,
    )

    with progress("published figures") as report:
        tried = experiments(report) if switches else []
        found = [] if switches else comparisons(report)
    if as_json:
        data = [*map(asdict, tried), *map(asdict, found)]
        say(json.dumps(data, indent=1))
    elif switches:
        print_experiments(tried)
    else:
        print_comparisons(found)
