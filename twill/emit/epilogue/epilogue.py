"""What follows the loop, for all partitions: its barriers and its code."""

from __future__ import annotations

from collections.abc import Iterator

from twill.base.errors import RefusedError
from twill.emit import statements
from twill.emit.epilogue.buffers import EpilogueBuffers
from twill.emit.epilogue.effects import AFTER, Effects
from twill.emit.epilogue.plans import TILES, Plans
from twill.emit.memory.memories import Memories
from twill.emit.outside import Outside
from twill.emit.partitions.partition import Partition
from twill.emit.tree import Barrier, Node
from twill.emit.unpipelined import begun


class Epilogue:
    """The statements after the loop, for all partitions."""

    def __init__(self, memories: Memories) -> None:
        self.memories, self.slots = memories, memories.slots
        self.plans = Plans(memories)
        self.plan = self.plans.plan
        self.buffers = EpilogueBuffers(self.plans)

    def block_of(self, parameter: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the tile of a descriptor's transfers."""
        stored = {self.slots.argument(s.operands[0]) for _, s in self.plans.stores()}
        return (*shape[:-1], shape[-1] // self.buffers.parts) if parameter in stored else shape

    # -- barriers --------------------------------------------------------------------------------

    def barriers(self) -> Iterator[Barrier]:
        """Yield the barriers after the loop."""
        for owner in self._crossing():
            yield self._left(owner)
            if self.memories.persistent:
                yield self._free(owner)
        yield from (moved.full for moved in self.plan.moved.values())
        yield from map(self._drained, self.plans.undrained())
        if self.plans.looping:
            yield AFTER

    def _crossing(self) -> list[str]:
        """Return the operations whose tensor memory one partition leaves for another."""
        return [o for o, writer in self.plan.tensors.items() if self.plans.crosses(o, writer)]

    def _left(self, owner: str) -> Barrier:
        """Return the barrier that says that tensor memory is complete."""
        return Barrier(f"{self.slots.names(owner)}_left")

    def _free(self, owner: str) -> Barrier:
        """Return the barrier that says that tensor memory has been read."""
        return Barrier(f"{self.slots.names(owner)}_free")

    def _drained(self, group: str) -> Barrier:
        """Return the barrier for the last products of a group."""
        return Barrier(f"{group}_drained")

    # -- code ------------------------------------------------------------------------------------

    def begin(self, group: str) -> list[Node]:
        """Return what a partition waits for before the loop of a further output tile."""
        if not self.memories.persistent:
            return []
        return [
            statements.wait(self._free(owner).slot(), f"({TILES} + 1) & 1")
            for owner in self._crossing()
            if self.plans.assignment[self.plans.writers(owner)[0]] == group
        ]

    def signalled(self, group: str, partition: Partition | None) -> list[Node]:
        """Return what a partition signals and leaves for others once its loop is over."""
        nodes: list[Node] = []
        waits = any(group == other for other, _ in self.plans.stores())
        if partition is not None and partition.flights.stores and not waits:
            nodes.append(statements.transfers_waited(0))
        for owner in self._crossing():
            writer, left = self.plan.tensors[owner], self._left(owner)
            if self.plans.assignment[writer] == group:
                product = self.slots.operations[writer].kind.startswith("mma")
                nodes.append(statements.commit(left) if product else statements.arrive(left.slot()))
        if group in self.plans.undrained():
            drained = self._drained(group)
            nodes += [statements.commit(drained), statements.wait(drained.slot(), self._parity)]
        for value, moved in self.plan.moved.items():
            if moved.maker == group and partition is not None:
                if self.memories.persistent:
                    raise RefusedError(
                        "registers of another group after a loop of a persistent kernel"
                    )
                nodes.append(statements.write(moved.buffer, partition.final(value).text))
                nodes.append(statements.arrive(moved.full.slot()))
        return nodes

    @property
    def _parity(self) -> str:
        """Parity of the phase of an output tile."""
        return f"{TILES} & 1" if self.memories.persistent else "0"

    def code(self, group: str, partition: Partition | None, outside: Outside) -> list[Node]:
        """Return the effects that a partition has."""
        effects = self.plan.effects.get(group, [])
        read = dict.fromkeys(o for s in effects for o in self.plans.tensors(s))
        crossing = [o for o in read if o in self._crossing()]
        waits = [statements.wait(self._left(owner).slot(), self._parity) for owner in crossing]
        writer = Effects(self.buffers, partition, outside)
        for value, moved in self.plan.moved.items():
            if moved.reader == group:
                writer.values.receive(value, moved)
        writer.run(effects)
        nodes = [*waits, *begun(writer.body.nodes)]
        if self.memories.persistent:
            nodes += [statements.arrive(self._free(owner).slot()) for owner in crossing]
        return nodes
