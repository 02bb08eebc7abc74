"""A sweep's table for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from twill.artifacts.sweep import Sweep
from twill.console import say
from twill.show.tables.grid import Column, grid
from twill.studies.sweep.parameters import parameter
from twill.studies.sweep.table import varies

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 40
"""Points of a table on the screen; the files have all."""
FIGURES = {
    "interval_cycles": ("interval\n(cycles)", ".6g"),
    "tflops": ("TFLOP/s", ".1f"),
    "tensor_core_utilization": ("tensor\ncore", ".1%"),
    "fits": ("fits", ""),
}


def print_points(sweep: Sweep, found: pd.DataFrame) -> None:
    """Print the points; of many, some that are evenly spread."""
    names = [name for name in ("item", "machine", "variant") if varies(found, name)]
    names += [name for name in sweep.axes if varies(found, name) or len(found) == 1]
    step = -(-len(found) // MOST_ROWS)
    rows = [
        [
            str(row["point"]),
            *(str(row[name]) for name in names),
            *(_cell(row[name], form) for name, (_, form) in FIGURES.items()),
        ]
        for _, row in found.iloc[::step].iterrows()
    ]
    columns = [Column("point")]
    units = {name: parameter(name).unit for name in sweep.axes}
    columns += [Column(_heading(name, units.get(name, "")), right=name in units) for name in names]
    columns += [Column(heading) for heading, _ in FIGURES.values()]
    grid(columns, rows)
    if step > 1:
        say(f"one of {step} points is shown; --json prints all {len(found)}, -o keeps them")


def _heading(name: str, unit: str) -> str:
    return name.replace("-", "\n", 1) + (f"\n({unit})" if unit else "")


def _cell(value: object, form: str) -> str:
    import pandas as pd

    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return format(value, form) if form else "yes" if value else "NO"
