"""``twill migrate``: files of earlier versions, written as those of today."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from twill.base.console import note, say_written
from twill.base.files import STANDARD_OUTPUT, write_whole
from twill.cli.command import command


@command
def migrate(
    file: Annotated[
        str, Argument(help="A machine (.toml, .json), or a loop, schedule or order (.json).")
    ],
    output: Annotated[
        str, Option("--output", "-o", help="Write the new form here; to stdout without it.")
    ] = STANDARD_OUTPUT,
) -> None:
    """Write a file of an earlier version in the form of today, and say what was written into it."""
    from twill.frontends.migration import migrated

    text, told = migrated(file)
    write_whole(output, text)
    said = f"brought up: {', '.join(told)}" if told else "has the form of today"
    note(f"twill: {file}: {said}")
    say_written(output)
