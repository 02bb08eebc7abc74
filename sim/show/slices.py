"""A recording as slices that do not overlap: what a track of a picture or a trace shows."""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from twill.sim.engine.record import Instance, Recording, Span, Use, in_time

NEAR = 32
"""Cycles between instructions of one operation that are still one slice."""

WAITS = ("barrier", "completion", "synchronisation", "queue")
"""Stalls that end a slice; others are shorter than an instruction's turn."""


@dataclass(frozen=True)
class Slice:
    """Cycles of one track.

    Attributes
    ----------
    begin, end : float
        Cycles.
    names : tuple of str
        Operations that are executed, or what is waited for.
    iterations : tuple of int
        Of each of them.
    kind : str
        ``issue``, ``work`` (of a unit) or the kind of a stall.
    """

    begin: float
    end: float
    names: tuple[str, ...]
    iterations: tuple[int, ...]
    kind: str

    @property
    def name(self) -> str:
        """All names in one."""
        return " + ".join(self.names)


def of_warp(spans: Iterable[Span]) -> list[Slice]:
    """Return what a warp did: operations, joined where they alternate, and stalls between."""
    spans = in_time(spans)
    runs = _runs(spans)
    busy = _alternating([run for found in runs.values() for run in found])
    covered = [(piece.begin, piece.end) for piece in busy]
    stalls = [
        Slice(s.begin, s.end, (s.subject,), (s.iteration,), s.kind)
        for s in spans
        if s.kind != "issue" and not _inside(s, covered)
    ]
    return _disjoint([*busy, *stalls])


def of_unit(uses: Iterable[Use]) -> list[Slice]:
    """Return what an asynchronous unit did."""
    joined: list[Slice] = []
    for use in in_time(uses):
        last = joined[-1] if joined else None
        same = last is not None and (last.names, last.iterations) == (
            (use.operation,),
            (use.iteration,),
        )
        if last is not None and same and use.begin - last.end <= NEAR:
            joined[-1] = replace(last, end=use.end)
        else:
            joined.append(Slice(use.begin, use.end, (use.operation,), (use.iteration,), "work"))
    return _disjoint(joined)


def of_pipes(recording: Recording) -> dict[str, list[Slice]]:
    """Return what the first warps of all groups issued to each synchronous pipe."""
    runs: dict[str, list[Slice]] = defaultdict(list)
    for (_, lane), spans in recording.spans.items():
        by_unit: dict[str, list[Span]] = defaultdict(list)
        for span in spans if lane == 0 else ():
            if span.kind == "issue" and span.unit not in recording.uses:
                by_unit[span.unit].append(span)
        for unit, issued in by_unit.items():
            for found in _runs(issued).values():
                runs[unit].extend(found)
    return {unit: _alternating(runs[unit]) for unit in sorted(runs)}


def _runs(spans: Sequence[Span]) -> dict[Instance, list[Slice]]:
    """Return runs of nearby instructions of each operation, cut where the warp waits."""
    waits = [s.begin for s in spans if s.kind in WAITS]
    runs: dict[Instance, list[Slice]] = defaultdict(list)
    for span in spans:
        if span.kind != "issue":
            continue
        following = bisect.bisect_right(waits, span.begin)
        end = min([span.end, *waits[following : following + 1]])
        found = runs[span.subject, span.iteration]
        last = found[-1] if found else None
        if (
            last is not None
            and span.begin - last.end <= NEAR
            and bisect.bisect_left(waits, last.begin) == bisect.bisect_left(waits, span.begin)
        ):
            found[-1] = replace(last, end=max(last.end, end))
        else:
            instance = (span.subject,), (span.iteration,)
            found.append(Slice(span.begin, end, *instance, "issue"))
    return runs


def _alternating(runs: Sequence[Slice]) -> list[Slice]:
    """Return pieces in which the same operations are under way."""
    changes: list[tuple[float, int, Slice]] = []
    for run in runs:
        if run.end > run.begin:
            changes += [(run.begin, 1, run), (run.end, 0, run)]
    changes.sort(key=lambda change: (change[0], change[1], change[2].names))
    pieces: list[Slice] = []
    active: list[Slice] = []
    at = 0.0
    for cycle, begins, run in changes:
        if active and cycle > at:
            names = tuple(name for one in active for name in one.names)
            iterations = tuple(number for one in active for number in one.iterations)
            pieces.append(Slice(at, cycle, names, iterations, "issue"))
        at = cycle
        if begins:
            active.append(run)
        else:
            active.remove(run)
    return pieces


def _inside(span: Span, covered: Sequence[tuple[float, float]]) -> bool:
    index = bisect.bisect_right(covered, (span.begin, float("inf"))) - 1
    return index >= 0 and span.end <= covered[index][1]


def _disjoint(slices: Iterable[Slice]) -> list[Slice]:
    """Cut every slice where the next begins; drop what is empty."""
    ordered = sorted(slices, key=lambda piece: (piece.begin, piece.end))
    cut = [
        replace(piece, end=min(piece.end, after.begin))
        for piece, after in itertools.pairwise(ordered)
    ]
    return [piece for piece in [*cut, *ordered[-1:]] if piece.end > piece.begin]
