"""Where the cycles of every warp group go, as stacked bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from twill.names import elided
from twill.studies.drawing import COLOURS, HATCHES, svg
from twill.studies.report.steady import CAUSES, Steady

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH_INCHES, BAR_INCHES, FRAME_INCHES = 8.0, 0.28, 1.5
LEGEND_COLUMNS = 3


def plot_stalls(found: Sequence[Steady]) -> str:
    """Return the plot as SVG."""
    bars = [
        (f"{one.name}: {group}" if len(found) > 1 else group, shares)
        for one in found
        for group, shares in one.spent.items()
    ]
    causes = [cause for cause in CAUSES if any(cause in shares for _, shares in bars)]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        left = [0.0] * len(bars)
        for number, cause in enumerate(causes):
            widths = [100 * shares.get(cause, 0.0) for _, shares in bars]
            axes.barh(
                range(len(bars)),
                widths,
                left=left,
                height=0.8,
                color=COLOURS[number % len(COLOURS)],
                hatch=HATCHES[number % len(HATCHES)],
                edgecolor="white",
                linewidth=0.4,
                label=CAUSES[cause],
            )
            left = [a + b for a, b in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(bars)), labels=[elided(name) for name, _ in bars])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of the steady state (%)")
        figure.legend(loc="outside lower center", ncols=LEGEND_COLUMNS, fontsize=8)

    return svg(draw, WIDTH_INCHES, FRAME_INCHES + BAR_INCHES * len(bars))
