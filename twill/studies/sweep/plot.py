"""A sweep as lines: throughput along one parameter, a panel for each loop and machine."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from twill.artifacts.sweep import Sweep
from twill.studies.drawing import COLOURS, DASHES, MARKERS, svg
from twill.studies.sweep.answers import numeric_axes, plain, setting
from twill.studies.sweep.parameters import parameter
from twill.studies.sweep.table import varies

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_INCHES, HEIGHT_INCHES = 5.0, 3.8
LOGARITHMIC = 4
"""Ratio of the largest distance of values to the smallest from which on an axis is logarithmic."""
MOST_TICKS = 8
MOST_LINES = 12


def along(sweep: Sweep, found: pd.DataFrame) -> str:
    """Return the parameter to plot along: the first with several values, numbers before texts."""
    several = [name for name in sweep.axes if varies(found, name)]
    ordered = [*numeric_axes(sweep, found), *several, *sweep.axes]
    return ordered[0] if ordered else "point"


def plot_sweep(sweep: Sweep, found: pd.DataFrame, *, interval: bool = False) -> str:
    """Return the plot as SVG.

    `interval`: whether to show cycles of an iteration, and not work per time.
    """
    axis = along(sweep, found)
    panels = list(found.groupby(["loop", "machine"], sort=False))

    def draw(figure: Figure) -> None:
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        for place, ((loop, machine), mine) in enumerate(panels):
            axes: Axes = row[place]
            measure, label = _measure(mine, interval=interval)
            lines = _draw(axes, sweep, mine, axis, measure)
            axes.set_title(f"{loop} on {machine}", fontsize=9)
            axes.set_ylabel(label)
            _frame(axes, mine, axis)
            if lines > 1:
                axes.legend(fontsize=7.5, ncols=1 + (lines > 6))

    return svg(draw, PANEL_INCHES * len(panels), HEIGHT_INCHES)


def _measure(mine: pd.DataFrame, *, interval: bool) -> tuple[str, str]:
    if interval:
        return "interval_cycles", "cycles an iteration"
    if mine["tflops"].notna().any():
        clock = mine["clock_mhz"].dropna().iloc[0]
        return "tflops", f"TFLOP/s of the chip at {clock:g} MHz"
    return "iterations_per_kilocycle", "iterations per kilocycle"


def _draw(axes: Axes, sweep: Sweep, mine: pd.DataFrame, axis: str, measure: str) -> int:
    others = [name for name in ("item", "variant", *sweep.axes) if name != axis]
    telling = [name for name in others if varies(mine, name)]
    groups = list(mine.groupby(telling, sort=False, dropna=False)) if telling else [((), mine)]
    ran = [(key, found) for key, line in groups if not (found := line[line[measure].notna()]).empty]
    for number, (key, line) in enumerate(ran[:MOST_LINES]):
        ordered = line if parameter_kind(axis) == "text" else line.sort_values(axis)
        fits = bool(ordered["fits"].fillna(value=True).all())
        label = _label(telling, key) + ("" if fits else " (does not fit)")
        axes.plot(
            _places(ordered, axis, mine),
            [float(value) for value in ordered[measure]],
            label=label,
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            linestyle=DASHES[number % len(DASHES)] if fits else ":",
            markersize=4,
            alpha=1.0 if fits else 0.6,
        )
    return min(len(ran), MOST_LINES)


def parameter_kind(axis: str) -> str:
    """Return the kind of a parameter's values; the number of a point is a whole number."""
    return "whole" if axis == "point" else parameter(axis).kind


def _places(line: pd.DataFrame, axis: str, mine: pd.DataFrame) -> list[float]:
    if parameter_kind(axis) == "text":
        texts = list(dict.fromkeys(mine[axis]))
        return [float(texts.index(text)) for text in line[axis]]
    return [float(value) for value in line[axis]]


def _label(names: Sequence[str], key: Any) -> str:
    keys = key if isinstance(key, tuple) else (key,)
    return ", ".join(
        str(value) if name in ("item", "variant") else setting(name, plain(value))
        for name, value in zip(names, keys, strict=True)
    )


def _frame(axes: Axes, mine: pd.DataFrame, axis: str) -> None:
    axes.grid(visible=True, alpha=0.3)
    axes.set_ylim(bottom=0)
    if parameter_kind(axis) == "text":
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
