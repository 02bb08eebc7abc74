"""Buffers that products read and that are filled before the loop."""

from __future__ import annotations

from typing import NamedTuple

from twill.base.errors import RefusedError
from twill.emit import statements
from twill.emit.expressions.gluon import Gluon
from twill.emit.memory.memories import Memories
from twill.emit.outside import Outside
from twill.emit.tree import Allocation, Barrier, Node
from twill.frontends.ttgir.reader import name_of

FULL = Barrier("before_full", slots=None)  # for the transfers that fill them


class Fixed(NamedTuple):
    """What allocates such buffers, and what fills them."""

    allocations: list[Allocation]
    nodes: list[Node]


def fixed_buffers(memories: Memories, gluon: Gluon) -> Fixed:
    """Return how buffers are filled before the loop."""
    outside, source = Outside(memories, gluon), memories.source
    allocations: list[Allocation] = []
    loads: list[Node] = []
    stores: list[Node] = []
    size = 0
    for root, name in memories.before.fixed_names.items():
        statement = source.statement(root)
        if statement is None or name_of(statement) != "ttg.local_alloc":
            raise RefusedError(f"what fills {name} before the loop has no template")
        kind = source.type_of(root)
        layout = memories.layouts.of_memory(source.layout_text(root))
        what = statements.contents(kind.dtype, kind.shape, layout)
        allocations.append(statements.shared_memory(name, what))
        value = statement.operands[0]
        made = source.statement(value)
        if made is not None and name_of(made) == "tt.descriptor_load":
            loads.append(statements.transfer(made, outside.value, FULL.slot(), name))
            size += kind.checked_tile().bytes
        else:
            tile = gluon.tile(value, outside.value(value))
            stores.append(statements.write(name, tile.text))
    if (loads or stores) and memories.persistent:
        raise RefusedError("buffers that are filled for each output tile have no template")
    nodes = [*outside.nodes]
    if loads:
        expected = statements.expect(FULL.slot(), size)
        nodes += [FULL, expected, *loads, statements.wait(FULL.slot(), "0")]
    if stores:
        nodes += [*stores, statements.FENCE]
    return Fixed(allocations, nodes)
