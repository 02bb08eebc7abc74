"""``twill diff``: what differs between two schedules."""

from __future__ import annotations

from typing import Annotated

import typer

from twill.cli.options import Json, print_json
from twill.console import command, say_written
from twill.files import STANDARD_OUTPUT


@command
def diff(
    first: Annotated[
        str, typer.Argument(help="schedule.json, IR (.mlir) or the name of a packaged schedule.")
    ],
    second: Annotated[str, typer.Argument(help="Another one.")],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Draw both, with what was moved: .svg, .png or .html; - is SVG on stdout.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what differs between two schedules; exit status 1 if anything does."""
    from twill.frontends.schedules import load_schedule
    from twill.show.differences import compare, differences_data, print_differences

    schedules = load_schedule(first), load_schedule(second)
    found = compare(*schedules)
    if output is not None:
        from twill.show.gantt import draw_differences
        from twill.show.looks import with_short_names

        draw_differences(compare(*map(with_short_names, schedules)), output)
    if output == STANDARD_OUTPUT:
        pass
    elif as_json:
        print_json(differences_data(found))
    else:
        print_differences(found)
        say_written(output)
    if not found.equal:
        raise typer.Exit(1)
