"""What the project proves itself with, and makes its packaged data with: no part of the package.

Each module is a program, ``python -m tests.validation.NAME``; ``make nightly`` runs them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer
from typer import Option

from twill.base.console import say
from twill.base.errors import InputError, short
from twill.cli.command import command

AsJson = Annotated[bool, Option("--json", help="Print a list of objects instead of a table.")]


def tell(rows: Iterable[Any], show: Callable[[], object], *, as_json: bool) -> None:
    """Print dataclasses, or objects, for people or as a list of objects."""
    if as_json:
        data = [row if isinstance(row, dict) else asdict(row) for row in rows]
        say(json.dumps(data, indent=1, ensure_ascii=False))
    else:
        show()


def program(function: Callable[..., None]) -> typer.Typer:
    """Return a function as a program, whose errors are one line."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command(function))
    return app


def counts(text: str, option: str) -> list[int]:
    """Return the whole numbers of ``10,20,50``."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"whole numbers (got {short(text)})", path=option) from None
