"""Operations that exclude each other in pairs, whichever units make them do so."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from twill.problem import Problem
from twill.problem.lifetimes import unit_occupants

Exclusions = Mapping[tuple[int, int], int]
"""(u, v) of operations with the time by which v, or its next instance, comes later than u."""


@dataclass(frozen=True)
class Clique:
    """Operations of which no two are in progress at the same time, modulo the interval.

    Attributes
    ----------
    length : dict
        Of each operation the time from its issue that it keeps to itself.
    """

    length: Mapping[int, int]

    @property
    def work(self) -> int:
        """What they take together; no interval is smaller."""
        return sum(self.length.values())


def exclusions(problem: Problem) -> dict[tuple[int, int], int]:
    """Return the pairs that exceed some unit together, where each has to be issued later."""
    found: dict[tuple[int, int], int] = {}
    for unit, capacity in problem.capacities.items():
        for a, b in itertools.combinations(unit_occupants(problem, unit), 2):
            after_a, after_b = a.ends[0].offset - b.delay, b.ends[0].offset - a.delay
            if a.weight + b.weight <= capacity or a.start == b.start or min(after_a, after_b) < 1:
                continue
            for pair, after in (((a.start, b.start), after_a), ((b.start, a.start), after_b)):
                found[pair] = max(found.get(pair, 1), after)
    return found


def cliques(problem: Problem) -> list[Clique]:
    """Return cliques of three and more, most work first.

    They are grown greedily, until every operation that excludes others is in one.
    """
    apart = exclusions(problem)
    beside: dict[int, set[int]] = {}
    for u, v in apart:
        beside.setdefault(u, set()).add(v)
    longest = {u: max(apart[u, v] for v in others) for u, others in beside.items()}
    found, covered = list[Clique](), set[int]()
    for first in sorted(beside, key=lambda u: (-longest[u], u)):
        if first in covered:
            continue
        members = sorted(_grown(first, beside, longest))
        covered.update(members)
        if len(members) > 2:
            found.append(Clique({u: min(apart[u, v] for v in members if v != u) for u in members}))
    return sorted(found, key=lambda clique: (-clique.work, sorted(clique.length)))


def _grown(first: int, beside: Mapping[int, set[int]], longest: Mapping[int, int]) -> list[int]:
    """Add the operation that leaves most work to add after it, until none excludes all."""
    members, candidates = [first], set(beside[first])
    while candidates:
        chosen = max(
            sorted(candidates),
            key=lambda u: longest[u] + sum(longest[v] for v in beside[u] & candidates),
        )
        members.append(chosen)
        candidates &= beside[chosen]
    return members
