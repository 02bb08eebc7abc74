"""``twill doctor``, ``migrate``: what is installed, and files of earlier versions."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer
from typer import Argument, Option

from twill.base.console import note, say_written
from twill.base.files import STANDARD_OUTPUT, write_whole
from twill.cli.command import command, tell
from twill.cli.options import Json, parse_settings


@command
def doctor(
    file: Annotated[
        str | None, Argument(metavar="FILE.py", help="A file of Triton kernels to examine.")
    ] = None,
    machine: Annotated[
        str | None,
        Option("--machine", "-m", help="With a file: where its kernels run, whatever they name."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="With a file: an argument of its kernels."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List what is installed or missing; with a file, what twill.jit would do with its kernels.

    Status 1 if a required part is missing or does not work.
    """
    from dataclasses import asdict

    from twill.studies.installation import installation, print_installation

    if file is not None:
        _examine(file, machine, settings or [], as_json=as_json)
        return
    found = installation()
    show = partial(print_installation, found)
    tell("installation", lambda: {"parts": [asdict(one) for one in found]}, show, as_json=as_json)
    if any(one.required and not one.version for one in found):
        raise typer.Exit(1)


def _examine(file: str, machine: str | None, settings: list[str], *, as_json: bool) -> None:
    from dataclasses import asdict

    from twill.artifacts.machine import Machine
    from twill.decorated.ahead import diagnosed, print_diagnoses

    on = None if machine is None else Machine.named(machine)
    found = diagnosed(file, parse_settings(settings), on)
    show = partial(print_diagnoses, found)
    data = {"kernels": [asdict(one) for one in found]}
    tell("kernel-forms", lambda: data, show, as_json=as_json)


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
