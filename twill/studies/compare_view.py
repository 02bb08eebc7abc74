"""Comparisons as text, Markdown, CSV, bars in the form of the paper's, and as a folder."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from twill.artifacts.sweep import SCHEDULES
from twill.console import WIDTH, say
from twill.figures import HATCHES, STRONG, new_figure, svg_text
from twill.files import make_folder, write_whole
from twill.formats import cycles, percent, ratio, signed_percent, teraflops
from twill.studies.compare import FILE, Comparison, Variant, document
from twill.tables import Column, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = (
    Column("variant"),
    Column("interval", "cycles", cycles),
    Column("iter. per kilocycle", form="{:.4g}".format),
    Column("TFLOP/s", form=teraflops),
    Column("tensor core", form=percent),
    Column("speed-up", form=ratio),
    Column("over the bound", form=signed_percent),
)
BAR_INCHES, FRAME_INCHES, HEIGHT_INCHES = 0.52, 1.6, 4.2
BARS = 0.86
"""Of the distance between groups of bars."""


def print_comparisons(comparisons: Sequence[Comparison]) -> None:
    """Print a table for each comparison."""
    for one in comparisons:
        say(textwrap.fill(title(one), WIDTH))
        table(one).print()


def title(one: Comparison) -> str:
    """Return what was compared under which conditions, in a line."""
    return (
        f"{one.loop} on {one.machine}: {one.iterations} iterations, {one.latency} load latency, "
        f"seed {one.seed}, {one.clock_mhz:g} MHz"
    )


def table(one: Comparison) -> Table:
    """Return a row for each variant, with what is to be said of it below."""
    rows = [
        [
            *(v.variant, v.interval_cycles, v.iterations_per_kilocycle, v.tflops),
            *(v.tensor_core_utilization, v.speedup_over_sequential, v.over_bound),
        ]
        for v in one.variants
    ]
    return Table(COLUMNS, rows, notes=[f"{v.variant}: {v.note}" for v in one.variants if v.note])


def markdown(comparisons: Sequence[Comparison]) -> str:
    """Return the tables in Markdown."""
    return "\n".join(f"### {title(one)}\n\n{table(one).markdown()}" for one in comparisons)


def frame(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """Return a tidy frame: a row for each variant of each loop and machine."""
    import pandas as pd

    return pd.DataFrame(
        {
            "loop": one.loop,
            "machine": one.machine,
            "iterations": one.iterations,
            "seed": one.seed,
            "latency": one.latency,
            "clock_mhz": one.clock_mhz,
            **{key: value for key, value in variant.model_dump().items() if key != "utilization"},
            **{f"utilization_{unit}": share for unit, share in variant.utilization.items()},
        }
        for one in comparisons
        for variant in one.variants
    )


def write_comparisons(comparisons: Sequence[Comparison], folder: Path) -> list[Path]:
    """Write JSON, CSV, Markdown, the plot and the schedules; return the files.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    schedules = folder / SCHEDULES
    make_folder(schedules)
    found = document(comparisons)
    texts = {
        FILE: found.to_json(),
        "comparison.csv": frame(comparisons).to_csv(index=False, lineterminator="\n"),
        "comparison.md": markdown(comparisons),
        "comparison.svg": plot_comparisons(comparisons),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)
    for one in found.comparisons:
        for name, kept in one.files.items():
            one.schedules[name].save(schedules / kept.file)
    return [folder / name for name in texts]


def plot_comparisons(comparisons: Sequence[Comparison]) -> str:
    """Return the chart as SVG: TFLOP/s, or iterations per kilocycle where nothing is multiplied.

    Each loop and machine is a panel with a bar for each variant; a line shows the bound.
    """
    widths = [len(one.variants) for one in comparisons]
    width = BAR_INCHES * sum(widths) + FRAME_INCHES * len(widths)
    with new_figure(max(5.0, width), HEIGHT_INCHES, font_size=9, hatch_color="white") as figure:
        panels = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
        for axes, one in zip(panels, comparisons, strict=True):
            _panel(axes, one)
        return svg_text(figure)


def _panel(axes: Axes, one: Comparison) -> None:
    products = all(v.tflops is not None for v in one.variants if v.interval_cycles)
    heights = [_height(v, products=products) for v in one.variants]
    for place, (variant, height) in enumerate(zip(one.variants, heights, strict=True)):
        axes.bar(
            place,
            height or 0.0,
            width=BARS,
            color=STRONG[place % len(STRONG)],
            hatch=HATCHES[place % len(HATCHES)],
            edgecolor="white",
            linewidth=0.5,
        )
        label = "none" if height is None else f"{height:.0f}" if products else f"{height:.3g}"
        axes.annotate(
            label, (place, height or 0.0), (0, 2), textcoords="offset points", ha="center"
        )
        bound = _bound(variant, products=products)
        if bound is not None:
            axes.hlines(bound, place - BARS / 2, place + BARS / 2, color="black", linewidth=1.2)
    axes.set_xticks(range(len(heights)), labels=[_short(v.variant) for v in one.variants])
    axes.tick_params(axis="x", labelrotation=40, length=0)
    for tick in axes.get_xticklabels():
        tick.set_horizontalalignment("right")
        tick.set_rotation_mode("anchor")
    clock = f"TFLOP/s of the chip at {one.clock_mhz:g} MHz"
    axes.set_ylabel(clock if products else "iterations per kilocycle")
    axes.set_title(f"{one.loop}\n{one.machine}; line: bound", fontsize=9)
    axes.margins(y=0.12)
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.set_axisbelow(True)


def _height(variant: Variant, *, products: bool) -> float | None:
    return variant.tflops if products else variant.iterations_per_kilocycle


def _bound(variant: Variant, *, products: bool) -> float | None:
    """Return what the variant's own loop would reach at its bound."""
    height = _height(variant, products=products)
    if height is None or variant.interval_cycles is None:
        return None
    return height * variant.interval_cycles / variant.bound_cycles


def _short(name: str) -> str:
    return name if len(name) <= 16 else name.replace("_forward", "").replace("_", " ")
