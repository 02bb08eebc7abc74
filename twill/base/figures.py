"""Common parts of figures: one palette, names as they are, equal bytes for equal figures."""

from __future__ import annotations

import contextlib
import io
import os
import re
import string
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twill.base.errors import InputError, short
from twill.base.files import STANDARD_OUTPUT, write_whole
from twill.base.names import elided

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

# Okabe and Ito's colours for all kinds of sight ("Color Universal Design", 2008), lightened so that
# black text is legible on each; the last one is grey.
COLOURS = ("#9fd0ee", "#f3c766", "#86cfb4", "#f0a285", "#d9b3cf", "#f4ec8f", "#8fb0d8", "#c8c8c8")
# The same for lines and points, told apart on white and on black.
STRONG = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00", "#56b4e9", "#5b5bd6", "#b2182b")
# The same for terminals, by rich's names of ANSI colours.
TERMINAL = ("cyan", "yellow", "green", "red", "magenta", "bright_yellow", "blue", "white")
HATCHES = ("", "////", "\\\\\\\\", "xxxx", "||||", "----", "++++", "//--", "....", "oo")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.")
EDGE = "0.25"
PICTURES = (".svg", ".png")
DOTS_PER_INCH = 100
_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "twill",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "hatch.linewidth": 0.5,
    "hatch.color": "0.55",
    "font.family": "DejaVu Sans",
    "path.simplify": True,
}
_METADATA = re.compile(r"\n *<metadata>.*?</metadata>", re.DOTALL)
_WORD = re.compile(r"\S+")
_TAG = re.compile(r"<[^>]*>")
_DIGITS = re.compile(r"(\d\.\d{2})\d+")  # hundredths of a point are enough in a file


@dataclass(frozen=True)
class Look:
    """The marks that distinguish one of several things; colour alone never does."""

    letter: str
    colour: str
    hatch: str
    terminal: str

    @property
    def patch(self) -> dict[str, Any]:
        """Settings of Matplotlib's patches."""
        return {"facecolor": self.colour, "hatch": self.hatch, "edgecolor": EDGE}


def look(number: int) -> Look:
    """Return how the first, second, ... of several things looks."""
    again, position = divmod(number, len(COLOURS))
    letter = string.ascii_uppercase[number % 26] + (str(number // 26) if number > 25 else "")
    hatch = HATCHES[(position + again) % len(HATCHES)]
    return Look(letter, COLOURS[position], hatch, TERMINAL[position])


@contextlib.contextmanager
def drawing(**settings: Any) -> Iterator[None]:
    """Let Matplotlib draw for files, whatever names say.

    Text stays text in SVG, and a ``$`` is one: there is no mathematics in names. Scripts that the
    font lacks are boxes in PNG. Figures have a canvas of their own, so that ``MPLBACKEND`` does
    not concern them.
    """
    os.environ.pop("MPLBACKEND", None)
    import matplotlib as mpl

    more: dict[Any, Any] = {name.replace("_", "."): value for name, value in settings.items()}
    with mpl.rc_context({**_SETTINGS, **more}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


@contextlib.contextmanager
def new_figure(width: float, height: float, **settings: Any) -> Iterator[Figure]:
    """Make a figure to be drawn within, of a width and a height in inches.

    `settings`: of Matplotlib's rcParams, with an underscore for the dot.
    """
    with drawing(**settings):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def legend(figure: Figure, patches: Sequence[Patch], **settings: Any) -> None:
    """Put a legend of patches below a figure."""
    figure.legend(handles=patches, loc="outside lower center", frameon=False, **settings)


def save(figure: Figure, file: str | Path) -> None:
    """Write a figure within `new_figure`; standard output gets SVG.

    Raises
    ------
    InputError
        If the file does not end in ``.svg`` or ``.png``, or cannot be written.
    """
    ending = ".svg" if str(file) == STANDARD_OUTPUT else Path(file).suffix
    if ending not in PICTURES:
        wrong = f"must end in {' or '.join(PICTURES)} (got {short(str(file))})"
        raise InputError(wrong, path="--output")
    if ending == ".svg":
        write_whole(file, svg_text(figure))
        return
    _shorten_words(figure)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    write_whole(file, stream.getvalue())


def svg_text(figure: Figure) -> str:
    """Return a figure within `new_figure` as SVG, without date and version."""
    _shorten_words(figure)
    stream = io.StringIO()
    metadata = {"Date": None, "Creator": None}
    figure.savefig(stream, format="svg", metadata=metadata)
    lines = (line.rstrip() for line in stream.getvalue().splitlines())
    text = _METADATA.sub("", "\n".join(lines))
    return _TAG.sub(lambda tag: _DIGITS.sub(r"\1", tag[0]), text) + "\n"


def _shorten_words(figure: Figure) -> None:
    """Leave out the middle of long names."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(_WORD.sub(lambda word: elided(word[0]), text.get_text()))
