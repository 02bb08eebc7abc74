"""Steps of all groups, the waits that each needs, and the barriers that they take.

A wait that an earlier one of the same group implies is left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from twill.artifacts.program import Barrier
from twill.lower.layout import Layout
from twill.lower.pipeline import (
    Action,
    Signal,
    Step,
    Target,
    hearing,
    receiving,
    sending,
    telling,
    turns,
)
from twill.lower.waits import (
    Need,
    delays_nobody,
    freeing,
    in_memory,
    in_turn,
    keeping_step,
    ordered,
    overwrites,
    releasing,
    results,
    taking_over,
    told_slots,
)
from twill.problem.rules import one_unit


class Exchanges:
    """Signals and copies between groups, and the waits that these and their slots need."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.pipeline = layout, layout.pipeline
        self.turns = turns(layout.pipeline)

    @cached_property
    def results(self) -> tuple[Need, ...]:
        """Waits for results, and before slots are overwritten."""
        return tuple(self._asked())

    @cached_property
    def _awaited(self) -> dict[Target, int]:
        """Targets of the waits in `results`, with the least distance of each."""
        found: dict[Target, int] = {}
        for need in self.results:
            found[need.target] = min(need.distance, found.get(need.target, need.distance))
        return found

    def _asked(self) -> list[Need]:
        layout = self.layout
        slots = (*overwrites(layout), *keeping_step(layout), *taking_over(layout))
        return [*results(self.pipeline), *slots]

    @cached_property
    def messages(self) -> tuple[Step, ...]:
        """Steps that send, receive and signal; those of one time in the order of operations."""
        pipeline, awaited = self.pipeline, self._awaited
        found = [receiving(pipeline, edge) for edge in pipeline.copies]
        for v in range(len(pipeline.problem.operations)):
            if v in self.layout.staging:
                found.append(sending(pipeline, v))
            told = (Target(Signal.FULL, v), Target(Signal.DONE, v))
            found += [telling(pipeline, target) for target in told if target in awaited]
        return tuple(sorted(found, key=lambda step: step.operation))

    @cached_property
    def anyway(self) -> tuple[Need, ...]:
        """Waits that there are whatever is released when."""
        return (*self.results, *(need for step in self.messages for need in self.waits_of(step)))

    @cached_property
    def releases(self) -> tuple[Step, ...]:
        """Arrivals by which groups release values whose slots another group waits to overwrite."""
        pipeline = self.pipeline
        taken_over = {takeover.old.operation for takeover in self.layout.takeovers}
        reads = [
            edge
            for edge in in_memory(pipeline)
            if edge.producer in taken_over
            or not ordered(pipeline, edge, self.layout.slots[edge.producer])
        ]
        found = [*releasing(pipeline, reads, self.anyway, self._may_wait), *hearing(pipeline)]
        found = [self._as_far_as_awaited(step) for step in found if self._awaits(step)]
        return tuple(sorted(found, key=lambda step: step.operation))

    def _awaits(self, release: Step) -> bool:
        """Whether other groups wait for a release that no other signal implies."""
        return release.target in self._awaited

    def _may_wait(self, v: int, time: int, later: int) -> bool:
        """Whether a value may be released later than it has been read, without delaying a group."""
        moment = self.layout.overwritten(v)
        in_time = moment is None or later + self.pipeline.problem.hop <= moment
        return in_time and delays_nobody(self.pipeline, v, time, later)

    def _as_far_as_awaited(self, release: Step) -> Step:
        """Leave a release out of the last iterations, in which it has no waiter.

        Nothing would order these arrives after the wait for the previous phase. An mbarrier
        distinguishes two phases by parity. A surplus release may complete one phase ahead of that
        wait, or two, and then the wait never ends.
        """
        if release.by_itself is not None or release.target is None:
            return release
        skipped = max(0, min(self._awaited[release.target], release.later))
        time = release.time - skipped * self.pipeline.interval
        return replace(release, time=time, distance=skipped)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All steps but issues, in the order of those that fall together."""
        every = (*self.messages, *self.releases)
        return tuple(step for step in every if step.by_itself is None)

    def waits_of(self, step: Step) -> Iterator[Need]:
        """Yield the waits that are part of a step."""
        v, operations = step.operation, self.pipeline.problem.operations
        if step.by_itself is not None:
            return
        match step.action:
            case Action.SEND:
                if operations[v].asynchronous:
                    yield Need(step, Target(Signal.COMPLETION, v))
                yield Need(step, Target(Signal.TAKEN, v), self.layout.staging[v])
            case Action.RECEIVE:
                yield Need(step, Target(Signal.SENT, v))
            case Action.TELL:
                yield Need(step, Target(Signal.COMPLETION, v))
            case Action.RELEASE:
                for edge in step.edges if step.tells is not Signal.HEARD else ():
                    if operations[edge.consumer].asynchronous:
                        target = Target(Signal.COMPLETION, edge.consumer)
                        yield Need(step, target, step.distance - edge.distance)
                if step.later > step.distance and step.tells is not Signal.FREED:
                    # No reader is left; nothing else keeps it behind the wait for the one before.
                    read = any(edge.carries for edge in step.edges)
                    there = Target(Signal.FULL if read else Signal.DONE, v)
                    yield Need(step, there, step.distance)

    @cached_property
    def signalled(self) -> dict[int, tuple[str, ...]]:
        """The barriers at which the completions of operations arrive by themselves."""
        found: dict[int, tuple[str, ...]] = {}
        for step in (*self.messages, *self.releases):
            if step.target is not None and step.by_itself is not None:
                barrier = step.target.barrier(self.pipeline)
                found[step.by_itself] = (*found.get(step.by_itself, ()), barrier)
        return found


class Synchronization:
    """The waits that the steps of all groups need, and the barriers.

    `tight`: groups that wait for readers of their registers as soon as these have read them.
    """

    def __init__(self, exchanges: Exchanges, tight: Collection[str] = ()) -> None:
        self.exchanges, self.tight = exchanges, tight
        self.layout, self.pipeline = exchanges.layout, exchanges.pipeline

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """Every wait of the program."""
        given = self.exchanges
        turns, freed = in_turn(self.pipeline, given.turns), freeing(self.layout, self.tight)
        own = (need for step in given.releases for need in given.waits_of(step))
        released = {step.target for step in given.releases}
        room = (Signal.EMPTY, Signal.FREED, Signal.HEARD)
        asked = (n for n in given.anyway if n.target.signal not in room or n.target in released)
        return (*asked, *turns, *freed, *own)

    @cached_property
    def needed(self) -> dict[Step, list[Need]]:
        """The waits that each step needs and no earlier one of its group implies."""
        place = {step: position for position, step in enumerate(self.exchanges.steps)}
        kept: dict[tuple[str, Target], list[Need]] = defaultdict(list)
        for need in sorted(self.needs, key=lambda need: self._order(need, place)):
            earlier = kept[need.step.group, need.target]
            if not any(other.left_out <= need.left_out for other in earlier):
                earlier.append(need)
        every = [need for needs in kept.values() for need in needs]
        found: dict[Step, list[Need]] = defaultdict(list)
        for need in sorted(every, key=self._before_a_step):
            if not any(self._implies(other, need) for other in every):
                found[need.step].append(need)
        return dict(found)

    def _implies(self, other: Need, need: Need) -> bool:
        """Whether a group that has waited for another operation knows that one is complete.

        So it does where their unit completes it no later, and the wait for the other is earlier.
        """
        completion, interval = Signal.COMPLETION, self.pipeline.interval
        if not (other.target.signal is need.target.signal is completion and need.distance > 0):
            return False
        older, younger = need.target.operation, other.target.operation
        operations, start = self.pipeline.problem.operations, self.pipeline.start
        return (
            other.step.group == need.step.group
            and start[older] < start[younger]
            and one_unit(operations[older], operations[younger])
            and other.time(interval) <= need.time(interval)
            and other.left_out <= need.left_out
        )

    def _before_a_step(self, need: Need) -> tuple[Any, ...]:
        """Order of waits before one step."""
        behind = need.step.action is Action.ISSUE and need.target.signal is not Signal.EMPTY
        return behind, need.target, need.distance

    def _order(self, need: Need, place: Mapping[Step, int]) -> tuple[int, ...]:
        """Order in which a program executes waits for one instance of something."""
        time = need.time(self.pipeline.interval)
        if need.step.action is not Action.ISSUE:
            last = need.step.action is Action.RELEASE
            return (time, 2 if last else 0, place.get(need.step, -1))
        operation = self.pipeline.problem.operations[need.step.operation]
        return (time, 1, not operation.asynchronous, -need.step.time, operation.index)

    @property
    def barriers(self) -> tuple[Barrier, ...]:
        """The barriers that programs use."""
        awaited = {need.target for needs in self.needed.values() for need in needs}
        arriving = Counter(
            step.target for step in (*self.exchanges.messages, *self.exchanges.releases)
        )
        order = list(Signal)
        return tuple(
            Barrier(
                name=target.barrier(self.pipeline),
                slots=self._slots(target),
                arrivals=arriving[target] or 1,
            )
            for target in sorted(awaited, key=lambda t: (t.operation, order.index(t.signal)))
            if target.signal is not Signal.COMPLETION
        )

    def _slots(self, target: Target) -> int:
        signal, v = target
        if signal in (Signal.SENT, Signal.TAKEN):
            return self.layout.staging[v]
        if signal is Signal.ISSUED:
            return max(turn.slots for turn in self.exchanges.turns if turn.before == v)
        held = self.pipeline.problem.operations[v].memory is not None
        if signal in (Signal.EMPTY, Signal.FREED) or (signal is Signal.FULL and held):
            return self.layout.slots[v]
        told = told_slots(self.pipeline, v)
        unread = signal is Signal.DONE and held and not self.pipeline.problem.consumers[v]
        return max(told, self.layout.slots[v]) if unread else told
