"""Steps and issues in the order in which each warp group executes them.

Each group's operations are put in the order of their issue times modulo I. Where the static
schedule overlaps two operations of one group, both are split: a blocking wait keeps its time and
interrupts the operation that it overlaps. In one slot asynchronous operations issue first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from twill.artifacts.program import (
    Arrive,
    Await,
    Get,
    Instruction,
    Interleave,
    Issue,
    Program,
    Put,
    Wait,
)
from twill.lower.pipeline import Action, Pipeline, Signal, Step, Target, issuing
from twill.lower.synchronization import Synchronization
from twill.lower.waits import Need
from twill.problem.operations import ProblemOperation


@dataclass(frozen=True)
class Window:
    """Where in a group's round an operation is being issued: [begin, end), offset into it."""

    operation: ProblemOperation
    stage: int
    begin: int
    end: int
    offset: int
    # The barriers at which its completion arrives by itself.
    signals: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether the operation is issued completely with it."""
        return self.offset + self.end - self.begin == self.operation.issue

    @property
    def order(self) -> tuple[bool, int, int]:
        """The sort key of operations that are issued at one time."""
        return not self.operation.asynchronous, -self.stage, self.operation.index

    def issue(self, begin: int, end: int) -> Issue:
        """Return the part from `begin` to before `end` of the round."""
        length = self.operation.issue
        begin, end = (self.offset + time - self.begin for time in (begin, end))
        whole = (begin, end) == (0, length)
        return Issue(
            operation=self.operation.name,
            stage=self.stage,
            begin=None if whole else begin,
            end=None if whole else end,
            of=None if whole else length,
            signals=self.signals if end == length else (),
        )


def programs(synchronization: Synchronization) -> tuple[Program, ...]:
    """Return the program of every group."""
    groups = synchronization.pipeline.groups
    return tuple(GroupProgram(synchronization, group).program() for group in groups)


class GroupProgram:
    """The program of a group, from windows of the clock in which its operations are issued."""

    def __init__(self, synchronization: Synchronization, group: str) -> None:
        self.synchronization, self.group = synchronization, group
        self.pipeline: Pipeline = synchronization.pipeline
        self.interval = self.pipeline.interval
        operations = self.pipeline.problem.operations
        self.members = [operations[v] for v in self.pipeline.members(group)]
        self.needs = {s: needs for s, needs in synchronization.needed.items() if s.group == group}
        self.asking = {
            need.step.operation
            for need in synchronization.needs
            if need.step.action is Action.ISSUE and need.step.group == group
        }
        self.origin = self.cut()
        mine = [step for step in synchronization.exchanges.steps if step.group == group]
        self.steps = {step: self.after_issue(step.time) for step in mine}
        self.first = self.first_round()
        self.windows = [window for o in self.members for window in self.windows_of(o)]
        self.body: list[Instruction] = []

    def program(self) -> Program:
        """Return the group's program."""
        marks = {time for window in self.windows for time in (window.begin, window.end)}
        marks |= {self._position(time) for time in self.steps.values()}
        # What was to come earlier does so also where both wait until something has been issued.
        steps = sorted(self.steps, key=lambda step: step.time - self.steps[step])
        for time, following in pairwise(sorted(marks | {0, self.interval})):
            now = [step for step in steps if self._position(self.steps[step]) == time]
            starting = [w for w in self.windows if w.begin == time and not w.offset]
            self._begin(time, sorted(starting, key=lambda window: window.order), now)
            active = [w for w in self.windows if w.begin <= time and following <= w.end > w.begin]
            self.segment(sorted(active, key=lambda window: window.order), time, following)
        return Program(group=self.group, body=tuple(self.body))

    # -- time ---------------------------------------------------------------------------------

    def cut(self) -> int:
        """Return where the round begins: at a wait, where nothing is being issued."""
        start = self.pipeline.start
        waits = [start[step.operation] for step in self.needs if step.action is Action.ISSUE]
        waits += [
            self.pipeline.received_at(edge)
            for edge in self.pipeline.copies
            if self.pipeline.place[edge.consumer] == self.group
        ]
        candidates = sorted(waits) or [start[o.index] for o in self.members]
        free = (t for t in candidates if not any(self._inside(o, t) for o in self.members))
        return next(free, candidates[0])

    def _inside(self, operation: ProblemOperation, time: int) -> bool:
        inside = (time - self.pipeline.start[operation.index]) % self.interval
        return 0 < inside < operation.issue

    def first_round(self) -> int:
        """Return the first round of the clock in which the group does anything."""
        times = [self.pipeline.start[o.index] for o in self.members]
        times += self.steps.values()
        times += [
            step.time + need.distance * self.interval
            for step, needs in self.needs.items()
            for need in needs
            if need.distance < 0
        ]
        return min((time - self.origin) // self.interval for time in times)

    def _position(self, time: int) -> int:
        return (time - self.origin) % self.interval

    def _stage(self, time: int) -> int:
        return (time - self.origin) // self.interval - self.first

    def after_issue(self, time: int) -> int:
        """Return the first moment from `time` on that is not inside an asynchronous issue.

        A wait in the middle of an asynchronous operation's issue would let its unit run dry.
        """
        for _ in self.members:
            ahead = max(self._left_to_issue(o, time) for o in self.members)
            if not ahead:
                break
            time += ahead
        return time

    def _left_to_issue(self, operation: ProblemOperation, time: int) -> int:
        """Return for how long an asynchronous operation is still issued; waits have it finished."""
        if not (operation.asynchronous and self._inside(operation, time)):
            return 0
        start = self.pipeline.start
        inside, end = (time - start[operation.index]) % self.interval, operation.issue
        for v in self.asking:
            finished = (start[v] - start[operation.index]) % self.interval
            end = min(end, finished) if finished else end
        return max(0, end - inside)

    def windows_of(self, operation: ProblemOperation) -> list[Window]:
        """Return where an operation is being issued, split where the round ends."""
        time, left = self.pipeline.start[operation.index], operation.issue
        stage, position, offset = self._stage(time), self._position(time), 0
        signals, found = self.synchronization.exchanges.signalled.get(operation.index, ()), []
        while True:
            length = min(left, self.interval - position)
            found.append(Window(operation, stage, position, position + length, offset, signals))
            left, offset, stage, position = left - length, offset + length, stage + 1, 0
            if not left:
                return found

    # -- what happens at one time -------------------------------------------------------------

    def _begin(self, time: int, starting: Sequence[Window], now: Sequence[Step]) -> None:
        """Add the steps of a moment, and operations that start with waits or take no time."""
        owners = {step: self._owner(step, starting) for step in now}
        before = {w: self._before(w, [s for s in now if owners[s] is w]) for w in starting}
        if any(before.values()) or any(step in self.needs for step in now):
            self.finish(time)
        for step in now:
            if owners[step] is None:
                self.body += self._instructions(step)
        for window in self.windows:
            if window.end % self.interval == time and window.complete and window.operation.issue:
                self._turn_passed(window, int(window.end == self.interval))
        for window in starting:
            self.body += before[window]
            if window.begin == window.end:
                self.body.append(window.issue(time, time))
                self._turn_passed(window)

    def _owner(self, step: Step, starting: Sequence[Window]) -> Window | None:
        """Return the operation starting now whose wait a release follows, if there is one."""
        if step.action is not Action.RELEASE or step.tells is Signal.HEARD:
            return None
        read = {Target(Signal.COMPLETION, edge.consumer) for edge in step.edges}
        for window in starting:
            if any(need.target in read for need in self._needs_of(window)):
                return window
        return None

    def _needs_of(self, window: Window) -> list[Need]:
        return self.needs.get(issuing(self.pipeline, window.operation.index), [])

    def _before(self, window: Window, releases: Sequence[Step]) -> list[Instruction]:
        """Return the waits that an operation needs, and releases behind those they follow.

        Other groups may depend on a release in turn: no wait at a barrier precedes it.
        """
        waits = [self._wait(need, window.stage) for need in self._needs_of(window)]
        if not releases:
            return list(waits)
        return [
            *(wait for wait in waits if isinstance(wait, Await)),
            *(instruction for step in releases for instruction in self._instructions(step)),
            *(wait for wait in waits if isinstance(wait, Wait)),
        ]

    def _instructions(self, step: Step) -> list[Instruction]:
        stage = self._stage(self.steps[step])
        operations = self.pipeline.problem.operations
        name = operations[step.operation].name
        found: list[Instruction] = [self._wait(need, stage) for need in self.needs.get(step, ())]
        if step.action is Action.SEND:
            found.append(Put(value=name, stage=stage))
        elif step.action is Action.RECEIVE:
            (edge,) = step.edges
            reader = operations[edge.consumer].name
            found.append(Get(value=name, reader=reader, stage=stage, distance=edge.distance))
        if step.target is not None:
            barrier = step.target.barrier(self.pipeline)
            found.append(Arrive(barrier=barrier, stage=stage, distance=step.distance))
        return found

    def _wait(self, need: Need, stage: int) -> Await | Wait:
        """Return a wait; one for a later iteration's instance belongs to that iteration.

        Such a wait begins with the first instance, in a round before its step's first.
        """
        target = need.target
        later = need.distance - need.left_out
        stage, distance = stage + later, need.distance - later
        if target.signal is Signal.COMPLETION:
            name = self.pipeline.problem.operations[target.operation].name
            return Await(operation=name, stage=stage, distance=distance)
        return Wait(barrier=target.barrier(self.pipeline), stage=stage, distance=distance)

    # -- issues -------------------------------------------------------------------------------

    def segment(self, active: Sequence[Window], time: int, following: int) -> None:
        """Add what is issued from `time` to before `following`."""
        parts = [window.issue(time, following) for window in active]
        if len(parts) > 1:
            self.body.append(Interleave(parts=tuple(parts)))
        elif parts:
            self.append(parts[0])

    def append(self, part: Issue) -> None:
        """Add a part, joined to the one before it if they are one operation's without a break."""
        last = self.body[-1] if self.body else None
        if (
            not isinstance(last, Issue)
            or (last.operation, last.stage) != (part.operation, part.stage)
            or last.end != part.begin
            or part.begin is None
        ):
            self.body.append(part)
            return
        whole = last.begin == 0 and part.last
        self.body[-1] = part.model_copy(
            update=dict.fromkeys(("begin", "end", "of")) if whole else {"begin": last.begin}
        )

    def finish(self, time: int) -> None:
        """Issue the rest of asynchronous operations: a wait in between would hold that up too."""
        for number, window in enumerate(self.windows):
            begun = window.begin < time or window.offset
            if window.operation.asynchronous and begun and window.begin <= time < window.end:
                self.append(window.issue(time, window.end))
                if window.complete:
                    self._turn_passed(window)
                self.windows[number] = replace(window, end=time)

    def _turn_passed(self, window: Window, later: int = 0) -> None:
        """Arrive for an operation that has been issued and whose unit another group awaits."""
        v = window.operation.index
        if any(turn.before == v for turn in self.synchronization.exchanges.turns):
            barrier = Target(Signal.ISSUED, v).barrier(self.pipeline)
            self.body.append(Arrive(barrier=barrier, stage=window.stage + later))
