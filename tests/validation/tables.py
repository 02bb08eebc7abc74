"""Tables of measured figures in the docs, from data files; ``make results`` writes them.

``traces/results/NAME.csv`` has the rows; its last columns are date, commit and machine. A page
marks a table by ``<!-- table: NAME -->`` and ``<!-- end -->``. Words behind the name select rows
(``KEY=VALUE``, ``KEY!=VALUE``) and columns (``columns=A,B``). ``sum=A`` adds up the rows of each
value of A, and ``counts=A`` counts their ``yes``. In these words ``+`` stands for a space.

``python -m tests.validation.tables`` writes all pages. ``... record NAME MACHINE < FILE.json``
makes a data file of a list of objects, as commands print it with ``--json``.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twill.base.tables import Column, Table

ROOT = Path(__file__).parents[2]
DATA = ROOT / "traces" / "results"
ORIGIN = ("date", "commit", "machine")
MARKED = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
Row = dict[str, str]


def read(name: str) -> list[Row]:
    """Return the rows of a data file."""
    with (DATA / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def record(name: str, machine: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a data file of today and of the commit that is checked out.

    Rows that have an origin keep it.
    """
    found = ("git", "rev-parse", "--short=7", "HEAD")
    commit = subprocess.run(found, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    origin = dict(zip(ORIGIN, (f"{dt.date.today()}", commit.strip(), machine), strict=True))
    with (DATA / f"{name}.csv").open("w", newline="") as file:
        columns = [name for name in rows[-1] if name not in ORIGIN]
        writer = csv.DictWriter(file, [*columns, *ORIGIN], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: _text(value) for key, value in {**origin, **row}.items()})


def _text(value: object) -> str:
    words = {True: "yes", False: "no", None: ""}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def table(words: str) -> str:
    """Return a table in Markdown, with its origin below."""
    name, *options = words.split()
    rows, shown, form, key = read(name), [], None, ""
    for option in options:
        column, value = option.replace("+", " ").split("=")
        if column == "columns":
            shown = value.split(",")
        elif column in TOTALS:
            form, key = TOTALS[column], value
        else:
            named = column.rstrip("!")
            rows = [row for row in rows if (row[named] == value) != (named != column)]
    if not rows:
        raise ValueError(f"no row of {name}.csv is left: {words}")
    shown = shown or [c for c in rows[0] if c not in ORIGIN]
    cells = [[row[c] for c in shown] for row in rows]
    if form is not None:
        groups = {row[key]: [r for r in rows if r[key] == row[key]] for row in rows}
        shown = [c for c in shown if c != key]
        cells = [
            [group, *(form([row[c] for row in those]) for c in shown)]
            for group, those in {**groups, "all": rows}.items()
        ]
        shown = [key, *shown]
    text = Table([Column(c) for c in shown], [[c or None for c in r] for r in cells]).markdown()
    return f"{text.rstrip()}\n\n{_origin(name, rows)}\n"


def _sum(cells: list[str]) -> str:
    return f"{sum(map(int, cells))}"


def _counts(cells: list[str]) -> str:
    known = [cell for cell in cells if cell]
    return f"{known.count('yes')} of {len(known)}" if known else ""


TOTALS = {"sum": _sum, "counts": _counts}


def _origin(name: str, rows: list[Row]) -> str:
    every = dict.fromkeys(tuple(row[c] for c in ORIGIN if row[c]) for row in rows)
    return f"[Data](../traces/results/{name}.csv): {'; '.join(', '.join(one) for one in every)}."


def filled(page: str) -> str:
    """Return a page with its tables as the data files have them."""
    return MARKED.sub(lambda found: f"{found[1]}\n{table(found[2])}\n{found[3]}", page)


def pages() -> list[Path]:
    """Return the pages that have tables of data files."""
    every = sorted((ROOT / "docs").glob("*.md"))
    return [page for page in every if MARKED.search(page.read_text())]


def main(words: Sequence[str]) -> None:
    """Write the pages, or a data file."""
    if words:
        command, name, machine = words
        assert command == "record", command
        found = json.load(sys.stdin)
        record(name, machine, found if isinstance(found, list) else next(iter(found.values())))
    for page in pages():
        page.write_text(filled(page.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
