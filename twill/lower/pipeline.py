"""A solved problem with names, and the signals, waits and copies between its groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto
from functools import cached_property
from itertools import accumulate, count, pairwise
from typing import NamedTuple

from twill.problem import Problem, rules
from twill.problem.groups import WarpGroup
from twill.problem.operations import Edge
from twill.problem.solution import Assignment


@dataclass(frozen=True)
class Choices:
    """Choices about a schedule's programs that its issue times leave open.

    `slots`: of streaming loads, by operation; by default as many as hide the load's latency.
    `in_order`: whether groups take turns on units that execute in order.
    `dropped`: pairs of operations that take no turns all the same.
    """

    slots: Mapping[int, int] = field(default_factory=dict)
    in_order: bool = True
    dropped: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Pipeline:
    """A modulo schedule with warp assignment, as `twill.lower.programs` reads it."""

    problem: Problem
    interval: int
    # Nothing starts before 0.
    assignment: Assignment
    # Of the groups that have operations, by their index, in the order of the schedule.
    names: Mapping[int, str]
    choices: Choices = field(default_factory=Choices)

    @property
    def start(self) -> tuple[int, ...]:
        """M(v)."""
        return self.assignment.start

    @cached_property
    def place(self) -> tuple[str, ...]:
        """Name of A(v)."""
        return tuple(self.names[g] for g in self.assignment.group)

    @cached_property
    def groups(self) -> dict[str, WarpGroup]:
        """Warp groups by name, in the order of the schedule."""
        return {name: self.assignment.groups[g] for g, name in self.names.items()}

    @cached_property
    def crossing(self) -> tuple[Edge, ...]:
        """Edges between different groups."""
        return tuple(e for e in self.problem.edges if self.crosses(e))

    @cached_property
    def copies(self) -> tuple[Edge, ...]:
        """Edges whose consumer's group takes a copy of a register value: one a distance.

        Operands that are one instance of a value share its copy.
        """
        found: dict[tuple[int, int, int], Edge] = {}
        for edge in self.crossing:
            if edge.transferable:
                found.setdefault((edge.producer, edge.consumer, edge.distance), edge)
        return tuple(found.values())

    def ordered(self, u: int, v: int, distance: int) -> bool:
        """Return whether dependences order u before v of so many iterations later."""
        least = self.problem.least_distances.get((u, v))
        return least is not None and least <= distance

    def crosses(self, edge: Edge) -> bool:
        """Return whether the ends of an edge are on different groups."""
        return self.place[edge.producer] != self.place[edge.consumer]

    def members(self, group: str) -> list[int]:
        """Return the operations of a group by issue time."""
        return sorted(
            (v for v, name in enumerate(self.place) if name == group),
            key=lambda v: (self.start[v], v),
        )

    def issued(self, edge: Edge) -> int:
        """Return when the consumer issues, relative to the producer's iteration."""
        return self.start[edge.consumer] + edge.distance * self.interval

    def read_until(self, edge: Edge) -> int:
        """Return when the consumer has read the value, relative to the producer's iteration."""
        return self.issued(edge) + edge.reads

    def received_at(self, edge: Edge) -> int:
        """Return when the consumer's group reads the staging of a value, ahead of the consumer."""
        ahead = rules.fetched_ahead(self.problem.operations[edge.producer])
        return self.start[edge.consumer] - ahead

    def copy_slots(self, edge: Edge) -> int:
        """Return the slots of the copy that a consumer on another group reads."""
        end = self.start[edge.consumer] + edge.copy_reads
        return max(1, -(-(end - self.received_at(edge)) // self.interval))


def pipeline(
    problem: Problem, interval: int, assignment: Assignment, names: Mapping[int, str] | None = None
) -> Pipeline:
    """Let time begin with the first issue, and name the groups unless `names` does.

    `names`: of all groups that have operations, by their index.
    """
    earliest = min(assignment.start)
    shifted = replace(assignment, start=tuple(time - earliest for time in assignment.start))
    return Pipeline(problem, interval, shifted, names or _names(problem, assignment))


def _names(problem: Problem, assignment: Assignment) -> dict[int, str]:
    """Name groups in the order in which they are first used; one that the user named keeps that."""
    first: dict[int, int] = {}
    for v in sorted(range(len(assignment.start)), key=lambda v: (assignment.start[v], v)):
        first.setdefault(assignment.group[v], len(first))
    order = sorted(first, key=lambda g: (not assignment.groups[g].variable_latency, first[g]))
    names = {assignment.group[v]: name for v, name in problem.wishes.pins}
    for g in order:
        if g not in names:
            names[g] = _free_name(assignment.groups[g].variable_latency, names.values())
    return {g: names[g] for g in order}


def _free_name(loads: bool, taken: Collection[str]) -> str:  # noqa: FBT001 - of one group
    """Return ``load``, ``load1``, ... or ``compute0``, ``compute1``, ..., the first not taken."""
    names = (f"load{n or ''}" if loads else f"compute{n}" for n in count())
    return next(name for name in names if name not in taken)


# -- turns -------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Turn:
    """`after` waits until `before`, of that many iterations earlier, has been issued."""

    before: int
    after: int
    distance: int
    # Of its barrier: with so many `before` is never two phases ahead of that wait. Usually it waits
    # in turn, but in the first and the last iterations for what the loop does not have.
    slots: int


def turns(pipeline: Pipeline) -> list[Turn]:
    """Return the turns that a schedule's programs keep.

    Groups drift, and a unit takes work as it comes. Where its order matters programs keep it, as
    FlashAttention-3's ping-pong does: an arrive behind one operation, a wait before the next. On a
    unit that executes in order all neighbours of different groups take turns. On pipes there are
    none: the simulated SM gains nothing by them, and ptxas moves arithmetic across an arrive. Of 66
    exponentials only 5 stayed in front of it (Triton 3.9.0, sm_90a).
    """
    if not pipeline.choices.in_order:
        return []
    operations, found = pipeline.problem.operations, set[Turn]()
    for unit in {o.in_order_unit for o in operations} - {None}:
        users = {o.index for o in operations if o.in_order_unit == unit}
        found |= set(_neighbours(pipeline, users))
    return sorted(found)


def _neighbours(pipeline: Pipeline, users: Iterable[int]) -> Iterator[Turn]:
    """Yield the users of a unit that follow each other there, on different groups.

    Where one of these turns is left out, the others are kept only as far as dependences keep
    `before` from running ahead.
    """
    start, interval, dropped = pipeline.start, pipeline.interval, pipeline.choices.dropped
    order = sorted(users, key=lambda v: (start[v] % interval, v))
    pairs = list(pairwise([*order, *order[:1]]))
    distances = [-(-(start[u] - start[v]) // interval) for u, v in pairs]
    crossing = [(u, v) for u, v in pairs if pipeline.place[u] != pipeline.place[v]]
    whole = dropped.isdisjoint(crossing)
    for place, (before, after) in enumerate(pairs):
        if (before, after) not in crossing or (before, after) in dropped:
            continue
        if whole:
            # Before `before` comes what it follows, and so on around the unit back to `after`.
            around = [*distances[:place][::-1], *distances[place + 1 :][::-1]]
            missing = [0, *accumulate(around)]
            yield Turn(before, after, distances[place], max(1, *missing) - min(missing))
        elif (behind := pipeline.problem.least_distances.get((after, before))) is not None:
            yield Turn(before, after, distances[place], max(1, behind + distances[place]))


# -- steps -------------------------------------------------------------------------------------


class Signal(StrEnum):
    """The event that a wait is for; all but a completion are barriers, named by operation."""

    # An asynchronous operation of the group that waits is complete.
    COMPLETION = "completion"
    # A result is there.
    FULL = "full"
    # Groups that did not make a value have read it.
    EMPTY = "empty"
    # The group that made a value has read it, and another value takes its address over.
    FREED = "freed"
    # A value in registers has been staged.
    SENT = "sent"
    # An operation is over that others come after, though they do not read its result.
    DONE = "done"
    # A group has observed an operation that leaves nothing to be overwritten.
    HEARD = "heard"
    # An operation has been issued, so that it is another group's turn on the unit.
    ISSUED = "issued"
    # All copies of what was staged have been made.
    TAKEN = "taken"


class Target(NamedTuple):
    """A signal and the operation that it is about."""

    signal: Signal
    operation: int

    def barrier(self, pipeline: Pipeline) -> str:
        """Return the name of its barrier."""
        return f"{pipeline.problem.operations[self.operation].name}.{self.signal}"


class Action(Enum):
    """A step that a group takes."""

    # It waits by itself, as a body written by hand asks.
    AWAIT = auto()
    ISSUE = auto()
    # It stages a value that is in its registers.
    SEND = auto()
    # It makes a copy of a staged value. That belongs to the value's iteration, so that the last
    # ones are taken too when no iteration is left to read them.
    RECEIVE = auto()
    # It signals others that an operation is over.
    TELL = auto()
    # It signals others that it has read a value, or observed an operation.
    RELEASE = auto()


@dataclass(frozen=True)
class Step:
    """Something that a group does at a time relative to the iteration that it belongs to."""

    action: Action
    group: str
    time: int
    # The operation that is issued or signalled, or makes the value sent, received or released.
    operation: int
    # At which of the operation's barriers the group arrives behind it.
    tells: Signal | None = None
    # The dependences over which a value is received, or was read.
    edges: tuple[Edge, ...] = ()
    # By how many iterations the signalled instance is earlier than the step's iteration.
    distance: int = 0
    # The operation whose completion arrives at the barrier without the group's help.
    by_itself: int | None = None

    @property
    def target(self) -> Target | None:
        """The target of other groups' waits, if the step signals."""
        return None if self.tells is None else Target(self.tells, self.operation)

    @property
    def later(self) -> int:
        """Iterations by which the first of the readers runs later."""
        return min(edge.distance for edge in self.edges)


def issuing(pipeline: Pipeline, v: int) -> Step:
    """Return the issue of v."""
    return Step(Action.ISSUE, pipeline.place[v], pipeline.start[v], v)


def sending(pipeline: Pipeline, v: int) -> Step:
    """Return the staging of v's result."""
    done = pipeline.start[v] + pipeline.problem.operations[v].latency
    return Step(Action.SEND, pipeline.place[v], done, v, Signal.SENT)


def receiving(pipeline: Pipeline, edge: Edge) -> Step:
    """Return how the consumer's group takes a copy of a value, ahead of the consumer."""
    time = pipeline.received_at(edge) + edge.distance * pipeline.interval
    group = pipeline.place[edge.consumer]
    return Step(Action.RECEIVE, group, time, edge.producer, Signal.TAKEN, (edge,))


def telling(pipeline: Pipeline, target: Target) -> Step:
    """Return the signal to other groups, no later than they may begin, maybe before the result."""
    signal, v = target
    operation = pipeline.problem.operations[v]
    asked = [
        max(operation.issue, edge.delay)
        for edge in pipeline.crossing
        if edge.producer == v and not edge.transferable and edge.carries == (signal is Signal.FULL)
    ]
    time = pipeline.start[v] + min([operation.latency, *asked])
    by_itself = v if signals_itself(pipeline, v) else None
    return Step(Action.TELL, pipeline.place[v], time, v, signal, by_itself=by_itself)


def signals_itself(pipeline: Pipeline, v: int) -> bool:
    """Return whether the completion of v arrives at a barrier without its group's help."""
    operation = pipeline.problem.operations[v]
    return operation.asynchronous and operation.memory is not None


def told(pipeline: Pipeline) -> dict[int, tuple[Edge, ...]]:
    """Return edges across groups that no slot of a value holds back, by producer."""
    found: dict[int, list[Edge]] = defaultdict(list)
    for edge in pipeline.crossing:
        held = edge.carries and pipeline.problem.operations[edge.producer].memory is not None
        if not edge.transferable and not held:
            found[edge.producer].append(edge)
    return {v: tuple(edges) for v, edges in found.items()}


def hearing(pipeline: Pipeline) -> Iterator[Step]:
    """Yield the arrivals by which groups confirm signals that no slot holds back."""
    for v, edges in told(pipeline).items():
        for group in dict.fromkeys(pipeline.place[edge.consumer] for edge in edges):
            own = tuple(edge for edge in edges if pipeline.place[edge.consumer] == group)
            time = max(heard_at(pipeline, edge) for edge in own)
            yield Step(Action.RELEASE, group, time, v, Signal.HEARD, own)


def heard_at(pipeline: Pipeline, edge: Edge) -> int:
    """Return when the group that waits for an edge has gone on."""
    issue = pipeline.problem.operations[edge.consumer].issue
    return pipeline.issued(edge) + max(1, issue)
