"""Effects of operations on mutable buffers and on global memory, and their order there.

A token orders all accesses to a buffer. So it mixes two things: a value that one operation leaves
for another, and a buffer that is used again. Here each full write begins a new version of a buffer.
Readers and updates of a version depend on its maker. The next full write comes after the readers
only because there is one buffer, which a scheduler may change.

In global memory two accesses may touch the same bytes if they go through the same kernel argument;
different arguments and descriptors are taken not to alias. Loads do not order each other, and
neither do reductions of one kind, which commute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.ir import Operation, SSAValue

from twill.base.graphs import reached
from twill.frontends.shared import refused
from twill.frontends.ttgir.draft import Flow
from twill.frontends.ttgir.graph import BodyGraph, root_of, steady_flag
from twill.frontends.ttgir.kinds import (
    ALLOCATIONS,
    MUTABLE_VIEWS,
    PRODUCTS,
    VIEWS,
    WRITES,
    kind_of,
    product_operands,
    tile_operands,
)
from twill.frontends.ttgir.reader import Dump, integer, name_of

Mode = Literal["read", "write", "update"]
CONTENTS = -1  # what an allocation is filled with is no access to a buffer
GLOBAL = ("load", "store", "atomic", "tt.atomic_cas")  # kinds that access global memory
# Reductions in global memory, and the attribute that says which.
REDUCTIONS = {"tt.descriptor_reduce": "kind", "tt.atomic_rmw": "atomic_rmw_op"}
EXCHANGE = 10  # of `atomic_rmw_op`
ADDRESSES = VIEWS | {"tt.make_tensor_descriptor", "ttg.convert_layout"}


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
    """Accesses to mutable buffers in one loop body, and who depends on whom through them.

    `flows` say what is read where, `renamed` what only waits for a buffer, which another buffer
    would spare it; `untouched` are reads of buffers that the loop never writes.
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
