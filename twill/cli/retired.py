"""Commands and options that are gone, and what to use instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from twill.base.console import fail
from twill.base.errors import InputError

# The last word is what is gone, the words before it are the command that had it.
RETIRED = {
    "bench": "python -m tests.validation.bench or simulator_bench, in a clone",
    "emit --to": "twill emit without it: a kernel is always Gluon",
    "calibrate --from-measurements": "python -m tests.validation.load_fit, in a clone",
    "reproduce --markdown": "python -m tests.validation.results, in a clone",
    "reproduce --stop": "python -m tests.validation.results, in a clone",
    "schedule --prefer": "twill schedule --model paper -o FILE, then twill polish FILE",
    "schedule --robust": "twill polish SCHEDULE --conditions oldest:LATENCY",
    "sim compare --csv": "-o FOLDER, which has comparison.csv",
    "sim compare --markdown": "-o FOLDER, which has comparison.md",
    "sim run --bundle": "--iterations for a shorter run",
    "sim published": "python -m tests.validation.published, in a clone",
    "sim sweep --deeper": "--set deeper=VALUES",
}


def instead(words: Sequence[str]) -> str | None:
    """Return what to use instead of what the words of a command line name; None if all is there."""
    for gone, use in RETIRED.items():
        *command, last = gone.split()
        rest = words[len(command) :]
        options = [word.partition("=")[0] for word in rest]
        if [*words[: len(command)]] == command and last in (
            options if last.startswith("--") else rest[:1]
        ):
            return f"{gone} is gone; use {use}"
    return None


class Tree(TyperGroup):
    """A tree of commands that refuses what is gone.

    `below`: the command under which ``twill`` has the tree.
    """

    below: tuple[str, ...] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse what is gone before the words are read."""
        message = instead((*self.below, *args))
        if message is not None:
            fail(message, InputError.exit_status)
        return super().parse_args(ctx, args)


class SimulatorTree(Tree):
    """The tree of the simulator, which is also a program of its own."""

    below = ("sim",)
