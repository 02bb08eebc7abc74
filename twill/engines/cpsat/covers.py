"""Sets of results that never find room together, known before any schedule is."""

from __future__ import annotations

import itertools

from twill.memory import Conflict, Fact
from twill.problem import Problem
from twill.problem.lifetimes import Chain, chains, memory_occupants

FEW_CHAINS = 8


def covers(problem: Problem, memory: str) -> list[Conflict]:
    """Return the least sets of results of which not every two may meet.

    Sums at one moment do not tell: around the interval three results can meet two by two without
    ever being alive all at once, and still need addresses of their own.
    """
    found = chains(problem, memory)
    if len(found) > FEW_CHAINS:
        return []
    room = problem.memories[memory] - problem.fixed[memory]
    least: list[frozenset[int]] = []
    for size in range(3, len(found) + 1):
        for members in itertools.combinations(range(len(found)), size):
            taken = sum(_weight(problem, found[m]) for m in members)
            if taken > room and not any(smaller < {*members} for smaller in least):
                least.append(frozenset(members))
    positions = _positions(problem, memory)
    return [_conflict(memory, [found[m] for m in sorted(cover)], positions) for cover in least]


def _weight(problem: Problem, chain: Chain) -> int:
    return problem.operations[chain.members[0][0]].footprint * (chain.period or 1)


def _positions(problem: Problem, memory: str) -> dict[int, int]:
    return {
        occupant.start: position
        for position, occupant in enumerate(memory_occupants(problem, memory))
        if problem.operations[occupant.start].memory == memory
    }


def _conflict(memory: str, cover: list[Chain], positions: dict[int, int]) -> Conflict:
    facts: list[Fact] = []
    for a, b in itertools.combinations(cover, 2):
        pairs = [(positions[u], positions[v]) for u, _ in a.members for v, _ in b.members]
        facts.append(tuple((i, j, 1) for pair in pairs for i, j in (pair, pair[::-1])))
    return Conflict(memory, tuple(facts))
