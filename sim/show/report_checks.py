"""Checks as text for people."""

from __future__ import annotations

import textwrap

from twill.console import say, table
from twill.sim.checks.every import Checks, Numbers

WIDTH = 80


def print_checks(checks: Checks) -> None:
    """Print what a program's checks found."""
    say(f"checked over {checks.iterations} iterations: no races")
    if checks.numbers is not None:
        _print_numbers(checks.numbers)
    rows = [
        [
            name,
            "-" if entry.capacity is None else str(entry.capacity),
            str(entry.allocated),
            f"{entry.peak:g}",
            f"{entry.mean:.0f}",
            entry.unit.removeprefix("registers "),
        ]
        for name, entry in checks.occupancy.items()
    ]
    table(
        ["occupancy", "capacity", "allocated", "peak", "mean", "of"],
        rows,
        right={"capacity", "allocated", "peak", "mean"},
    )
    along = [
        f"{name.removeprefix('registers of ')} {entry.along_program}"
        for name, entry in checks.occupancy.items()
        if entry.along_program is not None and name.startswith("registers of ")
    ]
    if along:
        say(textwrap.fill(f"registers live along programs: {', '.join(along)}", WIDTH))
    if checks.exceeded:
        say(textwrap.fill(f"EXCEEDED what there is: {', '.join(checks.exceeded)}", WIDTH))


def _print_numbers(numbers: Numbers) -> None:
    if not numbers.wrong:
        say(f"values: all {numbers.results} results are those of the loop as written")
    for wrong in numbers.wrong:
        say(
            f"values: {wrong.operation} of iteration {wrong.iteration} is WRONG in "
            f"{wrong.different} of {wrong.elements} elements"
        )
    if numbers.formula_error is not None and numbers.formula_tolerance is not None:
        close = numbers.formula_error <= numbers.formula_tolerance
        say(
            f"values: {'within' if close else 'WRONG,'} {numbers.formula_error:.2g} of the "
            f"formula's largest element (tolerance {numbers.formula_tolerance:.2g})"
        )
