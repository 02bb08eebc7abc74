"""What processes are given to do that die of it; little is imported here."""

from __future__ import annotations

import os
from pathlib import Path


def square(number: int, folder: str) -> int:
    """Return a square; whoever is asked first dies of it."""
    first = Path(folder) / str(number)
    if not first.exists():
        first.touch()
        os._exit(9)
    return number * number


def deadly() -> None:
    os._exit(9)
