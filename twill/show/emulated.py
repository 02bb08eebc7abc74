"""What the emulator says of a kernel, as data and for people."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from twill import tables
from twill.console import say
from twill.formats import plural
from twill.sim.emulator import Emulation, Run


def emulation_data(found: Emulation) -> dict[str, Any]:
    """Return an emulation as data."""
    return {
        "file": found.file,
        "passed": found.passed,
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
                        "limit": one.limit,
                    }
                    for one in run.differences
                ],
            }
            for run in found.runs
        ],
    }


def print_emulation(found: Emulation) -> None:
    """Print the largest error of each trip count, and what went wrong."""
    table: Table = tables.new("iterations", "runs", "output", "error", "in its own types", "limit")
    for count in dict.fromkeys(run.iterations for run in found.runs):
        runs = [run for run in found.runs if run.iterations == count]
        rows = _largest(runs)
        for number, (output, (exact, alike, limit)) in enumerate(rows.items()):
            first = (str(count), str(len(runs))) if not number else ("", "")
            table.add_row(*first, output, f"{exact:.1e}", f"{alike:.1e}", f"{limit:.0e}")
        if not rows:
            table.add_row(str(count), str(len(runs)), "", "", "", "")
    tables.show(table)
    wrong = [run for run in found.runs if not run.passed]
    for run in wrong:
        late = f" with {run.victim} late" if run.victim is not None else ""
        why = str(run.fault) if run.fault is not None else "an output is not what it should be"
        say(f"{plural(run.iterations, 'iteration')}{late}: {why}")
    passed = len(found.runs) - len(wrong)
    say(f"{passed} of {plural(len(found.runs), 'run')} passed")


def _largest(runs: list[Run]) -> dict[str, tuple[float, float, float]]:
    """Return each output's largest errors: from float64, from its own types, and the limit."""
    found: dict[str, tuple[float, float, float]] = {}
    for run in runs:
        for one in run.differences:
            exact, alike, limit = found.get(one.output, (0.0, 0.0, one.limit))
            found[one.output] = max(exact, one.exact), max(alike, one.alike), limit
    return found
