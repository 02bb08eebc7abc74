"""What groups do for each other beside issuing operations: they send, receive, tell and release."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import NamedTuple

from twill.lower.pipeline import Pipeline
from twill.problem.operations import Edge


class Signal(StrEnum):
    """What a wait is for; all but a completion are barriers, named after their operation."""

    COMPLETION = "completion"
    """An asynchronous operation of the group that waits is complete."""
    FULL = "full"
    """A result is there."""
    EMPTY = "empty"
    """Groups that did not make a value have read it."""
    FREED = "freed"
    """The group that made a value has read it, which another one takes over the place of."""
    SENT = "sent"
    """A value in registers has been staged."""
    DONE = "done"
    """An operation is over that others come after, though they do not read its result."""
    HEARD = "heard"
    """A group was told of an operation that leaves nothing to be overwritten."""
    ISSUED = "issued"
    """An operation has been issued, so that it is another group's turn on the unit."""
    TAKEN = "taken"
    """All copies of what was staged have been made."""


class Target(NamedTuple):
    """A signal and the operation that it is about."""

    signal: Signal
    operation: int

    def barrier(self, pipeline: Pipeline) -> str:
        """Return the name of its barrier."""
        return f"{pipeline.problem.operations[self.operation].name}.{self.signal}"


class Action(Enum):
    """What a group does."""

    AWAIT = auto()
    """It waits by itself, as a body says that people wrote."""
    ISSUE = auto()
    SEND = auto()
    """It stages a value that is in its registers."""
    RECEIVE = auto()
    """It makes a copy of a staged value. That belongs to the value's iteration, so that the last
    ones are taken too when no iteration is left to read them."""
    TELL = auto()
    """It tells others that it is done with an operation."""
    RELEASE = auto()
    """It tells others that it has read a value, or was told of an operation."""


@dataclass(frozen=True)
class Step:
    """Something that a group does at a time relative to the iteration that it belongs to.

    Attributes
    ----------
    operation : int
        What is issued or told of, or makes the value that is sent, received or released.
    tells : Signal, optional
        At which of the operation's barriers the group arrives behind it.
    edges : tuple of Edge
        The dependences over which a value is received, or was read.
    distance : int
        By how many iterations what is told of is earlier than the step's iteration.
    by_itself : int, optional
        The operation whose completion arrives at the barrier without the group's help.
    """

    action: Action
    group: str
    time: int
    operation: int
    tells: Signal | None = None
    edges: tuple[Edge, ...] = ()
    distance: int = 0
    by_itself: int | None = None

    @property
    def target(self) -> Target | None:
        """What others wait for."""
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
    """Return how others are told, no later than they may begin, which can be before the result."""
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
    """Return edges whose producer tells another group of something that no slot holds back."""
    found: dict[int, list[Edge]] = defaultdict(list)
    for edge in pipeline.crossing:
        held = edge.carries and pipeline.problem.operations[edge.producer].memory is not None
        if not edge.transferable and not held:
            found[edge.producer].append(edge)
    return {v: tuple(edges) for v, edges in found.items()}


def hearing(pipeline: Pipeline) -> Iterator[Step]:
    """Yield how groups say that they were told of what no slot holds back."""
    for v, edges in told(pipeline).items():
        for group in dict.fromkeys(pipeline.place[edge.consumer] for edge in edges):
            own = tuple(edge for edge in edges if pipeline.place[edge.consumer] == group)
            time = max(heard_at(pipeline, edge) for edge in own)
            yield Step(Action.RELEASE, group, time, v, Signal.HEARD, own)


def heard_at(pipeline: Pipeline, edge: Edge) -> int:
    """Return when a group that was told of an operation has gone on."""
    issue = pipeline.problem.operations[edge.consumer].issue
    return pipeline.issued(edge) + max(1, issue)
