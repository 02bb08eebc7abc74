"""Warps as contexts see them: the instructions that each issues, and when it can."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from twill.artifacts.program import Issue
from twill.artifacts.schedule import Group
from twill.sim.engine.clock import Clock
from twill.sim.engine.events import Issued, Stall, Stalled
from twill.sim.engine.hardware import AsynchronousUnit, Context
from twill.sim.engine.units import Unit
from twill.sim.engine.work import Segment, Work

ISSUE = "issue"  # what a warp spends its cycles on that are no stall


@dataclass(frozen=True, slots=True)
class Share:
    """A part of an operation in which a warp has a share.

    `first`, `last`: whether the operation begins, or is issued completely, with this part.
    """

    part: Issue
    work: Work
    stage: int
    first: bool
    last: bool


Running = tuple[Share, int]  # with its iteration


@dataclass(slots=True)
class Pace:
    """How fast a warp may issue the instructions of one operation."""

    ready: float = 0.0  # cycle from which the next one may be issued
    last: float = 0.0  # cycle at which the last one was


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive instructions of one operation on one unit."""

    part: int  # which of the stream's parts they belong to
    pipe: Unit | None  # where they go to; None for commands to an asynchronous unit
    unit: str  # its name, or that of the unit that they command
    count: int
    interval: float  # cycles from one to the next
    share: float  # cycles for which each fills the pipe
    whole: bool  # whether only other warps can keep them from following each other at the interval
    # Cycles that the instructions behind these take at least, up to one that others notice: a
    # command, one on a pipe that contexts share, or the end of the stream.
    ahead: int
    index: int  # which of the operation's instructions the first is
    queue: AsynchronousUnit | None  # the unit that is commanded, if its queue can block who issues


@dataclass(eq=False, slots=True)
class Warp:
    """A warp of a group."""

    clock: Clock
    group: Group
    number: int  # in the group
    stands_for: int  # warps of the group, itself included, that are in step and not executed
    age: int  # warps that are older
    context: Context
    # Goes on with its program until the warp has to let time pass.
    resume: Callable[[], object] = field(init=False)
    # Hands a command to an asynchronous unit: of which of the operations that are being issued, and
    # which of its commands.
    command: Callable[[int, int], None] = field(init=False)
    # Cycles by cause; `ISSUE` is work, the rest are stalls. They add up to the cycle at which the
    # warp is at its end.
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    # While it waits: ``completion`` or ``barrier``, of what, and the iteration.
    blocked_on: tuple[Stall, str, int] | None = None
    finished: bool = False
    next: float = 0.0  # cycle from which it can issue
    running: list[Running] = field(default_factory=list)  # what it issues
    stretches: tuple[Stretch, ...] = ()  # its instructions
    position: int = 0  # of the current stretch
    left: int = 0  # instructions of that
    paces: list[Pace] = field(default_factory=list)  # of the operations that it issues
    wanted: float = 0.0  # cycle from which its next instruction could be issued
    pipe: Unit | None = None  # what else that needs
    queue: AsynchronousUnit | None = None
    unnoticed: float = 0.0  # cycles that it takes at least from then until others notice something
    since: int = 0  # warps that had begun to issue or to sleep when it did
    # While it queues for a pipe that all contexts share: since when, and when it is its turn.
    asked: float = 0.0
    turn: float | None = None
    lasts: float = 0.0  # cycles from its instruction there to its next one

    def next_stretch(self) -> bool:
        """Go to the next stretch; return whether there is one."""
        self.position += 1
        if self.position == len(self.stretches):
            return False
        self.left = self.stretches[self.position].count
        return True

    def issued(self, stretch: Stretch, begin: float, end: float) -> None:
        """Report instructions: the cycle of the first, and from which the next may be issued."""
        tell = self.clock.tell
        if tell is not None:
            share, iteration = self.running[stretch.part]
            group, operation = self.group.name, share.work.name
            tell(Issued(group, self.number, operation, iteration, stretch.unit, begin, end))

    def lost(self, kind: Stall, stretch: Stretch, begin: float, end: float) -> None:
        """Count cycles in which an instruction was ready and could not be issued."""
        self.count(kind if kind == "issue slot" else f"{kind} {stretch.unit}", end - begin)
        self.stalled(kind, stretch.unit, self.running[stretch.part][1], begin, end)

    def stalled(self, kind: Stall, subject: str, iteration: int, begin: float, end: float) -> None:
        """Report cycles in which the warp could not go on."""
        tell = self.clock.tell
        if tell is not None and end > begin:
            tell(Stalled(self.group.name, self.number, kind, subject, iteration, begin, end))

    def stall_until(self, ready: float, value: str, iteration: int) -> None:
        """Wait for the scoreboard: nothing issues before `ready`."""
        earliest = max(self.next, self.clock.now)
        if ready > earliest:
            self.count("scoreboard", ready - earliest)
            self.next = float(math.ceil(ready))
            self.stalled("scoreboard", value, iteration, earliest, self.next)

    def pay(self, subject: str, iteration: int, cycles: int) -> None:
        """Pay for a wait or an arrive itself."""
        self.count("synchronisation", cycles)
        now = self.clock.now
        self.next = float(max(math.ceil(now), int(now) + cycles))
        self.stalled("synchronisation", subject, iteration, now, self.next)

    def count(self, cause: str, cycles: float) -> None:
        """Count cycles that it spends."""
        if cycles > 0:
            self.spent[cause] += cycles


def stream(
    running: Sequence[Running], warp: int, context: Context, queues: Mapping[str, AsynchronousUnit]
) -> tuple[Stretch, ...]:
    """Return the instructions of parts of operations, alternating in proportion."""
    found: list[Stretch] = []
    if len(running) == 1:
        share = running[0][0]
        merged = [(0, *run) for run in share.work.stream(share.part, warp)]
    else:
        merged = list(_merged(_alternating(running, warp)))
    for place, (part, segment, first, count) in enumerate(merged):
        work = running[part][0].work
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
                whole=whole and segment.interval >= context.slots,
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
    for _, found in groupby(instructions, key=lambda one: (one[0], id(one[1]))):
        together = list(found)
        yield *together[0], len(together)


def _alternating(running: Sequence[Running], warp: int) -> Iterator[tuple[int, Segment, int]]:
    """Yield the instructions of all parts, alternating in proportion to their numbers."""
    extents = [share.work.extent(share.part, warp) for share, _ in running]
    places = sorted(
        ((position + 0.5) / (end - begin), k)
        for k, (begin, end) in enumerate(extents)
        for position in range(end - begin)
    )
    streams = [_one_by_one(share.work.stream(share.part, warp)) for share, _ in running]
    for _, k in places:
        segment, index = next(streams[k])
        yield k, segment, index


def _one_by_one(runs: Iterable[tuple[Segment, int, int]]) -> Iterator[tuple[Segment, int]]:
    """Yield the instructions of runs, each with its index."""
    for segment, first, count in runs:
        for index in range(first, first + count):
            yield segment, index
