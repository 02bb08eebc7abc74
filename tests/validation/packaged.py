"""How makers of packaged files write them anew, or compare them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from twill.traces import HERE


def write_or_check(description: str, texts: Iterable[tuple[str, str]]) -> int:
    """Write files of the folder traces, or compare them if the command line says ``--check``.

    Returns: 1 if a check found a difference, else 0.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    differing = 0
    for name, text in texts:
        file = HERE / name
        if check:
            same = file.exists() and file.read_text() == text
            differing += not same
            sys.stdout.write(f"{'same' if same else 'DIFFERENT'} {name}\n")
        else:
            file.write_text(text)
            sys.stdout.write(f"wrote {name}\n")
    return 1 if differing else 0
