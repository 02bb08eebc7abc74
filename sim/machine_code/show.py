"""Predictions as text."""

from __future__ import annotations

from collections.abc import Iterator

from twill.base.console import paragraph
from twill.base.names import elided
from twill.base.tables import Column, Table
from twill.sim.machine_code.prediction import Prediction

SHOWN = 8  # waits
IDLE = 0.98  # part of the interval from which a partition only waits for the others to end


def prediction_words(found: Prediction) -> Iterator[str]:
    """Say how many cycles a kernel's machine code takes, and what they go to."""
    interval, least, most = found.interval_cycles, found.lowest_cycles, found.highest_cycles
    told = (
        "no interval that repeats" if interval is None else f"{interval:,.0f} cycles an iteration"
    )
    phases = len(found.phases)
    yield f"machine code: {told}, {least:,.0f} to {most:,.0f} over {phases} starting phases"
    yield (
        f"products take {found.product_cycles:,.0f} of them, and {found.delayed_cycles:,.0f} more "
        "beside other instructions"
    )
    if saved := [f"{name} {n:,.0f}" for name, n in found.mechanisms.items() if abs(n) >= 1]:
        yield f"cycles saved without a mechanism, one at a time: {', '.join(saved)}"


def waits_table(found: Prediction) -> Table:
    """Return the longest waits of the partitions."""
    columns = [Column(name) for name in ("partition", "line", "waits for", "of line", "cycles")]
    rows = [
        [w.partition, w.line, elided(w.waits_for, 40), w.answered_at or "", f"{w.cycles:.0f}"]
        for w in found.waits
        if w.cycles < IDLE * found.highest_cycles
    ]
    return Table(columns, rows[:SHOWN])


def print_prediction(found: Prediction) -> None:
    """Print the cycles of a kernel's machine code, and the longest waits of its partitions."""
    for words in prediction_words(found):
        paragraph(words)
    waits_table(found).print()
    paragraph(found.origin)
