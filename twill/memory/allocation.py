"""Addresses of every instance in SMEM and TMEM, with memory shared in time.

A value keeps its place from its issue until its last reader is done with it. Towards a writer on
another warp group than that reader, it does so for a signal hop more. Values that never live at
once may share addresses; they do only where a memory is too small for all side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from twill.artifacts.hardware import HALVES
from twill.memory.packing import Apart, Buffer, Range, heaviest_clique, pack
from twill.problem import Problem, rules
from twill.problem.lifetimes import Chain, Moment, chains, memory_occupants
from twill.problem.solution import Assignment, counts

# (occupant, starting, count): at the start of `starting` at least `count` instances of `occupant`
# are alive; both are positions in ``memory_occupants(problem, memory)``.
Seen = tuple[int, int, int]
Fact = tuple[Seen, ...]  # at least one of these is seen


@dataclass(frozen=True)
class Ring:
    """Where the slots of a value lie; the instance of iteration i is in slot i mod `count`."""

    memory: str  # ``smem`` or ``tmem``
    size: int  # bytes or columns of a slot
    addresses: tuple[int, ...]  # of every slot, in bytes or columns
    # For tiles of 64 rows in TMEM, the half of the lanes of every slot; otherwise empty.
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
class Tenant:
    """A result in addressed memory, or the SMEM staging of a register value."""

    operation: int
    staged: bool


@dataclass(frozen=True)
class Allocation:
    """A place for everything in addressed memory."""

    rings: dict[Tenant, Ring]  # slots of results and of staged register values
    invariants: dict[str, Ring]  # places of invariants by name


@dataclass(frozen=True)
class Conflict:
    """Occupants of a memory for which there are no addresses."""

    memory: str  # the memory
    # Every assignment for which all of them hold has no addresses either. Of an occupant itself the
    # count seen is its slots; of two any instance of one seen by the other says that they share no
    # address.
    facts: tuple[Fact, ...]
    # The space that the occupants take at once, in the unit of `Problem.memories`, if that alone is
    # too much; otherwise 0.
    needed: int = 0


def allocate(
    problem: Problem,
    interval: int,
    assignment: Assignment,
    slots: Mapping[int, int] | None = None,
    *,
    until_read: bool = False,
    exactly: bool = True,
) -> Allocation | Conflict:
    """Find addresses for all that a schedule keeps in SMEM and TMEM.

    An occupant gets as many slots as instances of it are alive at its own start. Two occupants
    share no address if one of them is alive at a start of the other. For nearly all pairs their
    slots ask for the same, one by one. An occupant with two slots or more is always alive, and
    meets every slot of any other sooner or later.

    Whether addresses exist therefore depends on nothing but these counts, and on what the problem
    fixes: sizes, invariants, updates in place, halves. A greater count only adds slots, and pairs
    that must not share; addresses for greater counts are addresses for lesser ones. So the counts
    among occupants that do not fit are all that a `Conflict` has to name.

    `slots`: least slots of some results, by operation; these share no address with anything. A
    conflict then proves nothing about other assignments.
    `exactly`: whether addresses are searched for where they are not easily found, which can take
    long. If not, a conflict proves nothing, and names nothing.
    `until_read`: whether values live until they have been read, and hops count, under the paper's
    rules too: what programs need in order not to wait for each other forever.
    """
    result = Allocation({}, {})
    for memory in problem.memories:
        case = _Memory(problem, interval, assignment, memory, slots or {}, until_read=until_read)
        conflict = case.place(result, exactly=exactly)
        if conflict is not None:
            return conflict
    return result


NOTHING = Chain(())


@dataclass(frozen=True)
class _Entry:
    """An invariant, or values that are updated in place together, with the ranges they take."""

    buffer: Buffer
    chain: Chain = NOTHING
    invariant: str = ""

    @property
    def has_own_slots(self) -> bool:
        """Whether it might take fewer slots, as a value without updates in place."""
        return not self.invariant and self.chain.period is None and len(self.chain.members) == 1


class _Memory:
    """A memory of a schedule."""

    def __init__(
        self,
        problem: Problem,
        interval: int,
        assignment: Assignment,
        memory: str,
        slots: Mapping[int, int],
        *,
        until_read: bool,
    ) -> None:
        self.problem, self.interval, self.memory = problem, interval, memory
        self.start, self.group = assignment.start, assignment.group
        self.slots = slots
        room = problem.memories[memory]
        self.capacity = room // HALVES if memory == "tmem" else room
        self.hop = rules.release_seen(problem.hop, "issue" if until_read else problem.rules)
        self.tenants, self.ends = [], []
        for occupant in memory_occupants(problem, memory):
            v, ends = occupant.start, occupant.ends
            staged = problem.operations[v].memory != memory
            if until_read and not staged and problem.consumers[v]:
                ends = tuple(Moment(e.consumer, e.reads, e.distance) for e in problem.consumers[v])
            self.tenants.append(Tenant(v, staged))
            self.ends.append([end for end in ends if counts(end, assignment)])
        self.entries = [*self._invariants(), *map(self._entry, self._chains())]

    # -- what lives when ----------------------------------------------------------------------

    def alive(self, i: int, starting: int) -> int:
        """Return how many instances of occupant i are alive at a start of `starting`."""
        writer = self.tenants[starting].operation
        begin, time = self.start[self.tenants[i].operation], self.start[writer]
        last = begin
        for end in self.ends[i]:
            until = self.start[end.operation] + end.offset + end.iterations * self.interval
            signalled = self.group[end.operation] != self.group[writer]
            last = max(last, until + (self.hop if signalled else 0))
        return (time - begin) // self.interval - (time - last) // self.interval

    def _chains(self) -> Iterator[Chain]:
        """Yield occupants, those that are updated in place together."""
        position = {tenant: i for i, tenant in enumerate(self.tenants)}
        for chain in chains(self.problem, self.memory):
            members = ((position[Tenant(v, staged=False)], later) for v, later in chain.members)
            yield Chain(tuple(members), chain.period)
        for i, tenant in enumerate(self.tenants):
            if tenant.staged and self.ends[i]:
                yield Chain(((i, 0),))

    def _values(self, chain: Chain) -> list[int]:
        """Return the operations whose results a chain consists of."""
        tenants = [self.tenants[i] for i, _ in chain.members]
        return [tenant.operation for tenant in tenants if not tenant.staged]

    def _meet(self, a: Chain, b: Chain) -> bool:
        """Whether some instance of one chain is alive at the start of one of the other."""
        kept = any(v in self.slots for v in (*self._values(a), *self._values(b)))
        return kept or self._holds(meeting(a, b))

    def _holds(self, fact: Fact) -> bool:
        return any(self.alive(i, j) >= n for i, j, n in fact)

    # -- buffers ------------------------------------------------------------------------------

    def _invariants(self) -> Iterator[_Entry]:
        machine, sides = self.problem.machine, self._sides
        for name, tile in ((i.name, i.tile) for i in self.problem.loop.invariants):
            if tile.memory == self.memory:
                tmem = machine.memories.tmem
                halved = self.memory == "tmem" and tmem is not None and tmem.halved(tile)
                buffer = self._buffer(machine.footprint(tile), 1, sides.get(name), halved=halved)
                yield _Entry(replace(buffer, pinned=True), invariant=name)

    def _entry(self, chain: Chain) -> _Entry:
        first = chain.members[0][0]
        v, values = self.tenants[first].operation, self._values(chain)
        count = chain.period
        if count is None:
            wanted = [self.slots.get(value, 1) for value in values]
            count = max(sum(self.alive(i, first) for i, _ in chain.members), *wanted, 1)
        operation = self.problem.operations[v]
        names = [self.problem.operations[value].name for value in values]
        side = next((self._sides[name] for name in names if name in self._sides), None)
        taken = operation.transfer_bytes if self.tenants[first].staged else operation.footprint
        buffer = self._buffer(taken, count, side, halved=operation.halved)
        return _Entry(replace(buffer, start=self.start[v]), chain)

    def _buffer(self, footprint: int, count: int, side: int | None, *, halved: bool) -> Buffer:
        size = footprint if self.memory == "smem" or halved else footprint // HALVES
        alignment = self.problem.machine.memories.by_name[self.memory].step(size)
        return Buffer(size, count, alignment, halved, side if halved else None)

    @cached_property
    def _sides(self) -> dict[str, int]:
        """Numbers of the sets of values that have to lie in one half of the lanes.

        The slots of a value do, since Triton gives a ring columns of its own for each slot. First
        factor and accumulator of a product do (a restriction of the hardware according to Triton's
        TensorMemoryAllocation.cpp), and what is updated in place.
        """
        tmem, loop = self.problem.machine.memories.tmem, self.problem.loop
        if self.memory != "tmem" or tmem is None:
            return {}
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
        tiles = ((i.name, i.tile) for i in loop.invariants)
        halved |= {name for name, tile in tiles if tile.memory == "tmem" and tmem.halved(tile)}
        pairs = [pair for pair in pairs if halved.issuperset(pair)]
        for chain in chains(self.problem, "tmem") if pairs else ():
            names = [loop.operations[v].name for v, _ in chain.members]
            pairs += [(names[0], other) for other in names[1:]]
        return _joined([*pairs, *((name, name) for name in halved)])

    # -- answers ------------------------------------------------------------------------------

    def place(self, result: Allocation, *, exactly: bool) -> Conflict | None:
        """Add places for everything in this memory to a result, or return what does not fit."""
        # Only the order of issue times counts: schedules that differ in little ask the same.
        ranks = {v: k for k, v in enumerate(sorted({e.buffer.start for e in self.entries}))}
        buffers = [replace(e.buffer, start=ranks[e.buffer.start]) for e in self.entries]
        placed = None
        if sum(buffer.weight for buffer in buffers) <= 2 * self.capacity:
            apart = self._apart(sharing=False)
            placed = pack(buffers, apart, self.capacity, exactly=False)
        if placed is None:
            apart = self._apart(sharing=True)
            costs = self._costs(apart)
            placed = pack(buffers, apart, self.capacity, costs, exactly=exactly)
            if placed is None:
                return self._conflict(apart) if exactly else Conflict(self.memory, ())
        for entry, ranges in zip(self.entries, placed, strict=True):
            if entry.invariant:
                result.invariants[entry.invariant] = self._ring(ranges, 0)
            for i, later in entry.chain.members:
                result.rings[self.tenants[i]] = self._ring(ranges, later)
        return None

    def _ring(self, ranges: tuple[Range, ...], later: int) -> Ring:
        """Name slots by the iteration of the one at hand, `later` than the chain's first."""
        turned = [ranges[(k - later) % len(ranges)] for k in range(len(ranges))]
        halves = tuple(r.half for r in turned if r.half is not None)
        return Ring(self.memory, turned[0].size, tuple(r.address for r in turned), halves)

    def _apart(self, *, sharing: bool) -> Apart:
        """Return the pairs of buffers that must not share an address."""
        return frozenset(
            (a, b)
            for b, second in enumerate(self.entries)
            for a, first in enumerate(self.entries[:b])
            if not sharing or first.invariant or self._meet(first.chain, second.chain)
        )

    def _costs(self, apart: Apart) -> dict[tuple[int, int], int]:
        """Return what sharing costs the pairs that may.

        Sharing costs twice as much where neither depends on the other within an iteration, so that
        both ends have to be waited for.
        """
        behind = self.problem.least_distances
        starts = [[self.tenants[i].operation for i, _ in e.chain.members] for e in self.entries]
        pairs = ((a, b) for b in range(len(starts)) for a in range(b) if (a, b) not in apart)
        return {
            (a, b): 2
            - any(0 in (behind.get(p), behind.get(p[::-1])) for p in product(starts[a], starts[b]))
            for a, b in pairs
        }

    # -- what finds no addresses, and why ---------------------------------------------------------

    def _conflict(self, apart: Apart) -> Conflict:
        """Return a small set of entries that do not fit together, with the least such slots."""
        entries = self.entries
        weight, clique = heaviest_clique([entry.buffer for entry in entries], apart)
        crowded = weight > HALVES * self.capacity
        kept = {b: entries[b].buffer.count for b in (clique if crowded else range(len(entries)))}
        for b in sorted(kept, key=lambda b: (entries[b].buffer.weight, b)):
            fewer = {c: count for c, count in kept.items() if c != b}
            if not entries[b].invariant and not self._fits(fewer, apart):
                kept = fewer
        taken = sum(entries[b].buffer.weight for b in kept)
        for b in kept:
            own = entries[b].has_own_slots
            while own and kept[b] > 1 and not self._fits({**kept, b: kept[b] - 1}, apart):
                kept[b] -= 1
        unit = 1 if self.memory == "tmem" else HALVES
        return Conflict(self.memory, tuple(self._facts(kept)), taken // unit if crowded else 0)

    def _fits(self, counts: Mapping[int, int], apart: Apart) -> bool:
        """Whether entries find addresses with so many slots each."""
        position = {b: k for k, b in enumerate(counts)}
        within = {(position[a], position[b]) for a, b in apart if {a, b} <= position.keys()}
        buffers = [replace(self.entries[b].buffer, count=count) for b, count in counts.items()]
        return pack(buffers, frozenset(within), self.capacity) is not None

    def _facts(self, kept: Mapping[int, int]) -> Iterator[Fact]:
        """Yield what gives these entries so many slots and keeps them apart."""
        chained = [(self.entries[b], n) for b, n in kept.items() if not self.entries[b].invariant]
        for entry, count in chained:
            first = entry.chain.members[0][0]
            for i, _ in entry.chain.members if entry.chain.period is None else ():
                seen = self.alive(i, first)
                if seen > 0:
                    yield ((i, first, min(seen, count) if entry.has_own_slots else seen),)
        for number, (a, _) in enumerate(chained):
            for b, _ in chained[:number]:
                both = meeting(a.chain, b.chain)
                if self._holds(both):
                    yield both


def meeting(a: Chain, b: Chain) -> Fact:
    """Return the fact that an instance of one chain is alive at the start of one of the other."""
    pairs = [(i, j) for i, _ in a.members for j, _ in b.members]
    return tuple((i, j, 1) for pair in pairs for i, j in (pair, pair[::-1]))


def _joined(pairs: list[tuple[str, str]]) -> dict[str, int]:
    """Number the sets of names that pairs connect."""
    found: dict[str, int] = {}
    for number, (a, b) in enumerate(pairs):
        joined = {found[name] for name in (a, b) if name in found}
        found.update({name: number for name, known in found.items() if known in joined})
        found[a] = found[b] = number
    return found
