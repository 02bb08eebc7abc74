"""Schedule -> in-order programs, barriers and storage.

Each group's operations are put in the order of their issue times modulo I. Where the static
schedule overlaps two operations of one group they are split there, so that a blocking wait falls
where it falls and interrupts what runs beside it. In one slot asynchronous operations issue first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from twill.artifacts.program import (
    Arrive,
    Await,
    Barrier,
    Get,
    Instruction,
    Interleave,
    Issue,
    Program,
    Put,
    Wait,
)
from twill.lower.pipeline import Pipeline
from twill.lower.signals import (
    DONE,
    EMPTY,
    FREED,
    FULL,
    HEARD,
    ISSUED,
    SENT,
    TAKEN,
    Release,
    Request,
    Signals,
)
from twill.problem.operations import Edge


@dataclass(frozen=True)
class _Event:
    """Instructions at a point of time that do not belong to one operation's issue.

    Attributes
    ----------
    late : int
        By how much they come later than planned.
    """

    time: int
    order: int
    kind: str
    subject: int
    release: Release | None = None
    edge: Edge | None = None
    late: int = 0


@dataclass(frozen=True)
class _Window:
    """Where in a group's round an operation is being issued: [begin, end), offset into it."""

    operation: int
    stage: int
    begin: int
    end: int
    offset: int


def programs(signals: Signals) -> tuple[Program, ...]:
    """Return the program of every group."""
    return tuple(_GroupProgram(signals, group).program() for group in signals.pipeline.groups)


def barriers(signals: Signals) -> tuple[Barrier, ...]:
    """Return the barriers that the programs use."""
    targets = {request.target for request in signals.needed}
    found = []
    for v, operation in enumerate(signals.problem.operations):
        readers = Counter(r.kind for r in signals.releases if r.value == v)
        told = signals.told_slots(v)
        for kind, slots, arrivals in (
            (FULL, told if operation.memory is None else signals.slots[v], 1),
            (EMPTY, signals.slots[v], readers[EMPTY]),
            (FREED, signals.slots[v], 1),
            (SENT, signals.staging_slots(v) if v in signals.transferred else 1, 1),
            (DONE, told, 1),
            (HEARD, told, readers[HEARD]),
            (ISSUED, signals.issued_slots(v), 1),
        ):
            if (kind, v) in targets or (kind == SENT and v in signals.transferred):
                found.append(
                    Barrier(name=barrier_name(kind, operation.name), slots=slots, arrivals=arrivals)
                )
        if v in signals.transferred:
            found.append(
                Barrier(
                    name=barrier_name(TAKEN, operation.name),
                    slots=signals.staging_slots(v),
                    arrivals=_takers(signals, v),
                )
            )
    return tuple(found)


def barrier_name(kind: str, operation: str) -> str:
    """Return the name of a barrier."""
    return f"{operation}.{kind}"


def _takers(signals: Signals, v: int) -> int:
    return sum(edge.producer == v for edge in signals.pipeline.copies)


