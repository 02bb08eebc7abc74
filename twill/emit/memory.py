"""The memory of one kernel: its buffers, barriers, and what is there before the loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from twill.artifacts.loop import Operation
from twill.artifacts.program import Await, singles
from twill.emit.allocations import Allocations
from twill.emit.source import SSAValue, Statement
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import VIEWS, WRITES
from twill.frontends.ttgir.reader import name_of


class Memories(Allocations):
    """The memory of one kernel, and the names that all its partitions use for it."""

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
            copied = operation.attributes.get("engine") != "pointer"
            return copied and self._is_read_at_home(name)
        return operation.kind.startswith("mma") and not self.in_registers(name)

    def _is_read_at_home(self, load: str) -> bool:
        """Whether a group reads what it copies to shared memory, or nobody does.

        If others do, it waits for a copy only before it changes the registers that say where to,
        and those have been read when the copy is issued.
        """
        groups = self.schedule.assignment
        readers = {
            groups[d.consumer]
            for d in self.schedule.loop.dependences
            if d.producer == load and d.kind == "data"
        }
        return not readers or groups[load] in readers

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
        position = WRITES.get(name_of(statement))
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
        if self.source.varies or seen or [d.producer for d in chained] != [operation]:
            return False
        for owner, statement in self.filled_before():
            if owner == operation or self._tensor[owner] is self._tensor[operation]:
                value = next(
                    o for o in statement.operands if self.source.type_of(o).kind == "tensor"
                )
                return self.source.is_zero(value)
        return False


def _root(value: SSAValue) -> SSAValue:
    return root_of(value, VIEWS)
