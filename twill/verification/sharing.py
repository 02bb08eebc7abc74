"""Registers of groups, whichever operations share them: docs/bounds.md."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from twill.artifacts.loop import Dependence
from twill.artifacts.pieces import pieces
from twill.verification.argued import ROUNDING, Argued

MOST_NAMES = 8  # all ways to divide more among groups are too many
Mask = int  # operations of a group, a bit each


class SharedGroups:
    """All ways for some operations to share groups.

    Attributes
    ----------
    known : bool
        Whether the argument is one for these operations.
    """

    def __init__(self, argued: Argued, names: tuple[str, ...]) -> None:
        self.argued, self.names = argued, names
        self.position = {name: position for position, name in enumerate(names)}
        self.size = {
            o.name: o.result.registers_each(argued.machine.threads(o.warps))
            for o in argued.loop.operations
            if o.result is not None and o.result.memory == "registers"
        }
        self.file = argued.machine.registers
        self.known = (
            0 < len({*names}) == len(names) <= MOST_NAMES
            and {*names} <= self.size.keys() - pieces(argued.loop).keys()
            and self.file is not None
            and all(self._wide(name) for name in names)
        )
        if not self.known:
            return
        self.over = [d for d in argued.reads if d.in_place or d is self._rewritten(d.consumer)]
        self.inside = [d for d in argued.reads if {d.producer, d.consumer} <= {*names}]

    def _wide(self, name: str) -> bool:
        assert self.file is not None
        warps = self.argued.operations[name].warps
        return warps % self.file.warps.value == 0 and not self.argued.costs[name].variable_latency

    def _rewritten(self, name: str) -> Dependence | None:
        """Return the widest operand that is no narrower than an element-wise result."""
        mine = self.size.get(name, 0)
        if not self.argued.operations[name].elementwise or not mine:
            return None
        updated = {d.producer for d in self.argued.reads if d.in_place}
        found: Dependence | None = None
        for d in self.argued.reads:
            wide = self.size.get(d.producer, 0)
            if d.consumer == name and d.producer not in updated and wide >= mine:
                found = d if found is None or wide > self.size[found.producer] else found
        return found

    def allow(self, interval: float) -> bool:
        """Whether some way is not excluded at an interval."""
        paths = self.argued.paths(interval)
        if paths is None:
            return False
        live = [self._live(mask, interval, paths) for mask in range(1 << len(self.names))]
        every = (1 << len(self.names)) - 1
        return any(
            self._fit(way, live) and self._keep_up(way, interval)
            for way in _divided(every, [used is not None for used in live])
        )

    # -- one group ----------------------------------------------------------------------------

    def _live(self, mask: Mask, interval: float, paths: NDArray[np.float64]) -> int | None:
        """Return the registers of a thread that a group needs; None if they are too few."""
        assert self.file is not None
        within = {name for name in self.names if mask >> self.position[name] & 1}
        kept, circling = self._circles(within)
        free = min(self.file.limit.value, self.file.most.value)
        free -= math.ceil(self.file.reserve.value) + kept
        peak, busy = 0, 0.0
        for name in within:
            own = 0 if name in circling else self.size[name]
            shared, apart = [own], 0
            for d in self.inside:
                if d.consumer != name or d.producer in circling or d.producer == name:
                    continue
                wide = self.size[d.producer]
                if d in self.over:
                    shared.append(wide)
                else:
                    apart += wide
                if d.producer not in within and 2 * wide > free:
                    transfer = self.argued.costs[d.producer].transfer
                    busy += math.ceil(transfer / 2) + max(0.0, self._holds(d, free))
            peak = max(peak, apart + (max(shared) if own else 0))
            if 2 * own > free:
                busy += self._lives(name, within, circling, free, interval, paths)
        return None if peak > free or busy > interval * (1 + ROUNDING) else kept + peak

    def _circles(self, within: set[str]) -> tuple[int, set[str]]:
        """Return the registers of what circles of results take throughout, and who is in one."""
        following: dict[str, list[Dependence]] = {name: [] for name in within}
        for d in self.over:
            if {d.producer, d.consumer} <= within:
                following[d.producer].append(d)
        kept, members = 0, set[str]()
        for first in self.names:
            if first in within - members:
                circle = self._around(first, following, members)
                if circle:
                    kept += sum(d.distance for d in circle) * min(
                        self.size[d.producer] for d in circle
                    )
                    members |= {d.producer for d in circle}
        return kept, members

    def _around(
        self, first: str, following: dict[str, list[Dependence]], without: set[str]
    ) -> list[Dependence]:
        """Return a circle through an operation that avoids others, empty if there is none."""
        pending: list[list[Dependence]] = [[d] for d in following[first]]
        while pending:
            way = pending.pop()
            last = way[-1].consumer
            if last == first:
                return way
            if last not in without and last not in {d.producer for d in way}:
                pending += [[*way, d] for d in following[last]]
        return []

    def _holds(self, d: Dependence, free: int) -> float:
        """Return for how long a reader keeps what it reads from its start; negative if not so long.

        It may hand it over before it starts where its result takes it over and is no large one.
        """
        reader = self.argued.operations[d.consumer]
        issued = float(self.argued.until_read(reader))
        if d.consumer not in self.argued.commanded:
            last = self.argued.costs[d.consumer].steps[-1]
            issued -= float(self.argued.pace(reader, last)[0])
        if d not in self.over:
            return issued
        if 2 * self.size[d.consumer] > free:
            return 0.0
        return -math.inf if d.in_place else issued

    def _lives(
        self,
        name: str,
        within: set[str],
        circling: set[str],
        free: int,
        interval: float,
        paths: NDArray[np.float64],
    ) -> float:
        """Return how long a result is in registers at least."""
        index = {n: position for position, n in enumerate(self.argued.operations)}
        mine = [d for d in self.argued.reads if d.producer == name]
        takers = [d.consumer for d in mine if d in self.over]
        contended = any(sum(o.consumer == taker for o in self.over) > 1 for taker in takers)
        readers = [d for d in mine if not self.argued.accumulates(d)]
        if contended or circling.intersection(takers) or not readers:
            return 0.0
        ends = [float(self.argued.until_readable(name))]
        for d in readers:
            if d.consumer in within:
                began = paths[index[name], index[d.consumer]] + d.distance * interval
                ends.append(began + self._holds(d, free))
        return max(ends)

    # -- all groups ---------------------------------------------------------------------------

    def _fit(self, way: list[Mask], live: list[int | None]) -> bool:
        """Whether a launch has the registers that the groups are allocated."""
        assert self.file is not None
        width, step = self.file.warps.value, self.file.step.value
        loads = any(cost.variable_latency for cost in self.argued.costs.values())
        asked, sets = 0, 0
        if loads:
            asked, sets = self.file.least.value, 1
        for mask in way:
            most = max(
                self.argued.operations[name].warps
                for name in self.names
                if mask >> self.position[name] & 1
            )
            needed = (live[mask] or 0) + math.ceil(self.file.reserve.value)
            each = max(self.file.least.value, math.ceil(needed / step) * step)
            asked, sets = asked + each * (most // width), sets + most // width
        total = self.argued.machine.warps.value // width
        return any(
            asked + (launched - sets) * self.file.least.value <= self._launched(launched)
            for launched in range(sets, total + 1)
        )

    def _launched(self, sets: int) -> int:
        """Return the registers per thread that a launch of so many sets of warps gets."""
        assert self.file is not None
        there = self.file.file.value // self.argued.machine.threads(self.file.warps.value)
        if self.file.launch is None or not sets:
            return there
        each = math.floor(there / sets / self.file.launch.value) * self.file.launch.value
        return min(each, self.file.most.value) * sets

    def _keep_up(self, way: list[Mask], interval: float) -> bool:
        """Whether no recurrence takes longer, with what passes between groups."""
        home = {
            name: mask for mask in way for name in self.names if mask >> self.position[name] & 1
        }
        later = {
            position: self.argued.costs[d.producer].transfer
            for position, d in enumerate(self.argued.reads)
            if d in self.inside and home[d.producer] != home[d.consumer]
        }
        return self.argued.paths(interval, later) is not None


def _divided(every: Mask, possible: list[bool]) -> Iterator[list[Mask]]:
    """Yield the ways to divide operations into groups that are possible by themselves."""
    if not every:
        yield []
        return
    lowest = every & -every
    rest = every ^ lowest
    others = rest
    while True:
        if possible[others | lowest]:
            for way in _divided(rest ^ others, possible):
                yield [others | lowest, *way]
        if not others:
            return
        others = (others - 1) & rest
