"""A sweep's rows: as a tidy frame, as files, as a table for people, as lines of a plot."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from twill.artifacts.sweep import Count, JournalRow, Scalar, Sweep
from twill.base.figures import DASHES, MARKERS, STRONG, new_figure, svg_text
from twill.base.formats import cycles, percent, teraflops, yes
from twill.base.tables import Column, Table
from twill.studies.sweep.parameters import RINGS, parameter
from twill.studies.sweep.points import Row

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SUBJECT = ("item", "machine", "variant")
CONDITIONS = ("iterations", "seed")  # numbers of which no value is better than another
# Of columns, which can lack a value, by those of a journal's rows.
TYPES: dict[object, str] = {
    int: "Int64",
    Count | None: "Int64",
    bool | None: "boolean",
    float | None: "Float64",
}
KINDS = {"whole": "Int64", "number": "Float64", "text": "string"}
# Columns of what came of a point.
FIGURES = {
    "interval_cycles": Column("interval", "cycles", cycles),
    "iterations_per_kilocycle": Column("iter. per kilocycle", form="{:.4g}".format),
    "tflops": Column("TFLOP/s", form=teraflops),
    "tensor_core_utilization": Column("tensor core", form=percent),
    "fits": Column("fits", form=yes),
    "error": Column("error"),
}
PANEL_INCHES, HEIGHT_INCHES = 5.0, 3.8
# Ratio of the largest distance of values to the smallest from which on an axis is logarithmic.
LOGARITHMIC = 4
MOST_TICKS = 8
MOST_LINES = 12


def frame(sweep: Sweep, rows: Iterable[Row]) -> pd.DataFrame:
    """Return rows in the order of their points, with types that do not depend on what failed."""
    import pandas as pd

    found = pd.DataFrame(sorted(rows, key=lambda row: row["point"]))
    columns = {name: column.annotation for name, column in JournalRow.model_fields.items()}
    types = {name: TYPES[kind] for name, kind in columns.items() if kind in TYPES}
    types |= {name: KINDS[parameter(name).kind] for name in sweep.axes}
    return found.astype({name: kind for name, kind in types.items() if name in found})


def varies(found: pd.DataFrame, column: str) -> bool:
    """Return whether a column has several values."""
    return len(found[column].unique()) > 1


def numeric_axes(sweep: Sweep, found: pd.DataFrame) -> list[str]:
    """Return the parameters that are numbers and have several values, that of rings last."""
    several = [
        name
        for name in sweep.axes
        if parameter(name).kind != "text" and name not in CONDITIONS and varies(found, name)
    ]
    return sorted(several, key=lambda name: name in RINGS)


def setting(name: str, value: Any) -> str:
    """Return a parameter's value in words: ``depth 2``, ``deeper by 1``."""
    return f"{name} by {value}" if name == "deeper" else f"{name} {value}"


def plain(value: Any) -> Scalar | None:
    """Return a cell of a frame as plain data."""
    if isinstance(value, str):
        return value
    number = float(value)
    return None if math.isnan(number) else int(number) if number == int(number) else number


# -- files and tables -----------------------------------------------------------------------------


def csv_text(found: pd.DataFrame) -> str:
    """Return a frame as CSV; equal frames give equal bytes."""
    return str(found.to_csv(index=False, lineterminator="\n"))


