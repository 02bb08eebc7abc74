"""The strategy of a schedule, named from the schedule itself: roles, overlaps, hoists."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from twill.artifacts.schedule import Schedule
from twill.problem import build_problem
from twill.studies.reproduce.roles import Role, roles_of

Window = tuple[float, float]


@dataclass(frozen=True)
class Windows:
    """When each operation works, iteration by iteration.

    Attributes
    ----------
    of : dict
        Begin and end in cycles of the work of each operation, in consecutive iterations.
    middle : range
        Iterations around which all others are there too.
    interval_cycles : float
        From one iteration to the next.
    """

    of: Mapping[str, Mapping[int, Window]]
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
            i: (
                schedule.start[o.name] + i * interval,
                schedule.start[o.name] + i * interval + o.cycles,
            )
            for i in range(-stages, stages + 1)
        }
        for o in problem.operations
    }
    return Windows(windows, range(1), interval)


def _merged(windows: Iterable[Window]) -> list[Window]:
    merged: list[Window] = []
    for begin, end in sorted(windows):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


MOST = 0.5
"""Share of the time from which on one thing is said to happen under another."""


@dataclass(frozen=True)
class Strategy:
    """What a schedule does, in the terms of those who write such kernels by hand.

    Attributes
    ----------
    groups : dict
        For each warp group its roles, with the sub-tile where there is one: ``softmax 0``.
    under_others : dict
        For each sub-tile, the share of its exponentials' time in which products of other sub-tiles
        are computed (ping-pong).
    under_own : dict
        The same for its own products: those of the iterations before and after.
    hoisted : dict
        For each sub-tile, whether the prologue holds its first products and not its later ones:
        by ``start // interval`` where operations were placed, otherwise by their programs' stages.
    ahead : dict
        For each sub-tile, whether its first products of the next iteration begin before the later
        ones of this one, wherever rounds are said to begin.
    crossing : tuple of str
        Groups, those that load left out, in which an iteration's operations are issued before all
        of the iteration before are.
    features : dict
        Single properties, by what they are called; see `FEATURES`.
    names : tuple of str
        Published strategies all of whose properties it has; see `STRATEGIES`.
    """

    groups: dict[str, tuple[str, ...]]
    under_others: dict[int, float]
    under_own: dict[int, float]
    hoisted: dict[int, bool]
    ahead: dict[int, bool]
    crossing: tuple[str, ...]
    features: dict[str, bool]
    names: tuple[str, ...]

    def lacks(self, name: str) -> list[str]:
        """Return the properties of a published strategy that this one does not have."""
        return [feature for feature in STRATEGIES[name] if not self.features[feature]]


def strategy(schedule: Schedule, windows: Windows | None = None) -> Strategy:
    """Say what a schedule's strategy is.

    `windows`: when its operations work; as they were placed without it.
    """
    facts = _Facts(schedule, windows or scheduled(schedule))
    features = {name: test(facts) for name, test in FEATURES.items()}
    return Strategy(
        groups={group: tuple(sorted(roles)) for group, roles in facts.doing.items()},
        under_others=facts.under_others,
        under_own=facts.under_own,
        hoisted=facts.hoisted,
        ahead=facts.ahead,
        crossing=facts.crossing,
        features=features,
        names=tuple(n for n, needed in STRATEGIES.items() if all(features[f] for f in needed)),
    )


class _Facts:
    """What the features are read from."""

    def __init__(self, schedule: Schedule, windows: Windows) -> None:
        self.roles = roles_of(schedule.loop, schedule.machine)
        self.windows, self.group = windows, schedule.assignment
        self.stage, self._crossing = _stages(schedule), _crossing(schedule)
        self.tiles = [t for t in self.roles.tiles if self.roles.named("softmax", tile=t)]

    @cached_property
    def doing(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for name, role in self.roles.role.items():
            tile = self.roles.tile.get(name)
            found[self.group[name]].add(role if tile is None else f"{role} {tile}")
        return dict(found)

    def where(self, *roles: Role, tile: int | None = None) -> set[str]:
        return {self.group[name] for name in self.roles.named(*roles, tile=tile)}

    def only(self, *roles: Role) -> bool:
        """Whether some roles are there, and their groups have no others."""
        groups = self.where(*roles)
        mine = set(self.roles.named(*roles))
        return bool(mine) and all(o in mine for o, group in self.group.items() if group in groups)

    @cached_property
    def under_others(self) -> dict[int, float]:
        products = self.roles.named("first product", "later product")
        return {
            t: self.windows.share_under(
                self._exponentials(t), [p for p in products if self.roles.tile[p] != t]
            )
            for t in self.tiles
        }

    @cached_property
    def under_own(self) -> dict[int, float]:
        return {
            t: self.windows.share_under(
                self._exponentials(t), self.roles.named("first product", "later product", tile=t)
            )
            for t in self.tiles
        }

    def _exponentials(self, tile: int) -> list[str]:
        return [e for e in self.roles.exponentials if self.roles.tile.get(e) == tile]

    @cached_property
    def hoisted(self) -> dict[int, bool]:
        first: Role = "first product"
        later: Role = "later product"
        return {
            t: bool(self.roles.named(later, tile=t))
            and max(self.stage[name] for name in self.roles.named(first, tile=t))
            < min(self.stage[name] for name in self.roles.named(later, tile=t))
            for t in self.tiles
        }

    @cached_property
    def ahead(self) -> dict[int, bool]:
        """A round later the first product is still before this round's later ones."""
        begin = {
            name: windows[self.windows.middle[0]][0] for name, windows in self.windows.of.items()
        }
        soon = {n: b + self.windows.interval_cycles for n, b in begin.items()}
        return {
            t: bool(self.roles.named("later product", tile=t))
            and max(soon[f] for f in self.roles.named("first product", tile=t))
            <= min(begin[p] for p in self.roles.named("later product", tile=t))
            for t in self.tiles
        }

    @cached_property
    def crossing(self) -> tuple[str, ...]:
        loading = self.where("load")
        return tuple(g for g in self._crossing if g not in loading)

    def together(self, role: Role) -> bool:
        return len(self.where(role)) == 1

    def one_each(self, role: Role) -> bool:
        """Whether each sub-tile has it on one group, and no two on the same."""
        groups = [self.where(role, tile=t) for t in self.tiles]
        return (
            len(groups) > 1
            and all(len(g) == 1 for g in groups)
            and len(set().union(*groups)) == len(groups)
        )

    def within(self, role: Role, other: Role) -> bool:
        """Whether each sub-tile has one role on a group that has another of its roles."""
        return all(self.where(role, tile=t) <= self.where(other, tile=t) for t in self.tiles)


