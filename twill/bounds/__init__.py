"""Lower bounds on the initiation interval that need no search: ResMII, RecMII and their kin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from twill.bounds.configurations import ConfigurationBound, configuration_bound
from twill.problem import Problem, rules
from twill.problem.groups import WarpGroup, shares
from twill.problem.lifetimes import register_ends

NO_PATH = -(1 << 62)


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

    Attributes
    ----------
    unit : str
        The unit.
    capacity : int
        Instances of it.
    value : int
        The least interval that the argument allows.
    whole : tuple of (str, int, int)
        Operations with length and count whose reservations exclude every other one that is
        counted, so that each takes the whole unit for its length.
    parts : tuple of (str, int, int)
        Operations whose reservations are summed as length times count, over the capacity.
    alone : bool
        Whether it is one reservation that has to fit beside its own next instances.
    """

    unit: str
    capacity: int
    value: int
    whole: tuple[tuple[str, int, int], ...]
    parts: tuple[tuple[str, int, int], ...]
    alone: bool = False


def resource_bound(problem: Problem, unit: str) -> int:
    """Return the least interval at which a unit has time for one iteration's work.

    Each reservation has to fit beside its own next instances. Beyond that, for any threshold t up
    to half of the capacity, a reservation of more than capacity - t excludes all of t and more, so
    that it may be counted as the whole unit if those below t are not counted at all (the dual
    feasible functions of bin packing, Fekete and Schepers 2001).
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


def longest_paths(problem: Problem, interval: int) -> NDArray[np.int64] | None:
    """Return D with M(v) - M(u) >= D[u, v] in every schedule (see `longest`)."""
    return longest(len(problem.operations), delays(problem, interval))


def delays(problem: Problem, interval: int) -> list[tuple[int, int, int]]:
    """Return (u, v, weight) of every dependence: M(v) - M(u) >= weight."""
    return [
        (e.producer, e.consumer, problem.least_delay(i) - e.distance * interval)
        for i, e in enumerate(problem.edges)
    ]


def longest(size: int, arcs: Iterable[tuple[int, int, int]]) -> NDArray[np.int64] | None:
    """Return D with M(v) - M(u) >= D[u, v] wherever arcs (u, v, weight) hold.

    Returns: `NO_PATH` where nothing is implied; None if the arcs contradict each other.
    """
    matrix = np.full((size, size), NO_PATH, dtype=np.int64)
    np.fill_diagonal(matrix, 0)
    for u, v, weight in arcs:
        matrix[u, v] = max(matrix[u, v], weight)
    return closure(matrix)


def closure(matrix: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the longest paths of a graph, or None if a cycle is longer than 0.

    `matrix`: the longest arc from node to node, `NO_PATH` where there is none, at least 0 from a
    node to itself.
    """
    matrix = matrix.copy()
    for k in range(len(matrix)):
        via = matrix[:, k, None] + matrix[None, k, :]
        reachable = (matrix[:, k, None] > NO_PATH) & (matrix[None, k, :] > NO_PATH)
        np.maximum(matrix, np.where(reachable, via, NO_PATH), out=matrix)
    return None if (np.diagonal(matrix) > 0).any() else matrix


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


def least_length(problem: Problem, interval: int) -> int:
    """Return the least time that an iteration takes whatever the resources."""
    paths = longest_paths(problem, interval)
    cycles = [o.cycles for o in problem.operations]
    return max(cycles) if paths is None else int((paths.max(axis=0) + cycles).max())


def least_stages(problem: Problem, interval: int) -> int:
    """Return how many intervals an iteration takes at least."""
    return max(1, -(-least_length(problem, interval) // interval))


RELAXED = ("dependence", "registers")


def lacks_registers(problem: Problem, interval: int, groups: Sequence[WarpGroup]) -> bool:
    """Return whether values take more registers for longer than all wide groups have together.

    In every interval each value lives at least as long as the longest path to its readers, so that
    its registers times that time are taken; what the register file can give to groups, less the
    reserve of each, times the interval is offered.
    """
    file = problem.registers
    if file is None:
        return False
    wide = [group for group in groups if group.warps >= file.warps]
    blocks = sum(share.blocks for share in shares(file, groups))
    most = max(rules.pool(file, count) for count in range(1, blocks + 1))
    offered = max(
        (
            min(count * wide[0].live_limit, most - count * file.reserve)
            for count in range(1, len(wide) + 1)
        ),
        default=0,
    )
    least = least_lifetimes(problem, interval)
    taken = sum(o.registers * least[o.index] for o in problem.operations if o.warps >= file.warps)
    return taken > offered * interval


def average_registers(problem: Problem, interval: int) -> list[int]:
    """Return how many registers per thread each result takes on average, at least."""
    least = least_lifetimes(problem, interval)
    return [o.registers * least[o.index] // interval for o in problem.operations]


def least_lifetimes(problem: Problem, interval: int) -> list[int]:
    """Return for how long each result is in registers at least, wherever its readers are."""
    paths = longest_paths(problem, interval)
    return [
        0
        if paths is None or not o.registers
        else _least_lifetime(problem, interval, o.index, paths[o.index].tolist())
        for o in problem.operations
    ]


def _least_lifetime(problem: Problem, interval: int, v: int, after: Sequence[int]) -> int:
    """Return a bound below the time for which v's registers are taken, wherever readers are.

    `after`: the least time from v's issue to each other one, if any.
    """
    pairs: dict[tuple[int, int] | None, list[int]] = {}
    least = 0
    for end in register_ends(problem, v):
        reached = max(0, after[end.operation] + end.offset + end.iterations * interval)
        pair = end.same or end.apart
        if pair is None or pair[0] == pair[1]:
            least = max(least, reached if end.apart is None else 0)
        else:
            pairs.setdefault(pair, []).append(reached)
    return max([least, *(min(ends) for ends in pairs.values())])
