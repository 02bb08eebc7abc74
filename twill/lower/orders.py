"""Orders as people write them become schedules.

An order is a pipeline whose clock counts positions of its bodies: an instruction begins at an even
time and is over at the odd one behind it, and the interval is as long as the longest body. What the
bodies say themselves of waits and arrives stays as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.order import Order, OrderedGroup
from twill.artifacts.program import (
    Arrive,
    Await,
    Barrier,
    Instruction,
    Interleave,
    Issue,
    Wait,
    issues_of,
)
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError, short
from twill.lower.layout import Layout
from twill.lower.pipeline import Action, Pipeline, Signal, Step, Target
from twill.lower.programs import GroupProgram, Window
from twill.lower.realization import artifact
from twill.lower.synchronization import Synchronization
from twill.lower.waits import Need
from twill.memory import Ring, Tenant
from twill.problem import Problem, build_problem
from twill.problem.groups import WarpGroup
from twill.problem.operations import Edge, ProblemOperation
from twill.problem.rules import one_unit
from twill.problem.solution import Assignment

RING = 2  # slots of a streaming load that the file says nothing about


def schedule_of(order: Order, loop: Loop, machine: Machine) -> Schedule:
    """Return the schedule that an order describes.

    Raises
    ------
    InputError
        If an operation is not issued, is read before it is issued, or has too few slots.
    """
    synchronization = _Synchronization(_Written(order, build_problem(loop, machine)))
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
class _Place:
    """Where an operation is issued: `last` differs from `first` if it is issued in parts."""

    group: int
    stage: int
    first: int
    last: int


class _Written:
    """What an order says, by the clock of its positions."""

    def __init__(self, order: Order, problem: Problem) -> None:
        self.order, self._given = order, problem
        self.bodies = {group.name: group.instructions for group in order.groups}
        self.interval = 2 * max(1, *map(len, self.bodies.values()))
        self._places = self._placed()
        self._check_program_order()
        self.pipeline = self._pipeline()
        self.layout = self._layout()

    def _placed(self) -> tuple[_Place, ...]:
        places: dict[str, _Place] = {}
        for group, body in enumerate(self.bodies.values()):
            for position, instruction in enumerate(body):
                for part in issues_of(instruction):
                    name = part.operation
                    if name not in self._given.index:
                        where = f"groups[{group}].body[{position}]"
                        raise self._error(f"no operation named {short(name)}", where)
                    first = places[name].first if name in places else position
                    places[name] = _Place(group, part.stage, first, position)
        missing = [o.name for o in self._given.operations if o.name not in places]
        if missing:
            raise self._error(f"operation {short(missing[0])} is issued by no group", "groups")
        return tuple(places[o.name] for o in self._given.operations)

    def _check_program_order(self) -> None:
        for edge in self._given.edges:
            u, v = self._places[edge.producer], self._places[edge.consumer]
            apart = u.group != v.group or edge.producer == edge.consumer
            if not apart and (u.stage, u.last) >= (v.stage + edge.distance, v.first):
                made, read = (
                    short(self._given.operations[w].name) for w in (edge.producer, edge.consumer)
                )
                raise self._error(
                    f"{read} stands before {made}, which it needs of {edge.distance} iterations "
                    "before; move it behind, or to a later stage",
                    f"group {self.order.groups[u.group].name}",
                )

    def _error(self, message: str, path: str) -> InputError:
        return InputError(message, path=path, file=self.order.file or self.order.name)

    # -- as a pipeline ------------------------------------------------------------------------

    def _pipeline(self) -> Pipeline:
        operations = tuple(
            replace(
                o,
                issue=1,
                cycles=1 + 2 * (place.last - place.first),
                latency=self._told_after(o, place),
                transfer=0,
            )
            for o, place in zip(self._given.operations, self._places, strict=True)
        )
        edges = []
        for edge in self._given.edges:
            reader = operations[edge.consumer]
            reads = 1 if reader.asynchronous else reader.cycles
            if edge.producer == edge.consumer:
                reads = 0
            delay = operations[edge.producer].latency
            edges.append(replace(edge, delay=delay, reads=reads, copy_reads=1))
        # How far groups drift this clock does not say; as if a signal took a round.
        problem = replace(self._given, operations=operations, edges=tuple(edges), hop=self.interval)
        groups = tuple(
            WarpGroup(g.warps, g.variable_latency, g.registers or 0, 0) for g in self.order.groups
        )
        start = tuple(p.stage * self.interval + 2 * p.first for p in self._places)
        assignment = Assignment(start, tuple(place.group for place in self._places), groups)
        return Pipeline(problem, self.interval, assignment, dict(enumerate(self.bodies)))

    def _told_after(self, operation: ProblemOperation, place: _Place) -> int:
        """Return how long after its issue others are told of an operation.

        That is as soon as it is issued, so that nothing which the group itself waits for comes
        between, unless the body says when to wait for it in that round.
        """
        body = self.order.groups[place.group].instructions
        waits = [
            position
            for position, own in enumerate(body)
            if isinstance(own, Await)
            and own.operation == operation.name
            and own.distance <= 0
            and own.stage + own.distance == place.stage
            and position >= place.last
        ]
        return 1 + 2 * (min(waits, default=place.last) - place.first)

    def _layout(self) -> Layout:
        """Return slots as the order says, and otherwise the least."""
        pipeline, problem = self.pipeline, self.pipeline.problem
        fed = {edge.consumer for edge in problem.edges if edge.carries}
        streams = {o.index for o in problem.operations if o.variable_latency and o.index not in fed}
        least = [self._least_slots(v) for v in range(len(problem.operations))]
        slots = [max(n, RING) if v in streams else n for v, n in enumerate(least)]
        staging = {edge.producer: 1 for edge in pipeline.copies}
        rings: dict[Tenant, Ring] = {}
        for index, buffer in enumerate(self.order.buffers):
            v = problem.index.get(buffer.value, -1)
            if v >= 0 and not buffer.transfer:
                if buffer.slots < least[v]:
                    raise self._error(
                        f"{short(buffer.value)} needs {least[v]} slots in this order "
                        f"(got {buffer.slots})",
                        f"buffers[{index}].slots",
                    )
                slots[v] = buffer.slots
            elif v in staging:
                staging[v] = buffer.slots
            if buffer.addresses:
                memory = problem.operations[v].memory or "smem"
                rings[Tenant(v, buffer.transfer)] = Ring(memory, 0, buffer.addresses, buffer.halves)
        depths = {v: slots[v] for v in sorted(streams)}
        return Layout(pipeline, tuple(slots), staging, depths, rings=rings)

    def _least_slots(self, v: int) -> int:
        """Return with how many no instance is overwritten before its own group's readers run."""
        pipeline = self.pipeline
        own = [e for e in pipeline.problem.consumers[v] if not pipeline.crosses(e)]
        last = max(map(pipeline.read_until, own), default=0) - pipeline.start[v]
        return max(1, -(-last // self.interval))

    # -- synchronisation by hand --------------------------------------------------------------

    def by_hand(self) -> Iterator[tuple[str, int, Instruction]]:
        """Yield instructions with their group and when the first instance of theirs is over."""
        for group, body in self.bodies.items():
            for position, own in enumerate(body):
                for part in own.parts if isinstance(own, Interleave) else (own,):
                    later = part.stage + getattr(part, "distance", 0)
                    yield group, later * self.interval + 2 * position + 1, part

    @cached_property
    def barriers(self) -> dict[str, Barrier]:
        """What bodies name: as the file says, else one slot and all groups that arrive."""
        arriving: dict[str, set[str]] = defaultdict(set)
        for group, _, own in self.by_hand():
            if isinstance(own, Arrive | Wait):
                arriving[own.barrier] |= {group} if isinstance(own, Arrive) else set()
            for name in own.signals if isinstance(own, Issue) else ():
                arriving[name].add(group)
        return {n: Barrier(name=n, slots=1, arrivals=len(g) or 1) for n, g in arriving.items()} | {
            barrier.name: barrier for barrier in self.order.barriers
        }


@dataclass(frozen=True)
class _Arrival:
    """When a group arrives, or issues the operation `by` whose completion arrives by itself."""

    time: int
    by: int | None = None


class _Synchronization(Synchronization):
    """The waits of an order.

    Those for results concern every instance. A value is released when its readers' group next
    knows that it has been read, unless that follows from what others tell its maker anyway.
    """

    def __init__(self, written: _Written) -> None:
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
        """Move awaits to where their group next awaits a result of the same unit anyway."""
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

    def _before_a_step(self, need: Need) -> tuple[Any, ...]:
        """Awaits first, then waits for results as the loop lists them, and for room at last."""
        signal = need.target.signal
        return signal is Signal.EMPTY, signal is not Signal.COMPLETION

    @property
    def barriers(self) -> tuple[Barrier, ...]:
        """The barriers that programs use; what the file says of one prevails."""
        derived = {barrier.name: barrier for barrier in super().barriers}
        declared = {barrier.name: barrier for barrier in self.written.order.barriers}
        return tuple((self.written.barriers | derived | declared).values())

    # -- releases that follow from other waits ------------------------------------------------

    def _awaits(self, release: Step) -> bool:
        """Whether the maker of a value is not told anyway, of something its readers precede."""
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
        for step in self.exchanges:
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


class _GroupProgram(GroupProgram):
    """A body with what it needs before and behind its instructions."""

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
            parts = tuple(map(self._signalling, issues_of(own)))
            if isinstance(own, Issue):
                self.body.append(parts[0])
            else:
                self.body.append(own.model_copy(update={"parts": parts}) if parts else own)

    def _signalling(self, part: Issue) -> Issue:
        v, own = self.pipeline.problem.index[part.operation], part.signals
        names = self.synchronization.signalled.get(v, ()) if part.last else ()
        new = tuple(name for name in names if name not in own)
        return part.model_copy(update={"signals": (*own, *new)})
