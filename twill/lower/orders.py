"""Orders as people write them become schedules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.order import Order, OrderedGroup
from twill.artifacts.program import Arrive, Await, Barrier, Issue, Wait, issues_of
from twill.artifacts.schedule import Schedule
from twill.lower.pipeline import Action, Signal, Step, Target
from twill.lower.programs import GroupProgram, Window
from twill.lower.realization import artifact
from twill.lower.synchronization import Exchanges, Synchronization
from twill.lower.waits import Need
from twill.lower.written import Written
from twill.problem import build_problem
from twill.problem.operations import Edge
from twill.problem.rules import one_unit


def schedule_of(order: Order, loop: Loop, machine: Machine) -> Schedule:
    """Return the schedule that an order describes.

    Raises
    ------
    InputError
        If an operation is not issued, is read before its issue, or needs more slots than it has.
    """
    synchronization = _Synchronization(Written(order, build_problem(loop, machine)))
    schedule = artifact(
        synchronization,
        lambda: tuple(_GroupProgram(synchronization, g).program() for g in order.groups),
        order.file or order.name,
        name=order.name,
        description=order.description,
        initiation_interval=order.initiation_interval,
    )
    if order.file:
        schedule.read_from(order.file)
    return schedule


@dataclass(frozen=True)
class _Arrival:
    """When a group arrives, or issues the operation `by` whose completion arrives by itself."""

    time: int
    by: int | None = None


class _Exchanges(Exchanges):
    """Releases and waits of an order.

    Waits for results concern every instance. A value is released when its readers' group next
    knows that it has been read, unless the producer can infer that from other signals.
    """

    def __init__(self, written: Written) -> None:
        super().__init__(written.layout)
        self.written, self.interval, self.turns = written, written.interval, []

    def _asked(self) -> list[Need]:
        results = (Signal.COMPLETION, Signal.FULL, Signal.DONE)
        found = [replace(n, whole=n.target.signal in results) for n in super()._asked()]
        if self.written.order.waits == "hoisted":
            found = list(self._hoisted(found))
        return [*found, *self._by_hand()]

    def _by_hand(self) -> Iterator[Need]:
        """Yield the waits for results that bodies have, for every instance."""
        named = {
            Target(signal, o.index).barrier(self.pipeline): Target(signal, o.index)
            for signal in (Signal.FULL, Signal.DONE)
            for o in self.pipeline.problem.operations
        }
        for group, time, own in self.written.by_hand():
            target = None
            if isinstance(own, Await) and own.distance <= 0:
                target = Target(Signal.COMPLETION, self.pipeline.problem.index[own.operation])
            elif isinstance(own, Wait) and own.distance <= 0:
                target = named.get(own.barrier)
            if target is not None:
                yield Need(Step(Action.AWAIT, group, time, target.operation), target)

    def _hoisted(self, needs: Iterable[Need]) -> Iterator[Need]:
        """Move awaits to the place where their group next awaits a result of the same unit."""
        problem, interval = self.pipeline.problem, self.interval
        unit = [problem.machine.cost(o).steps[0].unit for o in problem.loop.operations]
        first: dict[Target, Need] = {}
        for need in sorted(needs, key=lambda need: need.time(interval)):
            if need.target.signal is Signal.COMPLETION:
                first.setdefault(need.target, need)
        steps: dict[tuple[str, str], dict[int, Step]] = defaultdict(dict)
        for need in first.values():
            whose = need.step.group, unit[need.target.operation]
            steps[whose][need.step.time % interval] = need.step
        for need in needs:
            if need.target in first:
                v = need.target.operation
                waits, issued = steps[need.step.group, unit[v]], self._end(v)
                time = issued + min((at - issued) % interval for at in waits)
                if time < need.time(interval):
                    step = waits[time % interval]
                    yield replace(need, step=step, distance=(time - step.time) // interval)
                    continue
            yield need

    def _may_wait(self, v: int, time: int, later: int) -> bool:  # noqa: ARG002 - nobody is late
        return True

    # -- releases that follow from other waits ------------------------------------------------

    def _awaits(self, release: Step) -> bool:
        """Whether the producer needs a release: no other signal it awaits follows the reads."""
        if release.tells is not Signal.EMPTY or not super()._awaits(release):
            return super()._awaits(release)
        v, slots = release.operation, self.layout.slots[release.operation]
        arrivals = dict(self._arrivals(release.group))
        for name, time in self._waits(self.pipeline.place[v]):
            before = -((self.pipeline.start[v] - time) // self.interval)
            if name in arrivals and 0 <= before <= slots:
                later = (slots - before) * self.interval
                if all(self._precedes(edge, arrivals[name], later) for edge in release.edges):
                    return False
        return True

    def _waits(self, group: str) -> Iterator[tuple[str, int]]:
        """Yield the barriers at which a group waits for every instance, and when."""
        for need in self.anyway:
            if need.step.group == group and not need.left_out:
                yield need.target.barrier(self.pipeline), need.time(self.interval)
        for own_group, time, own in self.written.by_hand():
            if own_group == group and isinstance(own, Wait) and own.distance <= 0:
                yield own.barrier, time

    def _arrivals(self, group: str) -> Iterator[tuple[str, _Arrival]]:
        """Yield the barriers at which only this group arrives, and when."""
        for step in self.messages:
            if step.group == group and step.target and step.action is not Action.RECEIVE:
                time = step.time if step.by_itself is None else self._end(step.by_itself)
                yield step.target.barrier(self.pipeline), _Arrival(time, step.by_itself)
        for own_group, time, own in self.written.by_hand():
            if own_group == group and isinstance(own, Arrive):
                yield from ((n, _Arrival(time)) for n in self._alone(own.barrier))
            elif own_group == group and isinstance(own, Issue):
                v = self.pipeline.problem.index[own.operation]
                for name in own.signals:
                    yield from ((n, _Arrival(self._end(v), v)) for n in self._alone(name))

    def _alone(self, barrier: str) -> list[str]:
        return [barrier] if self.written.barriers[barrier].arrivals == 1 else []

    def _end(self, v: int) -> int:
        """Return when v has been issued."""
        return self.pipeline.start[v] + self.pipeline.problem.operations[v].cycles

    def _precedes(self, edge: Edge, arrival: _Arrival, later: int) -> bool:
        """Whether a value has been read when a group arrives `later` than for its iteration."""
        operations, c = self.pipeline.problem.operations, edge.consumer
        bound = arrival.time + later - edge.distance * self.interval
        known = [self._end(c)]
        in_order = arrival.by is not None and one_unit(operations[c], operations[arrival.by])
        if operations[c].asynchronous and not in_order:
            target = Target(Signal.COMPLETION, c)
            known = [n.time(self.interval) for n in self.anyway if n.target == target]
        return any(self._end(c) <= time <= bound for time in known)


class _Synchronization(Synchronization):
    """The waits and barriers of an order."""

    def __init__(self, written: Written) -> None:
        super().__init__(_Exchanges(written))
        self.written = written

    def _before_a_step(self, need: Need) -> tuple[Any, ...]:
        """Awaits first, then waits for results as the loop lists them, and for room at last."""
        signal = need.target.signal
        return signal is Signal.EMPTY, signal is not Signal.COMPLETION

    @property
    def barriers(self) -> tuple[Barrier, ...]:
        """The barriers that programs use; a declaration in the file prevails."""
        derived = {barrier.name: barrier for barrier in super().barriers}
        declared = {barrier.name: barrier for barrier in self.written.order.barriers}
        return tuple((self.written.barriers | derived | declared).values())


class _GroupProgram(GroupProgram):
    """A body with the waits and signals that it needs before and behind its instructions."""

    def __init__(self, synchronization: Synchronization, group: OrderedGroup) -> None:
        super().__init__(synchronization, group.name)
        self.given = group.instructions

    def cut(self) -> int:
        """Return where the round begins: where the body does."""
        return 0

    def first_round(self) -> int:
        """Return the round of stage 0."""
        return 0

    # The body itself says what runs beside what.
    def segment(self, active: Sequence[Window], time: int, following: int) -> None:  # noqa: ARG002
        """Add the instructions that begin in a part of the round."""
        for own in self.given[-(-time // 2) : -(-following // 2)]:
            parts = tuple(_signalling(self.synchronization, part) for part in issues_of(own))
            if isinstance(own, Issue):
                self.body.append(parts[0])
            else:
                self.body.append(own.model_copy(update={"parts": parts}) if parts else own)


def _signalling(synchronization: Synchronization, part: Issue) -> Issue:
    """Return an issue that also signals the barriers at which its completion arrives by itself."""
    v, own = synchronization.pipeline.problem.index[part.operation], part.signals
    names = synchronization.exchanges.signalled.get(v, ()) if part.last else ()
    new = tuple(name for name in names if name not in own)
    return part.model_copy(update={"signals": (*own, *new)})
