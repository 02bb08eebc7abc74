"""``twill explain``: why no smaller interval exists, and what would help."""

from __future__ import annotations

from typing import Annotated

import typer

from twill.cli.options import Json, print_json
from twill.console import command, progress


@command
def explain(
    schedule_file: Annotated[
        str, typer.Argument(metavar="SCHEDULE", help="schedule.json or IR (.mlir).")
    ],
    levers: Annotated[
        bool, typer.Option(help="Also solve what would bring the interval down.")
    ] = True,
    timeout: Annotated[
        float, typer.Option(min=0.001, help="Seconds for the explanation and for each lever.")
    ] = 20.0,
    as_json: Json = False,
) -> None:
    """Say why the interval below fails, and what would bring the interval down."""
    from twill.explain.explain import explain as explained
    from twill.explain.levers import levers as pulled
    from twill.frontends.schedules import load_schedule
    from twill.search.scheduler import engine_factory
    from twill.show.proof import explanation_data, print_explanation, print_levers

    schedule, engine = load_schedule(schedule_file), engine_factory("difference")
    with progress(f"explaining {schedule_file}") as report:
        found = explained(schedule, engine, timeout, report)
        if not as_json:
            print_explanation(found)
        found_levers = pulled(schedule, engine, timeout, report) if levers else None
    if as_json:
        print_json(explanation_data(found, found_levers))
    elif found_levers:
        print_levers(found_levers)
