"""The strategy of a schedule, named from the schedule itself: roles, overlaps, hoists.

Roles, what the operations of a loop are for, are found in its dependences and never in its names.
First products need no other product of their iteration; later ones do. A sub-tile is what hangs
together between first and later products: rows whose softmax, or whose part of a gradient, needs
nothing of the other rows.
"""

from __future__ import annotations

import functools
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from twill.artifacts.loop import Loop, Operation
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.lower.baselines import components
from twill.problem import build_problem
from twill.sim.engine import UNMODELLED
from twill.sim.engine.record import Recording
from twill.sim.execute import run

Role = Literal[
    "load",  # of variable latency
    "first product",
    "later product",
    "softmax",  # what a sub-tile computes between its products
    "rescaling",  # of an accumulator before a product adds to it
    "staging",  # what becomes of a finished product inside the loop: the store of a reduction
    "preparation",  # of what was loaded
]
FIRST: Role = "first product"
LATER: Role = "later product"
PRODUCT, EXPONENTIAL = "mma", "exp2"
Window = tuple[float, float]
SIMULATED_ITERATIONS = 32
MIDDLE = (14, 22)  # iterations whose windows count: the pipeline is full and has not begun to drain
MOST = 0.5  # share of the time from which on one thing is said to happen under another


@dataclass(frozen=True)
class Roles:
    """Roles and sub-tiles of operations."""

    role: Mapping[str, Role]
    # Of products, softmax and rescaling the sub-tile, counted from 0.
    tile: Mapping[str, int]
    # Of whole tiles, not those of one number a row.
    exponentials: tuple[str, ...]

    @property
    def tiles(self) -> list[int]:
        """Every sub-tile."""
        return sorted(set(self.tile.values()))

    def named(self, *roles: Role, tile: int | None = None) -> list[str]:
        """Return the operations that have one of some roles, in program order."""
        return [
            name
            for name, role in self.role.items()
            if role in roles and (tile is None or self.tile.get(name) == tile)
        ]


def roles_of(loop: Loop, machine: Machine) -> Roles:
    """Say what each operation of a loop is for."""
    loads = {o.name for o in loop.operations if machine.cost(o).variable_latency}
    products = {o.name for o in loop.operations if o.kind == PRODUCT}
    before = _before(loop)
    later = {name for name in products if before[name] & products}
    # What only a later product makes, and no first one feeds otherwise, is no sub-tile's own.
    tied = loop.model_copy(
        update={"dependences": tuple(d for d in loop.dependences if d.producer not in later)}
    )
    fed = [o for o in loop.operations if o.name in products or before[o.name] & products]
    tiles = [tile for tile in components(tied, fed) if any(o.name in products for o in tile)]
    tile = {o.name: number for number, members in enumerate(tiles) for o in members}
    rescaling = {
        d.producer
        for d in loop.dependences
        if d.in_place and d.consumer in later and d.producer not in products
    }

    def role(operation: Operation) -> Role:
        name = operation.name
        if name in loads:
            return "load"
        if name in products:
            return LATER if name in later else FIRST
        if name in tile:
            return "rescaling" if name in rescaling else "softmax"
        return "staging" if before[name] & later else "preparation"

    found = {o.name: role(o) for o in loop.operations}
    tile = {name: number for name, number in tile.items() if found[name] != "staging"}
    exponentials = [o for o in loop.operations if o.kind == EXPONENTIAL]
    whole = tuple(o.name for o in exponentials if o.result and len(o.result.shape) > 1)
    return Roles(found, tile, whole)


def _before(loop: Loop) -> dict[str, frozenset[str]]:
    """Return for each operation all that it needs of its own iteration."""
    needs: dict[str, set[str]] = defaultdict(set)
    for dependence in loop.dependences:
        if not dependence.distance and dependence.kind == "data":
            needs[dependence.consumer].add(dependence.producer)

    @functools.cache
    def before(name: str) -> frozenset[str]:
        return frozenset(needs[name]).union(*map(before, needs[name]))

    return {o.name: before(o.name) for o in loop.operations}


@dataclass(frozen=True)
class Windows:
    """When each operation works, iteration by iteration."""

    # Begin and end in cycles of the work of each operation, in consecutive iterations.
    of: Mapping[str, Mapping[int, Window]]
    # Iterations around which all others are there too.
    middle: range
    interval_cycles: float

    def share_under(self, over: Iterable[str], under: Iterable[str]) -> float:
        """Return for what share of the time of some operations others work, 0 to 1."""
        others = _merged(window for name in under for window in self.of[name].values())
        mine = [self.of[name][i] for name in over for i in self.middle]
        total = sum(end - begin for begin, end in mine)
        shared = sum(
            max(0.0, min(end, stop) - max(begin, start))
            for begin, end in mine
            for start, stop in others
        )
        return shared / total if total else 0.0


