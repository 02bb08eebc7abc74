"""Accesses of a group to shared and tensor memory and to barriers, one template a kind."""

from __future__ import annotations

from twill.artifacts.loop import Operation
from twill.artifacts.program import Barrier, Get, Program
from twill.artifacts.schedule import Group
from twill.base.errors import RefusedError
from twill.emit.dress import Gluon, Text
from twill.emit.layouts import dtype
from twill.emit.memory import Memories
from twill.emit.names import INDENT
from twill.emit.source import SSAValue, Statement
from twill.emit.values import Chunk, Values
from twill.frontends.ttgir.reader import name_of
from twill.lower.iterations import Iteration

CHUNK = 32  # columns of tensor memory that pass through registers at a time
SIGNALLED = ("load", "mma", "mma_scaled")  # kinds whose completion hardware signals by itself


class Accesses(Values):
    """Barriers and memory as one group uses them."""

    def __init__(self, memories: Memories, gluon: Gluon, group: Group) -> None:
        super().__init__(memories, gluon, group)
        self.barriers: dict[str, Barrier] = {b.name: b for b in self.schedule.barriers}
        self.program: Program = self.schedule.program(group.name)

    def barrier(self, name: str, iteration: Iteration) -> tuple[str, str]:
        """Return a barrier of a ring, and the parity of the phase of an iteration."""
        barrier = self.barriers[name]
        if barrier.kind is not None:
            raise RefusedError(f"{name}: named barriers have no template for kernels")
        slot, parity = self.memories.turn(iteration, barrier.slots)
        return f"{self.names(name)}.index({slot})", parity

    def _signals(self, name: str) -> list[str]:
        """Return the barriers that learn of an operation's completion."""
        told = [s for p in self.program.issues if p.operation == name for s in p.signals]
        found = [self.barrier(s, self.where.iteration)[0] for s in told]
        if self.memories.has_done(name):
            slots = self.memories.done_slots(name)
            slot, _ = self.memories.turn(self.where.iteration, slots)
            found.append(f"{self.names(name)}_done.index({slot})")
        return found

    def _slot(self, operation: str) -> str:
        return self.memories.slot(self.memories.held(operation), self.where.iteration)

    def _local_store(self, operation: Operation) -> list[str]:
        return [f"{self._slot(operation.name)}.store({self._stored(operation).text})"]

    def _stored(self, operation: Operation) -> Text:
        """Return the register tile that an access to memory writes there."""
        statement = self.memories.first(operation.name, "")
        tiles = [o for o in statement.operands if self.source.type_of(o).kind == "tensor"]
        return self.value(tiles[0])

    def _local_load(self, operation: Operation) -> list[str]:
        read = self.reads(operation)[0]
        at = self.where.iteration.minus(read.distance)
        source = self.memories.slot(self.memories.held(read.producer), at)
        layout = self.memories.register_layout(operation.name, self.gluon)
        return [f"{self.result(operation)} = {source}.load({layout})"]

    def _tmem_load(self, operation: Operation) -> list[str]:
        layout = self.memories.register_layout(operation.name, self.gluon)
        return [f"{self.result(operation)} = {self._tensor_read(operation)}.load({layout})"]

    def _tensor_read(self, operation: Operation) -> str:
        """Return the tensor memory that an operation reads."""
        read = next(d for d in self.reads(operation) if self.memories.in_tensor(d.producer))
        return self.memories.tensor(read.producer, self.where.iteration.minus(read.distance))

    def _tmem_store(self, operation: Operation) -> list[str]:
        to = self.memories.tensor(operation.name, self.where.iteration)
        return [f"{to}.store({self._stored(operation).text})"]

    def _tmem_update(self, operation: Operation) -> list[str]:
        to = self.memories.tensor(operation.name, self.where.iteration)
        return self._through_registers(operation, to, to, "")

    def _tmem_drain(self, operation: Operation) -> list[str]:
        source = self._tensor_read(operation)
        if self.memories.held_or_none(operation.name) is not None:
            return self._through_registers(operation, source, self._slot(operation.name), ", dim=1")
        to = self.memories.tensor(operation.name, self.where.iteration)
        return self._through_registers(operation, source, to, "")

    def _put(self, value: str, text: str) -> str:
        """Return a value as other groups find it in shared memory."""
        if self.memories.is_number(value):
            kind = dtype(self.source.type_of(self.memories.results(value)[-1]).dtype)
            return (
                f"gl.full([1], {text}, gl.{kind}, {self.gluon.layouts.of_number(self.group.warps)})"
            )
        return f"{text}.to(gl.int8)" if self.memories.is_flag(value) else text

    def _gotten(self, get: Get, at: Iteration) -> str:
        """Return the copy of another group's value for one of this group's operations."""
        place = self.places.copy(get.value, get.reader, get.distance)
        to = self.names(place.text(at, self.where.round))
        if self.memories.is_number(get.value):
            slot = self.memories.slot(self.memories.staging(get.value), at)
            layout = self.gluon.layouts.of_number(self.group.warps)
            return f"{to} = gl.sum({slot}.load({layout}), axis=0)"
        # What is only converted is read as it is wanted, and not exchanged once more.
        converted = self.operations[get.reader].kind == "convert_layout"
        made = get.reader if converted else get.value
        layout = self.memories.register_layout(made, self.gluon)
        test = " != 0" if self.memories.is_flag(get.value) else ""
        slot = self.memories.slot(self.memories.staging(get.value), at)
        return f"{to} = {slot}.load({layout}){test}"

    def _through_registers(
        self, operation: Operation, source: str, to: str, dimension: str
    ) -> list[str]:
        """Change a tile on its way, a few columns at a time, so that registers hold no more."""
        tile = operation.result
        assert tile is not None
        statements = self.memories.statements(operation.name)
        load = next(s for s in statements if name_of(s) == "ttng.tmem_load")
        by_columns = self._by_columns(statements, load)
        columns = CHUNK if by_columns else tile.shape[1]
        layout = self.memories.chunk_layout(load, columns, self.gluon)
        self.chunk = Chunk(load.results[0], layout)
        text = self._stored(operation).text
        self.chunk = None
        if not by_columns:
            return [f"part = {source}.load({layout})", f"{to}.store({text})"]
        return [
            f"for begin in gl.static_range(0, {tile.shape[1]}, {CHUNK}):",
            f"{INDENT}part = {source}.slice(begin, {CHUNK}).load({layout})",
            f"{INDENT}{to}.slice(begin, {CHUNK}{dimension}).store({text})",
        ]

    def _by_columns(self, statements: list[Statement], load: Statement) -> bool:
        """Whether a tile may go through registers in parts: nothing else in it has columns."""
        whole = self.source.type_of(load.results[0]).shape
        own = {result for statement in statements for result in statement.results}
        return not any(
            self.source.type_of(o).shape == whole and o not in own and not self._is_row(o)
            for statement in statements
            for o in statement.operands
            if self.source.type_of(o).kind == "tensor"
        )

    def _is_row(self, value: SSAValue) -> bool:
        """Whether a tile is a column of numbers, or one, that is broadcast."""
        owner = self.source.statement(value)
        name = name_of(owner) if owner is not None else ""
        if owner is not None and name == "tt.broadcast":
            return self.source.type_of(owner.operands[0]).shape[-1] == 1
        return name in ("tt.splat", "arith.constant")
