"""The operations of a loop in Gluon, one template a kind."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from twill.artifacts.loop import Operation
from twill.artifacts.program import Get, Issue, Program, Put
from twill.base.errors import RefusedError
from twill.emit import statements
from twill.emit.attributes import refused
from twill.emit.expressions.texts import Text
from twill.emit.layouts import dtype
from twill.emit.names import number
from twill.emit.partitions.values import PART, Chunk, Values
from twill.emit.source import Source, SSAValue, Statement, tile_of
from twill.emit.tree import Assignment, Call, Loop, Node
from twill.frontends.ttgir.kinds import DESCRIPTOR_STORES, product_operands
from twill.frontends.ttgir.reader import integer, name_of
from twill.lower.iterations import Iteration

SIGNALLED = ("load", "mma", "mma_scaled")  # kinds whose completion hardware signals by itself


class Operations:
    """Issues of one group."""

    def __init__(self, values: Values, program: Program) -> None:
        self.values, self.program = values, program
        self.memories, self.slots, self.source = values.memories, values.slots, values.source
        self._templates: dict[str, Callable[[Operation], list[Node]]] = {
            "load": self._load,
            "store": self._store,
            "atomic": self._atomic,
            "mma": self._mma,
            "mma_scaled": self._mma_scaled,
            "local_store": self._written,
            "local_load": self._read,
            "tmem_load": self._read,
            "tmem_store": self._written,
            "tmem_update": self._changed,
            "tmem_drain": self._changed,
        }

    def issue(self, part: Issue) -> list[Node]:
        """Return the code of an operation where its first part is; ptxas mixes instructions."""
        operation = self.values.operations[part.operation]
        self.values.where.operation = operation
        nodes: list[Node] = []
        if part.first:
            nodes += self._templates.get(operation.kind, self._computed)(operation)
        if part.last and operation.kind not in SIGNALLED:
            nodes += map(statements.arrive, self._signals(operation))
        return nodes

    def _signals(self, operation: Operation) -> list[str]:
        at = self.values.where.iteration
        return self.memories.barriers.signals(self.program, operation.name, at)

    def _operands(self, operation: Operation, kind: str) -> list[Text]:
        return [self.values.value(o) for o in self.slots.first(operation.name, kind).operands]

    def _slot(self, operation: Operation) -> str:
        """Return the slot in shared memory that an operation fills."""
        return self.slots.slot(self.slots.held[operation.name], self.values.where.iteration)

    def _columns(self, operation: Operation) -> str:
        """Return the tensor memory that an operation writes."""
        return self.slots.tensor(operation.name, self.values.where.iteration)

    # -- registers -------------------------------------------------------------------------------

    def _computed(self, operation: Operation) -> list[Node]:
        """Compute a tile in registers, all statements of an operation in one expression."""
        statement = self.source.statement(self.slots.results(operation.name)[-1])
        assert statement is not None
        value = self.values.expression(statement).text
        return [Assignment(self.values.result(operation), value)]

    # -- global memory ---------------------------------------------------------------------------

    def _load(self, operation: Operation) -> list[Node]:
        statement = self.slots.first(operation.name, "load")
        signals = self._signals(operation)
        match operation.attributes.get("engine"):
            case "pointer":
                loaded = statements.loaded(statement, self._operands(operation, "load"))
                made = Assignment(self.values.result(operation), loaded)
                return [made, *map(statements.arrive, signals)]
            case "cp_async":
                given, to = self._operands(operation, "load"), self._slot(operation)
                arrivals = (
                    (Call("async_copy.mbarrier_arrive", (s,)), statements.arrive(s))
                    for s in signals
                )
                copied = statements.copied(self.source, statement, given, to)
                return [copied, *chain.from_iterable(arrivals)]
        if len(signals) != 1:
            raise RefusedError(f"{operation.name}: a transfer has one barrier (got {len(signals)})")
        tile = operation.result
        assert tile is not None
        load = statements.transfer(statement, self.values.value, signals[0], self._slot(operation))
        if self.memories.barriers.announces(self.program, operation.name):
            return [load]
        return [statements.expect(signals[0], tile.bytes), load]

    def _store(self, operation: Operation) -> list[Node]:
        statement = self.slots.first(operation.name, "store")
        if operation.attributes.get("engine") != "tma":
            return [statements.stored(statement, self._operands(operation, "store"))]
        if name_of(statement) not in DESCRIPTOR_STORES:
            raise refused(statement)
        descriptor, _, *at = statement.operands
        staged = next(d for d in self.values.reads(operation) if d.producer in self.slots.held)
        iteration = self.values.where.iteration.minus(staged.distance)
        source = self.slots.slot(self.slots.held[staged.producer], iteration)
        coordinates = [self.values.value(o).text for o in at]
        to = self.values.value(descriptor).text
        return [statements.transfer_back(statement, to, coordinates, source)]

    def _atomic(self, operation: Operation) -> list[Node]:
        statement = self.slots.first(operation.name, "atomic")
        return [statements.updated(self.source, statement, self._operands(operation, "atomic"))]

    # -- products --------------------------------------------------------------------------------

    def _mma(self, operation: Operation) -> list[Node]:
        statement = self.slots.first(operation.name, "mma")
        if not self.slots.in_registers(operation.name):
            return [self._tcgen05(operation, "mma")]
        made = statements.wgmma(self.source, statement, self.values, "is_async=True")
        return [Assignment(self.values.result(operation), made)]

    def _mma_scaled(self, operation: Operation) -> list[Node]:
        """Multiply tiles with scales, which the tensor core finds in tensor memory."""
        statement = self.slots.first(operation.name, "mma_scaled")
        roles, scales = (
            product_operands(statement),
            self.memories.allocations.scales(operation.name),
        )
        copies = [
            Call("tcgen05_copy", (self.values.factor(statement.operands[roles[role] or 0]), name))
            for role, name in scales.items()
        ]
        return [*copies, self._tcgen05(operation, "mma_scaled")]

    def _tcgen05(self, operation: Operation, kind: str) -> Call:
        adds, at = None, self.values.where.iteration
        if self.memories.before.begins_at_zero(operation.name):
            adds = f"{number(at)} > 0" if at.base else str(at.offset > 0)
        return statements.tcgen05(
            self.slots.first(operation.name, kind),
            self.values,
            self._columns(operation),
            self._signals(operation),
            scales=list(self.memories.allocations.scales(operation.name).values()),
            adds=adds,
        )

    # -- shared and tensor memory ----------------------------------------------------------------

    def _written(self, operation: Operation) -> list[Node]:
        """Write a register tile to shared or tensor memory."""
        tile = tile_of(self.source, self.slots.first(operation.name, ""))
        shared = operation.kind == "local_store"
        to = self._slot(operation) if shared else self._columns(operation)
        return [statements.write(to, self.values.value(tile).text)]

    def _read(self, operation: Operation) -> list[Node]:
        """Read a tile from shared or tensor memory into registers."""
        if operation.kind == "tmem_load":
            source = self._tensor_read(operation)
        else:
            read = self.values.reads(operation)[0]
            at = self.values.where.iteration.minus(read.distance)
            source = self.slots.slot(self.slots.held[read.producer], at)
        layout = self.slots.register_layout(operation.name, self.values.gluon)
        return [statements.read(self.values.result(operation), source, layout)]

    def _tensor_read(self, operation: Operation) -> str:
        """Return the tensor memory that an operation reads."""
        read = next(d for d in self.values.reads(operation) if d.producer in self.slots.tensors)
        return self.slots.tensor(read.producer, self.values.where.iteration.minus(read.distance))

    def _changed(self, operation: Operation) -> list[Node]:
        """Change a tile of tensor memory on its way through registers, to wherever it goes."""
        if operation.kind == "tmem_update":
            to = source = self._columns(operation)
        else:
            source = self._tensor_read(operation)
            held = operation.name in self.slots.held
            to = self._slot(operation) if held else self._columns(operation)
        dimension = ", dim=1" if operation.name in self.slots.held else ""
        return through_registers(self.values, operation, source, to, dimension)


CHUNK = 32  # columns of tensor memory that pass through registers at a time


def through_registers(
    values: Values, operation: Operation, source: str, to: str, dimension: str = ""
) -> list[Node]:
    """Transform a tile between buffers, by `CHUNK` columns where possible, to save registers."""
    tile, slots = operation.result, values.slots
    assert tile is not None
    own = slots.statements(operation.name)
    load = next(s for s in own if name_of(s) == "ttng.tmem_load")
    by_columns = _by_columns(values.source, own, load)
    columns = CHUNK if by_columns else tile.shape[1]
    layout = slots.chunk_layout(load, columns, values.gluon)
    values.chunk = Chunk(load.results[0], layout)
    text = values.value(tile_of(values.source, slots.first(operation.name, ""))).text
    values.chunk = None
    if not by_columns:
        return [statements.read(PART, source, layout), statements.write(to, text)]
    part = statements.read(PART, f"{source}.slice(begin, {CHUNK})", layout)
    written = statements.write(f"{to}.slice(begin, {CHUNK}{dimension})", text)
    return [Loop("begin", f"gl.static_range(0, {tile.shape[1]}, {CHUNK})", (part, written))]


def _by_columns(source: Source, statements: list[Statement], load: Statement) -> bool:
    """Whether a tile may go through registers in parts: nothing else in it has columns."""
    whole = source.type_of(load.results[0]).shape
    own = {result for statement in statements for result in statement.results}
    if any(name_of(s) == "tt.expand_dims" and integer(s, "axis") != 1 for s in statements):
        return False
    return not any(
        source.type_of(o).shape == whole and o not in own and not _is_row(source, o)
        for statement in statements
        for o in statement.operands
        if source.type_of(o).kind == "tensor"
    )


def _is_row(source: Source, value: SSAValue) -> bool:
    """Whether a tile is a column of numbers, or one, that is broadcast."""
    owner = source.statement(value)
    name = name_of(owner) if owner is not None else ""
    if owner is not None and name == "tt.broadcast":
        return source.type_of(owner.operands[0]).shape[-1] == 1
    return name in ("tt.splat", "arith.constant")


def put(values: Values, put: Put, at: Iteration) -> Call:
    """Return the store that stages a value for other groups."""
    slots, place = values.slots, values.places.result(put.value)
    text = values.names(place.text(at, values.where.round))
    if slots.is_number(put.value):
        kind = dtype(values.source.type_of(slots.results(put.value)[-1]).dtype)
        layout = values.gluon.layouts.of_number(values.group.warps)
        text = f"gl.full([1], {text}, gl.{kind}, {layout})"
    elif slots.is_flag(put.value):
        text = f"{text}.to(gl.int8)"
    return statements.write(slots.slot(slots.staged[put.value], at), text)


def got(values: Values, get: Get, at: Iteration) -> Assignment:
    """Return the load of another group's staged value for one of this group's operations."""
    slots, place = values.slots, values.places.copy(get.value, get.reader, get.distance)
    to = values.names(place.text(at, values.where.round))
    slot = slots.slot(slots.staged[get.value], at)
    if slots.is_number(get.value):
        layout = values.gluon.layouts.of_number(values.group.warps)
        return Assignment(to, f"gl.sum({slot}.load({layout}), axis=0)")
    # What is only converted is read as it is wanted, and not exchanged once more.
    converted = values.operations[get.reader].kind == "convert_layout"
    layout = slots.register_layout(get.reader if converted else get.value, values.gluon)
    test = " != 0" if slots.is_flag(get.value) else ""
    return Assignment(to, f"{slot}.load({layout}){test}")
