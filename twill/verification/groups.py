"""Registers of operations that share warp groups, as the judge counts them: docs/bounds.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from twill.artifacts.hardware import Registers
from twill.artifacts.loop import Dependence
from twill.artifacts.pieces import pieces
from twill.verification.argued import Argued

MOST_NAMES = 8  # all ways to divide more among groups are too many
Names = tuple[str, ...]


@dataclass(frozen=True)
class SharedGroup:
    """Registers of a thread of the group that some operations have to themselves.

    `peaks`: with each operation's operands; `kept`: always; `free`: of others; `large`: results
    that exclude each other; `copied`: cycles of copies that exclude these.
    """

    peaks: dict[str, int]
    kept: int
    free: int
    large: Names
    copied: Fraction


class SharedGroups:
    """Ways for some operations to share groups on a machine with a register file."""

    def __init__(self, argued: Argued, names: Names, file: Registers) -> None:
        self.argued, self.names, self.file = argued, names, file
        self.size = {
            o.name: o.result.registers_each(argued.machine.threads(o.warps))
            for o in argued.loop.operations
            if o.result is not None and o.result.memory == "registers"
        }
        self.over = [d for d in argued.reads if d.in_place or d is self._rewritten(d.consumer)]
        self.inside = [d for d in argued.reads if {d.producer, d.consumer} <= {*names}]

    @property
    def known(self) -> bool:
        """Whether the rules are about these operations."""
        return (
            0 < len({*self.names}) == len(self.names) <= MOST_NAMES
            and {*self.names} <= self.size.keys() - pieces(self.argued.loop).keys()
            and all(map(self._wide, self.names))
        )

    def _wide(self, name: str) -> bool:
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

    # -- one group ----------------------------------------------------------------------------

    def group(self, within: Names) -> SharedGroup:
        """Return the registers of a thread of a group."""
        kept, circling = self._circles(within)
        free = min(self.file.limit.value, self.file.most.value)
        free -= math.ceil(self.file.reserve.value) + kept
        peaks, large, copied = dict[str, int](), list[str](), Fraction(0)
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
                    copied += math.ceil(transfer / 2) + (self.holds(d, free) or 0)
            peaks[name] = apart + (max(shared) if own else 0)
            if 2 * own > free and self._lasts(name, circling):
                large.append(name)
        return SharedGroup(peaks, kept, free, tuple(large), copied)

    def _circles(self, within: Names) -> tuple[int, set[str]]:
        """Return the registers that circles of results take throughout, and their operations."""
        following: dict[str, list[Dependence]] = {name: [] for name in within}
        for d in self.over:
            if {d.producer, d.consumer} <= {*within}:
                following[d.producer].append(d)
        kept, members = 0, set[str]()
        for first in self.names:
            if first in {*within} - members:
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

    def holds(self, d: Dependence, free: int) -> Fraction | None:
        """Return for how long a reader keeps what it reads from its start; None if not so long.

        A reader may free the registers before its start if its small result takes them over.
        """
        reader = self.argued.operations[d.consumer]
        issued = self.argued.until_read(reader)
        if d.consumer not in self.argued.commanded:
            last = self.argued.costs[d.consumer].steps[-1]
            issued -= self.argued.pace(reader, last)[0]
        if d not in self.over:
            return issued
        if 2 * self.size.get(d.consumer, 0) > free:
            return Fraction(0)
        return None if d.in_place else issued

    def _lasts(self, name: str, circling: set[str]) -> bool:
        """Whether a result is in registers until it can be read, and until it has been."""
        mine = [d for d in self.argued.reads if d.producer == name]
        takers = [d.consumer for d in mine if d in self.over]
        contended = any(sum(o.consumer == taker for o in self.over) > 1 for taker in takers)
        read = any(not self.argued.accumulates(d) for d in mine)
        return read and not contended and not circling.intersection(takers)

    # -- all groups ---------------------------------------------------------------------------

    def excess(self, way: Sequence[Names]) -> int:
        """Return the registers per thread that some groups are allocated above any launch."""
        least, width, step = self.file.least.value, self.file.warps.value, self.file.step.value
        asked = sets = int(any(cost.variable_latency for cost in self.argued.costs.values()))
        asked *= least
        for names in way:
            of = self.group(names)
            needed = of.kept + max(of.peaks.values()) + math.ceil(self.file.reserve.value)
            mine = max(self.argued.operations[name].warps for name in names) // width
            asked += max(least, math.ceil(needed / step) * step) * mine
            sets += mine
        total = self.argued.machine.warps.value // width
        rooms = (
            self._launched(launched) - (launched - sets) * least
            for launched in range(sets, total + 1)
        )
        return asked - max(rooms, default=0)

    def _launched(self, sets: int) -> int:
        """Return the registers per thread that a launch of so many sets of warps gets."""
        there = self.file.file.value // self.argued.machine.threads(self.file.warps.value)
        if self.file.launch is None or not sets:
            return there
        each = math.floor(there / sets / self.file.launch.value) * self.file.launch.value
        return min(each, self.file.most.value) * sets


def divisions(names: Sequence[str]) -> Iterator[set[frozenset[str]]]:
    """Yield all ways to divide operations among groups."""
    if not names:
        yield set()
        return
    first, *others = names
    for way in divisions(others):
        yield way | {frozenset([first])}
        for group in way:
            yield way - {group} | {group | {first}}
