"""Operations that may change places: sub-tiles that do the same work on different data.

Where exchanging them turns every schedule into a schedule, a search need look at one of the two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from twill.problem import Problem
from twill.problem.lifetimes import chains

Exchange = tuple[int, ...]  # of every operation the one whose place it takes


def symmetry(problem: Problem) -> Exchange | None:
    """Return an exchange of operations under which the problem stays what it is, if one is known.

    Operations that look alike, and whose neighbours do, are exchanged in pairs; that this changes
    nothing is then checked on the whole problem.

    Returns: none also where more than two operations look alike, and where a user has pinned or
    ordered operations.
    """
    wishes = problem.wishes
    if wishes.pins or wishes.orders:
        return None
    alike: dict[int, list[int]] = {}
    for v, label in enumerate(_refined(problem)):
        alike.setdefault(label, []).append(v)
    if max(map(len, alike.values())) != 2:
        return None
    exchange = list(range(len(problem.operations)))
    for members in alike.values():
        for v, other in zip(members, reversed(members), strict=True):
            exchange[v] = other
    changed = _facts(problem, exchange) != _facts(problem, range(len(exchange)))
    return None if changed else tuple(exchange)


def _refined(problem: Problem) -> list[int]:
    """Number operations so that those of one number have the same neighbours."""
    numbers = _numbered(_labels(problem))
    arcs = list(_arcs(problem))
    while True:
        seen: list[list[Any]] = [[] for _ in numbers]
        for u, v, label in arcs:
            seen[u].append((repr(label), 0, numbers[v]))
            seen[v].append((repr(label), 1, numbers[u]))
        mine = zip(numbers, seen, strict=True)
        refined = _numbered([(number, *sorted(around)) for number, around in mine])
        if max(refined) == max(numbers):
            return numbers
        numbers = refined


def _numbered(labels: Sequence[Hashable]) -> list[int]:
    known: dict[Hashable, int] = {}
    return [known.setdefault(label, len(known)) for label in labels]


def _labels(problem: Problem) -> list[Hashable]:
    """Return what is known of each operation but its name."""
    return [
        (replace(o, name="", index=0), written.kind, repr(written.operands), repr(written.result))
        for o, written in zip(problem.operations, problem.loop.operations, strict=True)
    ]


def _arcs(problem: Problem) -> list[tuple[int, int, Hashable]]:
    """Return the dependences, each with what is known of it but its ends."""
    return [
        (
            edge.producer,
            edge.consumer,
            (
                replace(edge, producer=0, consumer=0),
                written.kind,
                written.operand,
                written.in_place,
                repr(written.delay),
            ),
        )
        for edge, written in zip(problem.edges, problem.loop.dependences, strict=True)
    ]


def _facts(problem: Problem, place: Sequence[int]) -> Counter[Hashable]:
    """Return all statements on operations, with those in their places named instead."""
    index = problem.index
    facts: list[Hashable] = [("is", place[v], label) for v, label in enumerate(_labels(problem))]
    facts += [("arc", place[u], place[v], label) for u, v, label in _arcs(problem)]
    for pinned in problem.pinned:
        facts.append(("pinned", pinned.registers, frozenset(place[v] for v in pinned.used_by)))
    for invariant in problem.loop.invariants:
        users = frozenset(place[index[name]] for name in invariant.used_by)
        reads = frozenset((place[index[r.operation]], r.operand) for r in invariant.reads)
        facts.append(("invariant", repr(invariant.tile), users, reads))
    for memory in problem.memories:
        for chain in chains(problem, memory):
            members = tuple((place[v], offset) for v, offset in chain.members)
            facts.append(("chain", memory, members, chain.period))
    return Counter(facts)
