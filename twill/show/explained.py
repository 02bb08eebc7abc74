"""Why a program takes as long as it does, as text and as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from twill.base.console import paragraph, say
from twill.base.formats import cycles, percent
from twill.base.tables import Column, Table
from twill.explain.programs import ProgramExplanation, ProgramLever
from twill.show.polished import MET
from twill.sim.show import print_pace


def program_explanation_data(
    found: ProgramExplanation, levers: Sequence[ProgramLever] | None
) -> dict[str, Any]:
    """Return an explanation as plain data."""
    critical = found.critical
    return {
        "interval_cycles": found.interval_cycles,
        "critical": critical.model_dump() if critical is not None else None,
        "bounds": [a.bound.model_dump(mode="json", exclude_none=True) for a in found.arguments],
        "levers": None if levers is None else [asdict(lever) for lever in levers],
    }


def print_program_explanation(found: ProgramExplanation) -> None:
    """Print what sets the pace of a program, and what no program is below."""
    least = found.arguments[0].bound
    gap = found.interval_cycles / least.cycles - 1
    over = "which no program is below" if gap < MET else f"{percent(gap)} over the bound"
    paragraph(f"{cycles(found.interval_cycles)} cycles an iteration, {over}")
    say()
    columns = [Column("bound", "cycles", cycles), Column("reason"), Column("of")]
    rows = [(a.bound.cycles, a.reason, _of(a.of)) for a in found.arguments]
    Table(columns, rows).print()
    if found.critical is not None:
        print_pace(found.critical)


MOST_NAMES = 4


def _of(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def print_program_levers(levers: Sequence[ProgramLever], simulations: int) -> None:
    """Print what every lever brings."""
    say(f"what would help, the best of {simulations:,} programs with each")
    rows = [
        (
            lever.name,
            "-" if lever.interval_cycles is None else lever.interval_cycles,
            "-" if lever.gain is None else lever.gain,
            lever.bound_cycles,
        )
        for lever in levers
    ]
    columns = [Column("lever"), Column("interval", "cycles", cycles), Column("gain", form=percent)]
    Table([*columns, Column("bound", "cycles", cycles)], rows).print()
