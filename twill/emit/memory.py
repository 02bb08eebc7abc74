"""Where the values of a schedule lie in a kernel: buffers, rings, tensor memory, barriers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from twill.artifacts.loop import Operation, Tile
from twill.artifacts.program import Await, Storage, singles
from twill.artifacts.schedule import Schedule
from twill.emit.dress import Gluon
from twill.emit.layouts import Layouts, dtype
from twill.emit.names import Names, names_beside, slot_and_parity
from twill.emit.source import BlockArgument, Source, SSAValue, Statement, constant
from twill.errors import RefusedError
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import ALLOCATIONS, VIEWS, kind_of
from twill.frontends.ttgir.reader import name_of
from twill.frontends.types import Layout
from twill.show.rounds import Iteration

TILE_COLUMNS_F32 = 1  # columns of tensor memory for each column of an f32 tile


class Memories:
    """The memory of one kernel, and the names that all its partitions use for it."""

    def __init__(self, schedule: Schedule, source: Source, layouts: Layouts) -> None:
        self.schedule, self.source, self.layouts = schedule, source, layouts
        self.parameters = source.parameters()
        self.names: Names = names_beside(p.name for p in self.parameters)
        self.operations = {o.name: o for o in schedule.loop.operations}
        self.persistent = source.outer is not None
        self._held = {s.value: s for s in schedule.storage if s.memory == "smem" and not s.transfer}
        self._staged = {s.value: s for s in schedule.storage if s.transfer}
        self._tensor = {s.value: s for s in schedule.storage if s.memory == "tmem"}
        self.fixed_names: dict[SSAValue, str] = {}
        self._locals: dict[SSAValue, str] = {}

    # -- statements of operations ----------------------------------------------------------------

    def statements(self, operation: str) -> list[Statement]:
        """Return the statements that an operation does, in order."""
        body = self.source.graph.operations
        loop = self.schedule.loop.source
        assert loop is not None
        return [body[position] for position in loop.statements.get(operation, ())]

    def first(self, operation: str, kind: str) -> Statement:
        """Return the first of its statements that is of a kind, or the last of all."""
        statements = self.statements(operation)
        if not statements:
            raise RefusedError(f"{operation} is no statement of the kernel")
        return next((s for s in statements if kind and kind_of(s) == kind), statements[-1])

    def results(self, operation: str) -> list[SSAValue]:
        """Return the tiles in registers that an operation's statements make."""
        return [
            result
            for statement in self.statements(operation)
            for result in statement.results
            if self.source.type_of(result).kind == "tensor"
        ]

    def register_layout(self, operation: str, gluon: Gluon) -> str:
        """Return the layout of what an operation leaves in registers."""
        layout = self.source.type_of(self.results(operation)[-1]).layout
        if layout is None:
            raise RefusedError(f"{operation} has no layout")
        return gluon.layouts.of_tile(layout)

    def chunk_layout(self, load: Statement, columns: int, gluon: Gluon) -> str:
        """Return the layout of so many columns of tensor memory, a row for each thread."""
        kind = self.source.type_of(load.results[0])
        if kind.layout is None or kind.layout.name != "linear" or kind.shape[0] != 128:
            raise RefusedError("a tile of tensor memory of other than 128 rows has no template")
        p = kind.layout.parameters
        bases = [b for b in p["register"] if b[1] < columns]
        return gluon.layouts.of_tile(Layout("linear", {**p, "register": bases}))

    # -- places ----------------------------------------------------------------------------------

    def in_registers(self, operation: str) -> bool:
        """Return whether an operation's result lies in registers."""
        tile = self.operations[operation].result
        return tile is not None and tile.memory == "registers"

    def in_tensor(self, operation: str) -> bool:
        """Return whether an operation's result lies in tensor memory."""
        return operation in self._tensor

    def held(self, operation: str) -> Storage:
        """Return the slots in shared memory of an operation's result."""
        return self._held[operation]

    def held_or_none(self, operation: str) -> Storage | None:
        """Return the slots in shared memory of an operation's result, if it lies there."""
        return self._held.get(operation)

    def staging(self, value: str) -> Storage:
        """Return the slots through which a register value goes to other groups."""
        return self._staged[value]

    def turn(self, iteration: Iteration, slots: int) -> tuple[str, str]:
        """Return slot and parity of an iteration."""
        return slot_and_parity(iteration, slots, persistent=self.persistent)

    def buffer(self, storage: Storage) -> str:
        """Return the name of a buffer."""
        return self.names(storage.value) + ("_staging" if storage.transfer else "_smem")

    def slot(self, storage: Storage, iteration: Iteration) -> str:
        """Return the slot of an iteration."""
        return f"{self.buffer(storage)}.index({self.turn(iteration, storage.slots)[0]})"

    def tensor(self, operation: str, iteration: Iteration) -> str:
        """Return where in tensor memory an operation's result of an iteration lies."""
        storage = self._tensor[operation]
        name = f"{self.names(self._same_place(storage))}_tmem"
        if storage.slots == 1:
            return name
        return f"{name}.index({self.turn(iteration, storage.slots)[0]})"

    def _same_place(self, storage: Storage) -> str:
        """Return the first value that lies at the same addresses and is of the same type."""
        kind = self._tensor_kind(storage.value)
        return next(
            s.value
            for s in self._tensor.values()
            if (s.addresses, s.halves, s.slots)
            == (storage.addresses, storage.halves, storage.slots)
            and self._tensor_kind(s.value) == kind
        )

    def _tensor_kind(self, value: str) -> tuple[tuple[int, ...], str]:
        tile = self._tile(value)
        return tile.shape, tile.dtype

    def _tile(self, value: str) -> Tile:
        tile = self.operations[value].result
        assert tile is not None
        return tile

    # -- allocation ------------------------------------------------------------------------------

    def allocations(self) -> Iterator[str]:
        """Yield what allocates shared and tensor memory for the loop's values."""
        shared = [*self._held.values(), *self._staged.values()]
        pooled = self._pools(shared) if self.bytes_apart() > self.capacity else {}
        for number, size in {p: size for p, _, size in pooled.values()}.items():
            layout = "gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[0])"
            yield f"pool{number} = gl.allocate_shared_memory(gl.int8, [{size}], {layout})"
        for storage in shared:
            tile = self._tile(storage.value)
            shape = [storage.slots, *tile.shape]
            what = f"gl.{dtype(tile.dtype)}, {shape}, {self._shared_layout(storage)}"
            made = f"gl.allocate_shared_memory({what})"
            if storage.value in pooled:
                number, begin, _ = pooled[storage.value]
                size = storage.size * storage.slots
                made = f"pool{number}.slice({begin}, {size}).reinterpret({what})"
            yield f"{self.buffer(storage)} = {made}"
        yield from self._tensor_allocations()

    @property
    def capacity(self) -> int:
        """Bytes of shared memory that a program has."""
        smem = self.schedule.machine.memories.smem
        return smem.capacity if smem is not None else 0

    def bytes_apart(self) -> int:
        """Return the bytes that the loop's buffers take if none shares them with another."""
        used = sum(s.size * s.slots for s in (*self._held.values(), *self._staged.values()))
        return used + sum(f.size for f in self.schedule.fixed if f.memory == "smem")

    def _pools(self, shared: list[Storage]) -> dict[str, tuple[int, int, int]]:
        """Return number, first byte and size of the pool of each value that shares bytes in turn.

        Gluon's allocator does not know when values live; the schedule's addresses do.
        """
        rows = sorted((s for s in shared if s.addresses), key=lambda s: min(s.addresses))
        clusters: list[list[Storage]] = []
        end = -1
        for storage in rows:
            if min(storage.addresses) >= end:
                clusters.append([])
            clusters[-1].append(storage)
            end = max(end, max(storage.addresses) + storage.size)
        found: dict[str, tuple[int, int, int]] = {}
        for number, cluster in enumerate(c for c in clusters if len(c) > 1):
            base = min(min(s.addresses) for s in cluster)
            size = max(max(s.addresses) + s.size for s in cluster) - base
            for storage in cluster:
                begin = storage.addresses[0]
                if any(a != begin + k * storage.size for k, a in enumerate(storage.addresses)):
                    raise RefusedError(
                        f"{storage.value}: slots that do not follow each other have no template"
                    )
                found[storage.value] = number, begin - base, size
        return found

    def _shared_layout(self, storage: Storage) -> str:
        tile = self._tile(storage.value)
        if not storage.transfer:
            for dependence in self.schedule.loop.dependences:
                reader = self.operations[dependence.consumer]
                if dependence.producer == storage.value and reader.kind == "store":
                    descriptor = self.first(reader.name, "store").operands[0]
                    return f"{self.argument(descriptor)}.layout"
            for statement in self.statements(storage.value):
                for value in (*statement.results, *statement.operands):
                    kind = self.source.type_of(value)
                    if kind.kind == "memdesc" and kind.memory == "smem":
                        return self.layouts.of_memory(self.source.layout_text(value))
            for statement in self.statements(storage.value):
                for value in statement.operands:
                    text = self.source.layout_text(value)
                    if text.startswith("!tt.tensordesc"):
                        return self.layouts.of_memory(text.replace("!tt.tensordesc", "memdesc", 1))
        rank = len(tile.shape)
        order = list(range(rank))[::-1]
        vector = 1 if rank == 1 else max(1, 16 // (tile.bits // 8))
        phases = 1 if rank == 1 else 8
        shape = f"vec={vector}, per_phase=1, max_phase={phases}, order={order}"
        return f"gl.SwizzledSharedLayout({shape})"

    def _tensor_allocations(self) -> Iterator[str]:
        """Yield allocations by address; what lies in another's columns is a slice of it."""
        owners: list[Storage] = []
        named: set[str] = set()
        order = sorted(self._tensor.values(), key=lambda s: (-s.size, bool(s.halves), s.addresses))
        for storage in order:
            name = self._same_place(storage)
            if name in named:
                continue
            named.add(name)
            yield self._tensor_allocation(storage, name, owners)

    def _tensor_allocation(self, storage: Storage, name: str, owners: list[Storage]) -> str:
        tile = self._tile(name)
        layout = self._tensor_layout(name)
        owner = next((o for o in owners if _within(storage, o)), None)
        variable = f"{self.names(name)}_tmem"
        if owner is None:
            if any(_meets(storage, o) for o in owners):
                raise RefusedError(f"{name} overlaps another value of tensor memory in part")
            owners.append(storage)
            shape = [storage.slots, *tile.shape] if storage.slots > 1 else list(tile.shape)
            made = f"gl.{dtype(tile.dtype)}, {shape}, {layout}"
            return f"{variable} = allocate_tensor_memory({made})"
        whole = f"{self.names(self._same_place(owner))}_tmem"
        begin = storage.addresses[0] - owner.addresses[0]
        cast = f".reinterpret(gl.{dtype(tile.dtype)}, {list(tile.shape)}, {layout})"
        cut = "" if storage.size == owner.size else f".slice({begin}, {storage.size})"
        return f"{variable} = {whole}{cut}{cast}"

    def _tensor_layout(self, value: str) -> str:
        for statement in self.statements(value):
            for seen in (*statement.results, *statement.operands):
                kind = self.source.type_of(seen)
                tile = self._tile(value)
                if kind.memory == "tmem" and kind.shape == tile.shape and kind.dtype == tile.dtype:
                    return self.layouts.of_memory(self.source.layout_text(seen))
        raise RefusedError(f"{value} has no layout in tensor memory")

    # -- barriers that only a kernel needs -------------------------------------------------------

    @cached_property
    def _done(self) -> dict[str, int]:
        """Slots of barriers for what its own group awaits, where hardware has no counter for it."""
        found: dict[str, int] = {}
        for program in self.schedule.programs:
            stages = {issue.operation: issue.stage for issue in program.issues}
            for instruction in program.body:
                for part in singles(instruction):
                    if isinstance(part, Await) and self._needs_barrier(part.operation):
                        behind = part.stage + part.distance - stages[part.operation]
                        found[part.operation] = max(found.get(part.operation, 1), behind + 1)
        return found

    def _needs_barrier(self, name: str) -> bool:
        operation: Operation = self.operations[name]
        if operation.kind == "load":
            return operation.attributes.get("engine") != "pointer"
        return operation.kind == "mma" and not self.in_registers(name)

    def has_done(self, operation: str) -> bool:
        """Return whether an operation has a barrier for its own group."""
        return operation in self._done

    def done_slots(self, operation: str) -> int:
        """Return the slots of that barrier."""
        return self._done[operation]

    def barriers(self) -> Iterator[tuple[str, int, int]]:
        """Yield name, slots and arrivals of every barrier of the loop."""
        for barrier in self.schedule.barriers:
            yield self.names(barrier.name), barrier.slots, barrier.arrivals
        for name, slots in self._done.items():
            yield f"{self.names(name)}_done", slots, 1

    # -- before the loop -------------------------------------------------------------------------

    def argument(self, value: SSAValue) -> str:
        """Return a kernel argument, or the number of the output tile."""
        assert isinstance(value, BlockArgument)
        if value.block is self.source.blocks[0]:
            name, dot, rest = (value.name_hint or "").partition(".")
            if not dot:
                return name
            fact, _, axis = rest.partition(".")
            return f"{name}.{ {'shape': 'shape', 'stride': 'strides'}[fact] }[{axis}]"
        if value.index:
            raise RefusedError("what a loop over output tiles carries has no template")
        return self.names(value.name_hint or "output_tile")

    def local(self, hint: str, value: SSAValue) -> str:
        """Return a variable for a value from before the loop, the same in every partition."""
        if value not in self._locals:
            name = base = self.names(hint)
            taken = {*self._locals.values(), *self.operations}
            count = 1
            while name in taken:
                count += 1
                name = f"{base}{count}"
            self._locals[value] = name
        return self._locals[value]

    def fixed(self, root: SSAValue) -> str:
        """Return a buffer that is filled before the loop."""
        if root not in self.fixed_names:
            hint = self.source.hint(root) or "invariant"
            name, count = f"{self.names(hint)}_smem", 1
            while name in self.fixed_names.values() or name.removesuffix("_smem") in self._held:
                count += 1
                name = f"{self.names(hint)}{count}_smem"
            self.fixed_names[root] = name
        return self.fixed_names[root]

    def fixed_roots(self) -> list[tuple[SSAValue, str]]:
        """Return the buffers that products read and that are filled before the loop."""
        found: dict[SSAValue, None] = {}
        for statement in self.source.graph.operations:
            for value in statement.operands:
                kind = self.source.type_of(value)
                if kind.kind == "memdesc" and kind.memory == "smem":
                    root = root_of(value, VIEWS)
                    if not self.source.inside(root):
                        found[root] = None
        return [(root, self.fixed(root)) for root in found]

    def readers(self, root: SSAValue) -> list[str]:
        """Return the operations that read a buffer that is filled before the loop."""
        found = []
        for position, statement in enumerate(self.source.graph.operations):
            if any(
                self.source.type_of(v).kind == "memdesc" and root_of(v, VIEWS) is root
                for v in statement.operands
            ):
                found += self.source.owners.get(position, [])
        return found

    def loaded_before(self, statement: Statement, outside: object) -> str:
        """Refuse a tile that is loaded into registers before the loop."""
        raise RefusedError(
            f"{self.source.hint(statement.results[0]) or 'a tile'} is loaded into registers before "
            f"the loop; there is no template for that ({type(outside).__name__})"
        )

    def tensor_owner(self, root: SSAValue) -> str | None:
        """Return an operation whose result lies in a buffer of tensor memory of the kernel."""
        for name in self._tensor:
            for statement in self.statements(name):
                for value in statement.operands:
                    kind = self.source.type_of(value)
                    tensor = kind.memory == "tmem" and kind.mutable
                    if tensor and self._writes(statement, value) and _root(value) is root:
                        return name
        return None

    @staticmethod
    def _writes(statement: Statement, value: SSAValue) -> bool:
        position = {"ttng.tc_gen5_mma": 2, "ttng.tmem_store": 0}.get(name_of(statement))
        return position is not None and statement.operands[position] is value

    def filled_before(self) -> Iterator[tuple[str, Statement]]:
        """Yield operations whose tensor memory the kernel fills before the loop, and with what."""
        for statement in self.source.before():
            if name_of(statement) == "ttng.tmem_store":
                owner = self.tensor_owner(root_of(statement.operands[0], VIEWS))
                if owner is not None:
                    yield owner, statement

    def begins_at_zero(self, operation: str) -> bool:
        """Return whether a product adds to zeros at first, and only to itself later."""
        chained = [
            d for d in self.schedule.loop.dependences if d.consumer == operation and d.in_place
        ]
        seen = any(
            d.producer == operation and d.consumer != operation and d.distance
            for d in self.schedule.loop.dependences
        )
        if seen or [d.producer for d in chained] != [operation]:
            return False
        for owner, statement in self.filled_before():
            if owner == operation or self._tensor[owner] is self._tensor[operation]:
                value = next(
                    o for o in statement.operands if self.source.type_of(o).kind == "tensor"
                )
                made = self.source.statement(value)
                if made is not None and name_of(made) == "arith.constant":
                    return constant(made, self.source.type_of(value).dtype) == 0
        return False


def _root(value: SSAValue) -> SSAValue:
    return root_of(value, VIEWS)


def _within(inner: Storage, outer: Storage) -> bool:
    """Whether one lies in the columns of another, and begins at a lane where that begins."""
    a, b = inner.addresses[0], outer.addresses[0]
    first = not outer.halves and not any(inner.halves)
    same = inner.halves == outer.halves
    return b <= a and a + inner.size <= b + outer.size and (same or first)


def _meets(a: Storage, b: Storage) -> bool:
    return any(
        x < y + b.size and y < x + a.size and (not a.halves or a.halves == b.halves)
        for x in a.addresses
        for y in b.addresses
    )


__all__ = ["ALLOCATIONS", "Memories"]
