"""What follows the loop: who does it, and how what the loop leaves gets there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from twill.emit.dress import Gluon, Text
from twill.emit.layouts import dtype
from twill.emit.memory import Memories
from twill.emit.names import DONE
from twill.emit.operations import INDENT
from twill.emit.outside import Outside
from twill.emit.roles import Role
from twill.emit.source import SSAValue, Statement
from twill.errors import RefusedError
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import VIEWS
from twill.frontends.ttgir.reader import name_of, string
from twill.frontends.types import Layout
from twill.show.rounds import Iteration

EFFECTS = ("tt.descriptor_store", "tt.store", "tt.descriptor_reduce")
EPILOGUE = "epilogue"
DRAINING_WARPS = 4  # to which a tile of tensor memory belongs
FEWEST_COLUMNS = 32
ASIDE = 1024  # bytes for barriers and what partitions are given
TILES = "tiles"  # output tiles that a persistent kernel has begun before


@dataclass
class Plan:
    """Which partition does which of the effects, and what is left for it by others."""

    effects: dict[str, list[Statement]] = field(default_factory=dict)
    tensors: dict[str, str] = field(default_factory=dict)  # buffer's operation: who writes it last
    moved: dict[SSAValue, tuple[str, str]] = field(default_factory=dict)  # from group, to group


class Epilogue:
    """The statements after the loop, for all partitions."""

    def __init__(self, memories: Memories, gluon: Gluon) -> None:
        self.memories, self.gluon, self.source = memories, gluon, memories.source
        self.assignment = memories.schedule.assignment
        self.plan = self._planned()
        self.reused: dict[tuple[str, tuple[int, ...], str], str] = {}
        self.parts = self._split()

    # -- who does what ---------------------------------------------------------------------------

    def _planned(self) -> Plan:
        plan = Plan()
        for statement in self.source.after():
            name = name_of(statement)
            if name == "scf.for":
                where = string(statement, "sched.location") or "after it"
                raise RefusedError(f"another loop follows ({where}); there is no template for that")
            if name not in EFFECTS:
                continue
            left = list(dict.fromkeys(self._left(statement)))
            group = self._group_for(left)
            plan.effects.setdefault(group, []).append(statement)
            for value, maker in left:
                if maker != group and maker is not None:
                    plan.moved[value] = (maker, group)
            for owner in self._tensors(statement):
                plan.tensors[owner] = self._last_writer(owner)
        return plan

    def _left(self, statement: Statement) -> Iterator[tuple[SSAValue, str]]:
        """Yield the register tiles of the loop that a statement needs, with their groups."""
        for operand in statement.operands:
            yield from self._left_of(operand)

    def _left_of(self, value: SSAValue) -> Iterator[tuple[SSAValue, str]]:
        owner = self.source.statement(value)
        if owner is self.source.loop:
            following = self._yielded(value)
            if self.source.type_of(value).kind == "tensor":
                made = self.source.graph.before_arguments(following)[0]
                names = [n for n in self.source.owners_of(made) if self.memories.in_registers(n)]
                if not names:
                    raise RefusedError("what the loop leaves has no template for kernels")
                yield value, self.assignment[names[-1]]
        elif owner is not None and owner.parent is self.source.loop.parent:
            for operand in owner.operands:
                yield from self._left_of(operand)

    def _yielded(self, value: SSAValue) -> SSAValue:
        position = list(self.source.loop.results).index(value)  # type: ignore[arg-type]
        return list(self.source.graph.carried.values())[position]

    def _group_for(self, left: list[tuple[SSAValue, str]]) -> str:
        sizes: dict[str, int] = {}
        for value, group in left:
            size = math.prod(self.source.type_of(value).shape)
            sizes[group] = sizes.get(group, 0) + size
        return max(sizes, key=lambda g: sizes[g], default=self._drainer())

    def _drainer(self) -> str:
        """Return the group that stores what only tensor memory holds.

        One of four warps has nothing to do after the loop, and needs no registers of its own for
        that; a persistent kernel's goes on with the next output tile.
        """
        groups = [g for g in self.memories.schedule.groups if g.warps == DRAINING_WARPS]
        if not groups or self.memories.persistent:
            return EPILOGUE
        return max(groups, key=lambda g: g.registers or 0).name

    def _tensors(self, statement: Statement) -> Iterator[str]:
        """Yield operations whose tensor memory a statement reads."""
        for operand in statement.operands:
            owner = self.source.statement(operand)
            if owner is None or owner.parent is not self.source.loop.parent:
                continue
            if name_of(owner) == "ttng.tmem_load":
                found = self.memories.tensor_owner(root_of(owner.operands[0], VIEWS))
                if found is None:
                    raise RefusedError(
                        "tensor memory that the loop does not write is read after it"
                    )
                yield found
            elif owner is not self.source.loop:
                yield from self._tensors(owner)

    def _last_writer(self, owner: str) -> str:
        """Return the operation that is the last to write where another one does."""
        source = self.memories.schedule.loop.source
        assert source is not None
        place = self.memories.tensor(owner, _ZERO)
        alike = [
            o
            for o in source.statements
            if self.memories.in_tensor(o) and self.memories.tensor(o, _ZERO) == place
        ]
        return max(alike, key=lambda o: source.statements[o][-1])

    # -- buffers ---------------------------------------------------------------------------------

    def _stores(self) -> list[tuple[str, Statement]]:
        return [
            (group, s)
            for group, statements in self.plan.effects.items()
            for s in statements
            if name_of(s) != "tt.store"
        ]

    def _split(self) -> int:
        """Return into how many parts of columns tiles are stored, so that all memory fits."""
        used = self.memories.bytes_apart()
        used += sum(math.prod(self.source.type_of(v).shape) * 4 for v in self.plan.moved)
        parts, stores = 1, [s for _, s in self._stores()]
        whole = any(self._in_registers(s) for s in stores)
        while used + self._bytes(parts) > self.memories.capacity - ASIDE:
            narrow = any(self._tile(s)[1] // (2 * parts) < FEWEST_COLUMNS for s in stores)
            if whole or narrow:
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
                if alike and self._is_over(root, group):
                    self.reused[key] = name
                    free.remove((root, name))
                    break

    def _is_over(self, root: SSAValue, group: str) -> bool:
        """Whether who reads a buffer is done once a group has finished its last iteration.

        A reader is if its own group does the storing, or if its result comes there within an
        iteration.
        """
        loop = self.memories.schedule.loop
        for name in self.memories.readers(root):
            reached, pending = {name}, [name]
            while pending:
                made = pending.pop()
                for d in loop.dependences:
                    fresh = d.producer == made and not d.distance and d.consumer not in reached
                    if fresh and d.kind == "data":
                        reached.add(d.consumer)
                        pending.append(d.consumer)
            if group not in {self.assignment[o] for o in reached} and group != EPILOGUE:
                return False
            if group == EPILOGUE and not reached & set(self.plan.tensors.values()):
                return False
        return True

    def _key(self, group: str, statement: Statement) -> tuple[str, tuple[int, ...], str]:
        kind = self.source.type_of(statement.operands[1])
        return group, kind.shape, kind.dtype

    def _in_registers(self, statement: Statement) -> bool:
        """Whether a store needs a whole tile of registers, which cannot be cut into columns."""
        return any(len(self.source.type_of(v).shape) > 1 for v, _ in self._left(statement))

    def _bytes(self, parts: int) -> int:
        sizes = {
            self._key(g, s): math.prod(self._tile(s)) * self._bits(s) // 8 // parts
            for g, s in self._stores()
        }
        return sum(sizes.values())

    def _tile(self, statement: Statement) -> tuple[int, ...]:
        return self.source.type_of(statement.operands[1]).shape

    def _bits(self, statement: Statement) -> int:
        tile = self.source.type_of(statement.operands[1]).tile()
        assert tile is not None
        return tile.bits

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
            order = list(range(len(kind.shape)))[::-1]
            layout = f"gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order={order})"
            yield (
                f"{self.moved_name(value)} = gl.allocate_shared_memory("
                f"gl.{dtype(kind.dtype)}, {list(kind.shape)}, {layout})"
            )

    def moved_name(self, value: SSAValue) -> str:
        """Return the buffer through which a value goes to the partition that needs it."""
        position = list(self.source.loop.results).index(value)  # type: ignore[arg-type]
        return f"left{position}_smem"

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

    def _undrained(self) -> list[str]:
        """Return the groups whose last tensor core products nobody waits for.

        No block may end while a product is in flight.
        """
        made = {
            self.assignment[o.name]
            for o in self.memories.schedule.loop.operations
            if o.kind == "mma" and self.memories.in_tensor(o.name)
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
        return kind == "mma" or self.assignment[writer] != reader

    # -- code ------------------------------------------------------------------------------------

    def begin(self, group: str) -> list[str]:
        """Return what a partition waits for before the loop of a further output tile."""
        if not self.memories.persistent:
            return []
        return [
            f"mbarrier.wait({self.memories.names(owner)}_free.index(0), ({TILES} + 1) & 1)"
            for owner, writer in self.plan.tensors.items()
            if self._crosses(owner, writer) and self.assignment[self._first_writer(owner)] == group
        ]

    def _first_writer(self, owner: str) -> str:
        source = self.memories.schedule.loop.source
        assert source is not None
        place = self.memories.tensor(owner, _ZERO)
        alike = [
            o
            for o in source.statements
            if self.memories.in_tensor(o) and self.memories.tensor(o, _ZERO) == place
        ]
        return min(alike, key=lambda o: source.statements[o][-1])

    def told(self, group: str, role: Role | None) -> list[str]:
        """Return what a partition tells and leaves for others once its loop is over."""
        lines = []
        for owner, writer in self.plan.tensors.items():
            if self._crosses(owner, writer) and self.assignment[writer] == group:
                barrier = f"{self.memories.names(owner)}_left.index(0)"
                product = self.memories.operations[writer].kind == "mma"
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
                lines.append(f"{name}.store({role.final(self._yielded(value)).text})")
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
        writer = _Writer(self, role, outside, group)
        for value, (_, reader) in self.plan.moved.items():
            if reader == group:
                lines += writer.received(value)
        for statement in effects:
            lines += writer.effect(statement)
        if self.memories.persistent:
            lines += [
                f"mbarrier.arrive({self.memories.names(owner)}_free.index(0))"
                for owner in tensors
                if self._crosses(owner, self.plan.tensors[owner])
            ]
        return lines


class _Writer:
    """The text of effects in one partition."""

    def __init__(self, epilogue: Epilogue, role: Role | None, outside: Outside, group: str) -> None:
        self.epilogue, self.role, self.outside, self.group = epilogue, role, outside, group
        self.memories, self.gluon, self.source = epilogue.memories, epilogue.gluon, epilogue.source
        self.known: dict[SSAValue, Text] = {}
        self.lines: list[str] = []
        self.columns: int | None = None

    def received(self, value: SSAValue) -> list[str]:
        """Return the lines by which a value of another group comes here."""
        name = self.epilogue.moved_name(value)
        layout = self.source.type_of(value).layout
        assert layout is not None
        variable = name.removesuffix("_smem")
        self.known[value] = Text(variable)
        return [
            f"mbarrier.wait({name.replace('_smem', '_full')}.index(0), 0)",
            f"{variable} = {name}.load({self.gluon.layouts.of_tile(layout)})",
        ]

    def effect(self, statement: Statement) -> list[str]:
        """Return the lines of one effect."""
        self.lines = []
        if name_of(statement) == "tt.store":
            operands = [self.value(o).text for o in statement.operands]
            return [*self.lines, f"gl.store({', '.join(operands)})"]
        descriptor, value, *at = statement.operands
        parts, buffer = self.epilogue.parts, self.epilogue.buffer(statement)
        call = "async_atomic_add" if name_of(statement) == "tt.descriptor_reduce" else "async_store"
        coordinates = [self.value(o).text for o in at]
        before, self.lines = self.lines, []
        if parts > 1:
            self.columns = self.source.type_of(value).shape[-1] // parts
            coordinates[-1] = f"{coordinates[-1]} + begin".removeprefix("0 + ")
        text, to = self.stored(value), self.memories.argument(descriptor)
        stored = [
            *self.lines,
            f"{buffer}.store({text.text})",
            "fence_async_shared()",
            f"tma.{call}({to}, [{', '.join(coordinates)}], {buffer})",
            "tma.store_wait(pendings=0)",
        ]
        width = self.columns
        self.columns = None
        if width is None:
            return [*before, *stored]
        whole = self.source.type_of(value).shape[-1]
        loop = f"for begin in gl.static_range(0, {whole}, {width}):"
        return [*before, loop, *(INDENT + line for line in stored)]

    def stored(self, value: SSAValue) -> Text:
        """Return a tile to be stored, in whatever layout it is."""
        owner = self.source.statement(value)
        if owner is not None and name_of(owner) == "ttg.convert_layout":
            return self.stored(owner.operands[0])
        return self.value(value)

    def value(self, value: SSAValue) -> Text:
        """Return the text of a value after the loop."""
        if value in self.known:
            return self.known[value]
        owner = self.source.statement(value)
        if owner is self.source.loop:
            assert self.role is not None
            return self.role.final(self.epilogue._yielded(value))  # noqa: SLF001 # its own writer
        if owner is None or owner not in self.source.after():
            return self.outside.value(value)
        name = name_of(owner)
        if name == "ttng.tmem_load":
            return self._tensor(owner)
        operands = [self.value(o) for o in owner.operands]
        if self.columns is not None and name == "tt.expand_dims":
            layout = f"gl.SliceLayout(1, {self._chunk(owner)})"
            return Text(f"gl.convert_layout({operands[0].text}, {layout})[:, None]")
        text = self.gluon.expression(owner, operands)
        if self.columns is None and len(list(value.uses)) > 1 and text.binding:
            variable = self.memories.local(self.source.hint(value) or "value", value)
            self.lines.append(f"{variable} = {text.text}")
            text = self.known[value] = Text(variable)
        return text

    def _tensor(self, statement: Statement) -> Text:
        owner = self.memories.tensor_owner(root_of(statement.operands[0], VIEWS))
        assert owner is not None
        buffer = self.memories.tensor(owner, _ZERO)
        value = statement.results[0]
        variable = self.memories.local(self.memories.names(self.source.hint(value) or owner), value)
        layout = self.source.type_of(value).layout
        assert layout is not None
        if self.columns is None:
            self.known[value] = Text(variable)
            self.lines.append(f"{variable} = {buffer}.load({self.gluon.layouts.of_tile(layout)})")
        else:
            cut = f"{buffer}.slice(begin, {self.columns}).load({self._chunk(statement)})"
            if f"{variable} = {cut}" not in self.lines:
                self.lines.append(f"{variable} = {cut}")
        return Text(variable)

    def _chunk(self, statement: Statement) -> str:
        layout = self.source.type_of(statement.results[0]).layout
        assert layout is not None
        assert self.columns is not None
        if layout.name != "linear":
            raise RefusedError("a tile of tensor memory in this layout has no template")
        bases = [b for b in layout.parameters["register"] if b[1] < self.columns]
        return self.gluon.layouts.of_tile(
            Layout("linear", {**layout.parameters, "register": bases})
        )


_ZERO = Iteration("", 0)
__all__ = ["DONE", "EPILOGUE", "Epilogue"]
