"""``twill doctor``, ``migrate``: what is installed, and files of earlier versions."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer
from typer import Argument, Option

from twill.base.console import note, say_written
from twill.base.files import STANDARD_OUTPUT, write_whole
from twill.cli.command import command, tell
from twill.cli.options import Json


@command
def doctor(as_json: Json = False) -> None:
    """List the parts that are installed or missing, and the purpose of each part.

    Status 1 if a required part is missing or does not work.
    """
    from dataclasses import asdict

    from twill.studies.installation import installation, print_installation

    found = installation()
    show = partial(print_installation, found)
    tell("installation", lambda: {"parts": [asdict(one) for one in found]}, show, as_json=as_json)
    if any(one.required and not one.version for one in found):
        raise typer.Exit(1)


@command
def migrate(
    file: Annotated[
        str, Argument(help="A machine (.toml, .json), or a loop, schedule or order (.json).")
    ],
    output: Annotated[
        str, Option("--output", "-o", help="Write the new form here; by default to stdout.")
    ] = STANDARD_OUTPUT,
) -> None:
    """Convert a file of an earlier version to the current form, and list the changes."""
    from twill.frontends.migration import migrated

    text, told = migrated(file)
    write_whole(output, text)
    said = f"brought up: {', '.join(told)}" if told else "has the form of today"
    note(f"twill: {file}: {said}")
    say_written(output)
