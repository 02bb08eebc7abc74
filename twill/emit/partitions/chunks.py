"""Tiles of tensor memory that pass through registers, a few columns at a time."""

from __future__ import annotations

from twill.artifacts.loop import Operation
from twill.emit import statements
from twill.emit.partitions.values import PART, Chunk, Values
from twill.emit.source import Source, SSAValue, Statement, tile_of
from twill.emit.tree import Loop, Node
from twill.frontends.ttgir.reader import name_of

CHUNK = 32  # columns of tensor memory that pass through registers at a time


def through_registers(
    values: Values, operation: Operation, source: str, to: str, dimension: str = ""
) -> list[Node]:
    """Change a tile on its way, a few columns at a time, so that registers hold no more."""
    tile, slots = operation.result, values.slots
    assert tile is not None
    own = slots.statements(operation.name)
    load = next(s for s in own if name_of(s) == "ttng.tmem_load")
    by_columns = _by_columns(values.source, own, load)
    columns = CHUNK if by_columns else tile.shape[1]
    layout = slots.chunk_layout(load, columns, values.gluon)
    values.chunk = Chunk(load.results[0], layout)
    text = values.value(tile_of(values.source, slots.first(operation.name, ""))).text
    values.chunk = None
    if not by_columns:
        return [statements.read(PART, source, layout), statements.write(to, text)]
    part = statements.read(PART, f"{source}.slice(begin, {CHUNK})", layout)
    written = statements.write(f"{to}.slice(begin, {CHUNK}{dimension})", text)
    return [Loop("begin", f"gl.static_range(0, {tile.shape[1]}, {CHUNK})", (part, written))]


def _by_columns(source: Source, statements: list[Statement], load: Statement) -> bool:
    """Whether a tile may go through registers in parts: nothing else in it has columns."""
    whole = source.type_of(load.results[0]).shape
    own = {result for statement in statements for result in statement.results}
    return not any(
        source.type_of(o).shape == whole and o not in own and not _is_row(source, o)
        for statement in statements
        for o in statement.operands
        if source.type_of(o).kind == "tensor"
    )


def _is_row(source: Source, value: SSAValue) -> bool:
    """Whether a tile is a column of numbers, or one, that is broadcast."""
    owner = source.statement(value)
    name = name_of(owner) if owner is not None else ""
    if owner is not None and name == "tt.broadcast":
        return source.type_of(owner.operands[0]).shape[-1] == 1
    return name in ("tt.splat", "arith.constant")
