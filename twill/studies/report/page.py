"""The page: a template filled with sections."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Sequence

import twill
from twill.studies.drawing import COLOURS
from twill.studies.report.content import Section, stalls
from twill.studies.report.timeline import AXIS, GAP, LEFT, ROW, TOP, WIDTH


def page(sections: Sequence[Section]) -> str:
    """Return the report as HTML; equal results give equal bytes."""
    import jinja2

    folder = importlib.resources.files("twill.studies.report")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string(folder.joinpath("report.html.j2").read_text("utf-8"))
    numbers = iter(range(1, 10_000))

    def inline(text: str) -> str:
        return inlined(text, f"f{next(numbers)}-")

    return template.render(
        sections=sections,
        stalls=stalls,
        inline=inline,
        colours=COLOURS,
        style=folder.joinpath("report.css").read_text("utf-8"),
        script=folder.joinpath("report.js").read_text("utf-8"),
        version=twill.__version__,
        row=ROW,
        gap=GAP,
        top=TOP,
        left=LEFT,
        width=WIDTH,
        axis=AXIS,
    )


def inlined(text: str, prefix: str) -> str:
    """Return an SVG document as an element of a page, in the page's colours.

    `prefix`: of its ids, which other figures of the page may have too.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}', text)
    text = re.sub(r"url\(#", f"url(#{prefix}", text)
    text = re.sub(r'xlink:href="#', f'xlink:href="#{prefix}', text)
    text = text.replace("stroke: #000000", "stroke: currentColor")
    text = text.replace("fill: #ffffff", "fill: none")
    return re.sub(
        r'(<svg[^>]*?) width="[^"]*"',
        r"\1",
        re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1),
        count=1,
    )
