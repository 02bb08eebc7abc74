"""What tuning found, as a table for people and in words."""

from __future__ import annotations

from collections.abc import Callable, Collection

from twill.artifacts.sweep import Tuned, TunedRow
from twill.base.formats import count, cycles, signed_percent, tenths, teraflops
from twill.base.tables import Column, Table

SUBTILES = "sub-tiles"
SHOWN = ("tile", SUBTILES)  # values in columns of their own


def candidate_text(row: TunedRow) -> str:
    """Return what a candidate is: ``128x176, sub-tiles 2``."""
    return ", ".join(filter(None, [row.tile, _values(row, ("tile",))]))


def _values(row: TunedRow, but: Collection[str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.values.items() if name not in but)


def tuned_table(tuned: Tuned) -> Table:
    """Return every candidate, the fastest first, each with its bound or why there is none."""
    best = tuned.rows[0].microseconds
    columns: dict[Column, Callable[[TunedRow], object]] = {
        Column("rank", form=count): lambda row: row.rank,
        Column("tile"): lambda row: row.tile,
        Column(SUBTILES, form=count): lambda row: row.values.get(SUBTILES),
        Column("with"): lambda row: _values(row, SHOWN),
        Column("interval", "cycles", cycles): lambda row: row.interval_cycles,
        Column("time", "us", tenths): lambda row: row.microseconds,
        Column("bound", "us", tenths): lambda row: row.bound_microseconds,
        Column("over best", form=signed_percent): lambda row: _over(row, best),
        Column("TFLOP/s", form=teraflops): lambda row: row.tflops,
        Column("why not"): _why,
    }
    if not any(_values(row, SHOWN) for row in tuned.rows):
        del columns[Column("with")]
    rows = [[cell(row) for cell in columns.values()] for row in tuned.rows]
    return Table([*columns], rows, notes=[_question(tuned)])


def _over(row: TunedRow, best: float | None) -> float | None:
    """Return by what part a candidate is above the best, at least if it was not simulated."""
    least = row.bound_microseconds if row.microseconds is None else row.microseconds
    return None if best is None or least is None else least / best - 1


def _why(row: TunedRow) -> str:
    bounded = f"bounded: {row.bound_reason}"
    said = {"ran": "", "waiting": "waiting", "bounded": bounded, "refused": row.reason}
    return said[row.status]


def _question(tuned: Tuned) -> str:
    sizes = "; ".join(
        ", ".join(f"{name} {size}" for name, size in problem.items()) for problem in tuned.problems
    )
    how = "persistent blocks" if tuned.persistent else "a block for each tile"
    return (
        f"whole kernels of {tuned.subject} on {tuned.machine} for {sizes}; {how}, at "
        f"{tuned.clock_mhz:g} MHz; effort {tuned.effort}; bounded, and not solved, is what cannot "
        f"come within {tuned.within:.0%} of the best: it is over that by its bound at least"
    )
