"""The operations of a loop in Gluon, one template a kind."""

from __future__ import annotations

from collections.abc import Callable

from twill.artifacts.loop import Operation
from twill.artifacts.program import Barrier, Issue, Program
from twill.artifacts.schedule import Group
from twill.emit.dress import Gluon, Text
from twill.emit.memory import Memories
from twill.emit.names import number
from twill.emit.source import SSAValue, Statement
from twill.emit.values import Chunk, Values
from twill.errors import RefusedError
from twill.frontends.ttgir.kinds import product_operands
from twill.frontends.ttgir.reader import name_of
from twill.show.iterations import Iteration

INDENT = "    "
CHUNK = 32  # columns of tensor memory that pass through registers at a time
SIGNALLED = ("load", "mma", "mma_scaled")  # kinds whose completion hardware signals by itself


class Operations(Values):
    """Issues of one group."""

    def __init__(self, memories: Memories, gluon: Gluon, group: Group) -> None:
        super().__init__(memories, gluon, group)
        self.barriers: dict[str, Barrier] = {b.name: b for b in self.schedule.barriers}
        self.program: Program = self.schedule.program(group.name)

    def issue(self, part: Issue) -> list[str]:
        """Return the code of an operation where its first part is; ptxas mixes instructions."""
        operation = self.operations[part.operation]
        self.where.operation = operation
        lines: list[str] = []
        if part.first:
            template: Callable[[Operation], list[str]] = getattr(
                self, f"_{operation.kind.replace('.', '_')}", self._computed
            )
            lines += template(operation)
        if part.last and operation.kind not in SIGNALLED:
            lines += [f"mbarrier.arrive({b})" for b in self._signals(operation.name)]
        return lines

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

    # -- registers -------------------------------------------------------------------------------

    def _computed(self, operation: Operation) -> list[str]:
        """Compute a tile in registers, all statements of an operation in one expression."""
        statement = self.source.statement(self.memories.results(operation.name)[-1])
        assert statement is not None
        return [f"{self.result(operation)} = {self.expression(statement).text}"]

    # -- global memory ---------------------------------------------------------------------------

    def _load(self, operation: Operation) -> list[str]:
        statement = self.memories.first(operation.name, "load")
        signals = self._signals(operation.name)
        match operation.attributes.get("engine"):
            case "pointer":
                given = self.gluon.load(statement, [self.value(o) for o in statement.operands])
                lines = [f"{self.result(operation)} = {given}"]
                return lines + [f"mbarrier.arrive({b})" for b in signals]
            case "cp_async":
                pointer = self.value(statement.operands[0]).text
                lines = [f"async_copy.async_load({self._slot(operation.name)}, {pointer})"]
                for barrier in signals:
                    lines.append(f"async_copy.mbarrier_arrive({barrier})")
                    lines.append(f"mbarrier.arrive({barrier})")
                return lines
        return self._transfer(operation, statement, signals)

    def _transfer(
        self, operation: Operation, statement: Statement, signals: list[str]
    ) -> list[str]:
        """Load a tile by TMA, which reports its bytes to one barrier."""
        if len(signals) != 1:
            raise RefusedError(f"{operation.name}: a transfer has one barrier (got {len(signals)})")
        descriptor, *at = statement.operands
        tile = operation.result
        assert tile is not None
        coordinates = ", ".join(self.value(o).text for o in at)
        where = f"[{coordinates}], {signals[0]}, {self._slot(operation.name)}"
        load = f"tma.async_load({self.value(descriptor).text}, {where})"
        told = [s for p in self.program.issues if p.operation == operation.name for s in p.signals]
        if any(self.barriers[s].transactions for s in told):  # an arrive announces the bytes
            return [load]
        return [f"mbarrier.expect({signals[0]}, {tile.bytes})", load]

    def _store(self, operation: Operation) -> list[str]:
        statement = self.memories.first(operation.name, "store")
        if operation.attributes.get("engine") != "tma":
            return [f"gl.store({', '.join(self.value(o).text for o in statement.operands)})"]
        descriptor, _, *at = statement.operands
        reduces = name_of(statement) == "tt.descriptor_reduce"
        call = "async_atomic_add" if reduces else "async_store"
        staged = next(d for d in self.reads(operation) if self.memories.held_or_none(d.producer))
        iteration = self.where.iteration.minus(staged.distance)
        source = self.memories.slot(self.memories.held(staged.producer), iteration)
        coordinates = ", ".join(self.value(o).text for o in at)
        return [f"tma.{call}({self.value(descriptor).text}, [{coordinates}], {source})"]

    # -- products --------------------------------------------------------------------------------

    def _mma(self, operation: Operation) -> list[str]:
        statement = self.memories.first(operation.name, "mma")
        if self.memories.in_registers(operation.name):
            return self._wgmma(operation, statement)
        return self._tcgen05(operation, statement)

    def _wgmma(self, operation: Operation, statement: Statement) -> list[str]:
        a, b, *others = statement.operands
        texts = [self.factor(a), self.factor(b), *(self.value(o).text for o in others)]
        given = self.gluon.wgmma(statement, texts)
        return [f"{self.result(operation)} = warpgroup_mma({given}, is_async=True)"]

    def _mma_scaled(self, operation: Operation) -> list[str]:
        """Multiply tiles with scales, which the tensor core finds in tensor memory."""
        statement = self.memories.first(operation.name, "mma_scaled")
        roles, scales = product_operands(statement), self.memories.scales(operation.name)
        copies = [
            f"tcgen05_copy({self.factor(statement.operands[roles[role] or 0])}, {name})"
            for role, name in scales.items()
        ]
        return copies + self._tcgen05(operation, statement)

    def _tcgen05(self, operation: Operation, statement: Statement) -> list[str]:
        roles = product_operands(statement)
        a, b = (statement.operands[roles[key] or 0] for key in ("a", "b"))
        use, at = roles["use_d"], self.where.iteration
        used = "True" if use is None else self.value(statement.operands[use]).text
        if used == "True" and self.memories.begins_at_zero(operation.name):
            used = f"{number(at)} > 0" if at.base else str(at.offset > 0)
        signals = self._signals(operation.name)
        to = self.memories.tensor(operation.name, at)
        factors = [
            self.factor(a),
            self.factor(b),
            to,
            *self.memories.scales(operation.name).values(),
        ]
        return [self.gluon.tcgen05(statement, factors, used, signals)]

    # -- shared and tensor memory ----------------------------------------------------------------

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
