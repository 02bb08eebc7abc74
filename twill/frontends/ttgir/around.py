"""Shared memory that a kernel takes around its loop: what it stores, and what other loops leave."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from xdsl.ir import Operation, SSAValue

from twill.artifacts.loop import ELEMENT_BITS
from twill.base.graphs import reached
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import DESCRIPTOR_STORES, POINTER_STORES, VIEWS
from twill.frontends.ttgir.reader import Dump, attribute, name_of
from twill.frontends.types import Type

FEWEST_COLUMNS = 32
"""Columns of the smallest part of a tile of tensor memory that is stored by itself."""
TileKind = tuple[tuple[int, ...], str]


def shared_bytes(dump: Dump, loop: Operation) -> int:
    """Return the bytes of shared memory that a kernel needs in addition to the values of a loop.

    A tile is stored from registers as a whole. Its buffer is its own, unless a buffer that was
    filled before the loop is like it. A tile of tensor memory can be stored in parts of its
    columns. Results of an earlier loop in registers reach this loop through a buffer. Registers do
    not hold the results of two products of a later loop.
    """
    block = loop.parent
    assert block is not None
    statements = list(block.ops)
    place = statements.index(loop)
    stored = Counter(
        (_kind(dump, inner.operands[1]), _from_registers(dump, inner, loop))
        for statement in statements[place + 1 :]
        for inner in statement.walk()
        if name_of(inner) in DESCRIPTOR_STORES
    )
    filled = Counter(_filled(dump, loop))
    total = 0
    for (kind, registers), count in stored.items():
        if registers:
            total += max(0, count - filled[kind]) * _bytes(kind)
        else:
            total += _bytes(kind) // _parts(kind)
    for statement in statements[:place]:
        if name_of(statement) == "scf.for":
            left = [r for r in statement.results if dump.type_of(r).kind == "tensor"]
            total += sum(_bytes(_kind(dump, r)) for r in left if list(r.uses))
    total += sum(_parked(dump, s) for s in statements[place + 1 :] if name_of(s) == "scf.for")
    return total + exchanged_bytes(statements[place + 1 :], dump.type_of)


def exchanged_bytes(after: Iterable[Operation], type_of: Callable[[SSAValue], Type]) -> int:
    """Return the bytes of the buffer in which threads exchange a tile to store it by pointers.

    Triton takes one for each change of the layout, at most as large as the tile; it takes one after
    the other. Stores by TMA exchange nothing.

    Parameters
    ----------
    after : iterable of Operation
        The statements after the loop.
    type_of : callable
        The type of a value.
    """
    found = [0]
    for store in (inner for s in after for inner in s.walk() if name_of(inner) in POINTER_STORES):
        made = store.operands[1].owner
        if isinstance(made, Operation) and name_of(made) == "ttg.convert_layout":
            kind = type_of(made.operands[0])
            if kind.shape and str(attribute(made, "sched.trivial")) != "true":
                found.append(_bytes((kind.shape, kind.dtype)))
    return max(found)


def _parked(dump: Dump, loop: Operation) -> int:
    """Return the bytes of the tiles that a loop of several products carries in shared memory."""
    if sum(name_of(inner) == "ttng.warp_group_dot" for inner in loop.walk()) < 2:
        return 0
    kinds = [_kind(dump, a) for a in loop.regions[0].blocks[0].args]
    return sum(_bytes(kind) for kind in kinds if len(kind[0]) > 1)


def _kind(dump: Dump, value: SSAValue) -> TileKind:
    kind = dump.type_of(value)
    return kind.shape, kind.dtype


def _bytes(kind: TileKind) -> int:
    shape, dtype = kind
    return math.prod(shape) * ELEMENT_BITS[dtype] // 8


def _parts(kind: TileKind) -> int:
    """Return the most parts of its columns in which a tile is stored."""
    parts = 1
    while kind[0][-1] // (2 * parts) >= FEWEST_COLUMNS:
        parts *= 2
    return parts


def _filled(dump: Dump, loop: Operation) -> Iterator[TileKind]:
    """Yield the buffers that are filled before a loop and read in it."""
    seen: set[SSAValue] = set()
    for operation in loop.walk():
        for value in operation.operands:
            root = root_of(value, VIEWS)
            kind = dump.type_of(root)
            owner = root.owner
            outside = isinstance(owner, Operation) and owner.parent is not loop.regions[0].blocks[0]
            if outside and kind.memory == "smem" and kind.kind == "memdesc" and root not in seen:
                seen.add(root)
                yield _kind(dump, root)


def _from_registers(dump: Dump, store: Operation, loop: Operation) -> bool:
    """Return whether a store needs a tile that the loop leaves in registers."""

    def made_of(value: SSAValue) -> list[SSAValue]:
        owner = value.owner
        if owner is loop or not isinstance(owner, Operation) or owner.parent is not loop.parent:
            return []
        return [operand for inner in owner.walk() for operand in inner.operands]

    needed = reached(store.operands, made_of)
    return any(v.owner is loop and len(dump.type_of(v).shape) > 1 for v in needed)
