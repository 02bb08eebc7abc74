"""Programs: the execution of each instruction on a warp, in order, round by round."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from twill.artifacts.program import (
    Arrive,
    Await,
    Fence,
    Get,
    Instruction,
    Interleave,
    Issue,
    Program,
    Put,
    Wait,
    issues_of,
)
from twill.sim.engine.events import Fenced, Stall, Waited
from twill.sim.engine.issue import IssueStage
from twill.sim.engine.memory import Instance
from twill.sim.engine.operations import Operations
from twill.sim.engine.warps import ISSUE, Pace, Share, Stretch, Warp, stream
from twill.sim.engine.work import Work

Steps = Generator[None, None, None]
Other: TypeAlias = Put | Get | Await | Wait | Arrive | Fence


class Interpreter:
    """Executes a program on one warp.

    `watched_from`: the first round that observers are notified of, once any warp begins it.
    """

    def __init__(
        self,
        operations: Operations,
        issue: IssueStage,
        warp: Warp,
        program: Program,
        iterations: int,
        watched_from: int,
    ) -> None:
        self._operations, self._issue_stage = operations, issue
        self._warp, self._program = warp, program
        self._all, self._watched_from = range(iterations), watched_from
        self._clock, self._works = operations.clock, operations.works
        self._memory, self._barriers = operations.memory, operations.barriers
        self._hardware = operations.hardware
        self._wait_cost = self._hardware.wait
        self._streams: dict[tuple[int, ...], tuple[Stretch, ...]] = {}
        self._underway: dict[Instance, Pace] = {}
        self._staged = self._ended = 0.0
        self._mixed = len({self._works[part.operation].warps for part in program.issues}) > 1
        works, number = self._works, warp.number
        self._widths = [_widths(instruction, works) for instruction in program.body]
        self._shares = [_shares(issues_of(one), works, number) for one in program.body]
        self._others = [_prepared(instruction) for instruction in program.body]
        self._width: set[int] | None = None
        warp.resume, warp.command = partial(next, self._run(), None), self._command

    def _run(self) -> Steps:
        """Execute every round of the program."""
        warp, positions = self._warp, range(len(self._program.body))
        for number in range(len(self._all) + self._program.last_stage):
            if number == self._watched_from:
                self._issue_stage.catch_up()
                self._clock.listen()
            for position in positions:
                steps = self._execute(position, number)
                if steps is not None:
                    if self._mixed and self._changes_width(position, number):
                        yield from self._meet(number)
                    yield from steps
        if self._sleeps():
            yield
        stalled = sum((cycles for cause, cycles in warp.spent.items() if cause != ISSUE), 0.0)
        warp.spent[ISSUE] = max(0.0, self._clock.now - stalled)
        warp.finished = True

    def _execute(self, position: int, number: int) -> Steps | None:
        """Return the steps of an instruction in a round, None if there are none or take no time."""
        other = self._others[position]
        if other is None:
            return self._issue(position, number)
        instruction, stage, distance = other
        iteration = number - stage
        if not (iteration in self._all and iteration - distance in self._all):
            return None
        return self._steps(instruction, iteration - distance)

    def _steps(self, instruction: Other, iteration: int) -> Steps | None:
        match instruction:
            case Put():
                return self._put(instruction, iteration)
            case Get():
                return self._get(instruction, iteration)
            case Await():
                return self._await(instruction, iteration)
            case Wait():
                return self._wait(instruction, iteration)
            case Arrive():
                return self._arrive(instruction, iteration)
        return self._fence(iteration)

    # -- widths -------------------------------------------------------------------------------

    def _meet(self, number: int) -> Steps:
        """Wait for the group's other warps, before an operation on another number of them.

        Warps without a share in an operation do not run ahead of it, nor it of them.
        """
        if self._sleeps():
            yield
        warp, begun = self._warp, self._clock.now
        group = warp.group.name
        if not self._barriers.meet(warp):
            yield
            warp.count(f"wait {group}", self._clock.now - begun)
            warp.stalled("synchronisation", group, number, begun, self._clock.now)
        self._warp.pay(group, number, self._wait_cost)

    def _changes_width(self, position: int, number: int) -> bool:
        """Whether another number of warps goes to work in an instruction than before."""
        widths = {warps for warps, stage in self._widths[position] if number - stage in self._all}
        if not widths or (widths == self._width and len(widths) == 1):
            return False
        first, self._width = self._width is None, widths
        return not first

    # -- issuing ------------------------------------------------------------------------------

    def _issue(self, position: int, number: int) -> Steps:
        """Issue parts of one or more operations, their instructions alternating."""
        warp = self._warp
        running = [
            (share, number - share.stage)
            for share in self._shares[position]
            if number - share.stage in self._all
        ]
        if not running:
            return
        for share, iteration in running:
            if share.first:
                yield from self._begin(share.work, iteration)
            if share.last:
                self._operations.signal_when_done(share.work, iteration, share.part.signals)
        # The instructions differ only where iterations are missing.
        key = (position, *[id(share) for share, _ in running])
        if key not in self._streams:
            queues = self._operations.queues
            self._streams[key] = stream(running, warp.number, warp.context, queues)
        warp.running, warp.stretches = running, self._streams[key]
        warp.paces = [
            self._underway.setdefault((share.work.name, iteration), Pace())
            for share, iteration in running
        ]
        if warp.stretches:
            warp.position, warp.left = 0, warp.stretches[0].count
            self._issue_stage.take(warp)
            yield
        for (share, iteration), pace in zip(running, warp.paces, strict=True):
            self._end(share.work, iteration, pace, last=share.last)

    def _begin(self, work: Work, iteration: int) -> Steps:
        """Stall until operands in registers are there, then read them and claim the result."""
        ready, value, of = -math.inf, "", iteration
        for operand in self._memory.access(work, self._warp.number).watched:
            instance = iteration - operand.distance
            if instance >= 0:
                when = operand.slots.ready(instance)
                if ready < when < math.inf:
                    ready, value, of = when, operand.value, instance
        self._warp.stall_until(ready, value, of)
        if self._sleeps():
            yield
        yield from self._block_for(self._operations.unfinished(self._warp, work, iteration))
        self._operations.begin(self._warp, work, iteration)

    def _block_for(self, unfinished: Sequence[Instance]) -> Steps:
        """Wait for operations of the group's other warps."""
        warp = self._warp
        for operation, of in unfinished:
            if not self._operations.completion(warp, operation, of, of_all=True):
                yield from self._block(("completion", operation, of))
                self._warp.pay(operation, of, self._wait_cost)
                if self._sleeps():
                    yield

    def _end(self, work: Work, iteration: int, pace: Pace, *, last: bool) -> None:
        """Let an operation go on, or with its last part end."""
        warp = self._warp
        if work.asynchronous:
            warp.next = max(warp.next, float(math.ceil(pace.ready)))
        elif last:
            done = pace.last + work.issued_by(warp.number)[-1].interval
            self._ended = max(self._ended, done)
            self._operations.end(warp, work, iteration, pace.last, done)
        if last:
            del self._underway[work.name, iteration]

    def _command(self, part: int, index: int) -> None:
        share, iteration = self._warp.running[part]
        self._operations.command(self._warp, share.work, iteration, index)

    # -- synchronisation ----------------------------------------------------------------------

    def _await(self, instruction: Await, iteration: int) -> Steps:
        if self._sleeps():
            yield
        warp, operation = self._warp, instruction.operation
        if not self._operations.completion(warp, operation, iteration):
            yield from self._block(("completion", operation, iteration))
        self._warp.pay(operation, iteration, self._wait_cost)
        if (tell := self._clock.tell) is not None:
            group, now = warp.group.name, self._clock.now
            tell(Waited(group, warp.number, "completion", operation, iteration, now))

    def _wait(self, instruction: Wait, iteration: int) -> Steps:
        if self._sleeps():
            yield
        warp, barrier, begun = self._warp, instruction.barrier, self._clock.now
        group, costs = warp.group.name, self._barriers.costs(barrier)
        if self._barriers.is_named(barrier):
            self._arrive_at(barrier, iteration)
        if not self._barriers.wait(barrier, iteration, group, warp.resume):
            yield from self._block(("barrier", barrier, iteration))
            self._barriers.refuse_ambiguous(barrier, iteration, group)
            if instruction.polling:
                tests = math.ceil((self._clock.now - begun) / costs.poll)
                warp.next = begun + costs.poll * tests
                if self._sleeps():
                    yield
        self._warp.pay(barrier, iteration, costs.wait)
        if (tell := self._clock.tell) is not None:
            tell(Waited(group, warp.number, "barrier", barrier, iteration, self._clock.now))

    def _arrive(self, instruction: Arrive, iteration: int) -> Steps:
        if self._sleeps():
            yield
        warp, barrier = self._warp, instruction.barrier
        costs = self._barriers.costs(barrier)
        if costs.group and warp.group.warps > 1:
            warp.pay(barrier, iteration, costs.group)
            if self._sleeps():
                yield
        self._arrive_at(barrier, iteration, instruction.expect or 0)
        warp.pay(barrier, iteration, costs.arrive)

    def _fence(self, iteration: int) -> Steps:
        """Order accesses; it takes time where the machine says how much."""
        warp, cycles = self._warp, self._hardware.fence
        if cycles and self._sleeps():
            yield
        if (tell := self._clock.tell) is not None:
            tell(Fenced(warp.group.name, warp.number, self._clock.now))
        if cycles:
            warp.pay("fence", iteration, cycles)

    def _arrive_at(self, barrier: str, iteration: int, expect: int = 0) -> None:
        """Arrive once what the warp has stored and made is there for others to see."""
        staged, self._staged = max(self._staged, self._ended), 0.0
        self._barriers.arrive_with(self._warp, barrier, iteration, staged, expect)

    def _put(self, instruction: Put, iteration: int) -> Steps:
        """Store to the staging; the warp goes on while the data travels."""
        value, memory, warp = instruction.value, self._memory, self._warp
        if warp.number >= self._works[value].warps:
            return
        source = memory.place(value, warp.group.name, warp.number)
        ready = source.ready(iteration)
        self._warp.stall_until(ready if ready < math.inf else -math.inf, value, iteration)
        if self._sleeps():
            yield
        yield from self._block_for(self._operations.unfinished_beneath(warp, value, iteration))
        done = self._clock.now + self._works[value].transfer // 2
        if (port := self._hardware.port) is not None:
            warp.next = port.moved(self._clock.now, self._works[value], warp.stands_for)
            if self._sleeps():
                yield
        done = max(done, self._clock.now)
        self._staged = max(self._staged, done)
        by = (warp.group.name, warp.number)
        staging = memory.staging(value, warp.number)
        memory.move(source, staging, iteration, f"put of {value}", by, done)

    def _get(self, instruction: Get, iteration: int) -> Steps:
        """Load from the staging; the scoreboard holds back operations that read the copy."""
        value, memory, warp = instruction.value, self._memory, self._warp
        if warp.number >= self._works[instruction.reader].warps:
            return
        if self._sleeps():
            yield
        work = self._works[value]
        done = self._clock.now + work.transfer - work.transfer // 2
        if (port := self._hardware.port) is not None:
            warp.next = port.moved(self._clock.now, work, warp.stands_for)
            if self._sleeps():
                yield
            done = max(done, self._clock.now + port.latency)
        self._staged = max(self._staged, done)
        by = (warp.group.name, warp.number)
        copy = memory.place(value, *by, instruction.reader, instruction.distance)
        staging = memory.staging(value, work.holder(warp.number))
        memory.move(staging, copy, iteration, f"get of {value}", by, done)

    # -- time ---------------------------------------------------------------------------------

    def _sleeps(self) -> bool:
        """Let time pass until the warp can issue again; return whether it is resumed then."""
        warp = self._warp
        return warp.next > self._clock.now and self._issue_stage.sleep(warp)

    def _block(self, reason: tuple[Stall, str, int]) -> Steps:
        """Wait to be resumed."""
        warp, begun = self._warp, self._clock.now
        warp.blocked_on = reason
        yield
        warp.blocked_on = None
        now = self._clock.now
        warp.count(f"wait {reason[1]}", now - begun)
        warp.stalled(*reason, begun, now)


def _prepared(instruction: Instruction) -> tuple[Other, int, int] | None:
    """Return an instruction that issues nothing, with its stage and its distance."""
    if isinstance(instruction, Issue | Interleave):
        return None
    distance = 0 if isinstance(instruction, Put | Get | Fence) else instruction.distance
    return instruction, instruction.stage, distance


def _shares(parts: Iterable[Issue], works: Mapping[str, Work], warp: int) -> list[Share]:
    """Return the parts of operations in which a warp has a share."""
    return [
        Share(part, work, part.stage, part.first, part.last)
        for part in parts
        if warp < (work := works[part.operation]).warps
    ]


def _widths(instruction: Instruction, works: Mapping[str, Work]) -> list[tuple[int, int]]:
    """Return how many warps have a share in what an instruction does, and its stage."""
    match instruction:
        case Put():
            shared = [(instruction.value, instruction.stage)]
        case Get():
            shared = [(instruction.reader, instruction.stage)]
        case _:
            shared = [(part.operation, part.stage) for part in issues_of(instruction)]
    return [(works[name].warps, stage) for name, stage in shared]
