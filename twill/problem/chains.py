"""What dependences say about memory: updates in place, and who is done before whom."""

from __future__ import annotations

from dataclasses import dataclass

from twill.problem.operations import Edge
from twill.problem.problem import Problem


@dataclass(frozen=True)
class Chain:
    """Operations of which each updates the result of the one before in place.

    Attributes
    ----------
    members : tuple of (int, int)
        Operations, each with the iterations by which it is later than the first.
    period : int or None
        Where the last is updated by the first again: that many iterations later, so that so many
        instances exist at any time. None if the chain has an end.
    """

    members: tuple[tuple[int, int], ...]
    period: int | None = None


def chains(problem: Problem, memory: str) -> list[Chain]:
    """Return every operation with a result in `memory`, in the chain that it belongs to.

    An update takes the place of its operand if they are of one size and every other reader of the
    operand is ordered before it by a dependence.
    """
    after: dict[int, Edge] = {}
    before: dict[int, Edge] = {}
    for edge, dependence in zip(problem.edges, problem.loop.dependences, strict=True):
        u, v = problem.operations[edge.producer], problem.operations[edge.consumer]
        alike = (u.memory, u.footprint, u.lanes) == (memory, v.footprint, v.lanes) == (
            v.memory, v.footprint, v.lanes
        )  # fmt: skip
        new = u.index not in after and v.index not in before
        if dependence.in_place and edge.carries and alike and new and _is_last(problem, edge):
            after[u.index], before[v.index] = edge, edge
    found, seen = [], set[int]()
    values = [o.index for o in problem.operations if o.memory == memory]
    for first in sorted(values, key=lambda value: value in before):
        if first not in seen:
            found.append(_chain(first, after))
            seen.update(member for member, _ in found[-1].members)
    return sorted(found, key=lambda chain: chain.members[0][0])


def least_distances(problem: Problem) -> dict[tuple[int, int], int]:
    """Return by how many iterations an operation is at least behind one that it depends on.

    A pair ``(u, v): d`` says that v of iteration i is issued after u of iteration i - d is
    complete, or behind it on a unit that executes in order. Dependences with a delay of their own
    are left out.
    """
    found = {(v, v): 0 for v in range(len(problem.operations))}
    steps: dict[int, list[tuple[int, int]]] = {}
    for edge, dependence in zip(problem.edges, problem.loop.dependences, strict=True):
        if dependence.delay is None:
            steps.setdefault(edge.producer, []).append((edge.consumer, edge.distance))
    for u in range(len(problem.operations)):
        pending = [u]
        while pending:
            v = pending.pop()
            for w, distance in steps.get(v, []):
                reached = found[u, v] + distance
                if reached < found.get((u, w), reached + 1):
                    found[u, w] = reached
                    pending.append(w)
    return found


def _chain(first: int, after: dict[int, Edge]) -> Chain:
    members, offset = [(first, 0)], 0
    while members[-1][0] in after:
        edge = after[members[-1][0]]
        offset += edge.distance
        if edge.consumer == first:
            return Chain(tuple(members), offset)
        members.append((edge.consumer, offset))
    return Chain(tuple(members))


def _is_last(problem: Problem, update: Edge) -> bool:
    """Whether dependences order every other reader of what `update` overwrites before it."""
    return all(
        other == update
        or any(
            order.producer == other.consumer
            and order.consumer == update.consumer
            and other.distance + order.distance <= update.distance
            and order.delay >= other.hold
            for order in problem.edges
        )
        for other in problem.consumers[update.producer]
    )
