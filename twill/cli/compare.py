"""``python -m twill.sim compare``: loops and schedules against the other ways to run them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from twill.cli.options import Json
from twill.console import command, progress, say, say_written
from twill.files import make_folder


@command
def compare_command(
    items: Annotated[
        list[str],
        typer.Argument(
            metavar="LOOP|SCHEDULE...",
            help="Packaged names or files; a loop is scheduled first.",
        ),
    ],
    machine: Annotated[
        list[str] | None,
        typer.Option(
            "--machine",
            "-m",
            help="Where loops run; may be repeated. The one that a packaged loop is meant for "
            "without it.",
        ),
    ] = None,
    iterations: Annotated[int, typer.Option(help="Trip count of the loop.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the variable latencies.")] = 0,
    latency: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[LOAD=]SOURCE",
            help="Cycles of variable-latency loads, as for `run`. May be repeated.",
        ),
    ] = None,
    clock: Annotated[
        float | None,
        typer.Option(metavar="MHZ", help="Clock for TFLOP/s; the machine file's without it."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds to schedule each loop.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Write JSON, CSV, Markdown, a bar chart (SVG) and the schedules.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run loops as written, pipelined and jointly scheduled, and experts' schedules of them.

    A variant that cannot run is a row with its reason; the exit status is 1 if that is a schedule
    itself.
    """
    from twill.sim.engine.conditions import Conditions
    from twill.studies import compare_view as view
    from twill.studies.compare import compare_all, document
    from twill.studies.subjects import subjects

    conditions = Conditions.of(iterations=iterations, seed=seed, latency=latency, clock=clock)
    make_folder(output)
    with progress("comparing") as report:
        found = compare_all(
            subjects(items, machine or ()),
            conditions,
            timeout=timeout,
            report=report,
        )
    written = [] if output is None else view.write_comparisons(found, Path(output))
    if as_json:
        say(document(found).to_json().removesuffix("\n"))
    elif csv:
        say(view.frame(found).to_csv(index=False, lineterminator="\n").rstrip("\n"))
    elif markdown:
        say(view.markdown(found).rstrip("\n"))
    else:
        view.print_comparisons(found)
        say_written(*written)
    if any(v.variant == "joint" and v.note for one in found for v in one.variants):
        raise typer.Exit(1)
