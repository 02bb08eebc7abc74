"""What the plots of studies share: figures as SVG text of stable bytes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from twill.figures import drawing, shorten_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00", "#56b4e9", "#5b5bd6", "#b2182b")
"""Told apart by people who see fewer colours, on white and on black (Okabe and Ito, 2008, the
yellow darkened)."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.")
HATCHES = ("", "//", "xx", "--", "\\\\", "++", "||", "/-")


def svg(draw: Callable[[Figure], None], width: float, height: float) -> str:
    """Return a figure as SVG; its text stays text, equal figures give equal bytes."""
    with drawing(font_size=9, hatch_linewidth=0.5):
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        shorten_words(figure)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
