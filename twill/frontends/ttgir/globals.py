"""Order among accesses to global memory.

Two accesses may touch the same bytes if they go through the same kernel argument; different
arguments and descriptors are taken not to alias. Loads do not order each other, and neither do
reductions, which commute.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from twill.frontends.ttgir.draft import Flow
from twill.frontends.ttgir.kinds import VIEWS
from twill.frontends.ttgir.reader import name_of
from twill.frontends.ttgir.values import root_of

READS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
WRITES = ("tt.store", "tt.descriptor_store", "tt.descriptor_scatter")
COMMUTING = ("tt.descriptor_reduce", "tt.atomic_rmw")


def global_order(
    body: Sequence[Operation], kept: Sequence[int], carried: dict[SSAValue, SSAValue]
) -> list[Flow]:
    """Return order flows between accesses to one argument of which at least one writes.

    Parameters
    ----------
    body : sequence of Operation
        The loop body.
    kept : sequence of int
        Positions of the operations that cost something.
    carried : dict
        For each loop-carried argument the value that the first iteration finds in it.
    """
    accesses = [
        (i, name_of(body[i]), _root(body[i].operands[0], carried))
        for i in kept
        if name_of(body[i]) in READS + WRITES + COMMUTING
    ]
    return [
        Flow(i, j, 0 if i < j else 1, kind="order")
        for i, first, root in accesses
        for j, second, other in accesses
        if root is other and _ordered(first, second)
    ]


def _ordered(first: str, second: str) -> bool:
    if first in READS and second in READS:
        return False
    return not (first in COMMUTING and second in COMMUTING)


def _root(pointer: SSAValue, initial: dict[SSAValue, SSAValue]) -> SSAValue:
    """Return the argument or descriptor that an address comes from."""
    for _ in range(len(initial) + 1):
        pointer = root_of(pointer, VIEWS)
        if pointer not in initial:
            break
        pointer = initial[pointer]
    return pointer
