"""Order among accesses to global memory.

Two accesses may touch the same bytes if they go through the same kernel argument; different
arguments and descriptors are taken not to alias. Loads do not order each other, and neither do
reductions of one kind, which commute.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from twill.frontends.ttgir.draft import Flow
from twill.frontends.ttgir.graph import BodyGraph
from twill.frontends.ttgir.kinds import VIEWS
from twill.frontends.ttgir.reader import integer, name_of
from twill.frontends.ttgir.values import root_of

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
