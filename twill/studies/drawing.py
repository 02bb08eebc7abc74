"""What the plots of studies share: figures as SVG text of stable bytes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00", "#56b4e9", "#5b5bd6", "#b2182b")
"""Told apart by people who see fewer colours, on white and on black (Okabe and Ito, 2008, the
yellow darkened)."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.")
HATCHES = ("", "//", "xx", "--", "\\\\", "++", "||", "/-")


def svg(draw: Callable[[Figure], None], width: float, height: float) -> str:
    """Return a figure as SVG; its text stays text, equal figures give equal bytes.

    Parameters
    ----------
    draw : callable
        Fills a figure.
    width, height : float
        In inches.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(
        {"svg.hashsalt": "twill", "svg.fonttype": "none", "font.size": 9, "hatch.linewidth": 0.5}
    ):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
