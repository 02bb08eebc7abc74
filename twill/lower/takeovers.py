"""Which values take over the memory of which others, and whose readers that has to wait for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from twill.lower.pipeline import Pipeline
from twill.memory.addresses import Allocation, Ring
from twill.problem.lifetimes import chains


@dataclass(frozen=True)
class Tenant:
    """A result in addressed memory, or the SMEM staging of a register value."""

    operation: int
    staged: bool


@dataclass(frozen=True)
class Takeover:
    """`new` overwrites addresses that `old` held.

    Attributes
    ----------
    old, new : Tenant
        The two.
    distance : int
        The latest instance of `old` before that of `new` is so many iterations before it.
    """

    old: Tenant
    new: Tenant
    distance: int


def takeovers(named: Pipeline, allocation: Allocation) -> tuple[Takeover, ...]:
    """Return every pair that shares an address.

    What is updated in place need not be waited for: dependences order the update. Only the first of
    a chain of updates waits, for all that held its place an instance of the chain before.
    """
    rings = {Tenant(v, staged=False): ring for v, ring in allocation.values.items()}
    rings |= {Tenant(v, staged=True): ring for v, ring in allocation.transfers.items()}
    chained = {}
    found = []
    for memory in named.problem.memories:
        for chain in chains(named.problem, memory):
            chained.update({v: (chain, offset) for v, offset in chain.members})
    for new in rings:
        for old in rings:
            if old == new or not _share(rings[old], rings[new]):
                continue
            together = not (old.staged or new.staged) and (
                chained[old.operation][0] is chained[new.operation][0]
            )
            if not together:
                found.append(Takeover(old, new, _before(named, old, new)))
            elif chained[new.operation][0].period is None and not chained[new.operation][1]:
                later = chained[old.operation][1]
                found.append(Takeover(old, new, rings[new].count - later))
    return tuple(found) if rings else ()


def distances(takeover: Takeover) -> Iterator[int]:
    """Yield the distances at which waits concern every instance, also in the shortest loops.

    A wait for a later iteration does nothing where the loop has no such iteration; then the
    iterations before it count.
    """
    yield from range(takeover.distance, max(takeover.distance, 0) + 1)


def _share(first: Ring, second: Ring) -> bool:
    return first.memory == second.memory and any(
        a.overlaps(b) for a in first.ranges for b in second.ranges
    )


def _before(named: Pipeline, old: Tenant, new: Tenant) -> int:
    ahead = named.start[new.operation] - named.start[old.operation]
    return -(ahead // named.interval)
