"""Occupants of memory and registers: values, working sets, copies, staged transfers.

Each is an `Occupant`. The engines turn "the occupants alive at the start of one of them fit" into
constraints; usage rises only when an occupant starts, so these instants are all that matter.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from twill.artifacts.base import by_identity
from twill.problem import rules
from twill.problem.operations import Edge
from twill.problem.problem import Problem


@dataclass(frozen=True)
class Moment:
    """`offset` after the issue of `operation`, `iterations` iterations later."""

    operation: int
    offset: int
    iterations: int = 0
    # Two operations that must, or must not, be on one group for the moment to count.
    same: tuple[int, int] | None = None
    apart: tuple[int, int] | None = None


@dataclass(frozen=True)
class Occupant:
    """Something that takes `weight` from the issue of `start` until the last of `ends`."""

    # For messages.
    name: str
    # Registers per thread, bytes, columns or instances of a unit.
    weight: int
    start: int
    ends: tuple[Moment, ...]
    # The operation whose warp group it burdens; None if it burdens the SM.
    group_of: int | None
    # It exists only if these two operations are on different groups.
    apart: tuple[int, int] | None = None
    # Time after the issue of `start` at which it begins; negative before it.
    delay: int = 0
    # Further time for which it is in the way of what starts on another group than its reader's: a
    # slot that is free is announced to the group that fills it again.
    hop: int = 0


def register_occupants(problem: Problem) -> list[Occupant]:
    """Return what takes registers per thread on warp groups.

    Readers of an invariant occupy nothing more, but their groups have to hold the invariant.
    """
    occupants = []
    for operation in problem.operations:
        v = operation.index
        if operation.registers:
            ends = register_ends(problem, v)
            occupants.append(Occupant(operation.name, operation.registers, v, ends, v))
        if operation.working_set:
            name, ends = f"working set of {operation.name}", (Moment(v, rules.working(operation)),)
            occupants.append(Occupant(name, operation.working_set, v, ends, v))
    pinned = sorted({user for invariant in problem.pinned for user in invariant.used_by})
    occupants += [
        Occupant(f"invariants of {problem.operations[v].name}", 0, v, (Moment(v, 1),), v)
        for v in pinned
    ]
    if problem.rules == "paper":
        return occupants
    copies = defaultdict[tuple[int, int, int], list[Edge]](list)
    for edge in problem.edges:
        if edge.transferable:
            copies[edge.producer, edge.consumer, edge.distance].append(edge)
    for (u, v, _), edges in copies.items():
        producer, consumer = problem.operations[u], problem.operations[v]
        held = max(edge.copy_hold for edge in edges)
        ahead = rules.fetched_ahead(producer)
        if held + ahead:
            name, ends = f"copy of {producer.name} for {consumer.name}", (Moment(v, held),)
            copy = Occupant(name, producer.registers, v, ends, v, apart=(u, v), delay=-ahead)
            occupants.append(copy)
    return occupants


def register_ends(problem: Problem, v: int) -> tuple[Moment, ...]:
    """Return when the registers of v's result become free on v's own group.

    A consumer on the same group holds them until it has read them. A consumer on another group
    reads the SMEM staging, so that they are free once the transfer is done; under the paper's rules
    they are held until that consumer issues.
    """
    operation = problem.operations[v]
    if not problem.consumers[v]:
        return (Moment(v, rules.unread(operation)),)
    ends = []
    for edge in problem.consumers[v]:
        pair = (v, edge.consumer)
        if problem.rules == "paper":
            ends.append(_read(edge))
        else:
            ends.append(_read(edge, same=pair))
            ends.append(Moment(v, rules.staged(operation), apart=pair))
    return tuple(ends)


@by_identity(64)
def memory_occupants(problem: Problem, memory: str) -> tuple[Occupant, ...]:
    """Return what takes addressed memory: values, and staged transfers in SMEM."""
    occupants = []
    hop = rules.release_seen(problem.hop, problem.rules)
    for operation in problem.operations:
        v = operation.index
        if operation.memory == memory:
            ends = memory_ends(problem, v)
            occupants.append(Occupant(operation.name, operation.footprint, v, ends, None, hop=hop))
        if memory == "smem" and operation.registers and problem.consumers[v]:
            staged = tuple(
                Moment(edge.consumer, 0, edge.distance, apart=(v, edge.consumer))
                for edge in problem.consumers[v]
            )
            name = f"transfer of {operation.name}"
            occupants.append(Occupant(name, operation.transfer_bytes, v, staged, None, hop=hop))
    return tuple(occupants)


def memory_ends(problem: Problem, v: int) -> tuple[Moment, ...]:
    """Return when the memory of v's result becomes free."""
    if not problem.consumers[v]:
        return (Moment(v, rules.unread(problem.operations[v])),)
    return tuple(_read(edge) for edge in problem.consumers[v])


def unit_occupants(problem: Problem, unit: str) -> list[Occupant]:
    """Return the reservations of a functional unit."""
    found = []
    for o in problem.operations:
        for r in o.reservations:
            if r.unit == unit:
                ends = (Moment(o.index, r.start + r.length),)
                found.append(Occupant(o.name, r.count, o.index, ends, None, delay=r.start))
    return found


def _read(edge: Edge, same: tuple[int, int] | None = None) -> Moment:
    return Moment(edge.consumer, edge.hold, edge.distance, same=same)


@dataclass(frozen=True)
class Chain:
    """Operations of which each updates the result of the one before in place."""

    # Operations, each with the iterations by which it is later than the first.
    members: tuple[tuple[int, int], ...]
    # Where the last is updated by the first again: that many iterations later, so that so many
    # instances exist at any time. None if the chain has an end.
    period: int | None = None


@by_identity(64)
def chains(problem: Problem, memory: str) -> tuple[Chain, ...]:
    """Return every operation with a result in `memory`, in the chain that it belongs to.

    An update takes the place of its operand if they are of one size and every other reader of the
    operand is ordered before it by a dependence.
    """
    after: dict[int, Edge] = {}
    before: dict[int, Edge] = {}
    for edge, dependence in zip(problem.edges, problem.loop.dependences, strict=True):
        u, v = problem.operations[edge.producer], problem.operations[edge.consumer]
        alike = (u.memory, u.footprint, u.halved) == (v.memory, v.footprint, v.halved)
        new = u.index not in after and v.index not in before
        here = dependence.in_place and edge.carries and u.memory == memory
        if here and alike and new and _is_last(problem, edge):
            after[u.index], before[v.index] = edge, edge
    found, seen = [], set[int]()
    values = [o.index for o in problem.operations if o.memory == memory]
    for first in sorted(values, key=lambda value: value in before):
        if first not in seen:
            found.append(_chain(first, after))
            seen.update(member for member, _ in found[-1].members)
    return tuple(sorted(found, key=lambda chain: chain.members[0][0]))


@by_identity(64)
def updates(problem: Problem) -> frozenset[tuple[int, int]]:
    """Return the pairs of operations of which the second updates the first where it lies."""
    return frozenset(
        (before, after)
        for memory in problem.memories
        for chain in chains(problem, memory)
        for (before, _), (after, _) in pairwise((*chain.members, *chain.members[:1]))
        if after != chain.members[0][0] or chain.period is not None
    )


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
