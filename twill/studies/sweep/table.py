"""A sweep's rows: as a tidy frame, files, a table on the terminal, and lines of a plot."""

from __future__ import annotations

import importlib.util
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from twill.artifacts.sweep import Sweep
from twill.console import say
from twill.errors import MissingLibraryError
from twill.files import write_whole
from twill.show.tables.grid import Column, grid
from twill.studies.sweep.evaluate import Row
from twill.studies.sweep.parameters import parameter

if TYPE_CHECKING:
    import pandas as pd

CSV, PARQUET = "results.csv", "results.parquet"
WHOLE = ("point", "iterations", "seed", "period")
TRUTH = ("fits", "achieved")
NUMBERS = (
    "static_interval_cycles",
    "interval_cycles",
    "half_width_cycles",
    "iterations_per_kilocycle",
    "tflops",
    "clock_mhz",
    "tensor_core_utilization",
    "total_cycles",
)


def frame(sweep: Sweep, rows: Iterable[Row]) -> pd.DataFrame:
    """Return rows in the order of their points, with types that do not depend on what failed."""
    import pandas as pd

    found = pd.DataFrame(sorted(rows, key=lambda row: row["point"]))
    types = dict.fromkeys(WHOLE, "Int64") | dict.fromkeys(TRUTH, "boolean")
    types |= dict.fromkeys(NUMBERS, "Float64")
    kinds = {"whole": "Int64", "number": "Float64", "text": "string"}
    types |= {name: kinds[parameter(name).kind] for name in sweep.axes}
    return found.astype({name: kind for name, kind in types.items() if name in found})


def varies(found: pd.DataFrame, column: str) -> bool:
    """Return whether a column has several values."""
    return len(found[column].unique()) > 1


def csv_text(found: pd.DataFrame) -> str:
    """Return a frame as CSV; equal frames give equal bytes."""
    return str(found.to_csv(index=False, lineterminator="\n"))


def write_tables(found: pd.DataFrame, folder: Path, *, parquet: bool = False) -> list[Path]:
    """Write the table, whole or not at all; return the files.

    Raises
    ------
    InputError
        If the folder cannot be written.
    MissingLibraryError
        If Parquet is asked for without its library.
    """
    write_whole(folder / CSV, csv_text(found))
    if not parquet:
        return [folder / CSV]
    _write_parquet(found, folder / PARQUET)
    return [folder / CSV, folder / PARQUET]


def check_parquet() -> None:
    """Refuse Parquet where its library is missing.

    Raises
    ------
    MissingLibraryError
        If it is.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingLibraryError(
            "Parquet needs pyarrow; install it with: pip install 'twill-gpu[parquet]'"
        )


def _write_parquet(found: pd.DataFrame, file: Path) -> None:
    check_parquet()
    data = io.BytesIO()
    found.to_parquet(data, index=False, engine="pyarrow")
    write_whole(file, data.getvalue())


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
