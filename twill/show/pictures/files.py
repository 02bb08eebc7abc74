"""Figures as files: the same figure, the same bytes."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from twill.errors import InputError, short
from twill.figures import drawing
from twill.files import STANDARD_OUTPUT, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 100
_METADATA = re.compile(r"\n *<metadata>.*?</metadata>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_DIGITS = re.compile(r"(\d\.\d{2})\d+")
"""Hundredths of a point are enough in a file."""
PICTURES = (".svg", ".png", ".html")
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 75rem;
  padding: 0 1rem; color: #111; background: #fff; }}
svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; margin: .5rem 0; }}
td, th {{ border: 1px solid #999; padding: .2rem .5rem; text-align: left; vertical-align: top; }}
section {{ border-left: .6rem solid #ccc; padding-left: 1rem; margin: 1.5rem 0; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def check_ending(file: str, endings: tuple[str, ...]) -> str:
    """Return a file's ending if it is one of those that can be written; standard output gets SVG.

    Raises
    ------
    InputError
        If it is another one.
    """
    ending = ".svg" if file == STANDARD_OUTPUT else Path(file).suffix
    if ending not in endings:
        raise InputError(
            f"must end in {', '.join(endings[:-1])} or {endings[-1]} (got {short(file)})",
            path="--output",
        )
    return ending


@contextlib.contextmanager
def new_figure(width: float, height: float) -> Iterator[Figure]:
    """Make a figure whose text stays text in SVG, and whose identifiers do not change."""
    with drawing(
        hatch_linewidth=0.5, hatch_color="0.55", font_family="DejaVu Sans", path_simplify=True
    ):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def save(figure: Figure, file: str, title: str) -> None:
    """Write a figure.

    `file`: ends in ``.svg``, ``.png`` or ``.html`` (a page with the SVG in it).

    Raises
    ------
    InputError
        If the ending is another one, or the file cannot be written.
    """
    ending = check_ending(file, PICTURES)
    if ending == ".png":
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
        write_whole(file, stream.getvalue())
    elif ending == ".svg":
        write_whole(file, svg_text(figure))
    else:
        write_whole(file, page(title, svg_element(figure)))


def svg_text(figure: Figure) -> str:
    """Return a figure as SVG."""
    stream = io.StringIO()
    metadata = {"Date": None, "Creator": None}
    figure.savefig(stream, format="svg", metadata=metadata)
    lines = (line.rstrip() for line in stream.getvalue().splitlines())
    text = _METADATA.sub("", "\n".join(lines))
    return _TAG.sub(lambda tag: _DIGITS.sub(r"\1", tag[0]), text) + "\n"


def svg_element(figure: Figure) -> str:
    """Return a figure as an SVG element for a page."""
    text = svg_text(figure)
    return text[text.index("<svg") :]


def page(title: str, body: str) -> str:
    """Return a page that needs nothing else."""
    return PAGE.format(title=escape(title), body=body)
