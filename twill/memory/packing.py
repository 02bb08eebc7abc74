"""Disjoint address ranges for buffers of which some may share them.

First fit in several orders, then an exact search over integer inequalities by Yices.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from twill.base.errors import SolverError
from twill.solvers import Formulas

SECOND = 1  # of the halves of the lanes
SHUFFLES = 12  # random orders that are tried beside the ordered ones before the exact search
KEPT = 4096  # last answers: schedules that differ in little ask the same


@dataclass(frozen=True)
class Buffer:
    """`count` ranges of `size` bytes or columns that are all disjoint."""

    size: int
    count: int
    alignment: int
    halved: bool = False  # half the lanes of its columns; in the other one may have its address
    side: int | None = None  # buffers with the same number have all their ranges in the same half
    pinned: bool = False  # placed before all others
    start: int = 0  # which is filled first, for the order of placement

    @property
    def weight(self) -> int:
        """Space that all ranges take, in half columns where halves count."""
        return self.size * self.count * (1 if self.halved else 2)


@dataclass(frozen=True)
class Range:
    """A range of addresses; `half` is None if it takes all lanes."""

    address: int
    size: int
    half: int | None

    def overlaps(self, other: Range) -> bool:
        """Return whether two ranges share an address."""
        if self.half is not None and other.half is not None and self.half != other.half:
            return False
        return self.meets(other)

    def meets(self, other: Range) -> bool:
        """Return whether two ranges share an address, be it in different halves of the lanes."""
        return (
            self.address < other.address + other.size and other.address < self.address + self.size
        )

    def over_second_half(self, other: Range) -> bool:
        """Return whether one takes the second half of lanes of columns that the other has whole.

        A view of a tile of all lanes begins in its first lane, so that no program says that.
        """
        return {self.half, other.half} == {None, SECOND} and self.meets(other)


Placed = tuple[tuple[Range, ...], ...]
Apart = frozenset[tuple[int, int]]
Costs = Mapping[tuple[int, int], int]


def pack(
    buffers: Sequence[Buffer],
    apart: Apart,
    capacity: int,
    costs: Costs | None = None,
    *,
    exactly: bool = True,
) -> Placed | None:
    """Place buffers, or return None if that is impossible; if not `exactly`, if it is not easy.

    `apart`: pairs of positions, the smaller first, that must not share an address.
    `capacity`: bytes or columns of the memory.
    `costs`: what it costs that a pair shares an address; heeded where that is easy.
    """
    return _pack(tuple(buffers), apart, capacity, tuple((costs or {}).items()), exactly=exactly)


@lru_cache(maxsize=KEPT)
def _pack(
    buffers: tuple[Buffer, ...],
    apart: Apart,
    capacity: int,
    costs: tuple[tuple[tuple[int, int], int], ...],
    *,
    exactly: bool,
) -> Placed | None:
    if heaviest_clique(buffers, apart)[0] > 2 * capacity:
        return None
    for wanted in (dict(costs), {}) if costs else ({},):
        placed = _first_fit(buffers, apart, capacity, wanted)
        if placed is not None:
            return placed
    return _searched(buffers, apart, capacity) if exactly else None


def heaviest_clique(buffers: Sequence[Buffer], apart: Apart) -> tuple[int, tuple[int, ...]]:
    """Return the most that buffers pairwise apart take together, in half units, and which do."""
    near = [
        {v for v in range(len(buffers)) if (min(u, v), max(u, v)) in apart and u != v}
        for u in range(len(buffers))
    ]
    best: tuple[int, tuple[int, ...]] = (0, ())
    pending: list[tuple[int, tuple[int, ...], list[int]]] = [
        (0, (), sorted(range(len(buffers)), key=lambda u: (-buffers[u].weight, u)))
    ]
    while pending:
        weight, chosen, rest = pending.pop()
        if weight > best[0]:
            best = (weight, tuple(sorted(chosen)))
        for position, u in enumerate(rest):
            if weight + sum(buffers[v].weight for v in rest[position:]) <= best[0]:
                break
            after = [v for v in rest[position + 1 :] if v in near[u]]
            pending.append((weight + buffers[u].weight, (*chosen, u), after))
    return best


# -- first fit --------------------------------------------------------------------------------


def _first_fit(
    buffers: Sequence[Buffer], apart: Apart, capacity: int, costs: Costs
) -> Placed | None:
    """Place buffers one after the other in several orders; None says nothing.

    Each goes to the lowest address; with `costs`, to the lowest of those where sharing costs least,
    and the cheapest of all placements is returned.
    """
    tried = (_placed_in(order, buffers, apart, capacity, costs) for order in _orders(buffers))
    found = (placed for placed in tried if placed is not None)
    if not costs:
        return next(found, None)
    return min(found, key=lambda placed: _cost(placed, costs), default=None)


def _orders(buffers: Sequence[Buffer]) -> Iterator[list[int]]:
    positions = list(range(len(buffers)))
    keys = (
        lambda u: (-buffers[u].size * (2 - buffers[u].halved), buffers[u].start, u),
        lambda u: (-buffers[u].weight, buffers[u].start, u),
        lambda u: (buffers[u].start, u),
        lambda u: (buffers[u].halved, -buffers[u].size, u),
    )
    generator = random.Random(0)  # noqa: S311 - no secret
    for key in keys:
        yield sorted(positions, key=lambda u: (not buffers[u].pinned, key(u)))
    for _ in range(SHUFFLES):
        generator.shuffle(positions)
        yield sorted(positions, key=lambda u: not buffers[u].pinned)


def _cost(placed: Placed, costs: Costs) -> int:
    return sum(
        cost
        for (a, b), cost in costs.items()
        if any(first.overlaps(second) for first in placed[a] for second in placed[b])
    )


def _placed_in(
    order: Sequence[int], buffers: Sequence[Buffer], apart: Apart, capacity: int, costs: Costs
) -> Placed | None:
    placed: dict[int, tuple[Range, ...]] = {}
    sides: dict[int, int] = {}
    for u in order:
        buffer = buffers[u]
        taken = [r for v, rs in placed.items() if (min(u, v), max(u, v)) in apart for r in rs]
        every = [r for rs in placed.values() for r in rs]
        halves = [None] if not buffer.halved else [0, 1]
        if buffer.side is not None and buffer.side in sides:
            halves = [sides[buffer.side]]
        shared = [
            (r, cost)
            for v, rs in placed.items()
            if (cost := costs.get((min(u, v), max(u, v)), 0))
            for r in rs
        ]
        found = _ring(buffer, taken, every, shared, halves, capacity)
        if found is None:
            return None
        if buffer.side is not None and found[0].half is not None:
            sides[buffer.side] = found[0].half
        placed[u] = found
    return tuple(placed[u] for u in range(len(buffers)))


def _ring(
    buffer: Buffer,
    taken: list[Range],
    every: list[Range],
    shared: list[tuple[Range, int]],
    halves: Sequence[int | None],
    capacity: int,
) -> tuple[Range, ...] | None:
    """Place all ranges of a buffer, one after the other if there is room for that."""
    stride = -(-buffer.size // buffer.alignment) * buffer.alignment
    whole = stride * (buffer.count - 1) + buffer.size
    first = _best(whole, buffer.alignment, taken, every, shared, halves, capacity)
    if first is not None and (buffer.count == 1 or not buffer.halved or buffer.side is not None):
        return tuple(
            Range(first.address + k * stride, buffer.size, first.half) for k in range(buffer.count)
        )
    found: list[Range] = []
    for _ in range(buffer.count):
        if found and buffer.side is not None:
            halves = [found[0].half]
        own = [*taken, *found]
        one = _best(buffer.size, buffer.alignment, own, every, shared, halves, capacity)
        if one is None:
            return None
        found.append(one)
    return tuple(found)


def _best(
    size: int,
    alignment: int,
    taken: list[Range],
    every: list[Range],
    shared: list[tuple[Range, int]],
    halves: Sequence[int | None],
    capacity: int,
) -> Range | None:
    """Return the lowest range of those that cost least."""
    ends = {r.address + r.size for r in (*taken, *every, *(r for r, _ in shared))}
    addresses = sorted({0} | {-(-end // alignment) * alignment for end in ends})
    ranges = (Range(a, size, half) for a in addresses if a + size <= capacity for half in halves)
    free = (
        candidate
        for candidate in ranges
        if not any(map(candidate.overlaps, taken))
        and not any(map(candidate.over_second_half, every))
    )
    if not shared:
        return next(free, None)
    return min(free, key=lambda c: sum(cost for r, cost in shared if c.overlaps(r)), default=None)


# -- exact search -----------------------------------------------------------------------------


def _searched(buffers: Sequence[Buffer], apart: Apart, capacity: int) -> Placed | None:
    """Place buffers with their addresses as integer variables, or return None if that cannot be.

    Occupants that share no address with others lie first: wherever they lie, all below can move
    up by their size.
    """
    if any(buffer.size > capacity for buffer in buffers):
        return None
    first = [u for u in range(len(buffers)) if _alone(u, buffers, apart)]
    placed: dict[int, tuple[Range, ...]] = {}
    end = 0
    for u in first:
        size, count = buffers[u].size, buffers[u].count
        placed[u] = tuple(Range(end + k * size, size, None) for k in range(count))
        end += size * count
    others = [u for u in range(len(buffers)) if u not in placed]
    pairs = itertools.combinations(range(len(others)), 2)
    among = frozenset((i, j) for i, j in pairs if (others[i], others[j]) in apart)
    formulas = Formulas(seed=0)
    try:
        rest = [buffers[u] for u in others]
        found = _Formula(formulas, rest, among, capacity - end).placed()
    finally:
        formulas.dispose()
    if found is None:
        return None
    for u, ranges in zip(others, found, strict=True):
        placed[u] = tuple(replace(r, address=r.address + end) for r in ranges)
    return tuple(placed[u] for u in range(len(buffers)))


def _alone(u: int, buffers: Sequence[Buffer], apart: Apart) -> bool:
    """Return whether a buffer shares no address with any, and moves others by their alignment."""
    buffer = buffers[u]
    aligned = all(buffer.size % other.alignment == 0 for other in buffers)
    pairs = ((min(u, v), max(u, v)) for v in range(len(buffers)) if v != u)
    return aligned and not buffer.halved and apart.issuperset(pairs)


class _Formula:
    """Addresses in multiples of each buffer's alignment, halves as Booleans."""

    def __init__(
        self, formulas: Formulas, buffers: Sequence[Buffer], apart: Apart, capacity: int
    ) -> None:
        self.formulas, self.buffers = formulas, buffers
        self.unit = math.gcd(*(buffer.alignment for buffer in buffers))
        self.keys = [(u, k) for u, b in enumerate(buffers) for k in range(b.count)]
        self.multiples = {key: formulas.integer() for key in self.keys}
        sides: dict[int | tuple[int, int], int] = {}
        self.halves = {
            (u, k): sides.setdefault((u, k) if side is None else side, formulas.fresh())
            for u, k in self.keys
            for side in (buffers[u].side,)
            if buffers[u].halved
        }
        zero = int(formulas.terms.integer(0))
        for (u, _), number in self.multiples.items():
            formulas.state(formulas.after(number, zero, 0))
            formulas.state(
                formulas.at_most(number, (capacity - buffers[u].size) // buffers[u].alignment)
            )
        for (u, k), (v, m) in itertools.combinations(self.keys, 2):
            if u == v or (u, v) in apart:
                formulas.state(*self._disjoint((u, k), (v, m)))
            elif buffers[u].halved != buffers[v].halved:
                half = self.halves[(u, k) if buffers[u].halved else (v, m)]
                formulas.state(*self._disjoint((u, k), (v, m)), formulas.no(half))
            if u == v and m == k + 1:
                formulas.state(formulas.after(self.multiples[v, m], self.multiples[u, k], 0))

    def _disjoint(self, one: tuple[int, int], other: tuple[int, int]) -> Iterator[int]:
        """Yield the ways in which two ranges share no address."""
        for first, second in ((one, other), (other, one)):
            size = -(-self.buffers[first[0]].size // self.unit)
            yield self.formulas.after(self._address(second), self._address(first), size)
        if one in self.halves and other in self.halves:
            yield int(self.formulas.terms.xor([self.halves[one], self.halves[other]]))

    def _address(self, key: tuple[int, int]) -> int:
        terms = self.formulas.terms
        factor = self.buffers[key[0]].alignment // self.unit
        return int(terms.mul(terms.integer(factor), self.multiples[key]))

    def placed(self) -> Placed | None:
        """Return a placement, or None if there is none."""
        status = self.formulas.check()
        if status == "unknown":
            raise SolverError("Yices gave up on placing buffers")
        if status == "unsat":
            return None
        halves, multiples = self.formulas.values(
            list(self.halves.values()), list(self.multiples.values())
        )
        half = dict(zip(self.halves, map(int, halves), strict=True))
        found: list[list[Range]] = [[] for _ in self.buffers]
        for (u, k), multiple in zip(self.keys, multiples, strict=True):
            buffer = self.buffers[u]
            address = multiple * buffer.alignment
            found[u].append(Range(address, buffer.size, half.get((u, k))))
        return tuple(map(tuple, found))
