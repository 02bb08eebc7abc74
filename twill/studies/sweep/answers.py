"""What a sweep says, in words: where intervals hold, the least depth, which schedule is best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from twill.artifacts.sweep import Sweep
from twill.studies.sweep.parameters import RINGS, parameter
from twill.studies.sweep.table import SUBJECT, numeric_axes, plain, setting

if TYPE_CHECKING:
    import pandas as pd

INTERVAL = "interval_cycles"


@dataclass(frozen=True)
class Answer:
    """One thing that the sweep says.

    Attributes
    ----------
    question : str
        ``holds`` (for which values of a parameter), ``depth`` (the least one), ``tolerance``
        (which schedule bears most), ``work`` (which value does most) or ``failures``.
    words : str
        The answer in a sentence.
    data : dict
        The same as data.
    """

    question: str
    words: str
    data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Held:
    """Values of a parameter for which an interval holds, for one line of a sweep.

    Attributes
    ----------
    subject : str
        What runs.
    line : dict
        Values of the other parameters, that of rings among them.
    best : float
        Least interval of what runs, in cycles, over all depths and values.
    tried, held : tuple
        All values, and those at which the interval is at most so much above `best`; in ascending
        order.
    fits : bool
        Whether the memories have the room for it.
    ran : bool
        Whether any point did not fail.
    """

    subject: str
    line: dict[str, Any]
    best: float
    tried: tuple[float, ...]
    held: tuple[float, ...]
    fits: bool
    ran: bool

    @property
    def knee(self) -> float | None:
        """The last value up to which it holds, None if it does not hold at the first."""
        last = None
        for value in self.tried:
            if value not in self.held:
                break
            last = value
        return last


def held(sweep: Sweep, found: pd.DataFrame, axis: str) -> list[Held]:
    """Return where intervals hold along one parameter, a line for each rest of a point."""
    others = [name for name in sweep.axes if name != axis]
    rings = next((name for name in others if name in RINGS), None)
    fixed = [*SUBJECT, *(name for name in others if name != rings)]
    lines = []
    for _, mine in found.groupby(fixed, sort=False, dropna=False):
        best = _best(mine)
        if best is None:
            continue
        limit = best * (1 + sweep.tolerance)
        depths = mine.groupby(rings, sort=True) if rings else [(None, mine)]
        for _, line in depths:
            ordered = line.sort_values(axis)
            good = ordered[(ordered[INTERVAL] <= limit).fillna(value=False)]
            lines.append(
                Held(
                    subject=subject_of(line),
                    line={name: plain(line[name].iloc[0]) for name in others},
                    best=best,
                    tried=tuple(float(value) for value in ordered[axis]),
                    held=tuple(float(value) for value in good[axis]),
                    fits=bool(ordered["fits"].fillna(value=False).any()),
                    ran=bool(ordered[INTERVAL].notna().any()),
                )
            )
    return lines


def answers(sweep: Sweep, found: pd.DataFrame) -> list[Answer]:
    """Return what a sweep says."""
    result: list[Answer] = []
    numeric = numeric_axes(sweep, found)
    worked = [name for name in numeric if parameter(name).name in ("tile.", "subtiles")]
    for axis in numeric:
        if axis in worked:
            result += _work(sweep, found, axis)
        elif not worked and (axis not in RINGS or numeric == [axis]):
            lines = held(sweep, found, axis)
            result += [_holds(axis, line, sweep.tolerance) for line in lines]
            result += _most_tolerant(axis, lines)
    for rings in () if worked else RINGS:
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
        words = f"{where}: {interval} hold at none of {len(line.tried)} values of {axis}"
    elif len(line.held) == len(line.tried):
        words = f"{where}: {interval} hold at every {axis} from {_span(line.tried, unit)}"
    elif line.knee == line.held[-1]:
        words = f"{where}: {interval} hold up to a {axis} of {_with_unit(line.knee, unit)}"
    elif line.held == line.tried[-len(line.held) :]:
        words = f"{where}: {interval} hold from a {axis} of {_with_unit(line.held[0], unit)} on"
    else:
        words = (
            f"{where}: {interval} hold at {len(line.held)} of {len(line.tried)} values of {axis}"
        )
    if not line.fits:
        words += "; it does not fit the machine"
    data = {"parameter": axis, "knee": line.knee, **asdict(line)}
    return Answer("holds", words, data)


def _most_tolerant(axis: str, lines: Sequence[Held]) -> Iterator[Answer]:
    """Yield who bears most, where several run and latency is what they have to bear."""
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
    fixed = [*SUBJECT, *(name for name in sweep.axes if name != rings)]
    free = [*SUBJECT, *(n for n in sweep.axes if n not in (rings, "tma-latency", "latency"))]
    least_of = "least depth that fits and holds"
    if rings == "deeper":
        least_of = "least slots more that fit and hold"
    for _, mine in found.groupby(free, sort=False, dropna=False):
        best = _best(mine)
        if best is None:
            continue
        limit = best * (1 + sweep.tolerance)
        least: dict[str, int | None] = {}
        for _, line in mine.groupby(fixed, sort=False, dropna=False):
            holds = (line[INTERVAL] <= limit).fillna(value=False)
            good = line[holds & line["fits"].fillna(value=False)]
            latency = str(line["latency"].iloc[0])
            least[latency] = None if good.empty else int(good[rings].min())
        rest = {name: plain(mine[name].iloc[0]) for name in free if name not in SUBJECT}
        told = "; ".join(_depth_words(least))
        yield Answer(
            "depth",
            f"{subject_of(mine)}{_line(rest)}: {least_of} {best:.6g} cycles "
            f"(+{sweep.tolerance:.0%}): {told}",
            {"subject": subject_of(mine), "line": rest, "best": best, "least": least},
        )


def _depth_words(least: dict[str, int | None]) -> Iterator[str]:
    """Say the least depth for each latency, neighbours that have the same one together."""
    runs: list[tuple[int | None, list[str]]] = []
    for latency, depth in least.items():
        if runs and runs[-1][0] == depth:
            runs[-1][1].append(latency)
        else:
            runs.append((depth, [latency]))
    for depth, latencies in runs:
        several = len(latencies) > 1
        span = f"{latencies[0]} to {latencies[-1]}" if several else latencies[0]
        slots = "no depth" if depth is None else f"{depth} slot{'s' if depth > 1 else ''}"
        yield f"{slots} under {span}"


def _fastest(sweep: Sweep, found: pd.DataFrame) -> Iterator[Answer]:
    """Yield who is fastest, where several run, for each latency source."""
    if "latency" not in sweep.axes or found.groupby(list(SUBJECT), sort=False).ngroups < 2:
        return
    usable = found[found["fits"].fillna(value=False) & found[INTERVAL].notna()]
    for (loop, latency), mine in usable.groupby(["loop", "latency"], sort=False):
        ordered = mine.sort_values("iterations_per_kilocycle", ascending=False)
        first = ordered.drop_duplicates(list(SUBJECT))
        told = [
            f"{subject_of(first.iloc[[i]])} {first[INTERVAL].iloc[i]:.6g}"
            for i in range(len(first))
        ]
        yield Answer(
            "tolerance",
            f"{loop} under {latency}, cycles an iteration at the best depth: {'; '.join(told)}",
            {
                "loop": loop,
                "latency": latency,
                "order": [
                    {
                        "subject": subject_of(first.iloc[[i]]),
                        INTERVAL: float(first[INTERVAL].iloc[i]),
                    }
                    for i in range(len(first))
                ],
            },
        )


def _work(sweep: Sweep, found: pd.DataFrame, axis: str) -> Iterator[Answer]:
    fixed = [*SUBJECT, *(name for name in sweep.axes if name != axis)]
    for _, mine in found.groupby(fixed, sort=False, dropna=False):
        measure = "tflops" if mine["tflops"].notna().any() else "iterations_per_kilocycle"
        ran = mine[mine[measure].notna()]
        if ran.empty:
            continue
        best = ran.loc[ran[measure].idxmax()]
        unit = "TFLOP/s" if measure == "tflops" else "iterations per kilocycle"
        rest = {name: plain(mine[name].iloc[0]) for name in fixed if name not in SUBJECT}
        yield Answer(
            "work",
            f"{subject_of(mine)}{_line(rest)}: most at {axis} {best[axis]:g}: "
            f"{best[measure]:.4g} {unit}",
            {"parameter": axis, "value": plain(best[axis]), measure: float(best[measure])},
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


def subject_of(line: pd.DataFrame) -> str:
    """Return what runs in the rows of a table, in words."""
    item, machine, variant = (str(line[name].iloc[0]) for name in SUBJECT)
    return f"{item} on {machine}, {variant}"


def _best(line: pd.DataFrame) -> float | None:
    """Return the least interval, None where nothing has one."""
    known = line[INTERVAL].dropna()
    return None if known.empty else float(known.min())


def _line(values: dict[str, Any]) -> str:
    return "".join(f", {setting(name, value)}" for name, value in values.items())


def _with_unit(value: float | None, unit: str) -> str:
    return f"{value:g} {unit}".strip()


def _span(values: Sequence[float], unit: str) -> str:
    return f"{values[0]:g} to {_with_unit(values[-1], unit)}"
