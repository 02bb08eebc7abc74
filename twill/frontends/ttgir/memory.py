"""What operations do to mutable buffers and to global memory, and what orders them there.

A token orders everything that happens to a buffer, so that it mixes two things: a value that one
operation leaves for another, and a buffer that is merely used again. Here each full write begins a
new version of a buffer. Who reads or updates a version depends on who made it; that the next full
write comes after the readers is only a consequence of having one buffer, which a scheduler may
change.

In global memory two accesses may touch the same bytes if they go through the same kernel argument;
different arguments and descriptors are taken not to alias. Loads do not order each other, and
neither do reductions of one kind, which commute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.ir import Operation, SSAValue

from twill.errors import RefusedError
from twill.frontends.ttgir.draft import Flow
from twill.frontends.ttgir.graph import BodyGraph, root_of, steady_flag
from twill.frontends.ttgir.kinds import ALLOCATIONS, MUTABLE_VIEWS, VIEWS
from twill.frontends.ttgir.reader import Dump, integer, integers, name_of

Mode = Literal["read", "write", "update"]
CONTENTS = -1  # what an allocation is filled with is no access to a buffer
PRODUCTS = ("ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled")


@dataclass(frozen=True)
class Access:
    """One operation touches one buffer.

    Attributes
    ----------
    node : int
        Position of the operation in the body.
    buffer : SSAValue
        The allocation.
    seen : SSAValue
        The buffer as the operation names it, a view perhaps.
    operand : int
        Position among the IR operands.
    mode : str
        ``read``, ``write`` (all of it) or ``update`` (part of it, or in place).
    """

    node: int
    buffer: SSAValue
    seen: SSAValue
    operand: int
    mode: Mode


@dataclass(frozen=True)
class BufferFlow:
    """`consumer` reads or updates the version of a buffer that `producer` made."""

    producer: Access
    consumer: Access
    distance: int


@dataclass(frozen=True)
class Versions:
    """Flows through buffers, anti-dependences that renaming removes, and first contents.

    Attributes
    ----------
    flows, renamed : tuple of BufferFlow
        What is read where; what only waits for a buffer.
    untouched : tuple of Access
        Reads of buffers that the loop never writes.
    """

    flows: tuple[BufferFlow, ...]
    renamed: tuple[BufferFlow, ...]
    untouched: tuple[Access, ...]


def product_operands(operation: Operation) -> dict[str, int | None]:
    """Return the IR positions of a tcgen05 product's operands by role; None for absent ones."""
    roles = ["a", "b", "d", "token"]
    if name_of(operation) == PRODUCTS[1]:
        roles += ["a_scale", "b_scale"]
    roles += ["use_d", "predicate"]
    segments = integers(operation, "operandSegmentSizes") or [1] * len(roles)
    found: dict[str, int | None] = {}
    position = 0
    for role, size in zip(roles, segments, strict=False):
        found[role] = position if size else None
        position += size
    return found


