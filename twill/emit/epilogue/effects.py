"""What follows the loop, in one partition: what it reads of the loop, and how tiles are stored."""

from __future__ import annotations

from twill.emit import statements
from twill.emit.epilogue.buffers import EpilogueBuffers
from twill.emit.epilogue.parts import PartValues
from twill.emit.outside import Outside
from twill.emit.partitions.partition import Partition
from twill.emit.source import Statement
from twill.emit.tree import Barrier, Loop
from twill.emit.unpipelined import Unpipelined
from twill.frontends.ttgir.kinds import DESCRIPTOR_STORES

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
