"""Latencies from files: published quantiles, or recorded values."""

from __future__ import annotations

import bisect
import csv
import importlib.resources
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from twill.artifacts.expressions import MOST_CYCLES
from twill.errors import InputError, short
from twill.files import read_bytes

FURTHER_COLUMNS = (["bytes"], ["quantile"], ["bytes", "quantile"], ["quantile", "bytes"])
MOST_ROWS = 200_000
Points = tuple[tuple[float, float], ...]
"""Quantiles from 0 to 1 with cycles, both ascending."""


@dataclass(frozen=True)
class LatencyFile:
    """What a latency file says.

    A file is CSV with comments that begin with ``#``, one of which begins ``# source:``. Columns
    are ``cycles`` (recorded latencies), or ``quantile,cycles``; either may have ``bytes`` before
    it, where the latency depends on the size of the load. There are at most `MOST_ROWS` rows.

    Attributes
    ----------
    source : str
        Where the numbers come from.
    points : dict of int to Points
        By bytes; 0 where the size does not matter.
    """

    source: str
    points: dict[int, Points]

    @classmethod
    def named(cls, name: str) -> Self:
        """Return a packaged file, or read one if `name` ends in ``.csv``.

        Raises
        ------
        InputError
            If there is no such file or it is not valid.
        """
        if name.endswith(".csv"):
            return cls.parse(read_bytes(Path(name)).decode("utf-8", "replace"), file=name)
        if name not in packaged_latencies():
            known = ", ".join(packaged_latencies())
            raise InputError(
                f"no such latencies; packaged are {known}; a file ends in .csv", file=name
            )
        text = _folder().joinpath(f"{name}.csv").read_text(encoding="utf-8")
        return cls.parse(text, file=f"{name}.csv")

    @classmethod
    def parse(cls, text: str, *, file: str) -> Self:
        """Read the text of a latency file.

        Raises
        ------
        InputError
            If it is not valid.
        """
        lines = text.splitlines()
        source = next((s[9:].strip() for s in lines if s.startswith("# source:")), "")
        if not source:
            raise InputError("needs a comment that begins with '# source:'", file=file)
        rows = _rows(lines, file)
        columns = next(rows, [])
        if columns[-1:] != ["cycles"] or columns[:-1] not in ([], *FURTHER_COLUMNS):
            raise InputError(
                f"columns are [bytes,][quantile,]cycles (got {short(','.join(columns))})", file=file
            )
        found: dict[int, list[tuple[float, float]]] = defaultdict(list)
        for number, row in enumerate(rows, start=1):
            cells = _cells(row, columns, number, file)
            found[int(cells.get("bytes", 0))].append((cells.get("quantile", -1), cells["cycles"]))
        if not found:
            raise InputError("no latencies", file=file)
        return cls(source, {size: _points(points, file) for size, points in found.items()})

    def quantile(self, size: int, share: float) -> float:
        """Return the latency that a share of the loads does not exceed, in cycles.

        `size`: bytes that are loaded; the nearest size of the file counts, as a ratio.
        """
        nearest = min(self.points, key=lambda known: abs(math.log((known + 1) / (size + 1))))
        points = self.points[nearest]
        above = bisect.bisect_left(points, (share,))
        if above == 0:
            return points[0][1]
        if above == len(points):
            return points[-1][1]
        (low, fast), (high, slow) = points[above - 1], points[above]
        return fast + (slow - fast) * (share - low) / (high - low)


def packaged_latencies() -> list[str]:
    """Return the names of the latency files that ship with the package, sorted."""
    return sorted(
        entry.name.removesuffix(".csv")
        for entry in _folder().iterdir()
        if entry.name.endswith(".csv")
    )


def _folder() -> importlib.resources.abc.Traversable:
    return importlib.resources.files("twill.traces").joinpath("latency")


def _rows(lines: list[str], file: str) -> Iterator[list[str]]:
    """Yield the cells of each row, the header first, comments and empty lines left out."""
    rows = csv.reader((f"{s}\n" for s in lines if s and not s.startswith("#")), strict=True)
    try:
        for number, row in enumerate(rows):
            if number > MOST_ROWS:
                raise InputError(f"more than {MOST_ROWS} latencies", file=file)
            yield row
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=file) from None


def _cells(row: list[str], columns: list[str], number: int, file: str) -> dict[str, float]:
    if len(row) != len(columns):
        raise InputError(f"{len(columns)} cells (got {len(row)})", path=f"row {number}", file=file)
    return {
        column: _number(text, number, column, file)
        for column, text in zip(columns, row, strict=True)
    }


def _number(text: str, row: int, column: str, file: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    most = 1.0 if column == "quantile" else MOST_CYCLES
    if not 0 <= number <= most:
        raise InputError(
            f"a number from 0 to {most:g} (got {short(text)})",
            path=f"row {row}.{column}",
            file=file,
        )
    return number


def _points(rows: list[tuple[float, float]], file: str) -> Points:
    """Return quantiles; each recorded value has an equal share of them."""
    if rows[0][0] < 0:
        values = sorted(cycles for _, cycles in rows)
        return tuple(
            ((index + side) / len(values), cycles)
            for index, cycles in enumerate(values)
            for side in (0, 1)
        )
    points = sorted(rows)
    cycles = [value for _, value in points]
    if cycles != sorted(cycles) or len({share for share, _ in points}) < len(points):
        raise InputError("cycles must ascend with the quantiles, each of which is once", file=file)
    return tuple(points)
