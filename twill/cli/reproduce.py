"""``twill reproduce``: the paper's evaluation, computed now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from twill.cli.options import Jobs, Json, print_json
from twill.console import command, progress, say_written
from twill.errors import InputError
from twill.files import STANDARD_OUTPUT, check_target


@command
def reproduce(
    case: Annotated[
        list[str] | None, typer.Option("--case", help="Only this case; may be repeated.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for each search; a claim not decided fails.")
    ] = 120.0,
    stop: Annotated[
        float,
        typer.Option(min=0.1, help="Seconds after which the paper's printed encoding is stopped."),
    ] = 30.0,
    jobs: Jobs = 2,
    markdown: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the results as a page, with figures beside it."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the paper's claims; exit status 1 if one does not hold."""
    from twill.studies.reproduce.page import print_claims
    from twill.studies.reproduce.run import reproduce as compute

    if markdown == STANDARD_OUTPUT:
        raise InputError("figures go beside the page: name a file", path="--markdown")
    check_target(markdown)
    with progress("reproduce") as report:
        results = compute(case, timeout=timeout, stop=stop, jobs=jobs, report=report)
    written = []
    if markdown is not None:
        from twill.studies.reproduce.page import write_page

        written = write_page(results, Path(markdown))
    if as_json:
        print_json([claim.to_dict() for result in results for claim in result.claims])
    else:
        print_claims(results)
        say_written(*written)
    if not all(claim.passed for result in results for claim in result.claims):
        raise typer.Exit(1)
