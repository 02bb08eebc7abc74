"""Comparisons as bar charts in the form of the paper's: groups of bars, throughput upwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from twill.studies.comparison.compare import Comparison, Variant
from twill.studies.drawing import COLOURS, HATCHES, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR_INCHES, FRAME_INCHES, HEIGHT_INCHES = 0.52, 1.6, 4.2
BARS = 0.86
"""Of the distance between groups of bars."""


def plot_comparisons(comparisons: Sequence[Comparison]) -> str:
    """Return the chart as SVG: TFLOP/s, or iterations per kilocycle where nothing is multiplied.

    Each loop and machine is a panel with a bar for each variant; a line shows the bound.
    """
    widths = [len(one.variants) for one in comparisons]

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
        for axes, one in zip(panels, comparisons, strict=True):
            _panel(axes, one)

    width = BAR_INCHES * sum(widths) + FRAME_INCHES * len(widths)
    return svg(draw, max(5.0, width), HEIGHT_INCHES)


def _panel(axes: Axes, one: Comparison) -> None:
    products = all(v.tflops is not None for v in one.variants if v.interval_cycles)
    heights = [_height(v, products=products) for v in one.variants]
    for place, (variant, height) in enumerate(zip(one.variants, heights, strict=True)):
        axes.bar(
            place,
            height or 0.0,
            width=BARS,
            color=COLOURS[place % len(COLOURS)],
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
