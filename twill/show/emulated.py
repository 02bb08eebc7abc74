"""What the emulator says of a kernel, as data and for people."""

from __future__ import annotations

from typing import Any

from twill.base.console import say
from twill.base.formats import plural
from twill.base.tables import Column, Table
from twill.sim.emulator import LARGEST_ERROR, LARGEST_UNLIKE, Emulation, Run


def emulation_data(found: Emulation) -> dict[str, Any]:
    """Return an emulation as data."""
    return {
        "file": found.file,
        "host": found.host,
        "passed": found.passed,
        "limit": LARGEST_ERROR,
        "limit_alike": LARGEST_UNLIKE,
        "runs": [
            {
                "iterations": run.iterations,
                "victim": run.victim,
                "passed": run.passed,
                "fault": None if run.fault is None else str(run.fault),
                "outputs": [
                    {
                        "output": one.output,
                        "error": one.exact,
                        "error_alike": one.alike,
                    }
                    for one in run.differences
                ],
            }
            for run in found.runs
        ],
    }


def print_emulation(found: Emulation) -> None:
    """Print the largest error of each trip count, and what went wrong."""
    rows: list[list[object]] = []
    for count in dict.fromkeys(run.iterations for run in found.runs):
        runs = [run for run in found.runs if run.iterations == count]
        errors = _largest(runs) or {None: (None, None)}
        rows += [[count, len(runs), output, *numbers] for output, numbers in errors.items()]
    columns = [
        Column("iterations", form=str),
        Column("runs", form=str),
        Column("output"),
        Column("largest error", "of the exact", _scientific),
        Column("error", "in its own types", _scientific),
    ]
    Table(columns, rows).print()
    wrong = [run for run in found.runs if not run.passed]
    for run in wrong:
        late = f" with {run.victim} late" if run.victim is not None else ""
        why = str(run.fault) if run.fault is not None else "an output is not what it should be"
        say(f"{plural(run.iterations, 'iteration')}{late}: {why}")
    passed = len(found.runs) - len(wrong)
    limits = f"errors up to {LARGEST_ERROR:.0e}, in its own types {LARGEST_UNLIKE:.0e}"
    say(f"{passed} of {plural(len(found.runs), 'run')} passed; {limits}")


def _scientific(number: float) -> str:
    return f"{number:.1e}"


def _largest(runs: list[Run]) -> dict[str | None, tuple[float | None, ...]]:
    """Return each output's largest errors: from the exact reference, and in its own types."""
    found: dict[str | None, tuple[float | None, ...]] = {}
    for run in runs:
        for one in run.differences:
            exact, alike = (n or 0.0 for n in found.get(one.output, (0.0, 0.0)))
            found[one.output] = max(exact, one.exact), max(alike, one.alike)
    return found
