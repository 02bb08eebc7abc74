"""Which waits the steps of a schedule's programs need, and when values have been read.

A dependence on an asynchronous result, or across warp groups, takes a wait. A slot that another
group or an asynchronous unit still reads takes a wait before it is overwritten. The writer is the
value's next instance, or another value that shares its addresses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from twill.lower.layout import Layout
from twill.lower.pipeline import (
    Action,
    Pipeline,
    Signal,
    Step,
    Target,
    Turn,
    heard_at,
    issuing,
    receiving,
    sending,
    signals_itself,
    told,
)
from twill.memory import Tenant
from twill.problem import Problem
from twill.problem.lifetimes import updates
from twill.problem.operations import Edge
from twill.problem.rules import one_unit


@dataclass(frozen=True)
class Need:
    """A wait before a step, for the target `distance` iterations before the step's own."""

    step: Step
    target: Target
    distance: int = 0
    # It concerns every instance, also those of the last iterations, for which the step has no
    # iteration of its own.
    whole: bool = False

    def time(self, interval: int) -> int:
        """Return the time of the wait, relative to the target's iteration."""
        return self.step.time + self.distance * interval

    @property
    def left_out(self) -> int:
        """Of how many last instances it is left out: those which its step comes too late for."""
        return 0 if self.whole else max(0, self.distance)


def results(pipeline: Pipeline) -> Iterator[Need]:
    """Yield waits that dependences ask for; transfers have their own."""
    for edge in pipeline.problem.edges:
        if pipeline.crosses(edge):
            if edge.transferable:
                continue
            signal = Signal.FULL if edge.carries else Signal.DONE
        elif edge.blocking:
            signal = Signal.COMPLETION
        else:
            continue
        step = issuing(pipeline, edge.consumer)
        yield Need(step, Target(signal, edge.producer), edge.distance)


def in_turn(pipeline: Pipeline, every: Iterable[Turn]) -> Iterator[Need]:
    """Yield waits that keep operations of different groups on one unit in static order."""
    for turn in every:
        step = issuing(pipeline, turn.after)
        yield Need(step, Target(Signal.ISSUED, turn.before), turn.distance)


def overwrites(layout: Layout) -> Iterator[Need]:
    """Yield waits that a group needs before it overwrites a slot with the same value's next."""
    pipeline, operations = layout.pipeline, layout.pipeline.problem.operations
    here = updates(pipeline.problem)
    for v, operation in enumerate(operations):
        if not operation.registers and operation.memory is None:
            continue
        step, slots, edges = issuing(pipeline, v), layout.slots[v], pipeline.problem.consumers[v]
        told_others = any(pipeline.crosses(edge) for edge in edges)
        if operation.asynchronous and operation.in_order_unit is None and not told_others:
            # Readers wait for it too, but not for instances that only later iterations read.
            yield Need(step, Target(Signal.COMPLETION, v), slots)
        unordered = [edge for edge in edges if not ordered(pipeline, edge, slots)]
        for edge in unordered:
            reader, last = operations[edge.consumer], slots - edge.distance
            itself = edge.consumer == v and not last
            done_before = pipeline.crosses(edge) or itself or one_unit(operation, reader)
            if reader.asynchronous and not done_before:
                yield Need(step, Target(Signal.COMPLETION, edge.consumer), last)
        # What updates it where it lies has been waited for with all that held its place.
        reading = (edge for edge in unordered if (v, edge.consumer) not in here)
        if operation.memory is not None and any(map(pipeline.crosses, reading)):
            yield Need(step, Target(Signal.EMPTY, v), slots)
    for edge in pipeline.copies:
        if operations[edge.consumer].asynchronous:
            slots, finished = pipeline.copy_slots(edge), Target(Signal.COMPLETION, edge.consumer)
            yield Need(receiving(pipeline, edge), finished, slots - edge.distance)


