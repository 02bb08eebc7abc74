"""What became of what a schedule promises, as text."""

from __future__ import annotations

from collections.abc import Sequence

from twill.base.console import paragraph
from twill.base.formats import cycles
from twill.sim.promise import Kept


def print_kept(runs: Sequence[Kept]) -> None:
    """Print what runs took of what was promised."""
    for kept in runs:
        said = "as promised" if kept.kept else f"NOT the {cycles(kept.promised)} that are promised"
        taken = "no steady state"
        if kept.measured is not None:
            taken = f"{cycles(kept.measured)} cycles an iteration"
        paragraph(f"executed, {kept.what}: {taken}, {said}")
    if not runs:
        paragraph("executed: it promises no interval")