def _stages(schedule: Schedule) -> dict[str, int]:
    """Return the stage of each operation, by its placement or its group's program."""
    if schedule.start and schedule.initiation_interval:
        return {name: at // schedule.initiation_interval for name, at in schedule.start.items()}
    return {i.operation: i.stage for program in schedule.programs for i in program.issues}


def _crossing(schedule: Schedule) -> list[str]:
    """Return groups that begin an iteration before they are through with the one before."""
    found = []
    for program in schedule.programs:
        issues = list(program.issues)
        places = [issue.stage * len(issues) + place for place, issue in enumerate(issues)]
        if places and max(places) - min(places) >= len(issues):
            found.append(program.group)
    return sorted(found)


def _mean(shares: dict[int, float]) -> float:
    return statistics.mean(shares.values())


FEATURES: dict[str, Callable[[_Facts], bool]] = {
    "loads on groups of their own": lambda f: f.only("load"),
    "products on a group of their own": lambda f: (
        f.only("first product", "later product")
        and len(f.where("first product", "later product")) == 1
    ),
    "products on the softmax groups": lambda f: (
        f.within("first product", "softmax") and f.within("later product", "softmax")
    ),
    "each sub-tile's softmax on a group of its own": lambda f: f.one_each("softmax"),
    "rescaling on the softmax groups": lambda f: (
        bool(f.where("rescaling")) and f.within("rescaling", "softmax")
    ),
    "rescaling of all sub-tiles on a third group": lambda f: (
        f.together("rescaling") and not f.where("rescaling") & f.where("softmax")
    ),
    "rescaling on a group of its own": lambda f: f.only("rescaling"),
    "first product of every sub-tile hoisted": lambda f: bool(f.tiles) and all(f.hoisted.values()),
    "first product of some sub-tile hoisted": lambda f: any(f.hoisted.values()),
    "first products ahead of the last iteration's second": lambda f: any(f.ahead.values()),
    "exponentials under other sub-tiles' products": lambda f: (
        len(f.tiles) > 1 and _mean(f.under_others) >= MOST
    ),
    "exponentials under products": lambda f: (
        bool(f.tiles) and _mean(f.under_others) + _mean(f.under_own) >= MOST
    ),
    "iterations overlap inside a group": lambda f: bool(f.crossing),
}
"""Single properties; see docs/results.md for what each means."""

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
"""FlashAttention-3 (paper, sections 3.1 and 3.2) and -4 (Twill's paper, section 6.2.2)."""
