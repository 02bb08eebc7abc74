"""The epilogue of all partitions, which follows the loop: its barriers and its code."""

from __future__ import annotations

from collections.abc import Iterator

from twill.base.errors import RefusedError
from twill.emit import statements
from twill.emit.epilogue.buffers import EpilogueBuffers
from twill.emit.epilogue.parts import PartValues
from twill.emit.epilogue.plans import TILES, Plans
from twill.emit.memory.memories import Memories
from twill.emit.outside import Outside
from twill.emit.partitions.partition import Partition
from twill.emit.source import Statement
from twill.emit.tree import Barrier, Loop, Node
from twill.emit.unpipelined import NEXT, Unpipelined, begun
from twill.frontends.ttgir.kinds import DESCRIPTOR_STORES


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
            if self.memories.slots.persistent:
                yield self._free(owner)
        yield from (moved.full for moved in self.plan.moved.values())
        yield from map(self._drained, self.plans.undrained())
        if self.plans.together:
            yield AFTER

    def _crossing(self) -> list[str]:
        """Return the operations whose tensor memory one partition leaves for another."""
        return [o for o, writer in self.plan.tensors.items() if self.plans.crosses(o, writer)]

    def _left(self, owner: str) -> Barrier:
        """Return the barrier that signals that tensor memory is complete."""
        return Barrier(f"{self.slots.names(owner)}_left")

    def _free(self, owner: str) -> Barrier:
        """Return the barrier that signals that tensor memory has been read."""
        return Barrier(f"{self.slots.names(owner)}_free")

    def _drained(self, group: str) -> Barrier:
        """Return the barrier for the last products of a group."""
        return Barrier(f"{group}_drained")

    # -- code ------------------------------------------------------------------------------------

    def begin(self, group: str) -> list[Node]:
        """Return the waits of a partition before the loop of a further output tile."""
        if not self.memories.slots.persistent:
            return []
        return [
            statements.wait(self._free(owner).slot(), f"({TILES} + 1) & 1")
            for owner in self._crossing()
            if self.plans.assignment[self.plans.writers(owner)[0]] == group
        ]

    def signalled(self, group: str, partition: Partition | None) -> list[Node]:
        """Return the signals of a partition, and its values for others, once its loop is over."""
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
                if self.memories.slots.persistent:
                    raise RefusedError(
                        "registers of another group after a loop of a persistent kernel"
                    )
                nodes.append(statements.write(moved.buffer, partition.final(value).text))
                nodes.append(statements.arrive(moved.full.slot()))
        return nodes

    @property
    def _parity(self) -> str:
        """Parity of the phase of an output tile."""
        return f"{TILES} & 1" if self.memories.slots.persistent else "0"

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
        odd = sum(node == NEXT for node in writer.body.nodes) % 2
        nodes = [*waits, *begun(writer.body.nodes, self._parity if odd else "0")]
        if self.memories.slots.persistent:
            nodes += [statements.arrive(self._free(owner).slot()) for owner in crossing]
        return nodes


AFTER = Barrier("after_done")  # for transfers and products that are waited for at once


class Effects:
    """The statements after the loop, in one partition."""

    def __init__(
        self, buffers: EpilogueBuffers, partition: Partition | None, outside: Outside
    ) -> None:
        self.buffers, self.source = buffers, buffers.source
        self.values = PartValues(buffers, partition, outside)
        self.body = self.values.body
        stores = {"tt.store": self._stored, "tt.atomic_rmw": self._updated}
        stores |= dict.fromkeys(DESCRIPTOR_STORES, self._transferred)
        self.run = Unpipelined(self.values, AFTER, stores).run

    def _stored(self, statement: Statement) -> None:
        operands = [self.values.value(o) for o in statement.operands]
        self.body.add(statements.stored(statement, operands))

    def _updated(self, statement: Statement) -> None:
        operands = [self.values.value(o) for o in statement.operands]
        self.body.add(statements.updated(self.source, statement, operands))

    def _transferred(self, statement: Statement) -> None:
        """Store a tile through a buffer, in parts of its columns if there are several."""
        descriptor, value, *at = statement.operands
        values, parts, buffer = self.values, self.buffers.parts, self.buffers.buffer(statement)
        coordinates = [values.value(o).text for o in at]
        whole = self.source.type_of(value).shape[-1]
        if parts > 1:
            coordinates[-1] = f"{coordinates[-1]} + begin".removeprefix("0 + ")
        to = self.buffers.memories.slots.argument(descriptor)
        with values.in_parts(whole // parts if parts > 1 else None) as nodes:
            self.body.add(
                statements.write(buffer, values.stored(value).text),
                statements.FENCE,
                statements.transfer_back(statement, to, coordinates, buffer),
                statements.transfers_waited(0),
            )
        if parts == 1:
            self.body.add(*nodes)
        else:
            over = f"gl.static_range(0, {whole}, {whole // parts})"
            self.body.add(Loop("begin", over, tuple(nodes)))
