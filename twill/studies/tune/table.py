"""What tuning found, as a table for people and in words."""

from __future__ import annotations

from twill.artifacts.tuning import Tuned, TunedRow
from twill.formats import count, cycles, signed_percent, tenths, teraflops
from twill.tables import Column, Table

COLUMNS = (
    Column("rank", form=count),
    Column("candidate"),
    Column("interval", "cycles", cycles),
    Column("its bound", "cycles", cycles),
    Column("tiles of an SM", form=count),
    Column("time", "us", tenths),
    Column("bound", "us", tenths),
    Column("over bound", form=signed_percent),
    Column("over the best", form=signed_percent),
    Column("TFLOP/s", form=teraflops),
    Column("why not"),
)


def candidate_text(row: TunedRow) -> str:
    """Return what a candidate is: ``128x176, sub-tiles 2``."""
    others = [f"{name} {value}" for name, value in row.values.items() if name != "tile"]
    return ", ".join([*filter(None, [row.tile]), *others])


def tuned_table(tuned: Tuned) -> Table:
    """Return every candidate, the fastest first, each with its bound or why there is none."""
    best = tuned.rows[0].microseconds
    rows = []
    for row in tuned.rows:
        taken = row.microseconds
        # What was not simulated takes at least so much more than the best.
        least = row.bound_microseconds if taken is None else taken
        rows.append(
            (
                row.rank,
                candidate_text(row),
                row.interval_cycles,
                row.bound_cycles,
                sum(time.tiles_per_multiprocessor for time in row.times) or None,
                taken,
                row.bound_microseconds,
                row.over_bound,
                None if best is None or least is None else least / best - 1,
                row.tflops,
                _why(row),
            )
        )
    return Table(COLUMNS, rows, notes=[_question(tuned)])


def _why(row: TunedRow) -> str:
    said = {
        "ran": "",
        "waiting": "not looked at yet",
        "bounded": f"not solved: its bound ({row.bound_reason})",
        "refused": row.reason,
    }
    return said[row.status]


def _question(tuned: Tuned) -> str:
    sizes = "; ".join(
        ", ".join(f"{name} {size}" for name, size in problem.items()) for problem in tuned.problems
    )
    how = "persistent blocks" if tuned.persistent else "a block for each tile"
    return (
        f"whole kernels of {tuned.subject} on {tuned.machine} for {sizes}; {how}, at "
        f"{tuned.clock_mhz:g} MHz; effort {tuned.effort}; not solved is what cannot come within "
        f"{tuned.within:.0%} of the best"
    )
