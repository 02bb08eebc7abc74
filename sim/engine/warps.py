"""Warps as contexts see them: the instructions that each issues, and when it can."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from twill.artifacts.program import Issue
from twill.artifacts.schedule import Group
from twill.sim.engine.events import Clock, Issued, Stall, Stalled
from twill.sim.engine.hardware import AsynchronousUnit, Context, Unit
from twill.sim.engine.work import Segment, Work

ISSUE = "issue"
"""What a warp spends its cycles on that are no stall."""
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


class Warp:
    """One warp of a group.

    Attributes
    ----------
    number, stands_for : int, int
        Its number in the group; and warps of the group, itself included, that are in step with it
        and are not executed.
    age : int
        Warps that are older.
    resume : callable
        Goes on with its program until the warp has to let time pass.
    command : callable
        Hands a command to an asynchronous unit: of which of the operations that are being issued,
        and which of its commands.
    spent : dict
        Cycles by cause; `ISSUE` is work, the rest are stalls. They add up to the cycle at which
        the warp is at its end.
    blocked_on : (str, str, int) or None
        While it waits: ``completion`` or ``barrier``, of what, and the iteration.
    finished : bool
        Whether it came to the end of its program.
    next : float
        Cycle from which it can issue.
    running : list of Running
        What it issues: parts of operations.
    stretches, position, left
        Their instructions: all stretches, the current one, and instructions left in that.
    paces : list of Pace
        Of the operations that it issues.
    wanted, pipe, queue, since
        Cycle from which its next instruction could be issued, what else that needs, and how many
        warps had begun to issue or to sleep when it did.
    asked, turn : float, float or None
        While it queues for a pipe that all contexts share: since when, and when it is its turn.
    """

    resume: Callable[[], object]
    command: Callable[[int, int], None]

    def __init__(
        self, clock: Clock, group: Group, number: int, stands_for: int, age: int, context: Context
    ) -> None:
        self._clock = clock
        self.group, self.number, self.stands_for = group, number, stands_for
        self.age, self.context = age, context
        self.spent: dict[str, float] = defaultdict(float)
        self.blocked_on: tuple[Stall, str, int] | None = None
        self.finished = False
        self.next: float = 0
        self.running: list[Running] = []
        self.stretches: tuple[Stretch, ...] = ()
        self.position = self.left = 0
        self.paces: list[Pace] = []
        self.wanted: float = 0
        self.since = 0
        self.pipe: Unit | None = None
        self.queue: AsynchronousUnit | None = None
        self.asked: float = 0
        self.turn: float | None = None

    def next_stretch(self) -> bool:
        """Go to the next stretch; return whether there is one."""
        self.position += 1
        if self.position == len(self.stretches):
            return False
        self.left = self.stretches[self.position].count
        return True

    def issued(self, stretch: Stretch, begin: float, end: float) -> None:
        """Tell of instructions: the cycle of the first, and from which the next may be issued."""
        tell = self._clock.tell
        if tell is not None:
            _, work, iteration = self.running[stretch.part]
            group, operation = self.group.name, work.name
            tell(Issued(group, self.number, operation, iteration, stretch.unit, begin, end))

    def lost(self, kind: Stall, stretch: Stretch, begin: float, end: float) -> None:
        """Count cycles in which an instruction was ready and could not be issued."""
        self.count(kind if kind == "issue slot" else f"{kind} {stretch.unit}", end - begin)
        self.stalled(kind, stretch.unit, self.running[stretch.part][2], begin, end)

    def stalled(self, kind: Stall, subject: str, iteration: int, begin: float, end: float) -> None:
        """Tell of cycles in which it could not go on."""
        tell = self._clock.tell
        if tell is not None and end > begin:
            tell(Stalled(self.group.name, self.number, kind, subject, iteration, begin, end))

    def stall_until(self, ready: float, value: str, iteration: int) -> None:
        """Wait for the scoreboard: nothing issues before `ready`."""
        earliest = max(self.next, self._clock.now)
        if ready > earliest:
            self.count("scoreboard", ready - earliest)
            self.next = math.ceil(ready)
            self.stalled("scoreboard", value, iteration, earliest, self.next)

    def pay(self, subject: str, iteration: int, cycles: int) -> None:
        """Pay for a wait or an arrive itself."""
        self.count("synchronisation", cycles)
        now = self._clock.now
        self.next = max(math.ceil(now), int(now) + cycles)
        self.stalled("synchronisation", subject, iteration, now, self.next)

    def count(self, cause: str, cycles: float) -> None:
        """Count cycles that it spends."""
        if cycles > 0:
            self.spent[cause] += cycles


def stream(
    running: Sequence[Running],
    warp: int,
    context: Context,
    queues: Mapping[str, AsynchronousUnit],
) -> tuple[Stretch, ...]:
    """Return the instructions of parts of operations, alternating in proportion."""
    found: list[Stretch] = []
    merged = list(_merged(_alternating(running, warp)))
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


def _alternating(running: Sequence[Running], warp: int) -> Iterator[tuple[int, Segment, int]]:
    """Yield the instructions of all parts, alternating in proportion to their numbers."""
    extents = [work.extent(part, warp) for part, work, _ in running]
    places = sorted(
        ((position + 0.5) / (end - begin), k)
        for k, (begin, end) in enumerate(extents)
        for position in range(end - begin)
    )
    streams = [work.stream(part, warp) for part, work, _ in running]
    for _, k in places:
        segment, index = next(streams[k])
        yield k, segment, index
