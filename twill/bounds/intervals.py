"""Lower bounds on the initiation interval that need no search: ResMII, RecMII and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from twill.bounds.configurations import ConfigurationBound, configuration_bound
from twill.bounds.paths import delays
from twill.problem import Problem


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on I, in the problem's time units."""

    by_unit: dict[str, int]  # ResMII of each functional unit
    resource_unit: str  # the unit with the largest
    recurrence: int  # RecMII, 0 without recurrences
    recurrence_cycle: tuple[str, ...]  # operations of the recurrence that sets it
    # The longest time that warps take to issue one asynchronous operation: they are in order, so
    # that its next instance follows only then.
    issue: int = 0
    issue_operation: str = ""
    configurations: ConfigurationBound | None = None  # where all units need more than each of them

    @property
    def resource(self) -> int:
        """ResMII."""
        return self.by_unit[self.resource_unit]

    @property
    def alone(self) -> int:
        """The largest of what units, recurrences and operations need by themselves, at least 1."""
        return max(self.resource, self.recurrence, self.issue, 1)

    @property
    def interval(self) -> int:
        """The largest of all."""
        return max(self.alone, self.configurations.value if self.configurations else 0)


def every_bound(problem: Problem) -> Bounds:
    """Compute all bounds: those of `bounds`, and what all units need together."""
    found = bounds(problem)
    together = configuration_bound(problem, found.resource)
    return replace(found, configurations=together)


def bounds(problem: Problem) -> Bounds:
    """Compute ResMII, RecMII and the longest issue, each of which takes a moment only."""
    by_unit = {unit: resource_bound(problem, unit) for unit in problem.capacities}
    unit = max(by_unit, key=lambda name: by_unit[name])
    recurrence, cycle = recurrence_bound(problem)
    in_order = [o for o in problem.operations if o.asynchronous and problem.rules == "issue"]
    issues = [(o.issue, o.name) for o in in_order]
    longest = max(issues, key=lambda issue: issue[0], default=(0, ""))
    return Bounds(by_unit, unit, recurrence, cycle, *longest)


@dataclass(frozen=True)
class ResourceArgument:
    """Why a unit needs so much time: work that is summed up, whole units and parts apart.

    `capacity`: instances of it.
    `value`: the least interval that the argument allows.
    `whole`: operations with length and count whose reservations exclude every other one that is
    counted, so that each takes the whole unit for its length.
    `parts`: operations whose reservations are summed as length times count, over the capacity.
    `alone`: whether a single reservation has to fit with its own next instances.
    """

    unit: str
    capacity: int
    value: int
    whole: tuple[tuple[str, int, int], ...]
    parts: tuple[tuple[str, int, int], ...]
    alone: bool = False


def resource_bound(problem: Problem, unit: str) -> int:
    """Return the least interval at which a unit has time for one iteration's work.

    Each reservation has to fit with its own next instances. For any threshold t up to half of the
    capacity, a reservation of more than capacity - t excludes all of t and more. Such a reservation
    counts as the whole unit, and reservations below t do not count. These are the dual feasible
    functions of bin packing (Fekete and Schepers 2001).
    """
    return resource_argument(problem, unit).value


def resource_argument(problem: Problem, unit: str) -> ResourceArgument:
    """Return the argument that gives `resource_bound`, the plain sum of all work if it does."""
    capacity = problem.capacities[unit]
    mine = [
        (o.name, r.length, r.count)
        for o in problem.operations
        for r in o.reservations
        if r.unit == unit
    ]
    alone = [
        ResourceArgument(unit, capacity, -(-length // (capacity // count)), (), (one,), alone=True)
        for one in mine
        for _, length, count in (one,)
    ]
    counts = {min(2 * count, capacity) for _, _, count in mine}
    plain, *others = (_summed(unit, capacity, mine, doubled) for doubled in (0, *sorted(counts)))
    return max([plain, *alone, *others], key=lambda argument: argument.value)


def _summed(
    unit: str, capacity: int, mine: Sequence[tuple[str, int, int]], doubled: int
) -> ResourceArgument:
    """Return what reservations of at least half of `doubled`, the threshold, take together."""
    most = 2 * capacity - doubled
    whole = tuple(one for one in mine if 2 * one[2] > most)
    parts = tuple(one for one in mine if doubled <= 2 * one[2] <= most)
    part = sum(length * count for _, length, count in parts)
    value = sum(length for _, length, _ in whole) + -(-part // capacity)
    return ResourceArgument(unit, capacity, value, whole, parts)


def recurrence_bound(problem: Problem) -> tuple[int, tuple[str, ...]]:
    """Return RecMII and the operations of the recurrence that sets it."""
    low, high = 0, sum(delay for _, _, delay in delays(problem, 0)) + 1
    cycle: list[int] = []
    while low < high:
        middle = (low + high) // 2
        found = _positive_cycle(len(problem.operations), delays(problem, middle))
        if found:
            low, cycle = middle + 1, found
        else:
            high = middle
    return low, tuple(problem.operations[v].name for v in cycle)


def _positive_cycle(size: int, arcs: Sequence[tuple[int, int, int]]) -> list[int]:
    """Return a cycle of arcs (u, v, weight) that is longer than 0 (Bellman-Ford)."""
    distance = [0] * size
    before = [-1] * size
    changed = -1
    for _ in range(size):
        changed = -1
        for u, v, weight in arcs:
            if distance[u] + weight > distance[v]:
                distance[v], before[v], changed = distance[u] + weight, u, v
        if changed < 0:
            return []
    node = changed
    for _ in range(size):
        node = before[node]
    cycle = [node]
    while before[cycle[-1]] != node:
        cycle.append(before[cycle[-1]])
    return cycle[::-1]
