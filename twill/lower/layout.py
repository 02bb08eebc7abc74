"""Where every value of a schedule lies, and which of them overwrite others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from twill.artifacts.program import Fixed, Storage
from twill.lower.pipeline import Pipeline
from twill.memory import Ring, Tenant
from twill.problem.lifetimes import chains


@dataclass(frozen=True)
class Takeover:
    """`new` overwrites addresses that `old` held."""

    old: Tenant
    new: Tenant
    # The latest instance of `old` before that of `new` is so many iterations before it.
    distance: int

    @property
    def distances(self) -> range:
        """Distances at which waits concern every instance, also in the shortest loops.

        A wait for a later iteration does nothing where the loop has no such iteration; then the
        iterations before it count.
        """
        return range(self.distance, max(self.distance, 0) + 1)


@dataclass(frozen=True)
class Layout:
    """Slots of all values, and addresses of those in memory."""

    pipeline: Pipeline
    # Of each operation's result where it is made.
    slots: tuple[int, ...]
    # Slots of the SMEM staging of register values that cross groups, by operation.
    staging: Mapping[int, int]
    # Ring slots of each streaming load, and those that hiding its nominal latency asks for.
    depths: Mapping[int, int] = field(default_factory=dict)
    hiding: Mapping[int, int] = field(default_factory=dict)
    # Addresses of values, and of what lives throughout the loop.
    rings: Mapping[Tenant, Ring] = field(default_factory=dict)
    invariants: Mapping[str, Ring] = field(default_factory=dict)
    takeovers: tuple[Takeover, ...] = ()

    def overwritten(self, v: int) -> int | None:
        """Return when v's value is overwritten at an address, relative to its iteration."""
        start, interval = self.pipeline.start, self.pipeline.interval
        tenant = Tenant(v, staged=False)
        moments = [
            start[t.new.operation] + t.distance * interval
            for t in self.takeovers
            if t.old == tenant
        ]
        if tenant in self.rings:
            moments.append(start[v] + self.slots[v] * interval)
        return min(moments, default=None)

    @property
    def storage(self) -> Iterator[Storage]:
        """Slots of each value, and of its copies and staging."""
        pipeline, problem = self.pipeline, self.pipeline.problem
        operations = problem.operations
        for o, written in zip(operations, pipeline.problem.loop.operations, strict=True):
            v, tile = o.index, written.result
            if tile is None or not (o.registers or o.memory):
                continue
            if o.registers:
                home, size, ring = pipeline.place[v], o.registers, None
            else:
                home, ring = None, self.rings.get(Tenant(v, staged=False))
                size = problem.machine.slot_size(tile)
            yield _stored(o.name, o.memory or "registers", self.slots[v], size, ring, group=home)
            for edge in pipeline.copies:
                if edge.producer == v:
                    home, reader = pipeline.place[edge.consumer], operations[edge.consumer].name
                    read = {"group": home, "reader": reader, "distance": edge.distance}
                    slots = pipeline.copy_slots(edge)
                    yield _stored(o.name, "registers", slots, o.registers, None, **read)
            if v in self.staging:
                ring = self.rings.get(Tenant(v, staged=True))
                slots, size = self.staging[v], o.transfer_bytes
                yield _stored(o.name, "smem", slots, size, ring, transfer=True)

    @property
    def fixed(self) -> Iterator[Fixed]:
        """Places of the values that live throughout the loop."""
        for invariant in self.pipeline.problem.loop.invariants:
            tile, ring = invariant.tile, self.invariants.get(invariant.name)
            if tile.memory in ("smem", "tmem"):
                yield Fixed(
                    name=invariant.name,
                    memory=tile.memory,
                    size=self.pipeline.problem.machine.slot_size(tile),
                    address=ring.addresses[0] if ring else None,
                    half=ring.halves[0] if ring and ring.halves else None,
                )


def _stored(
    value: str, memory: str, slots: int, size: int, ring: Ring | None, **more: object
) -> Storage:
    placed = {"addresses": ring.addresses, "halves": ring.halves} if ring else {}
    return Storage.model_validate(
        {"value": value, "memory": memory, "slots": slots, "size": size, **placed, **more}
    )


def takeovers(pipeline: Pipeline, rings: Mapping[Tenant, Ring]) -> tuple[Takeover, ...]:
    """Return every pair that shares an address.

    An update in place needs no wait: dependences order it. Only the first of a chain of updates
    waits, for all values that held its address an instance of the chain before.
    """
    chained = {
        v: (chain, offset)
        for memory in pipeline.problem.memories
        for chain in chains(pipeline.problem, memory)
        for v, offset in chain.members
    }
    found = []
    for new, old in ((new, old) for new in rings for old in rings):
        if old == new or not _share(rings[old], rings[new]):
            continue
        ahead = pipeline.start[new.operation] - pipeline.start[old.operation]
        distance = -(ahead // pipeline.interval)
        if not (old.staged or new.staged):
            (chain, later), (other, offset) = chained[old.operation], chained[new.operation]
            if chain is other and (chain.period is not None or offset):
                continue
            distance = rings[new].count - later if chain is other else distance
        found.append(Takeover(old, new, distance))
    return tuple(found)


def _share(first: Ring, second: Ring) -> bool:
    return first.memory == second.memory and any(
        a.overlaps(b) for a in first.ranges for b in second.ranges
    )