class _GroupProgram:
    def __init__(self, signals: Signals, group: str) -> None:
        self.signals, self.group = signals, group
        self.pipeline: Pipeline = signals.pipeline
        self.problem = signals.problem
        self.interval = signals.interval
        self.members = self.pipeline.members(group)
        self.origin = self._cut()
        times = [self.pipeline.start[v] for v in self.members]
        times += [event.time for event in self._events()]
        times += [r.time for r in signals.needed if r.group == group and r.distance < 0]
        self.first_round = min(self._round(time) for time in times)

    def program(self) -> Program:
        windows = [window for v in self.members for window in self._windows(v)]
        events = sorted(self._events(), key=self._event_order)
        marks = {window.begin for window in windows} | {window.end for window in windows}
        marks |= {self._position(event.time) for event in events}
        times = sorted(marks | {0, self.interval})
        body: list[Instruction] = []
        for time, following in zip(times, [*times[1:], times[-1]], strict=True):
            if time == self.interval:
                break
            starting = sorted(
                (w for w in windows if w.begin == time and w.offset == 0), key=self._start_order
            )
            now = [event for event in events if self._position(event.time) == time]
            attached = {
                event: owner for event in now if (owner := self._owner(event, starting)) is not None
            }
            before = {
                window.operation: self._before(
                    window, [e for e, owner in attached.items() if owner == window.operation]
                )
                for window in starting
            }
            if any(before.values()):
                self._finish(body, windows, time)
            for event in now:
                if event not in attached:
                    body.extend(self._event_instructions(event))
            body.extend(self._turns_passed(windows, time))
            for window in starting:
                body.extend(before[window.operation])
                if window.begin == window.end:
                    body.append(self._issue(window, 0, 0))
                    body.extend(self._turn_passed(window.operation, window.stage))
            active = [
                w for w in windows if w.begin <= time and following <= w.end and w.begin < w.end
            ]
            self._append_segment(body, active, time, following)
        return Program(group=self.group, body=tuple(body))

    # -- time ---------------------------------------------------------------------------------

    def _cut(self) -> int:
        """Return where the round begins: at a wait, where nothing is being issued."""
        waiting = {request.owner for request in self.signals.needed if request.group == self.group}
        starts = [self.pipeline.start[v] for v in self.members if v in waiting]
        starts += [
            self.signals.received_at(edge)
            for edge in self.pipeline.copies
            if self.pipeline.place[edge.consumer] == self.group
        ]
        candidates = sorted(starts) or [self.pipeline.start[v] for v in self.members]
        for time in candidates:
            if not any(self._covers(v, time) for v in self.members):
                return time
        return candidates[0]

    def _covers(self, v: int, time: int) -> bool:
        inside = (time - self.pipeline.start[v]) % self.interval
        return 0 < inside < self.problem.operations[v].issue

    def _round(self, time: int) -> int:
        return (time - self.origin) // self.interval

    def _position(self, time: int) -> int:
        return (time - self.origin) % self.interval

    def _stage(self, time: int) -> int:
        return self._round(time) - self.first_round

    # -- operations ---------------------------------------------------------------------------

    def _windows(self, v: int) -> list[_Window]:
        """Return where v is being issued, split where the round ends."""
        time, left = self.pipeline.start[v], self.problem.operations[v].issue
        stage, position, offset = self._stage(time), self._position(time), 0
        found = []
        while True:
            length = min(left, self.interval - position)
            found.append(_Window(v, stage, position, position + length, offset))
            left, offset, stage, position = left - length, offset + length, stage + 1, 0
            if not left:
                return found

    def _start_order(self, window: _Window) -> tuple[bool, int, int]:
        operation = self.problem.operations[window.operation]
        return (not operation.asynchronous, -window.stage, operation.index)

    def _before(self, window: _Window, releases: Sequence[_Event]) -> list[Instruction]:
        """Return the waits that v needs before it issues, and releases behind those they follow.

        What another group does may in turn hang on a release: no wait at a barrier is ahead of it.
        """
        v, stage = window.operation, window.stage
        mine = [r for r in self.signals.needed if r.owner == v and r.group == self.group]
        mine.sort(key=lambda r: (r.target[0] != EMPTY, r.target, r.distance))
        waits: list[Instruction] = [self._wait(request, stage) for request in mine]
        if not releases:
            return waits
        return [
            *(wait for wait in waits if isinstance(wait, Await)),
            *(instruction for e in releases for instruction in self._event_instructions(e)),
            *(wait for wait in waits if isinstance(wait, Wait)),
        ]

    def _wait(self, request: Request, stage: int) -> Await | Wait:
        """Return a wait; one for a later iteration's instance belongs to that iteration.

        It then begins with the first instance, in a round before its owner's first.
        """
        kind, subject = request.target
        name = self.problem.operations[subject].name
        stage, distance = stage + min(0, request.distance), max(0, request.distance)
        if kind == "completion":
            return Await(operation=name, stage=stage, distance=distance)
        return Wait(barrier=barrier_name(kind, name), stage=stage, distance=distance)

    def _issue(self, window: _Window, begin: int, end: int) -> Issue:
        operation = self.problem.operations[window.operation]
        whole = begin == 0 and end == operation.issue
        last = end == operation.issue
        return Issue(
            operation=operation.name,
            stage=window.stage,
            begin=None if whole else begin,
            end=None if whole else end,
            of=None if whole else operation.issue,
            signals=self._signals(window.operation) if last else (),
        )

    def _signals(self, v: int) -> tuple[str, ...]:
        """Barriers at which v's completion arrives by itself."""
        name = self.problem.operations[v].name
        found = []
        if self.signals.signals_itself(v):
            found += [
                barrier_name(kind, name) for kind in (FULL, DONE) if (kind, v) in self._targets
            ]
        found += [
            barrier_name(r.kind, self.problem.operations[r.value].name)
            for r in self.signals.releases
            if r.by_itself == v
        ]
        return tuple(found)

    def _append_segment(
        self, body: list[Instruction], active: Sequence[_Window], time: int, following: int
    ) -> None:
        parts = []
        for window in sorted(active, key=self._start_order):
            begin = window.offset + time - window.begin
            parts.append(self._issue(window, begin, begin + following - time))
        if len(parts) > 1:
            body.append(Interleave(parts=tuple(parts)))
        elif parts and not self._merged(body, parts[0]):
            body.append(parts[0])

    def _merged(self, body: list[Instruction], part: Issue) -> bool:
        """Join a part to the one before it if they are one operation's without a break."""
        last = body[-1] if body else None
        if (
            not isinstance(last, Issue)
            or last.operation != part.operation
            or last.stage != part.stage
            or last.end != part.begin
            or part.begin is None
        ):
            return False
        whole = last.begin == 0 and part.last
        body[-1] = part.model_copy(
            update=dict.fromkeys(("begin", "end", "of")) if whole else {"begin": last.begin}
        )
        return True

    def _finish(self, body: list[Instruction], windows: list[_Window], time: int) -> None:
        """Issue the rest of asynchronous operations: a wait in between would hold that up too."""
        for number, window in enumerate(windows):
            begun = window.begin < time or window.offset
            asynchronous = self.problem.operations[window.operation].asynchronous
            if not (asynchronous and begun and window.begin <= time < window.end):
                continue
            end = window.offset + window.end - window.begin
            part = self._issue(window, window.offset + time - window.begin, end)
            if not self._merged(body, part):
                body.append(part)
            if part.last:
                body.extend(self._turn_passed(window.operation, window.stage))
            windows[number] = replace(window, end=time)

    def _turns_passed(self, windows: Sequence[_Window], time: int) -> list[Instruction]:
        """Arrive for operations whose issue has just ended and whose unit another group awaits."""
        found: list[Instruction] = []
        for window in windows:
            v = window.operation
            operation = self.problem.operations[v]
            complete = window.offset + window.end - window.begin == operation.issue
            ends_here = window.end % self.interval == time and complete
            if ends_here and operation.issue:
                found += self._turn_passed(v, window.stage + (window.end == self.interval))
        return found

    def _turn_passed(self, v: int, stage: int) -> list[Arrive]:
        if (ISSUED, v) not in self._targets:
            return []
        name = self.problem.operations[v].name
        return [Arrive(barrier=barrier_name(ISSUED, name), stage=stage)]

    @cached_property
    def _targets(self) -> set[tuple[str, int]]:
        return {request.target for request in self.signals.needed}

    # -- events -------------------------------------------------------------------------------

    def _events(self) -> list[_Event]:
        """Return what the group does for others, none of it while it issues to a unit.

        A wait in the middle of an asynchronous operation's issue would let its unit run dry.
        """
        events = []
        for event in self._planned():
            time = self._after_issue(event.time)
            events.append(replace(event, time=time, late=time - event.time))
        return events

    def _event_order(self, event: _Event) -> tuple[int, int, int, bool, int]:
        """Return what orders events: releases that wait come before those that wait no more."""
        waits = self.signals.release_waits(event.release) if event.release else []
        told = not any(request in self.signals.needed for request in waits)
        return self._position(event.time), -event.late, event.order, told, event.subject

    def _after_issue(self, time: int) -> int:
        """Return the first moment from `time` on that is not inside an asynchronous issue."""
        for _ in self.members:
            ahead = max(self._left_to_issue(v, time) for v in self.members)
            if not ahead:
                break
            time += ahead
        return time

    def _left_to_issue(self, v: int, time: int) -> int:
        """Return for how long an asynchronous operation is still issued; waits have it finished."""
        operation = self.problem.operations[v]
        if not (operation.asynchronous and self._covers(v, time)):
            return 0
        inside, end = (time - self.pipeline.start[v]) % self.interval, operation.issue
        for request in self.signals.needed:
            if request.group == self.group and request.owner >= 0:
                finished = (
                    self.pipeline.start[request.owner] - self.pipeline.start[v]
                ) % self.interval
                end = min(end, finished) if finished else end
        return max(0, end - inside)

    def _planned(self) -> list[_Event]:
        events = [
            _Event(release.time, 1, "release", release.value, release)
            for release in self.signals.releases
            if release.group == self.group and release.by_itself is None
        ]
        for edge in self.pipeline.copies:
            if self.pipeline.place[edge.consumer] == self.group:
                time = self.signals.received_at(edge) + edge.distance * self.interval
                events.append(_Event(time, 0, "receive", edge.producer, edge=edge))
        for v in self.members:
            operation = self.problem.operations[v]
            done = self.pipeline.start[v] + operation.latency
            if v in self.signals.transferred:
                events.append(_Event(done, 0, "send", v))
            if self.signals.signals_itself(v):
                continue
            events.extend(
                _Event(self._told_at(v, kind), 0, kind, v)
                for kind in (FULL, DONE)
                if (kind, v) in self._targets
            )
        return events

    def _told_at(self, v: int, kind: str) -> int:
        """Return when others are told of v; no later than they may begin, which can be earlier."""
        operation = self.problem.operations[v]
        asked = [
            max(operation.issue, edge.delay)
            for edge in self.problem.edges
            if edge.producer == v
            and self.pipeline.crosses(edge)
            and not edge.transferable
            and edge.carries == (kind == FULL)
        ]
        return self.pipeline.start[v] + min([operation.latency, *asked])

    def _owner(self, event: _Event, starting: Sequence[_Window]) -> int | None:
        """Return the operation starting now whose wait a release follows, if there is one."""
        if event.release is None:
            return None
        pending = {("completion", c) for c, _ in event.release.pending}
        for window in starting:
            if any(
                r.owner == window.operation and r.target in pending for r in self.signals.needed
            ):
                return window.operation
        return None

    def _event_instructions(self, event: _Event) -> list[Instruction]:
        operation = self.problem.operations[event.subject]
        stage = self._stage(event.time)
        if event.release is not None:
            skipped = self.signals.skipped(event.release)
            return [
                *self._release_waits(event.release, stage),
                *self._release_guard(event.release, stage, skipped),
                Arrive(
                    barrier=barrier_name(event.release.kind, operation.name),
                    stage=stage - skipped,
                    distance=skipped,
                ),
            ]
        found: list[Instruction] = []
        if event.edge is not None:
            return self._receive(event.edge, stage)
        if event.kind == "send":
            slots = self.signals.staging_slots(event.subject)
            if operation.asynchronous:
                found.append(Await(operation=operation.name, stage=stage))
            found += [
                self._wait(request, stage)
                for request in sorted(self.signals.needed, key=lambda r: (r.target, r.distance))
                if request.sent == event.subject
            ]
            found.append(
                Wait(barrier=barrier_name(TAKEN, operation.name), stage=stage, distance=slots)
            )
            found.append(Put(value=operation.name, stage=stage))
            found.append(Arrive(barrier=barrier_name(SENT, operation.name), stage=stage))
        else:
            found.append(Await(operation=operation.name, stage=stage))
            found.append(Arrive(barrier=barrier_name(event.kind, operation.name), stage=stage))
        return found

    def _receive(self, edge: Edge, stage: int) -> list[Instruction]:
        """Read the staging of a value from another group for one operation of this one.

        It belongs to the value's iteration, so that the last ones are taken too when no iteration
        is left to read them.
        """
        name = self.problem.operations[edge.producer].name
        reader = self.problem.operations[edge.consumer]
        waits = [r for r in self.signals.needed if r.received == edge]
        waits.sort(key=lambda request: (request.target, request.distance))
        return [
            *(self._wait(replace(r, distance=r.distance - edge.distance), stage) for r in waits),
            Wait(barrier=barrier_name(SENT, name), stage=stage),
            Get(value=name, reader=reader.name, stage=stage, distance=edge.distance),
            Arrive(barrier=barrier_name(TAKEN, name), stage=stage),
        ]

    def _release_guard(self, release: Release, stage: int, skipped: int) -> list[Instruction]:
        """Return the wait for a value that is released though no iteration is left to read it.

        Nothing else would keep that arrive behind the wait for the one before.
        """
        if release.later <= skipped or release.kind not in (EMPTY, HEARD):
            return []
        kind = FULL if (FULL, release.value) in self._targets else DONE
        name = barrier_name(kind, self.problem.operations[release.value].name)
        return [Wait(barrier=name, stage=stage - skipped, distance=skipped)]

    def _release_waits(self, release: Release, stage: int) -> list[Instruction]:
        found: list[Instruction] = []
        for request in self.signals.release_waits(release):
            if request in self.signals.needed:
                name = self.problem.operations[request.target[1]].name
                found.append(Await(operation=name, stage=stage + request.distance))
        return found
