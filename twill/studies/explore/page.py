"""The page as HTML, of its sections; equal results give equal bytes."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import twill
from twill.base.figures import COLOURS
from twill.base.tables import Table
from twill.studies.explore.pictures import AXIS, CHARACTER, LEFT, WIDTH


@dataclass(frozen=True)
class Panel:
    """A view of a schedule.

    `form`: the template's macro that shows it: ``bars``, ``graph``, ``table``, ``source``,
    ``code``, ``roles``, ``note``.
    """

    title: str
    form: str
    shown: Any
    note: str = ""
    # Which of several schedules it is of.
    of: str = ""


@dataclass(frozen=True)
class Section:
    """A kernel file, or schedules side by side."""

    title: str
    # What is said of them in words.
    summary: list[str]
    # Where all that comes from.
    provenance: dict[str, str]
    # Figures, each table after what it shows.
    tables: list[tuple[str, Table]] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    # Names of groups with their letters, each with its CSS class.
    legend: dict[str, str] = field(default_factory=dict)
    # What is known of each operation that can be chosen, in words.
    operations: dict[str, list[str]] = field(default_factory=dict)


def page(sections: Sequence[Section]) -> str:
    """Return the page as HTML; equal results give equal bytes."""
    import jinja2

    folder = importlib.resources.files("twill.studies.explore")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string(folder.joinpath("explore.html.j2").read_text("utf-8"))
    facts: dict[str, list[str]] = {}
    for section in sections:
        for name, said in section.operations.items():
            facts.setdefault(name, []).extend(said)
    index = {name: number for number, name in enumerate(facts)}
    return template.render(
        sections=sections,
        facts=facts,
        numbered=lambda names: " ".join(str(index[name]) for name in dict.fromkeys(names)),
        marked=_marker(index),
        colours=COLOURS,
        style=folder.joinpath("explore.css").read_text("utf-8"),
        script=folder.joinpath("explore.js").read_text("utf-8"),
        version=twill.__version__,
        left=LEFT,
        width=WIDTH,
        axis=AXIS,
        character=CHARACTER,
    )


def _marker(index: dict[str, int]) -> Callable[[str], str]:
    """Return what writes a text as HTML and makes names of operations in it elements to choose.

    A name in a longer one is none: ``k`` is in ``k.full`` and in ``k_next``, not in ``k2`` or
    ``k(i)``.
    """
    if not index:
        return escape
    names = "|".join(re.escape(name) for name in sorted(index, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.])({names})((?:_next)*)(?![\w(])")

    def marked(text: str) -> str:
        found, end = [], 0
        for name in pattern.finditer(text):
            found.append(escape(text[end : name.start()]))
            found.append(f'<span data-o="{index[name[1]]}">{escape(name[0])}</span>')
            end = name.end()
        return "".join([*found, escape(text[end:])])

    return marked
