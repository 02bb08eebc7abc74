"""The commands of ``twill`` by what they are about, and what they share."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from twill.console import say

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def print_json(data: Any) -> None:
    """Write data as JSON to stdout.

    Parameters
    ----------
    data : object
        Plain data.
    """
    say(json.dumps(data, indent=1, ensure_ascii=False))