def scheduled(schedule: Schedule) -> Windows:
    """Return the windows of a solved schedule, modulo its interval."""
    interval = schedule.initiation_interval
    assert interval is not None
    problem = build_problem(
        schedule.loop, schedule.machine, rules=schedule.rules, scale=schedule.time
    )
    stages = (schedule.stages or 1) + 1
    windows = {
        o.name: {
            i: (begin + i * interval, begin + i * interval + o.cycles)
            for i in range(-stages, stages + 1)
        }
        for o in problem.operations
        for begin in (schedule.start[o.name],)
    }
    return Windows(windows, range(1), interval)


def executed(schedule: Schedule) -> Windows:
    """Return the windows of any schedule, as the simulated SM executes it."""
    recording = Recording(iterations=None)
    found = run(schedule, iterations=SIMULATED_ITERATIONS, recording=recording, without=UNMODELLED)
    windows: dict[str, dict[int, Window]] = defaultdict(dict)
    works = _works(recording, schedule)
    for instance, start in recording.starts.items():
        name, iteration = instance
        windows[name][iteration] = works.get(instance, (start, recording.completions[instance]))
    interval = found.measured_interval_cycles or found.total_cycles / SIMULATED_ITERATIONS
    return Windows(windows, range(*MIDDLE), interval)


def _works(recording: Recording, schedule: Schedule) -> dict[tuple[str, int], Window]:
    """Return when units worked on asynchronous operations, which may wait in a queue first."""
    cost = schedule.machine.cost
    asynchronous = {o.name for o in schedule.loop.operations if cost(o).asynchronous}
    found: dict[tuple[str, int], Window] = {}
    for uses in recording.uses.values():
        for use in uses:
            if use.operation in asynchronous:
                key = use.operation, use.iteration
                begin, end = found.get(key, (use.begin, use.end))
                found[key] = min(use.begin, begin), max(use.end, end)
    return found


def _merged(windows: Iterable[Window]) -> list[Window]:
    merged: list[Window] = []
    for begin, end in sorted(windows):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