class Buffers:
    """Accesses to mutable buffers in one loop body."""

    def __init__(self, dump: Dump, graph: BodyGraph) -> None:
        self._dump = dump
        self._graph = graph
        self._inside = set(graph.operations)
        self.accesses = tuple(
            access
            for node, operation in enumerate(graph.operations)
            for access in self._accesses(node, operation)
        )

    def versions(self) -> Versions:
        """Return who depends on whom through buffers."""
        flows: list[BufferFlow] = []
        renamed: list[BufferFlow] = []
        untouched: list[Access] = []
        for buffer in dict.fromkeys(access.buffer for access in self.accesses):
            touching = [access for access in self.accesses if access.buffer is buffer]
            fresh = isinstance(buffer.owner, Operation) and buffer.owner in self._inside
            found = _of_one(touching, fresh=fresh)
            flows += found.flows
            renamed += found.renamed
            untouched += found.untouched
        return Versions(tuple(flows), tuple(renamed), tuple(untouched))

    def _accesses(self, node: int, operation: Operation) -> list[Access]:
        name = name_of(operation)
        found = []
        if name in VIEWS:
            return []
        for position, value in enumerate(operation.operands):
            if self._dump.type_of(value).mutable:
                buffer = self._allocation(value)
                mode = self._mode(operation, name, position, whole=buffer is value)
                found.append(Access(node, buffer, value, position, mode))
        if name in ALLOCATIONS and operation.operands:
            found += [
                Access(node, result, result, CONTENTS, "write")
                for result in operation.results
                if self._dump.type_of(result).mutable
            ]
        return found

    def _allocation(self, value: SSAValue) -> SSAValue:
        """Return the buffer that a view shows, which an argument may hand on unchanged."""
        root = root_of(value, MUTABLE_VIEWS)
        while root in self._graph.carried:
            if self._graph.carried[root] is not root:
                raise RefusedError(
                    f"{self._dump.file or 'dump'}: a buffer that operations write is exchanged "
                    "from one iteration to the next; only buffers that stay can be scheduled"
                )
            root = root_of(self._graph.initial[root], MUTABLE_VIEWS)
        return root

    def _mode(self, operation: Operation, name: str, position: int, *, whole: bool) -> Mode:
        if name in PRODUCTS:
            roles = product_operands(operation)
            if position != roles["d"]:
                return "read"
            use_d = roles["use_d"]
            begins = use_d is not None and self._steady(operation, use_d) is False
            always = self._is_always(operation, roles["predicate"])
            return "write" if begins and whole and always else "update"
        if name == "ttng.tmem_store":
            writes = position == 0
            whole = whole and self._is_always(operation, len(operation.operands) - 1)
        elif name in ("ttg.local_store", "ttg.async_copy_global_to_local"):
            writes = position == 1
        else:
            writes = name == "ttng.tmem_copy" and position == 1
        if not writes:
            return "read"
        return "write" if whole else "update"

    def _steady(self, operation: Operation, position: int) -> bool | None:
        return steady_flag(self._graph, operation.operands[position])

    def _is_always(self, operation: Operation, predicate: int | None) -> bool:
        """Whether an operation writes in every iteration; one that may not keeps what there is."""
        return predicate is None or self._steady(operation, predicate) is True


def _of_one(accesses: Sequence[Access], *, fresh: bool) -> Versions:
    """Follow the versions of one buffer through two iterations."""
    flows: list[BufferFlow] = []
    renamed: list[BufferFlow] = []
    untouched: list[Access] = []
    maker: tuple[int, Access] | None = None
    users: list[tuple[int, Access]] = []
    for iteration in (0,) if fresh else (0, 1):
        for access in accesses:
            if access.mode == "write":
                if iteration or fresh:
                    renamed += [
                        BufferFlow(user, access, iteration - when)
                        for when, user in users
                        if user.node != access.node
                    ]
                maker, users = (iteration, access), [(iteration, access)]
                continue
            if maker is None:
                if fresh or iteration:
                    untouched.append(access)
            elif iteration or fresh:
                flows.append(BufferFlow(maker[1], access, iteration - maker[0]))
            users.append((iteration, access))
            if access.mode == "update":
                maker, users = (iteration, access), [(iteration, access)]
    return Versions(tuple(flows), tuple(renamed), tuple(untouched))


READS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
WRITES = ("tt.store", "tt.descriptor_store", "tt.descriptor_scatter", "tt.atomic_cas")
# Reductions, and the attribute that says which.
REDUCTIONS = {"tt.descriptor_reduce": "kind", "tt.atomic_rmw": "atomic_rmw_op"}
EXCHANGE = 10  # of `atomic_rmw_op`
ADDRESSES = VIEWS | {"tt.make_tensor_descriptor", "ttg.convert_layout"}


def global_order(graph: BodyGraph, kept: Sequence[int]) -> list[Flow]:
    """Return order flows between accesses to one argument of which at least one writes."""
    body = graph.operations
    accesses = [
        (i, body[i], _roots(body[i].operands[0], graph))
        for i in kept
        if name_of(body[i]) in (*READS, *WRITES, *REDUCTIONS)
    ]
    return [
        Flow(i, j, 0 if i < j else 1, kind="order")
        for i, first, roots in accesses
        for j, second, others in accesses
        if roots & others and _ordered(first, second)
    ]


def _ordered(first: Operation, second: Operation) -> bool:
    if name_of(first) in READS and name_of(second) in READS:
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
    pending, seen, found = [address], set[SSAValue](), set[SSAValue]()
    while pending:
        value = root_of(pending.pop(), ADDRESSES)
        if value in seen:
            continue
        seen.add(value)
        before = _before(value, graph)
        pending += before
        if not before:
            found.add(value)
    return found


def _before(address: SSAValue, graph: BodyGraph) -> Sequence[SSAValue]:
    """Return the addresses that one is chosen from: those of two iterations, or of a selection."""
    if address in graph.initial:
        return [graph.initial[address], graph.carried[address]]
    owner = address.owner
    if isinstance(owner, Operation) and name_of(owner) == "arith.select":
        return list(owner.operands)[1:]
    return []
