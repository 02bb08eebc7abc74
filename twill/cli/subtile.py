"""``twill loop subtile``: split a loop into sub-tiles."""

from __future__ import annotations

from typing import Annotated

import typer

from twill.cli.options import Json, print_json
from twill.console import command, say_written
from twill.files import STANDARD_OUTPUT

app = typer.Typer()


@app.command()
@command
def subtile(
    loop: Annotated[
        str, typer.Argument(help="A packaged name, loop.json or a TTGIR dump (.mlir).")
    ],
    factor: Annotated[int, typer.Option("--factor", help="How many sub-tiles, 2 to 64.")],
    along: Annotated[
        str | None,
        typer.Option(
            "--along",
            metavar="OPERATION:DIMENSION",
            help="Dimension of an operation's result to split; chosen so that loads stay shared "
            "without it.",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            "-m",
            help="Whose product instructions limit the sizes; that of the loop's architecture "
            "without it.",
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write loop.json here (- for stdout).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Split a loop's independent rows into sub-tiles; status 1 if they depend on each other."""
    from twill.artifacts.machine import Machine
    from twill.frontends.loops import load_loop, threads_per_warp
    from twill.frontends.subtiling import Rewriter, plan_subtiles
    from twill.show.loop import print_subtiles, subtiles_data

    on = None if machine is None else Machine.named(machine)
    plan = plan_subtiles(load_loop(loop), factor, along=along, machine=on)
    made = Rewriter(plan, threads_per_warp(plan.loop, on)).loop()
    if output is not None:
        made.save(output)
    if output == STANDARD_OUTPUT:
        return
    if as_json:
        print_json(subtiles_data(plan, made))
    else:
        print_subtiles(plan, made)
        say_written(output)
