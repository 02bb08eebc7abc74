"""Addresses of every instance in SMEM and TMEM, with memory shared in time.

A value keeps its place from its issue until its last reader is done with it and, towards a writer
on another warp group than that reader, for a signal hop more. Values that never live at once may
share addresses; they do only where a memory is too small for all side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from twill.artifacts.hardware import HALVES
from twill.artifacts.loop import Tile
from twill.memory.packing import Apart, Buffer, Range, first_fit, heaviest_clique, pack
from twill.problem import rules
from twill.problem.lifetimes import Chain, Moment, chains, least_distances, memory_occupants
from twill.problem.problem import Problem
from twill.problem.solution import Assignment

Seen = tuple[int, int, int]
"""(occupant, starting, count): at the start of `starting` at least `count` instances of `occupant`
are alive; both are positions in ``memory_occupants(problem, memory)``."""
Fact = tuple[Seen, ...]
"""At least one of these is seen."""


@dataclass(frozen=True)
class Ring:
    """Where the slots of a value lie; the instance of iteration i is in slot i mod `count`.

    Attributes
    ----------
    memory : str
        ``smem`` or ``tmem``.
    size : int
        Bytes or columns of a slot.
    addresses : tuple of int
        Of every slot, in bytes or columns.
    halves : tuple of int
        For tiles of 64 rows in TMEM, the half of the lanes of every slot; otherwise empty.
    """

    memory: str
    size: int
    addresses: tuple[int, ...]
    halves: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Slots."""
        return len(self.addresses)

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The addresses that each slot takes."""
        halves = self.halves or (None,) * self.count
        return tuple(
            Range(address, self.size, half)
            for address, half in zip(self.addresses, halves, strict=True)
        )


@dataclass(frozen=True)
class Allocation:
    """A place for everything in addressed memory.

    Attributes
    ----------
    values, transfers : dict
        Rings of results, and of the SMEM staging of register values, by operation.
    invariants : dict
        Places of invariants by name.
    """

    values: dict[int, Ring]
    transfers: dict[int, Ring]
    invariants: dict[str, Ring]


@dataclass(frozen=True)
class Conflict:
    """Occupants of a memory for which there are no addresses.

    Attributes
    ----------
    memory : str
        The memory.
    facts : tuple of Fact
        Every assignment for which all of them hold has no addresses either. Of an occupant itself
        the count seen is its slots; of two any instance of one seen by the other says that they
        share no address.
    needed : int
        What the occupants take at once in the unit of `Problem.memories`, if that alone is too
        much; otherwise 0.
    """

    memory: str
    facts: tuple[Fact, ...]
    needed: int = 0


def allocate(
    problem: Problem,
    interval: int,
    assignment: Assignment,
    slots: Mapping[int, int] | None = None,
    *,
    until_read: bool = False,
) -> Allocation | Conflict:
    """Find addresses for all that a schedule keeps in SMEM and TMEM.

    An occupant gets as many slots as instances of it are alive at its own start. Two occupants
    share no address if one of them is alive at a start of the other. For nearly all pairs that is
    what their slots ask for one by one: an occupant with two slots or more is always alive, and
    meets every slot of any other sooner or later.

    Whether addresses exist therefore depends on nothing but these counts, and on what the problem
    fixes: sizes, invariants, updates in place, halves. A greater count only adds slots, and pairs
    that must not share; whoever finds addresses for greater counts has found them for lesser ones.
    So the counts among occupants that do not fit are all that a `Conflict` has to name.

    `slots`: least slots of some results, by operation; these share no address with anything. A
    conflict then proves nothing about other assignments.
    `until_read`: whether values live until they have been read, and hops count, under the paper's
    rules too: what programs need in order not to wait for each other forever.
    """
    result = Allocation({}, {}, {})
    for memory, capacity in problem.memories.items():
        case = _Memory(
            problem, interval, assignment, memory, dict(slots or {}), until_read=until_read
        )
        columns = capacity // HALVES if memory == "tmem" else capacity
        found = case.solve(columns)
        if isinstance(found, Conflict):
            return found
        result.values.update(found.values)
        result.transfers.update(found.transfers)
        result.invariants.update(found.invariants)
    return result


class _Memory:
    """One memory of one schedule."""

    def __init__(
        self,
        problem: Problem,
        interval: int,
        assignment: Assignment,
        memory: str,
        slots: dict[int, int],
        *,
        until_read: bool,
    ) -> None:
        self.problem, self.interval, self.memory = problem, interval, memory
        self.start, self.group = assignment.start, assignment.group
        self.slots = slots
        self.until_read = until_read
        self.occupants = memory_occupants(problem, memory)
        self.value_of = {
            o.start: i
            for i, o in enumerate(self.occupants)
            if problem.operations[o.start].memory == memory
        }

    # -- what lives when ----------------------------------------------------------------------

    def _counts(self, end: Moment) -> bool:
        apart, same = end.apart, end.same
        return (apart is None or self.group[apart[0]] != self.group[apart[1]]) and (
            same is None or self.group[same[0]] == self.group[same[1]]
        )

    def exists(self, i: int) -> bool:
        """Whether occupant i exists: a value does, a staging if another group reads it."""
        return any(map(self._counts, self.occupants[i].ends))

    def alive(self, i: int, starting: int) -> int:
        """Return how many instances of occupant i are alive at a start of `starting`."""
        writer = self.occupants[starting].start
        begin, time = self.start[self.occupants[i].start], self.start[writer]
        reading = "issue" if self.until_read else self.problem.rules
        hop = rules.release_seen(self.problem.hop, reading)
        ends = [begin]
        for end in filter(self._counts, self.ends[i]):
            signalled = self.group[end.operation] != self.group[writer]
            until = self.start[end.operation] + end.offset + end.iterations * self.interval
            ends.append(until + (hop if signalled else 0))
        return (time - begin) // self.interval - (time - max(ends)) // self.interval

    @cached_property
    def ends(self) -> list[tuple[Moment, ...]]:
        """When each occupant ends."""
        found = [occupant.ends for occupant in self.occupants]
        for v, i in self.value_of.items() if self.until_read else ():
            reads = [Moment(e.consumer, e.reads, e.distance) for e in self.problem.consumers[v]]
            found[i] = tuple(reads) or found[i]
        return found

    @cached_property
    def chains(self) -> list[Chain]:
        """Occupants, those that are updated in place together."""
        values = [
            Chain(tuple((self.value_of[v], offset) for v, offset in chain.members), chain.period)
            for chain in chains(self.problem, self.memory)
        ]
        own = set(self.value_of.values())
        staged = [i for i in range(len(self.occupants)) if i not in own and self.exists(i)]
        return [*values, *(Chain(((i, 0),)) for i in staged)]

    def _count(self, chain: Chain) -> int:
        if chain.period is not None:
            return chain.period
        first = chain.members[0][0]
        wanted = [self.slots.get(self.occupants[i].start, 1) for i in self._values(chain)]
        return max(sum(self.alive(i, first) for i, _ in chain.members), *wanted, 1)

    def _values(self, chain: Chain) -> list[int]:
        return [i for i, _ in chain.members if self.value_of.get(self.occupants[i].start) == i]

    def _meet(self, a: Chain, b: Chain) -> bool:
        """Whether some instance of one chain is alive at the start of one of the other."""
        exclusive = any(
            self.occupants[i].start in self.slots for c in (a, b) for i in self._values(c)
        )
        return exclusive or any(
            self.alive(i, j) or self.alive(j, i) for i, _ in a.members for j, _ in b.members
        )

    # -- buffers ------------------------------------------------------------------------------

    @cached_property
    def fixed(self) -> list[str]:
        """Names of the invariants in this memory."""
        return [i.name for i in self.problem.loop.invariants if i.tile.memory == self.memory]

    @cached_property
    def buffers(self) -> list[Buffer]:
        """What invariants need, and then what chains do."""
        machine = self.problem.machine
        tiles = {i.name: i.tile for i in self.problem.loop.invariants}
        found = [
            self._buffer(
                machine.footprint(tiles[name]),
                halved=self._halved(tiles[name]),
                side=self._side(name),
            )
            for name in self.fixed
        ]
        for chain in self.chains:
            first = self.occupants[chain.members[0][0]]
            sides = [
                self._side(self.problem.operations[self.occupants[i].start].name)
                for i in self._values(chain)
            ]
            side = next((s for s in sides if s is not None), None)
            halved = self.problem.operations[first.start].halved
            count = self._count(chain)
            found.append(self._buffer(first.weight, count, first.start, halved=halved, side=side))
        return found

    def _buffer(
        self,
        footprint: int,
        count: int = 1,
        start: int | None = None,
        *,
        halved: bool,
        side: int | None,
    ) -> Buffer:
        size = footprint if self.memory == "smem" or halved else footprint // HALVES
        alignment = self.problem.machine.memories.by_name[self.memory].step(size)
        time = 0 if start is None else self.start[start]
        return Buffer(size, count, alignment, halved, side if halved else None, start is None, time)

    def _side(self, name: str) -> int | None:
        """Return the number of the set of values that have to lie in one half of the lanes."""
        return self._sides.get(name)

    @cached_property
    def _sides(self) -> dict[str, int]:
        """Numbers of the sets of values that have to lie in one half of the lanes.

        First factor and accumulator of a product do (a restriction of the hardware according to
        Triton's TensorMemoryAllocation.cpp), and what is updated in place.
        """
        if self.memory != "tmem":
            return {}
        loop, names = self.problem.loop, [o.name for o in self.problem.operations]
        products = {o.name for o in loop.operations if o.kind.startswith("mma")}
        pairs = [
            (d.producer, d.consumer)
            for d in loop.dependences
            if d.kind == "data" and d.operand == 0 and d.consumer in products
        ]
        pairs += [
            (i.name, read.operation)
            for i in loop.invariants
            for read in i.reads
            if read.operand == 0 and read.operation in products
        ]
        halved = {o.name for o in self.problem.operations if o.halved}
        halved |= {i.name for i in loop.invariants if self._halved(i.tile)}
        pairs = [pair for pair in pairs if halved.issuperset(pair)]
        if not pairs:
            return {}
        chained = [[names[v] for v, _ in chain.members] for chain in chains(self.problem, "tmem")]
        pairs += [(members[0], other) for members in chained for other in members[1:]]
        return _joined(pairs)

    def _halved(self, tile: Tile) -> bool:
        """Whether an invariant takes half of the lanes of its columns of TMEM."""
        tmem = self.problem.machine.memories.tmem
        return tile.memory == "tmem" and tmem is not None and tmem.halved(tile)

    def apart(self, *, sharing: bool) -> Apart:
        """Return the pairs of buffers that must not share an address."""
        fixed, total = len(self.fixed), len(self.buffers)
        return frozenset(
            (a, b)
            for b in range(total)
            for a in range(b)
            if a < fixed
            or not sharing
            or self._meet(self.chains[a - fixed], self.chains[b - fixed])
        )

    def costs(self, apart: Apart) -> dict[tuple[int, int], int]:
        """Return what sharing costs the pairs that may.

        It costs twice as much where neither depends on the other within an iteration, so that both
        ends have to be waited for.
        """
        fixed = len(self.fixed)
        starts = [[self.occupants[i].start for i, _ in chain.members] for chain in self.chains]
        behind = least_distances(self.problem)
        return {
            (a, b): 2
            - any(
                behind.get(pair) == 0
                for u in starts[a - fixed]
                for v in starts[b - fixed]
                for pair in ((u, v), (v, u))
            )
            for b in range(fixed, len(self.buffers))
            for a in range(fixed, b)
            if (a, b) not in apart
        }

    # -- answers ------------------------------------------------------------------------------

    def solve(self, capacity: int) -> Allocation | Conflict:
        """Return places for everything in this memory, or what does not fit."""
        placed = first_fit(self.buffers, self.apart(sharing=False), capacity)
        if placed is None:
            apart = self.apart(sharing=True)
            placed = pack(self.buffers, apart, capacity, self.costs(apart))
            if placed is None:
                return self._conflict(apart, capacity)
        result = Allocation({}, {}, {})
        for name, ranges in zip(self.fixed, placed, strict=False):
            result.invariants[name] = self._ring(ranges, 0)
        for chain, ranges in zip(self.chains, placed[len(self.fixed) :], strict=True):
            for i, offset in chain.members:
                v = self.occupants[i].start
                own = self.value_of.get(v) == i
                (result.values if own else result.transfers)[v] = self._ring(ranges, offset)
        return result

    def _ring(self, ranges: tuple[Range, ...], offset: int) -> Ring:
        """Name slots by the iteration of the one at hand, `offset` after the chain's first."""
        turned = [ranges[(k - offset) % len(ranges)] for k in range(len(ranges))]
        return Ring(
            self.memory,
            turned[0].size,
            tuple(r.address for r in turned),
            tuple(r.half for r in turned if r.half is not None),
        )

    def _conflict(self, apart: Apart, capacity: int) -> Conflict:
        fixed = range(len(self.fixed))
        weight, clique = heaviest_clique(self.buffers, apart)
        crowded = weight > HALVES * capacity
        kept = list(clique) if crowded else list(range(len(self.buffers)))
        for b in sorted(kept, key=lambda b: (self.buffers[b].weight, b)):
            fewer = [c for c in kept if c != b]
            if b not in fixed and not self._fits(fewer, apart, capacity):
                kept = fewer
        counts = self._least_counts(kept, apart, capacity)
        facts = self._facts(
            [(self.chains[b - len(fixed)], counts[b]) for b in kept if b not in fixed]
        )
        taken = sum(self.buffers[b].weight for b in kept)
        unit = 1 if self.memory == "tmem" else HALVES
        return Conflict(self.memory, tuple(facts), taken // unit if crowded else 0)

    def _least_counts(self, kept: list[int], apart: Apart, capacity: int) -> dict[int, int]:
        """Return the fewest slots with which these buffers still do not fit."""
        counts = {b: self.buffers[b].count for b in kept}
        for b in kept:
            while b >= len(self.fixed) and counts[b] > 1 and self._has_own_slots(b):
                counts[b] -= 1
                if self._fits(kept, apart, capacity, counts):
                    counts[b] += 1
                    break
        return counts

    def _has_own_slots(self, b: int) -> bool:
        chain = self.chains[b - len(self.fixed)]
        return chain.period is None and len(chain.members) == 1

    def _facts(self, kept: list[tuple[Chain, int]]) -> list[Fact]:
        """Return what gives these chains so many slots and keeps them apart."""
        facts: list[Fact] = []
        for chain, count in kept:
            first, alone = chain.members[0][0], len(chain.members) == 1
            for i, _ in chain.members if chain.period is None else ():
                seen = self.alive(i, first)
                if seen > 0:
                    facts.append(((i, first, min(seen, count) if alone else seen),))
        for number, (a, _) in enumerate(kept):
            for b, _ in kept[:number]:
                pairs = [(i, j) for i, _ in a.members for j, _ in b.members]
                both = tuple((i, j, 1) for p in pairs for i, j in (p, p[::-1]))
                if any(self.alive(i, j) >= n for i, j, n in both):
                    facts.append(both)
        return facts

    def _fits(
        self, kept: list[int], apart: Apart, capacity: int, counts: Mapping[int, int] | None = None
    ) -> bool:
        position = {b: k for k, b in enumerate(kept)}
        within = frozenset(
            (position[a], position[b]) for a, b in apart if a in position and b in position
        )
        buffers = [
            self.buffers[b] if counts is None else replace(self.buffers[b], count=counts[b])
            for b in kept
        ]
        return pack(buffers, within, capacity) is not None


def _joined(pairs: list[tuple[str, str]]) -> dict[str, int]:
    """Number the sets of names that pairs connect."""
    found: dict[str, int] = {}
    for number, (a, b) in enumerate(pairs):
        joined = {found[name] for name in (a, b) if name in found}
        found.update({name: number for name, known in found.items() if known in joined})
        found[a] = found[b] = number
    return found
