"""Memory of a loop and its kernel: mutable buffers, global memory, shared memory around it.

A token orders all accesses to a buffer. So it mixes two things: a value that one operation leaves
for another, and a buffer that is used again. Here each full write begins a new version of a buffer.
Readers and updates of a version depend on its maker. The next full write comes after the readers
only because there is one buffer, which a scheduler may change.

In global memory two accesses may touch the same bytes if they go through the same kernel argument;
different arguments and descriptors are taken not to alias. Loads do not order each other, and
neither do reductions of one kind, which commute.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.ir import Operation, SSAValue

from twill.artifacts.loop import ELEMENT_BITS
from twill.base.graphs import reached
from twill.frontends.shared import refused
from twill.frontends.ttgir.draft import Flow
from twill.frontends.ttgir.graph import BodyGraph, root_of, steady_flag
from twill.frontends.ttgir.kinds import (
    ALLOCATIONS,
    DESCRIPTOR,
    DESCRIPTOR_STORES,
    MUTABLE_VIEWS,
    POINTER_STORES,
    PRODUCTS,
    VIEWS,
    WRITES,
    kind_of,
    product_operands,
    tile_operands,
)
from twill.frontends.ttgir.reader import Dump, attribute, integer, name_of
from twill.frontends.types import Type

Mode = Literal["read", "write", "update"]
CONTENTS = -1  # what an allocation is filled with is no access to a buffer
GLOBAL = ("load", "store", "atomic", "tt.atomic_cas")  # kinds that access global memory
# Reductions in global memory, and the attribute that says which.
REDUCTIONS = {"tt.descriptor_reduce": "kind", "tt.atomic_rmw": "atomic_rmw_op"}
EXCHANGE = 10  # of `atomic_rmw_op`
ADDRESSES = VIEWS | {DESCRIPTOR, "ttg.convert_layout"}
FEWEST_COLUMNS = 32
"""Columns of the smallest part of a tile of tensor memory that is stored by itself."""
TileKind = tuple[tuple[int, ...], str]


@dataclass(frozen=True)
class Access:
    """The operation at position `node` touches a buffer as an operand.

    The operand names the buffer as it is `seen`, perhaps through a view. An access reads, writes
    the whole, or updates: a part, or in place.
    """

    node: int
    buffer: SSAValue
    seen: SSAValue
    operand: int
    mode: Mode


class Buffers:
    """Accesses to mutable buffers in one loop body, and the dependences through them.

    `flows`: values that are read through buffers. `renamed`: waits for a buffer that a further
    buffer would avoid. `untouched`: reads of buffers that the loop never writes.
    """

    def __init__(self, dump: Dump, graph: BodyGraph) -> None:
        self._dump, self._graph = dump, graph
        self.accesses = tuple(
            access
            for node, operation in enumerate(graph.operations)
            for access in self._accesses(node, operation)
        )
        self.flows: list[Flow] = []
        self.renamed: list[Flow] = []
        self.untouched: list[Access] = []
        inside = set(graph.operations)
        for buffer in dict.fromkeys(access.buffer for access in self.accesses):
            touching = [access for access in self.accesses if access.buffer is buffer]
            self._follow(touching, fresh=buffer.owner in inside)

    def position_of(self, access: Access) -> int | None:
        """Return as which of its tiles an operation reads a buffer, if as one."""
        tiles = tile_operands(self._dump, self._graph.operations[access.node])
        return next(
            (n for n, (position, _) in enumerate(tiles) if position == access.operand), None
        )

    def _accesses(self, node: int, operation: Operation) -> Iterator[Access]:
        if name_of(operation) in VIEWS:
            return
        for position, value in enumerate(operation.operands):
            if self._dump.type_of(value).mutable:
                buffer = self._allocation(value)
                mode = self._mode(operation, position, whole=buffer is value)
                yield Access(node, buffer, value, position, mode)
        if name_of(operation) in ALLOCATIONS and operation.operands:
            for result in operation.results:
                if self._dump.type_of(result).mutable:
                    yield Access(node, result, result, CONTENTS, "write")

    def _allocation(self, value: SSAValue) -> SSAValue:
        """Return the buffer that a view shows, which an argument may hand on unchanged."""
        root = root_of(value, MUTABLE_VIEWS)
        while root in self._graph.carried:
            if self._graph.carried[root] is not root:
                raise refused(
                    self._dump.file,
                    "a buffer that operations write is exchanged from one iteration to the next; "
                    "only buffers that stay can be scheduled",
                )
            root = root_of(self._graph.initial[root], MUTABLE_VIEWS)
        return root

    def _mode(self, operation: Operation, position: int, *, whole: bool) -> Mode:
        """Say what happens to a buffer; one that may not be written keeps what there is."""
        name = name_of(operation)
        if position != WRITES.get(name):
            return "read"
        if name in PRODUCTS:
            roles = product_operands(operation)
            use_d, predicate = roles["use_d"], roles["predicate"]
            whole = whole and use_d is not None and self._is(operation, use_d, flag=False)
        else:
            predicate = len(operation.operands) - 1 if name == "ttng.tmem_store" else None
        always = predicate is None or self._is(operation, predicate, flag=True)
        return "write" if whole and always else "update"

    def _is(self, operation: Operation, position: int, *, flag: bool) -> bool:
        """Whether an operand is this constant in every iteration but the first ones."""
        return steady_flag(self._graph, operation.operands[position]) is flag

    def _follow(self, accesses: Sequence[Access], *, fresh: bool) -> None:
        """Follow the versions of a buffer through two iterations, of a fresh one through one."""
        maker: tuple[int, Access] | None = None
        users: list[tuple[int, Access]] = []
        for iteration in (1,) if fresh else (0, 1):
            for access in accesses:
                if iteration and access.mode == "write":
                    self.renamed += [
                        Flow(user.node, access.node, iteration - when, kind="anti")
                        for when, user in users
                        if user.node != access.node
                    ]
                elif iteration and maker is None:
                    self.untouched.append(access)
                elif iteration and maker is not None:
                    self.flows.append(self._flow(maker[1], access, iteration - maker[0]))
                users.append((iteration, access))
                if access.mode != "read":
                    maker, users = (iteration, access), [(iteration, access)]

    def _flow(self, producer: Access, consumer: Access, distance: int) -> Flow:
        made, seen = (self._dump.type_of(access.seen).shape for access in (producer, consumer))
        operand, update = self.position_of(consumer), consumer.mode == "update"
        axes = tuple(range(len(seen))) if made == seen else None
        return Flow(producer.node, consumer.node, distance, operand, axes, in_place=update)


def global_order(graph: BodyGraph, kept: Sequence[int]) -> list[Flow]:
    """Return order flows between accesses to one argument of which at least one writes."""
    body = graph.operations
    accesses = [
        (i, body[i], _roots(body[i].operands[0], graph)) for i in kept if kind_of(body[i]) in GLOBAL
    ]
    return [
        Flow(i, j, 0 if i < j else 1, kind="order")
        for i, first, roots in accesses
        for j, second, others in accesses
        if roots & others and _ordered(first, second)
    ]


def _ordered(first: Operation, second: Operation) -> bool:
    if kind_of(first) == kind_of(second) == "load":
        return False
    reduction = _reduction(first)
    return reduction is None or reduction != _reduction(second)


def _reduction(operation: Operation) -> tuple[str, int | None] | None:
    """Return what commutes with itself: the reduction that an access does, or None."""
    name = name_of(operation)
    if name not in REDUCTIONS:
        return None
    which = integer(operation, REDUCTIONS[name])
    return None if name == "tt.atomic_rmw" and which == EXCHANGE else (name, which)


def _roots(address: SSAValue, graph: BodyGraph) -> set[SSAValue]:
    """Return the arguments and descriptors that an address may come from."""

    def before(value: SSAValue) -> list[SSAValue]:
        return [root_of(one, ADDRESSES) for one in _before(value, graph)]

    return {v for v in reached([root_of(address, ADDRESSES)], before) if not _before(v, graph)}


def _before(address: SSAValue, graph: BodyGraph) -> Sequence[SSAValue]:
    """Return the addresses that one is chosen from: those of two iterations, or of a selection."""
    if address in graph.initial:
        return [graph.initial[address], graph.carried[address]]
    owner = address.owner
    if isinstance(owner, Operation) and name_of(owner) == "arith.select":
        return list(owner.operands)[1:]
    return []


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

    `after`: the statements after the loop.
    `type_of`: the type of a value.
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