class Strategy:
    """Strategy of a schedule, in the terms of authors of hand-written kernels.

    `windows`: when its operations work; as they were placed without it.
    """

    def __init__(self, schedule: Schedule, windows: Windows | None = None) -> None:
        self.roles = roles_of(schedule.loop, schedule.machine)
        self.tiles = [t for t in self.roles.tiles if self.roles.named("softmax", tile=t)]
        self._schedule, self._group = schedule, schedule.assignment
        self._windows = windows or scheduled(schedule)

    @cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """For each warp group its roles, with the sub-tile where there is one: ``softmax 0``."""
        found: dict[str, set[str]] = defaultdict(set)
        for name, role in self.roles.role.items():
            tile = self.roles.tile.get(name)
            found[self._group[name]].add(role if tile is None else f"{role} {tile}")
        return {group: tuple(sorted(roles)) for group, roles in found.items()}

    @cached_property
    def under_others(self) -> dict[int, float]:
        """The share of each sub-tile's exponentials' time in which others' products are computed.

        That is ping-pong.
        """
        return {tile: self._share_under(tile, own=False) for tile in self.tiles}

    @cached_property
    def under_own(self) -> dict[int, float]:
        """The same for its own products: those of the iterations before and after."""
        return {tile: self._share_under(tile, own=True) for tile in self.tiles}

    def _share_under(self, tile: int, *, own: bool) -> float:
        of = self.roles.tile
        return self._windows.share_under(
            [e for e in self.roles.exponentials if of.get(e) == tile],
            [p for p in self.roles.named(FIRST, LATER) if (of[p] == tile) is own],
        )

    @cached_property
    def hoisted(self) -> dict[int, bool]:
        """Whether the prologue holds the first products of each sub-tile and not its later ones.

        By ``start // interval`` where operations were placed, otherwise by their programs' stages.
        """
        stages = _stages(self._schedule)
        return {
            tile: bool(later) and max(first) < min(later)
            for tile, first, later in self._products(stages)
        }

    @cached_property
    def ahead(self) -> dict[int, bool]:
        """Whether each sub-tile's first products begin before the last iteration's later ones.

        The answer does not depend on where rounds begin.
        """
        middle, interval = self._windows.middle[0], self._windows.interval_cycles
        begin = {name: windows[middle][0] for name, windows in self._windows.of.items()}
        return {
            tile: bool(later) and max(first) + interval <= min(later)
            for tile, first, later in self._products(begin)
        }

    def _products(self, at: Mapping[str, float]) -> Iterator[tuple[int, list[float], list[float]]]:
        """Yield each sub-tile with the times of its first products and of its later ones."""
        for tile in self.tiles:
            first = [at[name] for name in self.roles.named(FIRST, tile=tile)]
            later = [at[name] for name in self.roles.named(LATER, tile=tile)]
            yield tile, first, later

    @cached_property
    def crossing(self) -> tuple[str, ...]:
        """Groups that begin an iteration before they are through with the one before.

        Groups that load are left out.
        """
        found = []
        for program in self._schedule.programs:
            issues = list(program.issues)
            places = [issue.stage * len(issues) + place for place, issue in enumerate(issues)]
            if places and max(places) - min(places) >= len(issues):
                found.append(program.group)
        return tuple(sorted(set(found) - self.where("load")))

    @cached_property
    def features(self) -> dict[str, bool]:
        """Single properties, by what they are called."""
        return {name: test(self) for name, test in FEATURES.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """Published strategies all of whose properties it has."""
        return tuple(name for name in STRATEGIES if not self.lacks(name))

    def lacks(self, name: str) -> list[str]:
        """Return the properties of a published strategy that this one does not have."""
        return [feature for feature in STRATEGIES[name] if not self.features[feature]]

    def where(self, *roles: Role, tile: int | None = None) -> set[str]:
        """Return the groups that have some roles."""
        return {self._group[name] for name in self.roles.named(*roles, tile=tile)}

    def only(self, *roles: Role) -> bool:
        """Return whether some roles are there, and their groups have no others."""
        groups, mine = self.where(*roles), set(self.roles.named(*roles))
        return bool(mine) and all(o in mine for o, group in self._group.items() if group in groups)

    def one_each(self, role: Role) -> bool:
        """Return whether each sub-tile has a role on one group, and no two on the same."""
        groups = [self.where(role, tile=t) for t in self.tiles]
        return (
            len(groups) > 1
            and all(len(g) == 1 for g in groups)
            and len(set().union(*groups)) == len(groups)
        )

    def within(self, role: Role, other: Role) -> bool:
        """Return whether each sub-tile has one role on a group that has another of its roles."""
        return all(self.where(role, tile=t) <= self.where(other, tile=t) for t in self.tiles)


def _stages(schedule: Schedule) -> dict[str, int]:
    """Return the stage of each operation, by its placement or its group's program."""
    if schedule.start and schedule.initiation_interval:
        return {name: at // schedule.initiation_interval for name, at in schedule.start.items()}
    return {i.operation: i.stage for program in schedule.programs for i in program.issues}


def _mean(shares: dict[int, float]) -> float:
    return statistics.mean(shares.values())


# docs/results.md says what each means.
FEATURES: dict[str, Callable[[Strategy], bool]] = {
    "loads on groups of their own": lambda s: s.only("load"),
    "products on a group of their own": lambda s: (
        s.only(FIRST, LATER) and len(s.where(FIRST, LATER)) == 1
    ),
    "products on the softmax groups": lambda s: (
        s.within(FIRST, "softmax") and s.within(LATER, "softmax")
    ),
    "each sub-tile's softmax on a group of its own": lambda s: s.one_each("softmax"),
    "rescaling on the softmax groups": lambda s: (
        bool(s.where("rescaling")) and s.within("rescaling", "softmax")
    ),
    "rescaling of all sub-tiles on a third group": lambda s: (
        len(s.where("rescaling")) == 1 and not s.where("rescaling") & s.where("softmax")
    ),
    "first product of every sub-tile hoisted": lambda s: bool(s.tiles) and all(s.hoisted.values()),
    "first product of some sub-tile hoisted": lambda s: any(s.hoisted.values()),
    "exponentials under other sub-tiles' products": lambda s: (
        len(s.tiles) > 1 and _mean(s.under_others) >= MOST
    ),
    "exponentials under products": lambda s: (
        bool(s.tiles) and _mean(s.under_others) + _mean(s.under_own) >= MOST
    ),
}
# FlashAttention-3 (paper, sections 3.1 and 3.2) and -4 (Twill's paper, section 6.2.2).
STRATEGIES: dict[str, tuple[str, ...]] = {
    "FlashAttention-3": (
        "loads on groups of their own",
        "products on the softmax groups",
        "each sub-tile's softmax on a group of its own",
        "rescaling on the softmax groups",
        "first product of some sub-tile hoisted",
        "exponentials under other sub-tiles' products",
    ),
    "FlashAttention-4": (
        "loads on groups of their own",
        "products on a group of their own",
        "each sub-tile's softmax on a group of its own",
        "rescaling of all sub-tiles on a third group",
        "first product of every sub-tile hoisted",
        "exponentials under other sub-tiles' products",
    ),
}


def percent(share: float) -> str:
    """Return a share of the time as people read it."""
    return f"{100 * share:.0f} %"
