"""Streams: the instructions of one or more operations in the order in which a warp issues them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from twill.artifacts.schedule import Issue
from twill.sim.engine.hardware import Context, Unit
from twill.sim.engine.units import AsynchronousUnit
from twill.sim.engine.work import Segment, Work

Running = tuple[Issue, Work, int]
"""A part, its operation and its iteration."""


class Pace:
    """How fast a warp may issue the instructions of one operation.

    Attributes
    ----------
    ready : float
        Cycle from which the next one may be issued.
    last : float
        Cycle at which the last one was.
    """

    __slots__ = ("last", "ready")

    def __init__(self) -> None:
        self.ready = 0.0
        self.last = 0.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive instructions of one operation on one unit.

    Attributes
    ----------
    part : int
        Which of the stream's parts they belong to.
    pipe : Unit, optional
        Where they go to; None for commands to an asynchronous unit.
    unit : str
        Its name, or that of the unit that they command.
    count : int
        How many there are.
    interval, share : float
        Cycles from one to the next, and for which each fills the pipe.
    whole : bool
        Whether only other warps can keep them from following each other at the interval.
    size : int
        Instructions in a bundle; what is counted is bundles.
    ahead : int
        Cycles that the instructions behind these take at least, up to one that others notice: a
        command, one on a pipe that contexts share, or the end of the stream.
    index : int
        Which of the operation's instructions the first is.
    queue : AsynchronousUnit, optional
        The unit that is commanded, if its queue can block who issues.
    """

    part: int
    pipe: Unit | None
    unit: str
    count: int
    interval: float
    share: float
    whole: bool
    size: int
    ahead: int
    index: int
    queue: AsynchronousUnit | None


def stream(
    running: Sequence[Running],
    lane: int,
    context: Context,
    queues: Mapping[str, AsynchronousUnit],
) -> tuple[Stretch, ...]:
    """Return the instructions of parts of operations, alternating in proportion."""
    found: list[Stretch] = []
    merged = list(_merged(_alternating(running, lane)))
    for place, (part, segment, first, count) in enumerate(merged):
        work = running[part][1]
        pipe = context.pipe(segment.unit) if segment.unit else None
        whole = segment.interval == int(segment.interval) and segment.share <= segment.interval
        unit = segment.unit or work.demands[0].unit
        found.append(
            Stretch(
                part=part,
                pipe=pipe,
                unit=unit,
                count=count,
                interval=segment.interval,
                share=segment.share,
                whole=whole and segment.interval >= context.slots * segment.size,
                size=segment.size,
                ahead=context.slots * _unnoticed(merged[place + 1 :], context),
                index=first,
                queue=queues.get(unit) if pipe is None else None,
            )
        )
    return tuple(found)


def _unnoticed(behind: Iterable[tuple[int, Segment, int, int]], context: Context) -> int:
    """Return how many instructions come before one that others notice."""
    found = 0
    for _, segment, _, count in behind:
        if not segment.unit or context.pipe(segment.unit).shared:
            break
        found += count
    return found


def _merged(
    instructions: Iterable[tuple[int, Segment, int]],
) -> Iterator[tuple[int, Segment, int, int]]:
    """Yield part, segment, first index and number of instructions that follow each other."""
    current: tuple[int, Segment, int, int] | None = None
    for part, segment, index in instructions:
        if current is not None and current[0] == part and current[1] is segment:
            current = (part, segment, current[2], current[3] + 1)
            continue
        if current is not None:
            yield current
        current = (part, segment, index, 1)
    if current is not None:
        yield current


def _alternating(running: Sequence[Running], lane: int) -> Iterator[tuple[int, Segment, int]]:
    """Yield the instructions of all parts, alternating in proportion to their numbers."""
    extents = [work.extent(part, lane) for part, work, _ in running]
    places = sorted(
        ((position + 0.5) / (end - begin), k)
        for k, (begin, end) in enumerate(extents)
        for position in range(end - begin)
    )
    streams = [work.stream(part, lane) for part, work, _ in running]
    for _, k in places:
        segment, index = next(streams[k])
        yield k, segment, index
