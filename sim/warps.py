"""Warps: in-order execution of a program, with its waits and stalls."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from twill.artifacts.schedule import (
    Arrive,
    Await,
    Get,
    Group,
    Instruction,
    Interleave,
    Issue,
    Program,
    Put,
    Wait,
)
from twill.sim.hardware import Context
from twill.sim.work import Segment, Work

if TYPE_CHECKING:
    from twill.sim.sm import StreamingMultiprocessor

ISSUE = "issue"
Steps = Generator[Any, None, None]
Running = tuple[Issue, Work, int]


class Warp:
    """One warp of a group; it issues strictly in the order of its program.

    Parameters
    ----------
    sm : StreamingMultiprocessor
        Where it runs.
    group : Group
        Its group.
    program : Program
        What the group executes.
    lane : int
        Its position in the group.
    context : Context
        Where it issues from.

    Attributes
    ----------
    spent : dict
        Cycles by cause; `ISSUE` is work, the rest are stalls. They add up to the cycle at which
        the warp is at its end.
    blocked_on : (str, str, int) or None
        While it waits: ``completion`` or ``barrier``, of what, and the iteration.
    finished : bool
        Whether it came to the end of its program.
    """

    def __init__(
        self,
        sm: StreamingMultiprocessor,
        group: Group,
        program: Program,
        lane: int,
        context: Context,
    ) -> None:
        self._sm, self._program, self._context = sm, program, context
        self._environment = sm.environment
        self.group, self.lane = group, lane
        self.spent: dict[str, float] = defaultdict(float)
        self.blocked_on: tuple[str, str, int] | None = None
        self.finished = False
        self._next = 0
        self._staged = 0.0
        self._ended = 0.0
        self._last: dict[tuple[str, int], int] = {}
        self._ready: dict[tuple[str, int], float] = {}

    def run(self) -> Steps:
        """Execute every round of the program; a SimPy process."""
        for number in range(self._sm.iterations + self._program.last_stage):
            for instruction in self._program.body:
                yield from self._execute(instruction, number)
        yield from self._reach_next()
        stalled = sum(cycles for cause, cycles in self.spent.items() if cause != ISSUE)
        self.spent[ISSUE] = max(0.0, self._environment.now - stalled)
        self.finished = True

    def _execute(self, instruction: Instruction, number: int) -> Steps:
        if isinstance(instruction, Issue):
            yield from self._issue((instruction,), number)
            return
        if isinstance(instruction, Interleave):
            yield from self._issue(instruction.parts, number)
            return
        iteration = number - instruction.stage
        if not 0 <= iteration < self._sm.iterations:
            return
        if isinstance(instruction, Put):
            yield from self._put(instruction, iteration)
            return
        if isinstance(instruction, Get):
            yield from self._get(instruction, iteration)
            return
        iteration -= instruction.distance
        if not 0 <= iteration < self._sm.iterations:
            return
        match instruction:
            case Await():
                yield from self._await(instruction, iteration)
            case Wait():
                yield from self._wait(instruction, iteration)
            case Arrive():
                yield from self._arrive(instruction, iteration)

    # -- issuing ------------------------------------------------------------------------------

    def _issue(self, parts: Sequence[Issue], number: int) -> Steps:
        """Issue parts of one or more operations, their instructions alternating."""
        running = list(self._running(parts, number))
        for part, work, iteration in running:
            if part.first:
                yield from self._begin(work, iteration)
            if part.last:
                self._sm.signal_when_done(work, iteration, part.signals)
        for (_, work, iteration), segment, index in _alternating(running):
            yield from self._instruction(work, iteration, segment, index)
        for part, work, iteration in running:
            self._end(part, work, iteration)

    def _running(self, parts: Sequence[Issue], number: int) -> Iterator[Running]:
        """Yield the parts that this warp has a share in, with their iterations."""
        for part in parts:
            work, iteration = self._sm.works[part.operation], number - part.stage
            if 0 <= iteration < self._sm.iterations and self.lane < work.warps:
                yield part, work, iteration

    def _end(self, part: Issue, work: Work, iteration: int) -> None:
        key = (work.name, iteration)
        if work.asynchronous:
            self._next = max(self._next, math.ceil(self._ready.get(key, 0)))
        elif part.last:
            done = self._last[key] + work.segments[-1].interval
            self._ended = max(self._ended, done)
            self._sm.end(self, work, iteration, self._last[key], done)
        if part.last:
            self._ready.pop(key, None)
            self._last.pop(key, None)

    def _begin(self, work: Work, iteration: int) -> Steps:
        """Stall until operands in registers are there, then read them and claim the result."""
        self._stall_until(self._sm.operands_ready(self, work, iteration))
        yield from self._reach_next()
        yield from self._block_for(self._sm.unfinished(self, work, iteration))
        self._sm.begin(self, work, iteration)

    def _block_for(self, unfinished: list[tuple[str, int]]) -> Steps:
        """Wait for operations of the group's other warps."""
        for operation, of in unfinished:
            event = self._sm.completion(self, operation, of)
            if event is not None:
                yield from self._block(event, ("completion", operation, of))
                yield from self._reach_next()

    def _instruction(self, work: Work, iteration: int, segment: Segment, index: int) -> Steps:
        """Issue one instruction, no sooner than the operation's last one allows."""
        key = (work.name, iteration)
        ready = self._ready.get(key, 0.0)
        self._next = max(self._next, int(ready))
        yield from self._reach_next()
        now = int(self._environment.now)
        cycle = now
        if segment.unit:
            cycle = self._context.issue(segment.unit, segment.share, now)
            self._next = cycle + self._context.slots_taken
            slow = segment.interval > 1
            self._count(f"pipe {segment.unit}" if slow else "issue slot", cycle - now)
        self._last[key] = cycle
        self._ready[key] = max(ready, cycle) + segment.interval
        if cycle > now:
            yield self._environment.timeout(cycle - now)
        if work.asynchronous:
            self._sm.command(work, iteration, index)

    # -- synchronisation ----------------------------------------------------------------------

    def _await(self, instruction: Await, iteration: int) -> Steps:
        yield from self._reach_next()
        event = self._sm.completion(self, instruction.operation, iteration)
        yield from self._block(event, ("completion", instruction.operation, iteration))

    def _wait(self, instruction: Wait, iteration: int) -> Steps:
        yield from self._reach_next()
        event = self._sm.barriers.wait(instruction.barrier, iteration)
        yield from self._block(event, ("barrier", instruction.barrier, iteration))

    def _block(self, event: Any, reason: tuple[str, str, int]) -> Steps:
        if event is not None:
            begun = self._environment.now
            self.blocked_on = reason
            yield event
            self.blocked_on = None
            self._count(f"wait {reason[1]}", self._environment.now - begun)
        self._spend("synchronisation", self._sm.hardware.wait)

    def _arrive(self, instruction: Arrive, iteration: int) -> Steps:
        yield from self._reach_next()
        staged, self._staged = max(self._staged, self._ended), 0.0
        self._sm.arrive(self, instruction.barrier, iteration, staged)
        self._spend("synchronisation", self._sm.hardware.arrive)

    def _put(self, instruction: Put, iteration: int) -> Steps:
        """Store to the staging; the warp goes on while the data travels."""
        self._stall_until(self._sm.result_ready(self, instruction.value, iteration))
        yield from self._reach_next()
        yield from self._block_for(self._sm.unfinished_readers(self, instruction.value, iteration))
        half = self._sm.works[instruction.value].transfer // 2
        done = self._environment.now + half
        self._staged = max(self._staged, done)
        self._sm.put(self, instruction.value, iteration, done)

    def _get(self, instruction: Get, iteration: int) -> Steps:
        """Load from the staging; the scoreboard holds back whoever reads the copy."""
        yield from self._reach_next()
        transfer = self._sm.works[instruction.value].transfer
        done = self._environment.now + transfer - transfer // 2
        self._staged = max(self._staged, done)
        self._sm.get(self, instruction.value, instruction.reader, iteration, done)

    # -- time ---------------------------------------------------------------------------------

    def _reach_next(self) -> Steps:
        """Let time pass until the warp can issue again."""
        ahead = self._next - self._environment.now
        if ahead > 0:
            yield self._environment.timeout(ahead)

    def _stall_until(self, ready: float) -> None:
        """Wait for the scoreboard: nothing issues before `ready`."""
        earliest = max(self._next, self._environment.now)
        if ready > earliest:
            self._count("scoreboard", ready - earliest)
            self._next = math.ceil(ready)

    def _spend(self, cause: str, cycles: int) -> None:
        self._count(cause, cycles)
        self._next = int(self._environment.now) + cycles

    def _count(self, cause: str, cycles: float) -> None:
        if cycles > 0:
            self.spent[cause] += cycles


def _alternating(running: Sequence[Running]) -> Iterator[tuple[Running, Segment, int]]:
    """Yield the instructions of all parts, alternating in proportion to their numbers."""
    if len(running) == 1:
        entry = running[0]
        for segment, index in entry[1].stream(entry[0]):
            yield entry, segment, index
        return
    extents = [work.extent(part) for part, work, _ in running]
    places = sorted(
        ((position + 0.5) / (end - begin), k)
        for k, (begin, end) in enumerate(extents)
        for position in range(end - begin)
    )
    streams = [work.stream(part) for part, work, _ in running]
    for _, k in places:
        segment, index = next(streams[k])
        yield running[k], segment, index
