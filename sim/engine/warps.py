"""Warps: in-order execution of a program, with its waits and stalls."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from twill.artifacts.schedule import (
    Arrive,
    Await,
    Fence,
    Get,
    Group,
    Instruction,
    Interleave,
    Issue,
    Program,
    Put,
    Wait,
)
from twill.sim.engine.hardware import Context, Signals, Unit
from twill.sim.engine.memory import Instance
from twill.sim.engine.observer import Stall
from twill.sim.engine.streams import Pace, Running, Stretch, stream
from twill.sim.engine.units import AsynchronousUnit
from twill.sim.engine.work import Work

if TYPE_CHECKING:
    from twill.sim.engine.sm import StreamingMultiprocessor

ISSUE = "issue"
Steps = Generator[None, None, None]


class Warp:
    """One warp of a group; it issues strictly in the order of its program.

    `stands_for`: warps of the group, itself included, that are in step with it and are not
    executed.

    Attributes
    ----------
    spent : dict
        Cycles by cause; `ISSUE` is work, the rest are stalls. They add up to the cycle at which
        the warp is at its end.
    blocked_on : (str, str, int) or None
        While it waits: ``completion`` or ``barrier``, of what, and the iteration.
    finished : bool
        Whether it came to the end of its program.
    next : float
        Cycle from which it can issue.
    stretches, position, left
        What it issues: all stretches, the current one, and instructions left in that.
    paces : list of Pace
        Of the operations that it issues.
    wanted, pipe, queue, since
        Cycle from which its next instruction could be issued, what else that needs, and how many
        warps had begun to issue or to sleep when it did.
    asked, turn : float, float or None
        While it queues for a pipe that all contexts share: since when, and when it is its turn.
    """

    def __init__(
        self,
        sm: StreamingMultiprocessor,
        group: Group,
        program: Program,
        lane: int,
        stands_for: int,
        age: int,
        context: Context,
    ) -> None:
        self._sm, self._program, self.context = sm, program, context
        self._clock = sm.clock
        self.group, self.lane, self.stands_for, self.age = group, lane, stands_for, age
        self.spent: dict[str, float] = defaultdict(float)
        self.blocked_on: tuple[Stall, str, int] | None = None
        self.finished = False
        self.next: float = 0
        self.stretches: tuple[Stretch, ...] = ()
        self.position = self.left = 0
        self.paces: list[Pace] = []
        self.wanted: float = 0
        self.since = 0
        self.earliest: float = 0
        self.pipe: Unit | None = None
        self.queue: AsynchronousUnit | None = None
        self.asked: float = 0
        self.turn: float | None = None
        self._running: list[Running] = []
        self._streams: dict[tuple[int, ...], tuple[Stretch, ...]] = {}
        self._underway: dict[Instance, Pace] = {}
        self._staged = 0.0
        self._ended = 0.0
        self._mixed = len({sm.works[part.operation].warps for part in program.issues}) > 1
        self._width: frozenset[int] | None = None
        self._steps = self._run()

    def resume(self) -> None:
        """Go on until the warp has to let time pass."""
        next(self._steps, None)

    def _run(self) -> Steps:
        """Execute every round of the program."""
        for number in range(self._sm.iterations + self._program.last_stage):
            if number == self._sm.watched_from:
                self._sm.watch()
            for position, instruction in enumerate(self._program.body):
                steps = self._execute(position, instruction, number)
                if steps is not None:
                    if self._mixed:
                        yield from self._meet(instruction, number)
                    yield from steps
        if self._waits():
            yield
        stalled = sum(cycles for cause, cycles in self.spent.items() if cause != ISSUE)
        self.spent[ISSUE] = max(0.0, self._clock.now - stalled)
        self.finished = True

    def _meet(self, instruction: Instruction, number: int) -> Steps:
        """Wait for the group's other warps where another number of them goes to work.

        Those that have no share in an operation do not run ahead of it, nor it of them.
        """
        widths = self._widths(instruction, number)
        if not widths or (widths == self._width and len(widths) == 1):
            return
        first, self._width = self._width is None, widths
        if first:
            return
        if self._waits():
            yield
        begun = self._clock.now
        if not self._sm.meet(self):
            yield
            self._count(f"wait {self.group.name}", self._clock.now - begun)
            who = (self.group.name, number)
            self._stalled("synchronisation", *who, begun, self._clock.now)
        self._pay(self.group.name, number, self._sm.hardware.signals.wait)

    def _widths(self, instruction: Instruction, number: int) -> frozenset[int]:
        """Return how many warps have a share in what an instruction does in a round."""
        works = self._sm.works
        match instruction:
            case Put():
                return frozenset((works[instruction.value].warps,))
            case Get():
                return frozenset((works[instruction.reader].warps,))
            case Issue():
                parts: Sequence[Issue] = (instruction,)
            case Interleave():
                parts = instruction.parts
            case _:
                return frozenset()
        return frozenset(
            works[part.operation].warps
            for part in parts
            if 0 <= number - part.stage < self._sm.iterations
        )

    def _execute(self, position: int, instruction: Instruction, number: int) -> Steps | None:
        """Return what an instruction does in a round, None if that is nothing."""
        if isinstance(instruction, Issue):
            return self._issue(position, (instruction,), number)
        if isinstance(instruction, Interleave):
            return self._issue(position, instruction.parts, number)
        iteration = number - instruction.stage
        if not 0 <= iteration < self._sm.iterations:
            return None
        if isinstance(instruction, Put):
            return self._put(instruction, iteration)
        if isinstance(instruction, Get):
            return self._get(instruction, iteration)
        return self._synchronise(instruction, iteration)

    def _synchronise(
        self, instruction: Await | Wait | Arrive | Fence, iteration: int
    ) -> Steps | None:
        """Return what a wait, an arrive or a fence does, None if that takes no time."""
        if isinstance(instruction, Fence):
            self._fence()
            return None
        iteration -= instruction.distance
        if not 0 <= iteration < self._sm.iterations:
            return None
        if isinstance(instruction, Await):
            return self._await(instruction, iteration)
        if isinstance(instruction, Wait):
            return self._wait(instruction, iteration)
        return self._arrive(instruction, iteration)

    # -- issuing ------------------------------------------------------------------------------

    def _issue(self, position: int, parts: Sequence[Issue], number: int) -> Steps:
        """Issue parts of one or more operations, their instructions alternating."""
        running = self._taken(parts, number)
        if not running:
            return
        for part, work, iteration in running:
            if part.first:
                yield from self._begin(work, iteration)
            if part.last:
                self._sm.operations.signal_when_done(work, iteration, part.signals)
        self._running = running
        self.stretches = self._stream(position, running)
        self.paces = [self._pace(work, iteration) for _, work, iteration in running]
        if self.stretches:
            self.position, self.left = 0, self.stretches[0].count
            self._sm.issue.take(self)
            yield
        for (part, work, iteration), pace in zip(running, self.paces, strict=True):
            self._end(work, iteration, pace, last=part.last)

    def _taken(self, parts: Sequence[Issue], number: int) -> list[Running]:
        """Return the parts that this warp has a share in, with their iterations."""
        taken = []
        for part in parts:
            iteration = number - part.stage
            if 0 <= iteration < self._sm.iterations:
                work = self._sm.works[part.operation]
                if self.lane < work.warps:
                    taken.append((part, work, iteration))
        return taken

    def _stream(self, position: int, running: Sequence[Running]) -> tuple[Stretch, ...]:
        """Return the instructions of the parts; they differ only where iterations are missing."""
        key = (position, *[id(part) for part, _, _ in running])
        found = self._streams.get(key)
        if found is None:
            found = stream(running, self.lane, self.context, self._sm.operations.queues)
            self._streams[key] = found
        return found

    def _pace(self, work: Work, iteration: int) -> Pace:
        key = (work.name, iteration)
        pace = self._underway.get(key)
        if pace is None:
            pace = self._underway[key] = Pace()
        return pace

    def _begin(self, work: Work, iteration: int) -> Steps:
        """Stall until operands in registers are there, then read them and claim the result."""
        self._stall_for_operands(work, iteration)
        if self._waits():
            yield
        yield from self._block_for(self._sm.operations.unfinished(self, work, iteration))
        self._sm.operations.begin(self, work, iteration)

    def _block_for(self, unfinished: Sequence[Instance]) -> Steps:
        """Wait for operations of the group's other warps."""
        for operation, of in unfinished:
            if not self._sm.operations.completion(self, operation, of, self.resume, of_all=True):
                yield from self._block(("completion", operation, of))
                self._pay(operation, of, self._sm.hardware.signals.wait)
                if self._waits():
                    yield

    def _end(self, work: Work, iteration: int, pace: Pace, *, last: bool) -> None:
        """Let an operation go on, or with its last part end."""
        if work.asynchronous:
            self.next = max(self.next, math.ceil(pace.ready))
        elif last:
            done = pace.last + work.issued_by(self.lane)[-1].interval
            self._ended = max(self._ended, done)
            self._sm.operations.end(self, work, iteration, pace.last, done)
        if last:
            del self._underway[work.name, iteration]

    # -- called by the issue stage ------------------------------------------------------------

    def next_stretch(self) -> bool:
        """Go to the next stretch; return whether there is one."""
        self.position += 1
        if self.position == len(self.stretches):
            return False
        self.left = self.stretches[self.position].count
        return True

    def command(self, part: int, index: int) -> None:
        """Hand a command to an asynchronous unit.

        `part`, `index`: which of the operations that are being issued, and which of its commands.
        """
        _, work, iteration = self._running[part]
        self._sm.operations.command(self, work, iteration, index)

    def issued(self, stretch: Stretch, begin: float, end: float) -> None:
        """Tell who watches about instructions.

        `begin`, `end`: cycle of the first, and from which the next may be issued.
        """
        observer = self._sm.observer
        if observer is not None:
            _, work, iteration = self._running[stretch.part]
            who = (self.group.name, self.lane)
            observer.issued(*who, work.name, iteration, stretch.unit, begin, end)

    def lost(self, kind: Stall, stretch: Stretch, begin: float, end: float) -> None:
        """Count cycles in which an instruction was ready and could not be issued.

        `begin`, `end`: cycles.
        """
        self._count(kind if kind == "issue slot" else f"{kind} {stretch.unit}", end - begin)
        iteration = self._running[stretch.part][2]
        self._stalled(kind, stretch.unit, iteration, begin, end)

    # -- synchronisation ----------------------------------------------------------------------

    def _await(self, instruction: Await, iteration: int) -> Steps:
        if self._waits():
            yield
        operation = instruction.operation
        if not self._sm.operations.completion(self, operation, iteration, self.resume):
            yield from self._block(("completion", operation, iteration))
        self._pay(operation, iteration, self._sm.hardware.signals.wait)
        if self._sm.observer is not None:
            name, now = self.group.name, self._clock.now
            self._sm.observer.awaited(name, self.lane, operation, iteration, now)

    def _wait(self, instruction: Wait, iteration: int) -> Steps:
        if self._waits():
            yield
        barrier, begun = instruction.barrier, self._clock.now
        costs = self._signals(barrier)
        if self._sm.barriers.is_named(barrier):
            self._arrive_at(barrier, iteration)
        if not self._sm.barriers.wait(barrier, iteration, self.group.name, self.resume):
            yield from self._block(("barrier", barrier, iteration))
            self._sm.barriers.distinguish(barrier, iteration, self.group.name)
            if instruction.polling:
                self.next = begun + costs.poll * math.ceil((self._clock.now - begun) / costs.poll)
                if self._waits():
                    yield
        self._pay(barrier, iteration, costs.wait)
        if self._sm.observer is not None:
            name, now = self.group.name, self._clock.now
            self._sm.observer.waited(name, self.lane, barrier, iteration, now)

    def _block(self, reason: tuple[Stall, str, int]) -> Steps:
        """Wait to be resumed."""
        begun = self._clock.now
        self.blocked_on = reason
        yield
        self.blocked_on = None
        now = self._clock.now
        self._count(f"wait {reason[1]}", now - begun)
        self._stalled(*reason, begun, now)

    def _arrive(self, instruction: Arrive, iteration: int) -> Steps:
        if self._waits():
            yield
        self._arrive_at(instruction.barrier, iteration, instruction.expect or 0)
        self._pay(instruction.barrier, iteration, self._signals(instruction.barrier).arrive)

    def _arrive_at(self, barrier: str, iteration: int, expect: int = 0) -> None:
        """Arrive once what the warp has stored and made is there for others to see."""
        staged, self._staged = max(self._staged, self._ended), 0.0
        self._sm.arrive(self, barrier, iteration, staged, expect)

    def _fence(self) -> None:
        """Tell who watches; a fence takes no time here."""
        if self._sm.observer is not None:
            self._sm.observer.fenced(self.group.name, self.lane, self._clock.now)

    def _signals(self, barrier: str) -> Signals:
        hardware = self._sm.hardware
        return hardware.named if self._sm.barriers.is_named(barrier) else hardware.signals

    def _put(self, instruction: Put, iteration: int) -> Steps:
        """Store to the staging; the warp goes on while the data travels."""
        value, memory = instruction.value, self._sm.memory
        if self.lane >= self._sm.works[value].warps:
            return
        source = memory.place(value, self.group.name, self.lane)
        ready = source.ready(iteration)
        self._stall_until(ready if ready < math.inf else -math.inf, value, iteration)
        if self._waits():
            yield
        yield from self._block_for(self._sm.operations.unfinished_beneath(self, value, iteration))
        done = self._clock.now + self._sm.works[value].transfer // 2
        self._staged = max(self._staged, done)
        by = (self.group.name, self.lane)
        staging = memory.staging(value, self.lane)
        memory.move(source, staging, iteration, f"put of {value}", by, done)

    def _get(self, instruction: Get, iteration: int) -> Steps:
        """Load from the staging; the scoreboard holds back whoever reads the copy."""
        if self.lane >= self._sm.works[instruction.reader].warps:
            return
        if self._waits():
            yield
        value, memory = instruction.value, self._sm.memory
        transfer = self._sm.works[value].transfer
        done = self._clock.now + transfer - transfer // 2
        self._staged = max(self._staged, done)
        by = (self.group.name, self.lane)
        copy = memory.place(value, *by, instruction.reader, instruction.distance)
        staging = memory.staging(value, self._sm.works[value].holder(self.lane))
        memory.move(staging, copy, iteration, f"get of {value}", by, done)

    # -- time ---------------------------------------------------------------------------------

    def _waits(self) -> bool:
        """Let time pass until the warp can issue again; return whether it is resumed then."""
        return self.next > self._clock.now and self._sm.issue.sleep(self)

    def _stall_for_operands(self, work: Work, iteration: int) -> None:
        """Wait for the scoreboard's operands; what other warps still make is waited for apart."""
        ready, value, of = -math.inf, "", iteration
        for operand in self._sm.memory.access(work, self.lane).watched:
            instance = iteration - operand.distance
            if instance >= 0:
                when = operand.slots.ready(instance)
                if ready < when < math.inf:
                    ready, value, of = when, operand.value, instance
        self._stall_until(ready, value, of)

    def _stall_until(self, ready: float, value: str, iteration: int) -> None:
        """Wait for the scoreboard: nothing issues before `ready`."""
        earliest = max(self.next, self._clock.now)
        if ready > earliest:
            self._count("scoreboard", ready - earliest)
            self.next = math.ceil(ready)
            self._stalled("scoreboard", value, iteration, earliest, self.next)

    def _pay(self, subject: str, iteration: int, cycles: int) -> None:
        """Pay for a wait or an arrive itself."""
        self._count("synchronisation", cycles)
        now = self._clock.now
        self.next = max(math.ceil(now), int(now) + cycles)
        self._stalled("synchronisation", subject, iteration, now, self.next)

    def _stalled(self, kind: Stall, subject: str, iteration: int, begin: float, end: float) -> None:
        observer = self._sm.observer
        if observer is not None and end > begin:
            observer.stalled(self.group.name, self.lane, kind, subject, iteration, begin, end)

    def _count(self, cause: str, cycles: float) -> None:
        if cycles > 0:
            self.spent[cause] += cycles