def keeping_step(layout: Layout) -> Iterator[Need]:
    """Yield waits that keep a barrier from being two phases ahead of the group that waits at it."""
    pipeline = layout.pipeline
    for v, edges in told(pipeline).items():
        slots = told_slots(pipeline, v)
        if not all(ordered(pipeline, edge, slots) for edge in edges):
            yield Need(issuing(pipeline, v), Target(Signal.HEARD, v), slots)


def told_slots(pipeline: Pipeline, v: int) -> int:
    """Return the slots of the barriers by which v signals edges that no slot holds back."""
    hop = pipeline.problem.hop
    ends = [heard_at(pipeline, edge) + hop for edge in told(pipeline).get(v, ())]
    return max(1, -(-(max(ends, default=0) - pipeline.start[v]) // pipeline.interval))


def ordered(pipeline: Pipeline, edge: Edge, distance: int) -> bool:
    """Whether dependences order a reader before what its value's maker does later.

    `distance`: iterations by which the maker is later.
    """
    reader, maker = edge.consumer, edge.producer
    return reader != maker and pipeline.ordered(reader, maker, distance - edge.distance)


def taking_over(layout: Layout) -> Iterator[Need]:
    """Yield waits for the readers of the values whose addresses others take over."""
    pipeline = layout.pipeline
    for takeover in layout.takeovers:
        v, staged = takeover.new.operation, takeover.new.staged
        step = sending(pipeline, v) if staged else issuing(pipeline, v)
        for distance in takeover.distances:
            for target, later in _ends(pipeline, takeover.old, takeover.new, distance):
                yield Need(step, target, distance - later)


def _ends(
    pipeline: Pipeline, old: Tenant, new: Tenant, distance: int
) -> Iterator[tuple[Target, int]]:
    """Yield the events that end the life of `old` for `new`, and the iterations between.

    Readers on which `new` depends already are left out. Synchronous readers on its own group are
    too, since they end before it in program order, and those that its unit executes before it.
    """
    u, group, operations = old.operation, pipeline.place[new.operation], pipeline.problem.operations

    def awaited(reader: int) -> bool:
        in_order = one_unit(operations[reader], operations[new.operation])
        return operations[reader].asynchronous and (new.staged or not in_order)

    if old.staged:
        yield Target(Signal.TAKEN, u), 0
        return
    home = pipeline.place[u]
    if not pipeline.problem.consumers[u]:
        if home != group:
            yield Target(Signal.DONE, u), 0
        elif awaited(u):
            yield Target(Signal.COMPLETION, u), 0
    for edge in pipeline.problem.consumers[u]:
        if pipeline.ordered(edge.consumer, new.operation, distance - edge.distance):
            continue
        reader = pipeline.place[edge.consumer]
        if reader != group:
            yield Target(Signal.FREED if reader == home else Signal.EMPTY, u), 0
        elif awaited(edge.consumer):
            yield Target(Signal.COMPLETION, edge.consumer), edge.distance


def freeing(layout: Layout, groups: Iterable[str]) -> Iterator[Need]:
    """Yield waits for asynchronous readers of registers, before what may need the room."""
    pipeline = layout.pipeline
    for group in groups:
        begins = _begins(pipeline, group)
        for v in pipeline.members(group):
            held = _holds_registers(pipeline, v)
            if held is None or not begins:
                continue
            free = pipeline.start[v] + held
            first = min(
                begins,
                key=lambda at: (
                    (at.time - free) % pipeline.interval,
                    at.action is Action.ISSUE,
                    at.operation,
                ),
            )
            later = -((first.time - free) // pipeline.interval)
            yield Need(first, Target(Signal.COMPLETION, v), later)


def _begins(pipeline: Pipeline, group: str) -> list[Step]:
    """Return the steps at which an operation or a copy begins to take registers of a group."""
    operations = [(v, pipeline.problem.operations[v]) for v in pipeline.members(group)]
    taking = [issuing(pipeline, v) for v, o in operations if o.registers or o.working_set]
    copies = [edge for edge in pipeline.copies if pipeline.place[edge.consumer] == group]
    return [*taking, *(receiving(pipeline, edge) for edge in copies)]


def _holds_registers(pipeline: Pipeline, v: int) -> int | None:
    """Return how long an asynchronous operation holds registers that have no other reader."""
    operation = pipeline.problem.operations[v]
    held = [
        edge.copy_hold if pipeline.crosses(edge) else edge.hold
        for edge in pipeline.problem.edges
        if edge.consumer == v and edge.transferable
    ]
    if operation.registers and not pipeline.problem.consumers[v]:
        held.append(operation.latency)
    return max(held) if operation.asynchronous and any(held) else None


# -- when values have been read ---------------------------------------------------------------


def releasing(
    pipeline: Pipeline,
    reads: Iterable[Edge],
    needs: Iterable[Need],
    may_wait: Callable[[int, int, int], bool],
) -> Iterator[Step]:
    """Yield the releases of values by each group that reads them.

    `needs`: the waits so far; a group that waits for its readers releases a value then.
    `may_wait`: whether a value that has been read at one time may be released at a later one.
    """
    awaited: dict[int, list[int]] = defaultdict(list)
    for need in needs:
        if need.target.signal is Signal.COMPLETION and not need.left_out:
            awaited[need.target.operation].append(need.time(pipeline.interval))

    def known(edge: Edge) -> int:
        times = [time + edge.distance * pipeline.interval for time in awaited[edge.consumer]]
        read = pipeline.read_until(edge)
        return min((time for time in times if time >= read), default=read)

    readers: dict[tuple[int, bool, str], list[Edge]] = defaultdict(list)
    for edge in reads:
        crosses = pipeline.crosses(edge)
        readers[edge.producer, crosses, pipeline.place[edge.consumer]].append(edge)
    for (v, crosses, group), edges in readers.items():
        signal = Signal.EMPTY if crosses else Signal.FREED
        by_itself = _last_by_itself(pipeline, edges)
        time = max(map(pipeline.read_until, edges))
        later = max(map(known, edges)) if by_itself is None else time
        time = later if may_wait(v, time, later) else time
        yield Step(Action.RELEASE, group, time, v, signal, edges=tuple(edges), by_itself=by_itself)


def in_memory(pipeline: Pipeline) -> list[Edge]:
    """Return the reads of values in addressed memory."""
    operations = pipeline.problem.operations
    return [e for e in pipeline.problem.edges if e.carries and operations[e.producer].memory]


def _last_by_itself(pipeline: Pipeline, edges: list[Edge]) -> int | None:
    """Return the reader whose own completion implies that all of a group's readers are done."""
    operations = pipeline.problem.operations
    last = max(edges, key=lambda e: (pipeline.issued(e), e.consumer))
    in_order = all(
        edge is last or one_unit(operations[edge.consumer], operations[last.consumer])
        for edge in edges
    )
    by_itself = signals_itself(pipeline, last.consumer) and in_order and last.distance == 0
    return last.consumer if by_itself else None


def delays_nobody(pipeline: Pipeline, v: int, time: int, later: int) -> bool:
    """Whether v's value takes as many slots if it is released later."""
    operation = pipeline.problem.operations[v]
    nominal = operation.nominal_latency
    if operation.streaming:
        nominal = streaming_late(pipeline.problem, v)
    spare = nominal + pipeline.problem.hop - pipeline.start[v] - 1
    return (later + spare) // pipeline.interval == (time + spare) // pipeline.interval


def streaming_late(problem: Problem, v: int) -> int:
    """Return by how much the readers of a streaming load may come after their static times.

    A reader waits for all loads that it reads, and holds the slots of the fastest meanwhile.
    """
    readers = {edge.consumer for edge in problem.consumers[v]}
    beside = {e.producer for e in problem.edges if e.streaming and e.consumer in readers}
    return max(problem.operations[w].nominal_latency for w in {v, *beside})
