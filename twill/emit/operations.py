"""The operations of a loop in Gluon, one template a kind."""

from __future__ import annotations

from collections.abc import Callable

from twill.artifacts.loop import Operation
from twill.artifacts.program import Issue
from twill.base.errors import RefusedError
from twill.emit.accesses import SIGNALLED, Accesses
from twill.emit.attributes import refused
from twill.emit.dress import accesses
from twill.emit.dress.atomics import updated
from twill.emit.names import STORES, number
from twill.emit.source import Statement
from twill.frontends.ttgir.kinds import product_operands
from twill.frontends.ttgir.reader import name_of


class Operations(Accesses):
    """Issues of one group."""

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
                loaded = accesses.loaded(statement, [self.value(o) for o in statement.operands])
                lines = [f"{self.result(operation)} = {loaded}"]
                return lines + [f"mbarrier.arrive({b})" for b in signals]
            case "cp_async":
                given = [self.value(o) for o in statement.operands]
                lines = [accesses.copied(self.source, statement, given, self._slot(operation.name))]
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
        if name_of(statement) != "tt.descriptor_load":
            raise refused(statement)
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
            return [accesses.stored(statement, [self.value(o) for o in statement.operands])]
        descriptor, _, *at = statement.operands
        if name_of(statement) not in STORES:
            raise refused(statement)
        reduces = name_of(statement) == "tt.descriptor_reduce"
        call = "async_atomic_add" if reduces else "async_store"
        staged = next(d for d in self.reads(operation) if self.memories.held_or_none(d.producer))
        iteration = self.where.iteration.minus(staged.distance)
        source = self.memories.slot(self.memories.held(staged.producer), iteration)
        coordinates = ", ".join(self.value(o).text for o in at)
        return [f"tma.{call}({self.value(descriptor).text}, [{coordinates}], {source})"]

    def _atomic(self, operation: Operation) -> list[str]:
        statement = self.memories.first(operation.name, "atomic")
        return [updated(self.source, statement, [self.value(o) for o in statement.operands])]

    # -- products --------------------------------------------------------------------------------

    def _mma(self, operation: Operation) -> list[str]:
        statement = self.memories.first(operation.name, "mma")
        if self.memories.in_registers(operation.name):
            return self._wgmma(operation, statement)
        return self._tcgen05(operation, statement)

    def _wgmma(self, operation: Operation, statement: Statement) -> list[str]:
        a, b, *others = statement.operands
        texts = [self.factor(a), self.factor(b), *(self.value(o).text for o in others)]
        given = accesses.wgmma(self.source, statement, texts)
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
        return [accesses.tcgen05(statement, factors, used, signals)]
