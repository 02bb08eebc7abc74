"""The dependence graph of a loop body: SSA uses, loop-carried values, free nodes folded away."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from twill.errors import InputError, RefusedError
from twill.frontends.ttgir.reader import has_body, name_of, string, uses

MOST_HOPS = 64
CONTROL_FLOW = ("scf.for", "scf.if", "scf.while", "cf.br", "cf.cond_br")


@dataclass(frozen=True, order=True)
class Use:
    """`consumer` reads, as operand `operand`, what `producer` made `distance` iterations before."""

    producer: int
    consumer: int
    distance: int
    operand: int = field(compare=False)


@dataclass
class BodyGraph:
    """Nodes and edges of one loop body.

    Attributes
    ----------
    operations : list of Operation
        The body without its terminator; nodes are positions in it.
    uses : list of Use
        Edges; for each (producer, consumer, distance) the first operand that makes it.
    carried : dict
        For each loop-carried argument the value that the next iteration finds in it.
    initial : dict
        For each loop-carried argument the value that the first iteration finds in it.
    """

    operations: list[Operation]
    uses: list[Use]
    carried: dict[SSAValue, SSAValue]
    initial: dict[SSAValue, SSAValue]

    @property
    def edges(self) -> set[tuple[int, int, int]]:
        """Distinct (producer, consumer, distance)."""
        return {(use.producer, use.consumer, use.distance) for use in self.uses}


def body_graph(loop: Operation, file: str = "") -> BodyGraph:
    """Build the graph of a loop as it is written.

    Raises
    ------
    RefusedError
        If the body has control flow of its own.
    """
    if not has_body(loop):
        raise InputError("a loop without a body", file=file)
    block = loop.regions[0].blocks[0]
    *operations, terminator = block.ops
    for operation in operations:
        _refuse_control_flow(operation, file)
    arguments = list(block.args)[1:]
    if len(arguments) != len(terminator.operands) or len(loop.operands) < 3 + len(arguments):
        raise InputError("a loop's arguments and yielded values differ in number", file=file)
    carried: dict[SSAValue, SSAValue] = dict(zip(arguments, terminator.operands, strict=True))
    origins = _Origins(operations, carried, file)
    found: dict[tuple[int, int, int], Use] = {}
    for consumer, operation in enumerate(operations):
        for operand, value in enumerate(uses(operation)):
            source = origins.of(value)
            if source is not None:
                producer, distance = source
                use = Use(producer, consumer, distance, operand)
                found.setdefault((producer, consumer, distance), use)
    initial: dict[SSAValue, SSAValue] = dict(zip(arguments, list(loop.operands)[3:], strict=True))
    return BodyGraph(operations, sorted(found.values()), carried, initial)


def _refuse_control_flow(operation: Operation, file: str) -> None:
    if name_of(operation) in CONTROL_FLOW:
        where = string(operation, "sched.location")
        raise RefusedError(
            f"{file or 'dump'}: the loop body contains {name_of(operation)}"
            f"{f' at {where}' if where else ''}; only singly-nested loops without inner "
            "control flow can be scheduled"
        )


class _Origins:
    """Where the values that a loop body reads come from."""

    def __init__(
        self,
        operations: Sequence[Operation],
        carried: dict[SSAValue, SSAValue],
        file: str,
    ) -> None:
        self._position = {operation: index for index, operation in enumerate(operations)}
        self._following = carried
        self._file = file

    def of(self, value: SSAValue) -> tuple[int, int] | None:
        """Return (node, iterations ago), or None if it comes from outside."""
        passed: set[SSAValue] = set()
        for hops in range(MOST_HOPS):
            if value in passed:
                return None
            passed.add(value)
            if value in self._following:
                value = self._following[value]
                continue
            owner = value.owner
            if isinstance(owner, Operation) and owner in self._position:
                return self._position[owner], hops
            return None
        raise RefusedError(
            f"{self._file or 'dump'}: a value is carried over more than {MOST_HOPS} iterations"
        )


def fold(graph: BodyGraph, free: set[int]) -> list[Use]:
    """Contract free nodes: their producers reach their consumers, distances adding up.

    Returns: edges between the other nodes; several distances between two nodes are kept apart.
    """
    reading: dict[int, list[Use]] = {}
    for use in graph.uses:
        reading.setdefault(use.producer, []).append(use)
    found: dict[tuple[int, int, int], Use] = {}
    for producer in range(len(graph.operations)):
        if producer in free:
            continue
        for use in _reached(producer, reading, free):
            found.setdefault((use.producer, use.consumer, use.distance), use)
    return sorted(found.values())


def _reached(producer: int, reading: dict[int, list[Use]], free: set[int]) -> Iterator[Use]:
    """Yield the uses of `producer` by nodes that cost something, through free nodes.

    A free node counts at the least distance at which it is reached, so that pointers which advance
    by themselves end.
    """
    least: dict[int, int] = {}
    pending = [(0, producer)]
    while pending:
        distance, node = heapq.heappop(pending)
        if node in least or (node in free) != (node != producer):
            continue
        least[node] = distance
        for use in reading.get(node, ()):
            total = distance + use.distance
            if use.consumer in free:
                heapq.heappush(pending, (total, use.consumer))
            else:
                yield Use(producer, use.consumer, total, use.operand)
