"""A solution of a problem, and what it takes of registers, memories and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from twill.problem.groups import WarpGroup, allocated
from twill.problem.lifetimes import (
    Moment,
    Occupant,
    chains,
    memory_occupants,
    register_occupants,
    unit_occupants,
)
from twill.problem.problem import Problem


@dataclass(frozen=True)
class Assignment:
    """A modulo schedule with its warp assignment."""

    # M(v), the issue time within an iteration.
    start: tuple[int, ...]
    # A(v), an index into `groups`.
    group: tuple[int, ...]
    # Those that were available.
    groups: tuple[WarpGroup, ...]

    def length(self, problem: Problem) -> int:
        """Return L: time from the first issue to the last completion."""
        return max(self.start[o.index] + o.cycles for o in problem.operations)

    def transfers(self, problem: Problem) -> int:
        """Return how many dependences move a register value to another group."""
        return sum(
            edge.transferable and self.group[edge.producer] != self.group[edge.consumer]
            for edge in problem.edges
        )

    def used(self) -> int:
        """Return how many groups have operations."""
        return len(set(self.group))

    def slack(self, problem: Problem, interval: int) -> int | None:
        """Return the least time between a completion and its blocking consumer's issue.

        Streaming loads do not count: their latency is hidden by the ring's depth. None if nothing
        blocks.
        """
        margins = []
        for edge in problem.edges:
            crosses = self.group[edge.producer] != self.group[edge.consumer]
            if edge.streaming or not (edge.blocking or crosses):
                continue
            distance = (
                self.start[edge.consumer] + edge.distance * interval - self.start[edge.producer]
            )
            margins.append(distance - (edge.cross_delay if crosses else edge.delay))
        return min(margins, default=None)


STATED_PER_ROUND = 4  # starts at which a sum is stated, of those at which a solution exceeds it

# A sum by its key, and the position of the occupant at whose start it is looked at.
Event = tuple[str, int]


@dataclass(frozen=True)
class Sum:
    """Occupants that share a capacity."""

    # The constraint family it belongs to.
    family: str
    # The memory, the unit, or ``registers``.
    name: str
    occupants: Sequence[Occupant]
    # None for registers, which every warp group limits for itself.
    capacity: int | None
    # By position, occupants of an addressed memory that keep all slots of their ring as soon as one
    # of them is alive, with the hop that others have to leave.
    rings: Mapping[int, Occupant] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """A name that is unique: a memory and a unit may share theirs."""
        return self.name if self.family == "registers" else f"{self.family} {self.name}"


def sums_of(problem: Problem, families: Sequence[str]) -> list[Sum]:
    """Return all sums of a problem."""
    found = []
    if "registers" in families and problem.registers is not None:
        found.append(Sum("registers", "registers", register_occupants(problem), None))
    if "memory" in families:
        for memory, capacity in problem.memories.items():
            room = capacity - problem.fixed[memory]
            # A slot whose release somebody has yet to see may be filled again by somebody else:
            # hops keep two values at different addresses, no instance takes more than its slot.
            occupants = [replace(o, hop=0) for o in memory_occupants(problem, memory)]
            found.append(Sum("memory", memory, occupants, room, _rings(problem, memory)))
    if "capacity" in families:
        for unit, capacity in problem.capacities.items():
            if capacity > 1:
                found.append(Sum("capacity", unit, unit_occupants(problem, unit), capacity))
    return [entry for entry in found if entry.occupants]


def _rings(problem: Problem, memory: str) -> dict[int, Occupant]:
    """Return what has slots of its own, which nothing takes over while one of them is alive.

    Values that are alive at one moment meet: no slot of one may share an address with a slot of
    another. At that moment each takes as many slots as it ever has. Updates in place are left out;
    they share slots.
    """
    shared = {
        v
        for chain in chains(problem, memory)
        if len(chain.members) > 1 or chain.period is not None
        for v, _ in chain.members
    }
    return {
        position: occupant
        for position, occupant in enumerate(memory_occupants(problem, memory))
        if occupant.start not in shared or problem.operations[occupant.start].memory != memory
    }


def excess(problem: Problem, interval: int, entry: Sum, assignment: Assignment) -> list[int]:
    """Return the occupants at whose start the sum is exceeded, the worst first."""
    found = []
    for index, starting in enumerate(entry.occupants):
        total = demand(problem, interval, entry, starting, assignment)
        limit = entry.capacity
        if limit is None:
            limit = assignment.groups[assignment.group[starting.start]].live_limit
        if total > limit:
            found.append((limit - total, index))
    return [index for _, index in sorted(found)]


def violated(
    problem: Problem, interval: int, sums: Mapping[str, Sum], assignment: Assignment
) -> list[Event]:
    """Return of each sum that a solution exceeds the starts where it exceeds it most."""
    return [
        (key, event)
        for key, entry in sums.items()
        for event in excess(problem, interval, entry, assignment)[:STATED_PER_ROUND]
    ]


def demand(
    problem: Problem, interval: int, entry: Sum, starting: Occupant, assignment: Assignment
) -> int:
    """Return what is taken of a sum at the moment that `starting` starts.

    `entry`: the sum; of registers, those of the starting operation's group are counted.
    """
    if lifetime(starting, interval, assignment) is None:
        return 0
    place = assignment.group[starting.start]
    total = 0
    for position, occupant in enumerate(entry.occupants):
        if occupant.group_of is None or assignment.group[occupant.group_of] == place:
            count = in_the_way(occupant, starting, interval, assignment)
            if count and position in entry.rings:
                count = max(count, slots(entry.rings[position], interval, assignment))
            total += occupant.weight * count
    if entry.capacity is not None:
        return total
    for pinned in problem.pinned:
        if any(assignment.group[user] == place for user in pinned.used_by):
            total += pinned.registers
    return total


def peaks(problem: Problem, interval: int, assignment: Assignment) -> list[int | None]:
    """Return the most registers per thread live on each group, None where it has no operations."""
    entry = Sum("registers", "registers", register_occupants(problem), None)
    most: list[int | None] = [None] * len(assignment.groups)
    for g in assignment.group:
        most[g] = 0
    for starting in entry.occupants:
        g = assignment.group[starting.start]
        most[g] = max(most[g] or 0, demand(problem, interval, entry, starting, assignment))
    return most


def peak(problem: Problem, interval: int, entry: Sum, assignment: Assignment, group: int) -> int:
    """Return the occupant at whose start most registers of a group are live."""
    mine = [i for i, o in enumerate(entry.occupants) if assignment.group[o.start] == group]
    return max(mine, key=lambda i: demand(problem, interval, entry, entry.occupants[i], assignment))


def with_registers(problem: Problem, interval: int, found: Assignment) -> Assignment | None:
    """Return a solution with registers allocated to its groups, None if the file has not enough."""
    if problem.registers is None or all(group.allocation for group in found.groups):
        return found
    groups = allocated(problem, found.groups, peaks(problem, interval, found))
    return None if groups is None else replace(found, groups=groups)


def in_the_way(
    occupant: Occupant, starting: Occupant, interval: int, assignment: Assignment
) -> int:
    """Return how many instances of `occupant` hold their place when `starting` starts."""
    time = assignment.start[starting.start] + starting.delay
    span = lifetime(occupant, interval, assignment)
    return 0 if span is None else alive(span, time, interval)


def slots(ring: Occupant, interval: int, assignment: Assignment) -> int:
    """Return how many instances keep a writer of `ring` from their slots when it starts."""
    here = assignment.group[ring.start]
    signalled = tuple(
        replace(end, offset=end.offset + ring.hop * (assignment.group[end.operation] != here))
        for end in ring.ends
    )
    return in_the_way(replace(ring, ends=signalled), ring, interval, assignment)


def lifetime(occupant: Occupant, interval: int, assignment: Assignment) -> tuple[int, int] | None:
    """Return the half-open time for which `occupant` of iteration 0 exists, or None."""
    group = assignment.group
    if occupant.apart is not None and group[occupant.apart[0]] == group[occupant.apart[1]]:
        return None
    start = assignment.start[occupant.start] + occupant.delay
    ends = [
        assignment.start[end.operation] + end.offset + end.iterations * interval
        for end in occupant.ends
        if counts(end, assignment)
    ]
    last = max(ends, default=start)
    return (start, last) if last > start else None


def alive(span: tuple[int, int], time: int, interval: int) -> int:
    """Return how many instances of a lifetime, one every I, contain `time`."""
    return (time - span[0]) // interval - (time - span[1]) // interval


def counts(end: Moment, assignment: Assignment) -> bool:
    """Whether something may live until a moment, with these warp groups."""
    group = assignment.group
    if end.same is not None:
        return group[end.same[0]] == group[end.same[1]]
    if end.apart is not None:
        return group[end.apart[0]] != group[end.apart[1]]
    return True
