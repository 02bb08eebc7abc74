"""``twill doctor``: what is installed, and what is missing."""

from __future__ import annotations

from functools import partial

import typer

from twill.cli.command import command
from twill.cli.options import Json
from twill.cli.output import tell


@command
def doctor(as_json: Json = False) -> None:
    """Say what is installed, what is missing, and what each part is needed for.

    Status 1 if a required part is missing or does not work.
    """
    from dataclasses import asdict

    from twill.studies.installation import installation, print_installation

    found = installation()
    show = partial(print_installation, found)
    tell("installation", lambda: {"parts": [asdict(one) for one in found]}, show, as_json=as_json)
    if any(one.required and not one.version for one in found):
        raise typer.Exit(1)
