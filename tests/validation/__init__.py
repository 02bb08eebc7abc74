"""What the project proves itself with, and makes its packaged data with: no part of the package.

Each module is a program, ``python -m tests.validation.NAME``; ``make nightly`` runs them.
"""

from __future__ import annotations

from collections.abc import Callable

import typer

from twill.base.errors import InputError, short
from twill.cli.command import command


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
