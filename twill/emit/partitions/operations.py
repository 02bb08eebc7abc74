"""The operations of a loop in Gluon, one template a kind."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from twill.artifacts.loop import Operation
from twill.artifacts.program import Issue, Program
from twill.base.errors import RefusedError
from twill.emit import statements
from twill.emit.attributes import refused
from twill.emit.expressions.texts import Text
from twill.emit.names import number
from twill.emit.partitions.chunks import through_registers
from twill.emit.partitions.values import Values
from twill.emit.source import tile_of
from twill.emit.tree import Assignment, Call, Node
from twill.frontends.ttgir.kinds import DESCRIPTOR_STORES, product_operands
from twill.frontends.ttgir.reader import name_of

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
