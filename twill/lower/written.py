"""An order as a pipeline whose clock counts positions of its bodies.

An instruction begins at an even time and is over at the odd one behind it, and the interval is as
long as the longest body. Waits and arrives that bodies contain stay as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from twill.artifacts.order import Order
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
from twill.base.errors import InputError, short
from twill.lower.layout import Layout
from twill.lower.pipeline import Pipeline
from twill.memory import Ring, Tenant
from twill.problem import Problem
from twill.problem.groups import WarpGroup
from twill.problem.operations import ProblemOperation
from twill.problem.solution import Assignment

RING = 2  # slots of a streaming load that the file says nothing about


@dataclass(frozen=True)
class _Place:
    """Where an operation is issued: `last` differs from `first` if it is issued in parts."""

    group: int
    stage: int
    first: int
    last: int


class Written:
    """An order, with times that count its positions."""

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
        """Return how long after its issue an operation is signalled to other groups.

        The signal follows the issue at once, so that no wait of the group comes between. If the
        body says when to wait for the operation in that round, the signal follows that wait.
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
        """Return the slots that the order gives, and otherwise the least."""
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
        """Barriers that bodies name: as in the file, else with one slot and all arriving groups."""
        arriving: dict[str, set[str]] = defaultdict(set)
        for group, _, own in self.by_hand():
            if isinstance(own, Arrive | Wait):
                arriving[own.barrier] |= {group} if isinstance(own, Arrive) else set()
            for name in own.signals if isinstance(own, Issue) else ():
                arriving[name].add(group)
        return {n: Barrier(name=n, slots=1, arrivals=len(g) or 1) for n, g in arriving.items()} | {
            barrier.name: barrier for barrier in self.order.barriers
        }
