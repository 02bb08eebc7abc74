"""Where the values that a loop body reads come from, and along which axes."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from twill.errors import InputError
from twill.frontends.ttgir.draft import Axes
from twill.frontends.ttgir.graph import BodyGraph
from twill.frontends.ttgir.kinds import VIEWS
from twill.frontends.ttgir.reader import Dump, integer, integers, name_of

TRANSPOSES = ("tt.trans", "ttg.memdesc_trans")
SAME_SHAPE = ("ttg.convert_layout", "tt.broadcast", "tt.bitcast", "ttg.memdesc_reinterpret")


@dataclass(frozen=True)
class Source:
    """What a value is made of.

    Attributes
    ----------
    node : int or None
        Position of the operation in the body, or None if `outside` is set.
    outside : SSAValue or None
        A value from outside the loop.
    distance : int
        Iterations ago.
    axes : tuple of int or None
        For each dimension of the source, the dimension of the value along which it lies.
    """

    node: int | None
    outside: SSAValue | None
    distance: int
    axes: Axes | None


class Values:
    """Trace values through loop-carried arguments and free operations."""

    def __init__(self, dump: Dump, graph: BodyGraph, free: set[int]) -> None:
        self._dump = dump
        self._graph = graph
        self._free = free
        self._rotating = rotating(graph)
        self._position = {operation: i for i, operation in enumerate(graph.operations)}

    def sources(self, value: SSAValue) -> Iterator[Source]:
        """Yield what `value` is made of, through free operations and views from outside."""
        order = itertools.count()
        rank = len(self._dump.type_of(value).shape)
        pending: list[tuple[int, int, SSAValue, Axes | None]] = [
            (0, next(order), value, tuple(range(rank)))
        ]
        seen: set[SSAValue] = set()
        while pending:
            distance, _, value, axes = heapq.heappop(pending)
            node = self._node_of(value)
            if node is not None and node not in self._free:
                yield Source(node, None, distance, axes)
                continue
            if value in seen:
                continue
            seen.add(value)
            following = self._graph.carried.get(value)
            if following is not None and value not in self._rotating:
                heapq.heappush(pending, (distance + 1, next(order), following, axes))
                continue
            if following is not None and following is not value:
                heapq.heappush(pending, (distance, next(order), following, axes))
            through = self._looked_through(value, node)
            if through is None:
                yield Source(None, value, distance, axes)
                continue
            for operand in through.operands:
                reached = self._through(through, operand, axes)
                heapq.heappush(pending, (distance, next(order), operand, reached))

    def _looked_through(self, value: SSAValue, node: int | None) -> Operation | None:
        """Return the free operation, or the view from outside, that makes a value."""
        if node is not None:
            return self._graph.operations[node]
        owner = value.owner
        if isinstance(owner, Operation) and name_of(owner) in VIEWS and owner.operands:
            return owner
        return None

    def _node_of(self, value: SSAValue) -> int | None:
        owner = value.owner
        return self._position.get(owner) if isinstance(owner, Operation) else None

    def _through(self, operation: Operation, operand: SSAValue, axes: Axes | None) -> Axes | None:
        """Return the axes of an operand of a free operation whose result has `axes`."""
        if axes is None:
            return None
        name = name_of(operation)
        before = self._dump.type_of(operand).shape
        after = self._dump.type_of(operation.results[0]).shape
        if name == "tt.expand_dims":
            axis = integer(operation, "axis")
            return None if axis is None else axes[:axis] + axes[axis + 1 :]
        if name in TRANSPOSES:
            order = integers(operation, "order")
            return None if order is None else tuple(axes[order.index(i)] for i in range(len(order)))
        if name == "tt.broadcast":
            return tuple(
                axis if extent == whole else None
                for axis, extent, whole in zip(axes, before, after, strict=True)
            )
        if before == after and name in SAME_SHAPE:
            return axes
        return () if not before else None


def rotating(graph: BodyGraph) -> set[SSAValue]:
    """Return the loop-carried arguments that only ever exchange what the first iteration found."""
    found: set[SSAValue] = set()
    for argument in graph.carried:
        passed = [argument]
        while (following := graph.carried.get(passed[-1])) is not None and following not in passed:
            passed.append(following)
        if following is argument:
            found.update(passed)
    return found


def steady_flag(graph: BodyGraph, value: SSAValue) -> bool | None:
    """Return what an i1 is in every iteration but the first ones, None if that is not constant."""
    passed: set[SSAValue] = set()
    while value in graph.carried and value not in passed:
        passed.add(value)
        value = graph.carried[value]
    owner = value.owner
    if not isinstance(owner, Operation) or name_of(owner) != "arith.constant":
        return None
    number = integer(owner, "value")
    return None if number is None else number != 0


def root_of(value: SSAValue, views: frozenset[str]) -> SSAValue:
    """Follow views back to the value that they show."""
    passed: set[SSAValue] = set()
    owner = value.owner
    while isinstance(owner, Operation) and name_of(owner) in views and owner.operands:
        if value in passed:
            raise InputError("a view of itself")
        passed.add(value)
        value = owner.operands[0]
        owner = value.owner
    return value
