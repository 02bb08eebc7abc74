"""What follows the loop, for all partitions: buffers, barriers, code."""

from __future__ import annotations

import math
from collections.abc import Iterator

from twill.artifacts.loop import Dependence
from twill.base.errors import RefusedError
from twill.emit.allocations import Kind, plain_layout
from twill.emit.dress import Gluon
from twill.emit.effects import DONE_AFTER, Effects
from twill.emit.layouts import dtype
from twill.emit.memory import Memories
from twill.emit.outside import Outside
from twill.emit.plans import EPILOGUE, FEWEST_COLUMNS, TILES, Plans
from twill.emit.roles import Role
from twill.emit.source import SSAValue, Statement, loops
from twill.emit.written import Room, begun
from twill.frontends.ttgir.around import exchanged_bytes
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import VIEWS


class Epilogue(Plans):
    """The statements after the loop, for all partitions."""

    def __init__(self, memories: Memories, gluon: Gluon) -> None:
        self.memories, self.gluon, self.source = memories, gluon, memories.source
        self.assignment = memories.schedule.assignment
        self.statements = self.source.after()
        self.own = {inner for s in self.statements for inner in s.walk()}
        self.looping = bool(loops(self.statements))
        self.plan = self._planned()
        written = self.statements if self.looping else []
        self.room = Room(memories, written, "after", self._is_read)
        self.staged: dict[SSAValue, str] = {}
        self._stage()
        self.reused: dict[tuple[str, tuple[int, ...], str], str] = {}
        self.parts = self._split()
        _check_room(self.memories, self._used(), self._bytes(self.parts))

    # -- buffers ---------------------------------------------------------------------------------

    def _used(self) -> int:
        """Return the bytes that are taken beside the tiles that are stored."""
        apart = [v for v in self.plan.moved if v not in self.staged]
        moved = sum(math.prod(self.source.type_of(v).shape) * 4 for v in apart)
        exchanged = exchanged_bytes(self.statements, self.source.type_of)
        return self.memories.bytes_taken() + moved + exchanged + self.room.size

    def _split(self) -> int:
        """Return into how many parts of columns tiles are stored, so that all memory fits."""
        used = self._used()
        parts, stores = 1, [s for _, s in self._stores()]
        whole = self.looping or any(self._in_registers(s) for s in stores)
        while used + self._bytes(parts) > self.memories.available:
            narrow = any(self._tile(s)[1] // (2 * parts) < FEWEST_COLUMNS for s in stores)
            if whole or narrow or not stores:
                self._reuse()
                return 1
            parts *= 2
        return parts

    def _reuse(self) -> None:
        """Store through buffers that were filled before the loop and that nobody reads any more."""
        free = [(root, name) for root, name in self.memories.fixed_roots()]
        for group, statement in self._stores():
            key = self._key(group, statement)
            if key in self.reused:
                continue
            tile = self.source.type_of(statement.operands[1])
            for root, name in free:
                kind = self.source.type_of(root)
                alike = (kind.shape, kind.dtype) == (tile.shape, tile.dtype)
                over = self._is_over(self.memories.readers(root), group)
                if alike and over and not self._is_read_with(statement, root):
                    self.reused[key] = name
                    free.remove((root, name))
                    break

    def _is_read_with(self, statement: Statement, root: SSAValue) -> bool:
        """Whether a buffer is read after a statement, or in the same loop."""
        inside = [statement in list(s.walk()) for s in self.statements]
        return any(
            root_of(o, VIEWS) is root
            for s in self.statements[inside.index(True) :]
            for inner in s.walk()
            for o in inner.operands
        )

    def _is_read(self, name: str) -> bool:
        """Whether nobody reads an operation's results any more once the loops after it begin."""
        group = next(iter(self.plan.effects))
        return self._is_over([name, *(d.consumer for d in self._reads(name))], group)

    def _reads(self, name: str) -> list[Dependence]:
        dependences = self.memories.schedule.loop.dependences
        return [d for d in dependences if d.producer == name and d.kind == "data"]

    def _stage(self) -> None:
        """Send values to another group through slots of the loop's that only theirs has read."""
        for value, (maker, _) in self.plan.moved.items():
            tile = self.source.type_of(value)
            kind = Kind("smem", tile.shape, tile.dtype, plain_layout(tile.shape))

            def over(name: str, maker: str = maker) -> bool:
                groups = {(self.assignment[d.consumer], d.distance) for d in self._reads(name)}
                return (maker, 0) in groups and all(group == maker for group, _ in groups)

            place = self.room.taken(kind, over, value)
            if place is not None:
                self.staged[value] = place

    def _is_over(self, readers: list[str], group: str) -> bool:
        """Whether who reads a buffer is done once a group has finished its last iteration.

        A reader is if its own group does the storing, or if its result comes there within an
        iteration.
        """
        loop = self.memories.schedule.loop
        for name in readers:
            reached, pending = {name}, [name]
            while pending:
                made = pending.pop()
                for d in loop.dependences:
                    fresh = d.producer == made and not d.distance and d.consumer not in reached
                    if fresh and d.kind == "data":
                        reached.add(d.consumer)
                        pending.append(d.consumer)
            awaited = group == EPILOGUE or self.looping
            told = awaited and bool(reached & set(self.plan.tensors.values()))
            if group not in {self.assignment[o] for o in reached} and not told:
                return False
        return True

    def _bytes(self, parts: int) -> int:
        sizes = {
            self._key(g, s): math.prod(self._tile(s)) * self._bits(s) // 8 // parts
            for g, s in self._stores()
        }
        return sum(size for key, size in sizes.items() if key not in self.reused)

    def block_of(self, parameter: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the tile of a descriptor's transfers."""
        stored = {self.memories.argument(s.operands[0]) for _, s in self._stores()}
        return (*shape[:-1], shape[-1] // self.parts) if parameter in stored else shape

    def buffer(self, statement: Statement) -> str:
        """Return the buffer through which a tile is stored, one for each kind of tile."""
        group = next(g for g, s in self._stores() if s is statement)
        key = self._key(group, statement)
        if key in self.reused:
            return self.reused[key]
        keys = list(dict.fromkeys(self._key(g, s) for g, s in self._stores()))
        return f"stored{keys.index(key) or ''}_smem"

    def allocations(self) -> Iterator[str]:
        """Yield what allocates the buffers."""
        made: set[str] = set(self.reused.values())
        for _, statement in self._stores():
            name = self.buffer(statement)
            if name in made:
                continue
            made.add(name)
            shape = [*self._tile(statement)[:-1], self._tile(statement)[-1] // self.parts]
            element = dtype(self.source.type_of(statement.operands[1]).dtype)
            layout = self.memories.argument(statement.operands[0]) + ".layout"
            yield f"{name} = gl.allocate_shared_memory(gl.{element}, {shape}, {layout})"
        for value in self.plan.moved:
            kind = self.source.type_of(value)
            what = f"gl.{dtype(kind.dtype)}, {list(kind.shape)}, {plain_layout(kind.shape)}"
            place = self.staged.get(value, f"gl.allocate_shared_memory({what})")
            yield f"{self.moved_name(value)} = {place}"
        yield from self.room.made

    def moved_name(self, value: SSAValue) -> str:
        """Return the buffer through which a value goes to the partition that needs it."""
        return f"left{self.source.position(value)}_smem"

    def barriers(self) -> Iterator[tuple[str, int, int]]:
        """Yield name, slots and arrivals of the barriers after the loop."""
        for owner, writer in self.plan.tensors.items():
            if self._crosses(owner, writer):
                yield f"{self.memories.names(owner)}_left", 1, 1
                if self.memories.persistent:
                    yield f"{self.memories.names(owner)}_free", 1, 1
        for value in self.plan.moved:
            yield self.moved_name(value).replace("_smem", "_full"), 1, 1
        yield from ((f"{group}_drained", 1, 1) for group in self._undrained())
        if self.looping:
            yield DONE_AFTER, 1, 1

    def _undrained(self) -> list[str]:
        """Return the groups whose last tensor core products nobody waits for.

        No block may end while a product is in flight.
        """
        made = {
            self.assignment[o.name]
            for o in self.memories.schedule.loop.operations
            if o.kind.startswith("mma") and self.memories.in_tensor(o.name)
        }
        told = {
            self.assignment[writer]
            for owner, writer in self.plan.tensors.items()
            if self._crosses(owner, writer)
        }
        return sorted(made - told)

    def _crosses(self, owner: str, writer: str) -> bool:
        """Whether a partition has to be told that what it reads is complete."""
        kind = self.memories.operations[writer].kind
        reader = next(
            g for g, ss in self.plan.effects.items() if any(owner in self._tensors(s) for s in ss)
        )
        return kind.startswith("mma") or self.assignment[writer] != reader

    # -- code ------------------------------------------------------------------------------------

    def begin(self, group: str) -> list[str]:
        """Return what a partition waits for before the loop of a further output tile."""
        if not self.memories.persistent:
            return []
        return [
            f"mbarrier.wait({self.memories.names(owner)}_free.index(0), ({TILES} + 1) & 1)"
            for owner, writer in self.plan.tensors.items()
            if self._crosses(owner, writer) and self.assignment[self._writers(owner)[0]] == group
        ]

    def told(self, group: str, role: Role | None) -> list[str]:
        """Return what a partition tells and leaves for others once its loop is over."""
        lines = []
        waits = any(group == other for other, _ in self._stores())
        if role is not None and role.flights.stores and not waits:
            lines.append("tma.store_wait(pendings=0)")
        for owner, writer in self.plan.tensors.items():
            if self._crosses(owner, writer) and self.assignment[writer] == group:
                barrier = f"{self.memories.names(owner)}_left.index(0)"
                product = self.memories.operations[writer].kind.startswith("mma")
                call = "tcgen05_commit" if product else "mbarrier.arrive"
                lines.append(f"{call}({barrier})")
        if group in self._undrained():
            parity = f"{TILES} & 1" if self.memories.persistent else "0"
            lines.append(f"tcgen05_commit({group}_drained.index(0))")
            lines.append(f"mbarrier.wait({group}_drained.index(0), {parity})")
        for value, (maker, _) in self.plan.moved.items():
            if maker == group and role is not None:
                if self.memories.persistent:
                    raise RefusedError(
                        "registers of another group after a loop of a persistent kernel"
                    )
                name = self.moved_name(value)
                lines.append(f"{name}.store({role.final(value).text})")
                lines.append(f"mbarrier.arrive({name.replace('_smem', '_full')}.index(0))")
        return lines

    def code(self, group: str, role: Role | None, outside: Outside) -> list[str]:
        """Return the effects that a partition has."""
        lines: list[str] = []
        effects = self.plan.effects.get(group, [])
        parity = f"{TILES} & 1" if self.memories.persistent else "0"
        tensors = list(dict.fromkeys(o for s in effects for o in self._tensors(s)))
        for owner in tensors:
            if self._crosses(owner, self.plan.tensors[owner]):
                name = self.memories.names(owner)
                lines.append(f"mbarrier.wait({name}_left.index(0), {parity})")
        writer = Effects(self, role, outside)
        for value, (_, reader) in self.plan.moved.items():
            if reader == group:
                writer.receive(value)
        writer.run(effects)
        lines += begun(writer.lines)
        if self.memories.persistent:
            lines += [
                f"mbarrier.arrive({self.memories.names(owner)}_free.index(0))"
                for owner in tensors
                if self._crosses(owner, self.plan.tensors[owner])
            ]
        return lines


def _check_room(memories: Memories, used: int, tiles: int) -> None:
    """Refuse a kernel that takes more shared memory than a block has."""
    if used + tiles > memories.available:
        raise RefusedError(
            f"{memories.schedule.name}: the kernel takes {used + tiles} bytes of shared memory "
            f"({memories.bytes_taken()} for the loop, {used + tiles - memories.bytes_taken()} for "
            f"what follows it), and has "
            f"{memories.available}; fewer slots leave more"
        )
