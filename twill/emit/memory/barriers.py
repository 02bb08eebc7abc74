"""Barriers of the loop: the schedule's, and those by which a group awaits what it began itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from twill.artifacts.loop import Operation
from twill.artifacts.program import Await, Program, singles
from twill.base.errors import RefusedError
from twill.emit.memory.slots import Slots
from twill.emit.tree import Barrier
from twill.lower.iterations import Iteration


class Barriers:
    """The barriers of one kernel's loop."""

    def __init__(self, slots: Slots) -> None:
        self.slots, self.schedule = slots, slots.schedule
        self.rings = {barrier.name: barrier for barrier in self.schedule.barriers}

    def every(self) -> Iterator[Barrier]:
        """Yield every barrier."""
        for barrier in self.rings.values():
            yield Barrier(self.slots.names(barrier.name), barrier.slots, barrier.arrivals)
        yield from self._done.values()

    def of(self, name: str, iteration: Iteration) -> tuple[str, str]:
        """Return a barrier of the schedule, and the parity of the phase of an iteration."""
        ring = self.rings[name]
        if ring.kind is not None:
            raise RefusedError(f"{name}: named barriers have no template for kernels")
        slot, parity = self.slots.turn(iteration, ring.slots)
        return Barrier(self.slots.names(name)).slot(slot), parity

    def done(self, operation: str, iteration: Iteration) -> tuple[str, str] | None:
        """Return the barrier by which a group awaits what it began, and the phase's parity."""
        barrier = self._done.get(operation)
        if barrier is None or barrier.slots is None:
            return None
        slot, parity = self.slots.turn(iteration, barrier.slots)
        return barrier.slot(slot), parity

    def signals(self, program: Program, operation: str, iteration: Iteration) -> list[str]:
        """Return the barriers that learn of an operation's completion."""
        signals = [s for p in program.issues if p.operation == operation for s in p.signals]
        found = [self.of(signal, iteration)[0] for signal in signals]
        done = self.done(operation, iteration)
        return found if done is None else [*found, done[0]]

    def announces(self, program: Program, operation: str) -> bool:
        """Return whether an arrival of the schedule announces the bytes of a transfer."""
        signals = [s for p in program.issues if p.operation == operation for s in p.signals]
        return any(self.rings[signal].transactions for signal in signals)

    @cached_property
    def _done(self) -> dict[str, Barrier]:
        """Barriers for operations that their own group awaits without a hardware counter."""
        found: dict[str, int] = {}
        for program in self.schedule.programs:
            stages = {issue.operation: issue.stage for issue in program.issues}
            for instruction in program.body:
                for part in singles(instruction):
                    if isinstance(part, Await) and self._needs_barrier(part.operation):
                        behind = part.stage + part.distance - stages[part.operation]
                        found[part.operation] = max(found.get(part.operation, 1), behind + 1)
        return {name: Barrier(f"{self.slots.names(name)}_done", n) for name, n in found.items()}

    def _needs_barrier(self, name: str) -> bool:
        operation: Operation = self.slots.operations[name]
        if operation.kind == "load":
            copied = operation.attributes.get("engine") != "pointer"
            return copied and self._is_read_at_home(name)
        return operation.kind.startswith("mma") and not self.slots.in_registers(name)

    def _is_read_at_home(self, load: str) -> bool:
        """Whether a group reads the tile that it copies to shared memory, or no group does.

        If only others do, it waits for a copy only before it changes the registers of the address,
        and those have been read when the copy is issued.
        """
        groups = self.schedule.assignment
        readers = {
            groups[d.consumer]
            for d in self.schedule.loop.dependences
            if d.producer == load and d.kind == "data"
        }
        return not readers or groups[load] in readers
