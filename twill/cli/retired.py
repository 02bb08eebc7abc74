"""Commands and options that are gone, and what to use instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from twill.base.console import fail
from twill.base.errors import InputError

# A command, or an option of one, with the value that is gone if others are left.
RETIRED = {
    "bench": "python -m tests.validation.bench or simulator_bench, in a clone",
    "diff --output": "twill explore FIRST SECOND -o FILE.html",
    "diff -o": "twill explore FIRST SECOND -o FILE.html",
    "emit --to": "twill emit without it: a kernel is always Gluon",
    "calibrate --from-measurements": "python -m tests.validation.load_fit, in a clone",
    "reproduce --markdown": "python -m tests.validation.results, in a clone",
    "reproduce --stop": "python -m tests.validation.results, in a clone",
    "schedule --budget": "twill.schedule(..., budget=N), in Python",
    "schedule --memory": "systemd-run --scope -p MemoryMax=4G twill schedule ...",
    "schedule --prefer": "twill schedule --model paper -o FILE, then twill polish FILE",
    "schedule --robust": "twill polish SCHEDULE --conditions oldest:LATENCY",
    "schedule --time refined": "twill schedule without it: cycles are exact",
    "show --as graph": "twill explore SCHEDULE -o FILE.html",
    "show --as rrt": "twill explore SCHEDULE -o FILE.html",
    "sim compare --csv": "-o FOLDER, which has comparison.csv",
    "sim compare --markdown": "-o FOLDER, which has comparison.md",
    "sim run --advice": "twill explain SCHEDULE, or twill polish SCHEDULE",
    "sim run --bundle": "--iterations for a shorter run",
    "sim run --interference": "sim run without it: --without switches mechanisms off",
    "sim published": "python -m tests.validation.published, in a clone",
    "sim sweep --parquet": "-o FOLDER, which has results.csv",
    "sim sweep --deeper": "--set deeper=VALUES",
}


def instead(words: Sequence[str]) -> str | None:
    """Return what to use instead of what the words of a command line name; None if all is there."""
    # An option and the value that is written into it are two words.
    given = [p for w in words for p in (w.split("=", 1) if w.startswith("--") else [w])]
    for gone, use in RETIRED.items():
        command = gone.partition(" -")[0].split()
        option = gone.split()[len(command) :]
        rest = (given[n : n + len(option)] for n in range(len(given)))
        if given[: len(command)] == command and (not option or option in rest):
            return f"{gone} is gone; use {use}"
    return None


class Tree(TyperGroup):
    """A tree of commands that refuses retired words: ``twill``, or ``sim`` below it or alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse retired words before the others are read."""
        message = instead(args if self.name == "twill" else ("sim", *args))
        if message is not None:
            fail(message, InputError.exit_status)
        return super().parse_args(ctx, args)
