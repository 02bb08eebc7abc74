"""Answers of a sweep in words: where intervals hold, the least depth, the best schedule."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from twill.artifacts.sweep import Sweep
from twill.base.formats import plural
from twill.studies.sweep.parameters import RINGS, parameter
from twill.studies.sweep.table import SUBJECT, numeric_axes, plain, setting

if TYPE_CHECKING:
    import pandas as pd

INTERVAL = "interval_cycles"
LATENCIES = ("tma-latency", "latency")


@dataclass(frozen=True)
class Answer:
    """An answer of the sweep.

    `question`: ``holds`` (for which values of a parameter), ``depth`` (the least one),
    ``tolerance`` (which schedule bears most) or ``failures``.
    `words`: the answer in a sentence.
    `data`: the same as data.
    """

    question: str
    words: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Held:
    """Values of a parameter for which an interval holds, for one line of a sweep."""

    subject: str
    # Values of the other parameters, that of rings among them.
    line: dict[str, Any]
    # Least interval of what runs, in cycles, over all depths and values.
    best: float
    # All values, and those at which the interval is near the best one; in ascending order.
    tried: tuple[float, ...]
    held: tuple[float, ...]
    # Whether the memories have the room for it.
    fits: bool
    # Whether any point did not fail.
    ran: bool

    @property
    def knee(self) -> float | None:
        """The last value up to which it holds, None if it does not hold at the first."""
        upto = [*itertools.takewhile(self.held.__contains__, self.tried)]
        return upto[-1] if upto else None


def held(sweep: Sweep, found: pd.DataFrame, axis: str) -> list[Held]:
    """Return where intervals hold along one parameter, a line for each rest of a point."""
    others = [name for name in sweep.axes if name != axis]
    rings = next((name for name in others if name in RINGS), None)
    lines = []
    for subject, _, mine in _apart(found, [name for name in others if name != rings]):
        best = mine[INTERVAL].min()
        for _, line in mine.groupby(rings) if rings else [(None, mine)]:
            ordered = line.sort_values(axis)
            good = ordered[_within(ordered, best, sweep)]
            lines.append(
                Held(
                    subject=subject,
                    line={name: plain(line[name].iloc[0]) for name in others},
                    best=float(best),
                    tried=tuple(map(float, ordered[axis])),
                    held=tuple(map(float, good[axis])),
                    fits=bool(ordered["fits"].fillna(value=False).any()),
                    ran=bool(ordered[INTERVAL].notna().any()),
                )
            )
    return lines


def _apart(
    found: pd.DataFrame, names: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any], pd.DataFrame]]:
    """Yield what runs in words, values of parameters, and their rows, where any point ran."""
    for _, mine in found.groupby([*SUBJECT, *names], sort=False, dropna=False):
        if mine[INTERVAL].notna().any():
            rest = {name: plain(mine[name].iloc[0]) for name in names}
            yield subject_of(mine.iloc[0]), rest, mine


def _within(line: pd.DataFrame, best: float, sweep: Sweep) -> pd.Series[bool]:
    """Return for each row whether its interval is near the best one."""
    return (line[INTERVAL] <= best * (1 + sweep.tolerance)).fillna(value=False)


def answers(sweep: Sweep, found: pd.DataFrame) -> list[Answer]:
    """Return what a sweep says."""
    result: list[Answer] = []
    numeric = numeric_axes(sweep, found)
    for axis in numeric:
        if axis not in RINGS or numeric == [axis]:
            lines = held(sweep, found, axis)
            result += [_holds(axis, line, sweep.tolerance) for line in lines]
            result += _most_tolerant(axis, lines)
    for rings in RINGS:
        if rings in numeric:
            result += _least_depths(sweep, found, rings)
    result += _fastest(sweep, found)
    result += _failures(found)
    return result


def _holds(axis: str, line: Held, tolerance: float) -> Answer:
    unit = parameter(axis).unit
    where = f"{line.subject}{_line(line.line)}"
    interval = f"{line.best:.6g} cycles (+{tolerance:.0%})"
    if not line.ran:
        return Answer("holds", f"{where}: every point failed", asdict(line))
    if not line.held:
        how = f"at none of {len(line.tried)} values of {axis}"
    elif len(line.held) == len(line.tried):
        how = f"at every {axis} from {line.tried[0]:g} to {_with_unit(line.tried[-1], unit)}"
    elif line.knee == line.held[-1]:
        how = f"up to a {axis} of {_with_unit(line.knee, unit)}"
    elif line.held == line.tried[-len(line.held) :]:
        how = f"from a {axis} of {_with_unit(line.held[0], unit)} on"
    else:
        how = f"at {len(line.held)} of {len(line.tried)} values of {axis}"
    words = f"{where}: {interval} hold {how}"
    if not line.fits:
        words += "; it does not fit the machine"
    data = {"parameter": axis, "knee": line.knee, **asdict(line)}
    return Answer("holds", words, data)


def _most_tolerant(axis: str, lines: Sequence[Held]) -> Iterator[Answer]:
    """Yield the subjects by the latency that they tolerate, if several run and it is varied."""
    if axis != "tma-latency" or len({line.subject for line in lines}) < 2:
        return
    best: dict[str, Held] = {}
    for line in lines:
        if line.fits and line.knee is not None:
            known = best.get(line.subject)
            if known is None or line.knee > (known.knee or 0):
                best[line.subject] = line
    if not best:
        return
    ordered = sorted(best.values(), key=lambda line: (-(line.knee or 0), line.best))
    told = [
        f"{line.subject}{_line(line.line)} to {line.knee:g} cycles at {line.best:.6g} an iteration"
        for line in ordered
    ]
    tied = [line for line in ordered if line.knee == ordered[0].knee]
    first = "most tolerant" if len(tied) == 1 else f"equally tolerant, the first {len(tied)}"
    yield Answer(
        "tolerance",
        f"{first}: {'; then '.join(told)}",
        {"order": [asdict(line) | {"knee": line.knee} for line in ordered]},
    )


def _least_depths(sweep: Sweep, found: pd.DataFrame, rings: str) -> Iterator[Answer]:
    """Yield the least depth at which the interval holds, for each latency."""
    others = [name for name in sweep.axes if name != rings]
    more = rings == "deeper"
    least_of = f"least {'slots more that fit and hold' if more else 'depth that fits and holds'}"
    for subject, rest, mine in _apart(found, [name for name in others if name not in LATENCIES]):
        best = float(mine[INTERVAL].min())
        least: dict[str, int | None] = {}
        for _, line in mine.groupby([*SUBJECT, *others], sort=False, dropna=False):
            good = line[_within(line, best, sweep) & line["fits"].fillna(value=False)]
            least[str(line["latency"].iloc[0])] = None if good.empty else int(good[rings].min())
        told = "; ".join(_depth_words(least))
        interval = f"{best:.6g} cycles (+{sweep.tolerance:.0%})"
        yield Answer(
            "depth",
            f"{subject}{_line(rest)}: {least_of} {interval}: {told}",
            {"subject": subject, "line": rest, "best": best, "least": least},
        )


def _depth_words(least: dict[str, int | None]) -> Iterator[str]:
    """Say the least depth for each latency, neighbours that have the same one together."""
    for depth, run in itertools.groupby(least.items(), key=lambda item: item[1]):
        latencies = [latency for latency, _ in run]
        ends = dict.fromkeys((latencies[0], latencies[-1]))
        slots = "no depth" if depth is None else plural(depth, "slot")
        yield f"{slots} under {' to '.join(ends)}"


def _fastest(sweep: Sweep, found: pd.DataFrame) -> Iterator[Answer]:
    """Yield the fastest subject for each latency source, if several run."""
    if "latency" not in sweep.axes or found.groupby(list(SUBJECT), sort=False).ngroups < 2:
        return
    usable = found[found["fits"].fillna(value=False) & found[INTERVAL].notna()]
    for (loop, latency), mine in usable.groupby(["loop", "latency"], sort=False):
        ordered = mine.sort_values("iterations_per_kilocycle", ascending=False)
        first = ordered.drop_duplicates(list(SUBJECT))
        order = [
            {"subject": subject_of(row), INTERVAL: float(row[INTERVAL])}
            for _, row in first.iterrows()
        ]
        told = "; ".join(f"{one['subject']} {one[INTERVAL]:.6g}" for one in order)
        yield Answer(
            "tolerance",
            f"{loop} under {latency}, cycles an iteration at the best depth: {told}",
            {"loop": loop, "latency": latency, "order": order},
        )


def _failures(found: pd.DataFrame) -> Iterator[Answer]:
    failed = found[found["status"] == "failed"]
    if failed.empty:
        return
    first = failed.iloc[0]
    words = (
        f"{len(failed)} of {len(found)} points failed; the first, point {first['point']}: "
        f"{first['error']}"
    )
    yield Answer("failures", words, {"failed": len(failed), "points": len(found)})


# -- words --------------------------------------------------------------------------------------


def subject_of(row: pd.Series[Any]) -> str:
    """Return what runs in a row of a table, in words."""
    return "{} on {}, {}".format(*(row[name] for name in SUBJECT))


def _line(values: dict[str, Any]) -> str:
    return "".join(f", {setting(name, value)}" for name, value in values.items())


def _with_unit(value: float | None, unit: str) -> str:
    return f"{value:g} {unit}".strip()
