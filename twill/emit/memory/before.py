"""Values from before the loop: those that every partition computes, and filled buffers."""

from __future__ import annotations

from collections.abc import Iterator

from twill.emit.memory.slots import Slots
from twill.emit.source import SSAValue, Statement, tile_of
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import VIEWS, WRITES
from twill.frontends.ttgir.reader import name_of


class Before:
    """Names of values from before the loop, and the buffers that hold some of them.

    Attributes
    ----------
    fixed_names : dict
        Buffers that are filled before the loop, in the order in which they are first named.
    """

    def __init__(self, slots: Slots) -> None:
        self.slots, self.schedule, self.source = slots, slots.schedule, slots.source
        self.fixed_names: dict[SSAValue, str] = {}
        self._fixed: set[str] = set()
        self._locals: dict[SSAValue, str] = {}

    def local(self, hint: str, value: SSAValue) -> str:
        """Return a variable for a value from before the loop, the same in every partition."""
        if value not in self._locals:
            name = base = self.slots.names(hint)
            taken = {*self._locals.values(), *self.slots.operations}
            count = 1
            while name in taken:
                count += 1
                name = f"{base}{count}"
            self._locals[value] = name
        return self._locals[value]

    def fixed(self, root: SSAValue) -> str:
        """Return a buffer that is filled before the loop."""
        if root not in self.fixed_names:
            hint = base = self.slots.names(self.source.hint(root) or "invariant")
            count = 1
            while base in self._fixed or base in self.slots.held:
                count += 1
                base = f"{hint}{count}"
            self._fixed.add(base)
            self.fixed_names[root] = f"{base}_smem"
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

    def tensor_owner(self, root: SSAValue) -> str | None:
        """Return an operation whose result lies in a buffer of tensor memory of the kernel."""
        for name in self.slots.tensors:
            for statement in self.slots.statements(name):
                for value in statement.operands:
                    kind = self.source.type_of(value)
                    tensor = kind.memory == "tmem" and kind.mutable
                    if tensor and self._writes(statement, value) and root_of(value, VIEWS) is root:
                        return name
        return None

    @staticmethod
    def _writes(statement: Statement, value: SSAValue) -> bool:
        position = WRITES.get(name_of(statement))
        return position is not None and statement.operands[position] is value

    def filled_before(self) -> Iterator[tuple[str, Statement]]:
        """Yield operations whose tensor memory is filled before the loop, and the stores."""
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
        if self.source.varies or seen or [d.producer for d in chained] != [operation]:
            return False
        for owner, statement in self.filled_before():
            if owner == operation or self.slots.tensors[owner] is self.slots.tensors[operation]:
                return self.source.is_zero(tile_of(self.source, statement))
        return False
