"""The commands of ``twill`` by what they are about, and what they share."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from twill.console import say
from twill.errors import InputError, RefusedError, short

MOST_JOBS = 256
MOST_DIGITS = 18
"""Of whole numbers; Python refuses to read those of thousands."""
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, max=MOST_JOBS, help="Processes that run at a time.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def print_json(data: Any) -> None:
    """Write data as JSON to stdout."""
    say(json.dumps(data, indent=1, ensure_ascii=False))


@contextlib.contextmanager
def refusals(*, as_json: bool) -> Iterator[None]:
    """Print a refusal as data and end in its exit status, if JSON was asked for."""
    try:
        yield
    except RefusedError as error:
        if not as_json:
            raise
        print_json({"refused": error.data})
        raise typer.Exit(error.exit_status) from None


def pairs(texts: Iterable[str] | None, between: str, option: str) -> list[tuple[str, str]]:
    """Split the values of a repeatable option in two.

    Raises
    ------
    InputError
        If a part is missing.
    """
    found = []
    for text in texts or ():
        first, _, second = text.partition(between)
        if not first.strip() or not second.strip():
            raise InputError(f"two parts with {between!r} between (got {short(text)})", path=option)
        found.append((first.strip(), second.strip()))
    return found


def number(text: str, option: str) -> int:
    """Return a whole number that was given as text.

    Raises
    ------
    InputError
        If it is none.
    """
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise InputError(f"a whole number (got {short(text)})", path=option)
    return int(text)
