"""Where the latency of variable-latency loads comes from: distributions, levels, files."""

from __future__ import annotations

import bisect
import csv
import importlib.resources
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from twill.artifacts.hardware import Level
from twill.artifacts.loop import MOST_CYCLES
from twill.artifacts.machine import Machine
from twill.base.errors import InputError, short
from twill.base.files import read_bytes
from twill.sim.engine.conditions import latency_texts
from twill.sim.engine.work import Work

FORMS = (
    "fixed:N, uniform:A,B, lognormal:MEDIAN,SIGMA, mixture, mixture:RATES or trace:FILE in cycles "
    f"up to {MOST_CYCLES}, with OPERATION= before it for one load"
)
LARGEST_EXPONENT = 700  # of e, within the range of floating-point numbers
FURTHER_COLUMNS = (["bytes"], ["quantile"], ["bytes", "quantile"], ["quantile", "bytes"])
MOST_ROWS = 200_000
Points = tuple[tuple[float, float], ...]  # quantiles from 0 to 1 with cycles, both ascending


# Draws the cycles from the start of a load, at some cycle, until its data is there.
Source = Callable[[random.Random, Work, float], float]


class Mixture:
    """Data lies in one of several levels of the memory system.

    A level adds its cycles to the nominal latency, which is that of the nearest level. Loads from a
    level with a rate of its own queue for it.

    `shares`: part of the loads that each level serves; they add up to 1.
    `queues`: cycle at which each level is done with its requests, where several mixtures share the
    levels; changed in place.
    """

    def __init__(
        self, levels: Sequence[Level], shares: Sequence[float], queues: list[float] | None = None
    ) -> None:
        self._levels, self._shares = levels, shares
        self._free = [0.0] * len(levels) if queues is None else queues

    def __call__(self, generator: random.Random, work: Work, start: float) -> float:
        """Return the cycles; see `Source`."""
        chosen = generator.choices(range(len(self._levels)), self._shares)[0]
        level = self._levels[chosen]
        latency = work.latency + level.further.value
        if level.rate is None:
            return latency
        begin = max(start, self._free[chosen])
        self._free[chosen] = begin + work.bytes / level.rate.value
        return math.ceil(max(begin + latency, self._free[chosen]) - start)


class Latencies:
    """The latency of every variable-latency load.

    Each operation has random numbers of its own, so that what one draws does not depend on what the
    others do.

    `default`: of loads that are not named; their nominal latency without it.
    """

    def __init__(self, default: Source | None, named: dict[str, Source], seed: int) -> None:
        self._default, self._named, self._seed = default, named, seed
        self._generators: dict[str, random.Random] = {}

    def draw(self, work: Work, start: float) -> float:
        """Return the cycles from the start of a load until its data is there.

        `start`: cycle at which its unit starts on it.
        """
        source = self._named.get(work.name, self._default)
        if source is None:
            return work.latency
        if work.name not in self._generators:
            self._generators[work.name] = random.Random(  # noqa: S311 - no secret
                f"{self._seed}/{work.name}"
            )
        return source(self._generators[work.name], work, start)


def parse_latency(
    text: str, machine: Machine | None = None, queues: list[float] | None = None
) -> Source:
    """Return a latency source.

    `text`: ``fixed:N``, ``uniform:A,B``, ``lognormal:MEDIAN,SIGMA``, ``mixture``, ``mixture:RATES``
    (one for each level of the machine's memory system) or ``trace:FILE``; in cycles.

    Raises
    ------
    InputError
        If the text has another form, or there is no such file.
    """
    kind, _, rest = str(text).partition(":")
    if kind == "trace" and rest:
        file = LatencyFile.named(rest)
        return lambda generator, work, _: round(file.quantile(work.bytes, generator.random()))
    if kind == "mixture":
        return _mixture(rest, machine, queues)
    numbers = _numbers(rest)
    whole = all(number == int(number) for number in numbers)
    if kind == "fixed" and len(numbers) == 1 and whole:
        return lambda *_: int(numbers[0])
    if kind == "uniform" and len(numbers) == 2 and whole and numbers[0] <= numbers[1]:
        least, most = map(int, numbers)
        return lambda generator, *_: generator.randint(least, most)
    if kind == "lognormal" and len(numbers) == 2:
        return lambda generator, *_: _log_normal(generator, *numbers)
    raise InputError(f"a latency is {FORMS} (got {short(text)})", path="latency")


