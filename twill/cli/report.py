"""``python -m twill.sim report``: results as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from twill.console import command, progress, say_written
from twill.errors import InputError, short
from twill.files import STANDARD_OUTPUT, write_whole


@command
def report_command(
    results: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULTS...",
            help="Folders that `sweep -o` or `compare -o` wrote, or schedules.",
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE.html", help="Where to write the page.")
    ] = "report.html",
) -> None:
    """Write one page with tables, plots, timelines, stalls and roles; it needs no network."""
    from twill.studies.report.page import page, section

    if output != STANDARD_OUTPUT and not output.endswith((".html", ".htm")):
        raise InputError(f"must end in .html (got {short(output)})", path="--output")
    with progress("report") as report:
        text = page([section(Path(place), report) for place in results])
    write_whole(output, text)
    say_written(output)