def points_table(
    sweep: Sweep, found: pd.DataFrame, most: int, figures: Iterable[str] = FIGURES
) -> Table:
    """Return the points; of more than `most`, some that are evenly spread."""
    names = [name for name in SUBJECT if varies(found, name)]
    names += [name for name in sweep.axes if varies(found, name) or len(found) == 1]
    shown = [name for name in figures if name != "error" or (found["status"] == "failed").any()]
    columns = [Column("point", form=str)]
    for name in names:
        known = parameter(name) if name in sweep.axes else None
        columns.append(Column(name, known.unit if known else "", str if known else None))
    columns += [FIGURES[name] for name in shown]
    step = -(-len(found) // most)
    some = found.iloc[::step][["point", *names, *shown]]
    rows = some.astype(object).where(some.notna(), None).to_numpy().tolist()
    left_out = f"one of {step} points is shown; --json prints all {len(found)}, -o keeps them"
    return Table(columns, rows, notes=[left_out] if step > 1 else ())


# -- the plot -------------------------------------------------------------------------------------


def plot_sweep(sweep: Sweep, found: pd.DataFrame, *, interval: bool = False) -> str:
    """Return throughput along one parameter as SVG, a panel for each loop and machine.

    `interval`: whether to show cycles of an iteration, and not work per time.
    """
    # The first parameter with several values, numbers before texts.
    several = [name for name in sweep.axes if varies(found, name)]
    axis = next(iter([*numeric_axes(sweep, found), *several, *sweep.axes]), "point")
    panels = list(found.groupby(["loop", "machine"], sort=False))
    with new_figure(PANEL_INCHES * len(panels), HEIGHT_INCHES, font_size=9) as figure:
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, ((loop, machine), mine) in zip(row, panels, strict=True):
            measure, label = _measure(mine, interval=interval)
            lines = _draw(axes, sweep, mine, axis, measure)
            axes.set_title(f"{loop} on {machine}", fontsize=9)
            axes.set_ylabel(label)
            _frame(axes, mine, axis)
            if lines > 1:
                axes.legend(fontsize=7.5, ncols=1 + (lines > 6))
        return svg_text(figure)


def _measure(mine: pd.DataFrame, *, interval: bool) -> tuple[str, str]:
    if interval:
        return "interval_cycles", "cycles an iteration"
    if mine["tflops"].notna().any():
        clock = mine["clock_mhz"].dropna().iloc[0]
        return "tflops", f"TFLOP/s of the chip at {clock:g} MHz"
    return "iterations_per_kilocycle", "iterations per kilocycle"


def _draw(axes: Axes, sweep: Sweep, mine: pd.DataFrame, axis: str, measure: str) -> int:
    """Draw a line for each rest of a point; return how many."""
    others = [name for name in ("item", "variant", *sweep.axes) if name != axis]
    telling = [name for name in others if varies(mine, name)]
    groups = list(mine.groupby(telling, sort=False, dropna=False)) if telling else [((), mine)]
    ran = [(key, found) for key, line in groups if not (found := line[line[measure].notna()]).empty]
    texts = [*dict.fromkeys(mine[axis])]
    place: Callable[[Any], float] = texts.index if _is_text(axis) else float
    for number, (key, line) in enumerate(ran[:MOST_LINES]):
        ordered = line if _is_text(axis) else line.sort_values(axis)
        fits = bool(ordered["fits"].fillna(value=True).all())
        label = _label(telling, key) + ("" if fits else " (does not fit)")
        axes.plot(
            [place(value) for value in ordered[axis]],
            [float(value) for value in ordered[measure]],
            label=label,
            color=STRONG[number % len(STRONG)],
            marker=MARKERS[number % len(MARKERS)],
            linestyle=DASHES[number % len(DASHES)] if fits else ":",
            markersize=4,
            alpha=1.0 if fits else 0.6,
        )
    return min(len(ran), MOST_LINES)


def _is_text(axis: str) -> bool:
    """Return whether a parameter's values are texts; the number of a point is none."""
    return axis != "point" and parameter(axis).kind == "text"


def _label(names: Sequence[str], key: Any) -> str:
    keys = key if isinstance(key, tuple) else (key,)
    return ", ".join(
        str(value) if name in SUBJECT else setting(name, plain(value))
        for name, value in zip(names, keys, strict=True)
    )


def _frame(axes: Axes, mine: pd.DataFrame, axis: str) -> None:
    axes.grid(visible=True, alpha=0.3)
    axes.set_ylim(bottom=0)
    if _is_text(axis):
        texts = list(dict.fromkeys(mine[axis]))
        axes.set_xticks(range(len(texts)), labels=texts, rotation=25, ha="right")
    else:
        _scale(axes, sorted({float(value) for value in mine[axis]}))
    unit = "" if axis == "point" else parameter(axis).unit
    axes.set_xlabel(f"{axis} ({unit})" if unit else axis)


def _scale(axes: Axes, values: Sequence[float]) -> None:
    """Take a logarithmic axis for values that are spaced so, with ticks at some of them."""
    gaps = [b - a for a, b in itertools.pairwise(values)]
    if len(gaps) < 2 or values[0] <= 0 or max(gaps) < LOGARITHMIC * min(gaps):
        return
    axes.set_xscale("log")
    ticks = values[:: -(-len(values) // MOST_TICKS)]
    axes.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
