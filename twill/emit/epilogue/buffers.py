"""Buffers of the epilogue: for tiles that are stored, and for those that change groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from twill.artifacts.loop import Dependence
from twill.base.errors import RefusedError
from twill.base.graphs import reached
from twill.emit import statements
from twill.emit.epilogue.plans import EPILOGUE, FEWEST_COLUMNS, Plans
from twill.emit.memory.allocations import Kind, plain_layout
from twill.emit.memory.free import FreeBuffers
from twill.emit.memory.memories import Memories
from twill.emit.source import SSAValue, Statement
from twill.emit.tree import Allocation
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import VIEWS
from twill.frontends.ttgir.memory import exchanged_bytes
from twill.frontends.types import Type

TileKind = tuple[str, tuple[int, ...], str]
"""The group that stores a tile, its shape and elements."""


class EpilogueBuffers:
    """Where tiles lie that are stored after the loop, or moved to another partition.

    Attributes
    ----------
    free : FreeBuffers
        Where buffers of loops after this one lie.
    staged : dict
        Slots of the loop's through which values move; others have a buffer of their own.
    parts : int
        Parts of its columns in which a tile is stored.
    """

    def __init__(self, plans: Plans) -> None:
        self.plans, self.plan = plans, plans.plan
        self.memories, self.source = plans.memories, plans.source
        written = plans.statements if plans.together else []
        self.free = FreeBuffers(self.memories, written, "after", self._is_unread)
        self.staged: dict[SSAValue, str] = {}
        self._stage()
        self.reused: dict[TileKind, str] = {}
        self._rings: dict[TileKind, str] = {}
        self.parts = self._split()
        _check_room(self.memories, self._used(), self._bytes(self.parts))

    def _used(self) -> int:
        """Return the bytes taken by everything except the tiles that are stored."""
        apart = [v for v in self.plan.moved if v not in self.staged]
        moved = sum(math.prod(self.source.type_of(v).shape) * 4 for v in apart)
        exchanged = exchanged_bytes(self.plans.statements, self.source.type_of)
        return self.memories.allocations.bytes_taken() + moved + exchanged + self.free.size

    def _split(self) -> int:
        """Return into how many parts of columns tiles are stored, so that all memory fits."""
        used = self._used()
        parts, stores = 1, [s for _, s in self.plans.stores()]
        whole = self.plans.together or any(self.plans.whole(s) for s in stores)
        while used + self._bytes(parts) > self.memories.allocations.available:
            narrow = any(self._tile(s)[1] // (2 * parts) < FEWEST_COLUMNS for s in stores)
            if whole or narrow or not stores:
                self._reuse()
                if used + self._bytes(1) > self.memories.allocations.available:
                    self._reuse_rings()
                return 1
            parts *= 2
        return parts

    def _reuse(self) -> None:
        """Store through buffers that were filled before the loop and have no readers left."""
        free = [(root, name) for root, name in self.memories.before.fixed_roots()]
        for group, statement in self.plans.stores():
            key = self._key(group, statement)
            if key in self.reused:
                continue
            tile = self.source.type_of(statement.operands[1])
            for root, name in free:
                kind = self.source.type_of(root)
                alike = (kind.shape, kind.dtype) == (tile.shape, tile.dtype)
                over = self._is_over(self.memories.before.readers(root), group)
                if alike and over and not self._is_read_with(statement, root):
                    self.reused[key] = name
                    free.remove((root, name))
                    break

    def _reuse_rings(self) -> None:
        """Store through slots of the loop's rings that the storing group alone has read."""
        shared = {storage.value: storage for storage, _, _ in self.memories.allocations.rings()}
        rings = [s for s in shared.values() if s.memory == "smem" and s.slots > 1]
        if self.memories.slots.persistent:  # a further output tile is loaded meanwhile
            return
        for group, statement in self.plans.stores():
            key, tile = self._key(group, statement), self._tile_type(statement)
            for storage in rings if key not in self.reused | self._rings else ():
                slots, left = divmod(tile.checked_tile().bytes, storage.size)
                readers = [storage.value, *(d.consumer for d in self._reads(storage.value))]
                if left or slots > storage.slots or not self._is_over(readers, group):
                    continue
                ring = self.memories.slots.buffer(storage)
                ring += f".slice(0, {slots})" if slots < storage.slots else ""
                what = statements.contents(tile.dtype, tile.shape, self._layout(statement))
                self._rings[key] = f"{ring}.reinterpret({what})"
                rings.remove(storage)
                break

    def _is_read_with(self, statement: Statement, root: SSAValue) -> bool:
        """Whether a buffer is read after a statement, or in the same loop."""
        inside = [statement in list(s.walk()) for s in self.plans.statements]
        return any(
            root_of(o, VIEWS) is root
            for s in self.plans.statements[inside.index(True) :]
            for inner in s.walk()
            for o in inner.operands
        )

    def _is_unread(self, name: str) -> bool:
        """Whether an operation's results have no readers left once the loops after it begin."""
        group = next(iter(self.plan.effects))
        return self._is_over([name, *(d.consumer for d in self._reads(name))], group)

    def _reads(self, name: str) -> list[Dependence]:
        dependences = self.memories.schedule.loop.dependences
        return [d for d in dependences if d.producer == name and d.kind == "data"]

    def _stage(self) -> None:
        """Send values to another group through slots of the loop's that only theirs has read."""
        for value, moved in self.plan.moved.items():
            tile = self.source.type_of(value)
            kind = Kind("smem", tile.shape, tile.dtype, plain_layout(tile.shape))
            over = partial(self._is_read_by, moved.maker)
            place = self.free.taken(kind, over, value)
            if place is not None:
                self.staged[value] = place

    def _is_read_by(self, group: str, name: str) -> bool:
        """Whether a group alone reads an operation's results, and some in the same iteration."""
        readers = {(self.plans.assignment[d.consumer], d.distance) for d in self._reads(name)}
        return (group, 0) in readers and all(reader == group for reader, _ in readers)

    def _is_over(self, readers: list[str], group: str) -> bool:
        """Whether all readers of a buffer are done once a group has finished its last iteration.

        A reader is done if its own group does the storing, or if its result gets there within an
        iteration.
        """
        awaited = group == EPILOGUE or self.plans.together
        written = set(self.plan.tensors.values()) if awaited else set()
        for name in readers:
            later = reached(
                [name], lambda made: [d.consumer for d in self._reads(made) if not d.distance]
            )
            if group not in {self.plans.assignment[o] for o in later} and not later & written:
                return False
        return True

    def _bytes(self, parts: int) -> int:
        sizes = {
            self._key(g, s): self.source.type_of(s.operands[1]).checked_tile().bytes // parts
            for g, s in self.plans.stores()
        }
        return sum(size for key, size in sizes.items() if key not in self.reused | self._rings)

    def buffer(self, statement: Statement) -> str:
        """Return the buffer through which a tile is stored, one for each kind of tile."""
        group = next(g for g, s in self.plans.stores() if s is statement)
        key = self._key(group, statement)
        if key in self.reused:
            return self.reused[key]
        keys = list(dict.fromkeys(self._key(g, s) for g, s in self.plans.stores()))
        return f"stored{keys.index(key) or ''}_smem"

    def allocations(self) -> Iterator[Allocation]:
        """Yield the allocations of the buffers."""
        made: set[str] = set(self.reused.values())
        for _, statement in self.plans.stores():
            name = self.buffer(statement)
            if name in made:
                continue
            made.add(name)
            group = next(g for g, s in self.plans.stores() if s is statement)
            if place := self._rings.get(self._key(group, statement)):
                yield Allocation(name, place)
                continue
            shape = [*self._tile(statement)[:-1], self._tile(statement)[-1] // self.parts]
            element, layout = self._tile_type(statement).dtype, self._layout(statement)
            yield statements.shared_memory(name, statements.contents(element, shape, layout))
        for value, moved in self.plan.moved.items():
            kind = self.source.type_of(value)
            what = statements.contents(kind.dtype, kind.shape, plain_layout(kind.shape))
            apart = statements.shared_memory(moved.buffer, what)
            place = self.staged.get(value)
            yield apart if place is None else Allocation(moved.buffer, place)
        yield from self.free.made

    def _layout(self, statement: Statement) -> str:
        return self.memories.slots.argument(statement.operands[0]) + ".layout"

    def _tile_type(self, statement: Statement) -> Type:
        return self.source.type_of(statement.operands[1])

    def _tile(self, statement: Statement) -> tuple[int, ...]:
        return self._tile_type(statement).shape

    def _key(self, group: str, statement: Statement) -> TileKind:
        kind = self._tile_type(statement)
        return group, kind.shape, kind.dtype


def _check_room(memories: Memories, used: int, tiles: int) -> None:
    """Refuse a kernel that takes more shared memory than a block has."""
    taken, available = used + tiles, memories.allocations.available
    if taken > available:
        loop = memories.allocations.bytes_taken()
        raise RefusedError(
            f"{memories.schedule.name}: the kernel takes {taken} bytes of shared memory "
            f"({loop} for the loop, {taken - loop} for what follows it), and has "
            f"{available}; fewer slots leave more"
        )