def _log_normal(generator: random.Random, median: float, sigma: float) -> float:
    """Draw whole cycles whose logarithm is normal."""
    deviation = min(generator.gauss(0, sigma), LARGEST_EXPONENT)
    return round(min(MOST_CYCLES, median * math.exp(deviation)))


def _numbers(text: str) -> list[float]:
    """Split numbers with commas between; nothing if one is none, or out of range."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        return []
    return numbers if all(0 <= number <= MOST_CYCLES for number in numbers) else []


def _mixture(text: str, machine: Machine | None, queues: list[float] | None) -> Mixture:
    if machine is None or not machine.levels:
        raise InputError(
            "the machine names no levels of its memory system, so that there is no mixture",
            path="latency",
        )
    names = ", ".join(level.name for level in machine.levels)
    shares = _numbers(text) if text else [level.share.value for level in machine.levels]
    if len(shares) != len(machine.levels) or not math.isclose(sum(shares), 1, abs_tol=1e-6):
        raise InputError(
            f"a mixture has a rate for each of {names}, which add up to 1 (got {short(text)})",
            path="latency",
        )
    return Mixture(machine.levels, shares, queues)


def parse_latencies(
    texts: str | Iterable[str] | None, works: dict[str, Work], machine: Machine, seed: int
) -> Latencies:
    """Return the latency of every load.

    `texts`: as `parse_latency` takes them, in one text with spaces between; one that begins with
    ``OPERATION=`` is for that load only.

    Raises
    ------
    InputError
        If a text has another form, names no load of variable latency, or one twice.
    """
    default: Source | None = None
    named: dict[str, Source] = {}
    queues: list[float] = [0.0] * len(machine.levels or ())
    loads = [work.name for work in works.values() if work.variable_latency]
    for text in latency_texts(texts):
        name, separator, rest = text.partition("=")
        if not separator:
            if default is not None:
                raise InputError(f"a second one for all loads ({short(text)})", path="latency")
            default = parse_latency(text, machine, queues)
            continue
        if name not in loads:
            raise InputError(
                f"no load of variable latency named {short(name)}; there are "
                f"{', '.join(loads) or 'none'}",
                path="latency",
            )
        if name in named:
            raise InputError(f"a second one for {name}", path="latency")
        named[name] = parse_latency(rest, machine, queues)
    return Latencies(default, named, seed)


# -- files ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LatencyFile:
    """The contents of a latency file.

    A file is CSV with comments that begin with ``#``, one of which begins ``# source:``. Columns
    are ``cycles`` (recorded latencies), or ``quantile,cycles``; either may have ``bytes`` before
    it, where the latency depends on the size of the load. There are at most `MOST_ROWS` rows.
    """

    source: str  # where the numbers come from
    points: dict[int, Points]  # by bytes; 0 where the size does not matter

    @classmethod
    def named(cls, name: str) -> Self:
        """Return a packaged file, or read one if `name` ends in ``.csv``.

        Raises
        ------
        InputError
            If there is no such file or it is not valid.
        """
        if name.endswith(".csv"):
            text = read_bytes(name, ordinary=True).decode("utf-8", "replace")
            return cls.parse(text, file=name)
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
            if len(row) != len(columns):
                what = f"{len(columns)} cells (got {len(row)})"
                raise InputError(what, path=f"row {number}", file=file)
            texts = zip(columns, row, strict=True)
            cells = {column: _number(cell, number, column, file) for column, cell in texts}
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
    names = (entry.name for entry in _folder().iterdir())
    return sorted(name.removesuffix(".csv") for name in names if name.endswith(".csv"))


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
