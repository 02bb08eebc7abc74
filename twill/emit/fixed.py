"""Buffers that products read and that are filled before the loop."""

from __future__ import annotations

from typing import NamedTuple

from twill.base.errors import RefusedError
from twill.emit.dress import Gluon
from twill.emit.layouts import dtype
from twill.emit.memory import Memories
from twill.emit.outside import Outside
from twill.frontends.ttgir.reader import name_of


class Fixed(NamedTuple):
    """Lines that allocate such buffers, and lines that fill them."""

    allocations: list[str]
    lines: list[str]


def fixed_buffers(memories: Memories, gluon: Gluon) -> Fixed:
    """Return how buffers are filled before the loop."""
    outside, source = Outside(memories, gluon), memories.source
    allocations, loads, stores, size = [], [], [], 0
    for root, name in memories.fixed_names.items():
        statement = source.statement(root)
        if statement is None or name_of(statement) != "ttg.local_alloc":
            raise RefusedError(f"what fills {name} before the loop has no template")
        kind = source.type_of(root)
        layout = memories.layouts.of_memory(source.layout_text(root))
        shape = f"gl.{dtype(kind.dtype)}, {list(kind.shape)}"
        allocations.append(f"{name} = gl.allocate_shared_memory({shape}, {layout})")
        value = statement.operands[0]
        made = source.statement(value)
        if made is not None and name_of(made) == "tt.descriptor_load":
            descriptor, *at = made.operands
            where = ", ".join(outside.value(o).text for o in at)
            argument = memories.argument(descriptor)
            loads.append(f"tma.async_load({argument}, [{where}], before_full, {name})")
            tile = kind.checked_tile()
            size += tile.bytes
        else:
            stores.append(f"{name}.store({gluon.tile(value, outside.value(value)).text})")
    if (loads or stores) and memories.persistent:
        raise RefusedError("buffers that are filled for each output tile have no template")
    lines = [*outside.lines]
    if loads:
        lines += [
            "before_full = mbarrier.allocate_mbarrier()",
            "mbarrier.init(before_full, count=1)",
            f"mbarrier.expect(before_full, {size})",
            *loads,
            "mbarrier.wait(before_full, 0)",
        ]
    if stores:
        lines += [*stores, "fence_async_shared()"]
    return Fixed(allocations, lines)
