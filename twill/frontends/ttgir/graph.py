"""The loop of a dump that is meant, its dependence graph, and where its values come from."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from twill.base.errors import InputError, short
from twill.frontends.shared import refused
from twill.frontends.ttgir.draft import Axes
from twill.frontends.ttgir.joining import following, integer_of, join
from twill.frontends.ttgir.kinds import VIEWS, is_later, is_selection, kind_of
from twill.frontends.ttgir.reader import Dump, has_body, integer, integers, name_of, string, uses

MOST_HOPS = 64
CONTROL_FLOW = ("scf.for", "scf.if", "scf.while", "cf.br", "cf.cond_br")
TRANSPOSES = ("tt.trans", "ttg.memdesc_trans")
SAME_SHAPE = ("ttg.convert_layout", "tt.broadcast", "tt.bitcast", "ttg.memdesc_reinterpret")


def choose_loop(dump: Dump, wanted: str | None) -> Operation:
    """Return the loop called `wanted`, or the only one that multiplies matrices, or the only one.

    Two that can be joined become one in the dump.

    Raises
    ------
    InputError
        If no loop or several are called `wanted`.
    RefusedError
        If there is no loop, or more than one to choose from.
    """
    loops = dump.loops()
    if not loops:
        kind = "but a while loop, which cannot be scheduled" if dump.has("scf.while") else ""
        raise refused(dump.file, f"there is no loop {kind}".rstrip())
    if wanted is not None:
        return _named(dump, loops, wanted)
    inner = [loop for loop in loops if not _is_outer(loop)]
    products = [loop for loop in inner if any(kind_of(o).startswith("mma") for o in loop.walk())]
    candidates = products or inner
    apart: str | None = ""
    if len(candidates) == 2:
        next_to = following(candidates[0]) is candidates[1]
        apart = join(dump, *candidates) if next_to else "between them is more than arithmetic"
    if len(candidates) > 1 and apart is not None:
        several = (
            f"there are {len(candidates)} loops to choose from (twill schedule --loop takes one)"
        )
        why = f"; {apart}" if apart else ""
        raise refused(dump.file, f"{several}: {_listed(dump, loops)}{why}")
    return candidates[0]


def _named(dump: Dump, loops: list[Operation], wanted: str) -> Operation:
    if wanted in map(str, range(len(loops))):
        return loops[int(wanted)]
    named = [loop for loop in loops if dump.loop_name(loop) == wanted]
    if len(named) == 1:
        return named[0]
    found = f"are {len(named)} loops" if named else "is no loop"
    wrong = f"there {found} called {short(wanted)}; there are: {_listed(dump, loops)}"
    raise InputError(wrong, file=dump.file, path="loop")


def _listed(dump: Dump, loops: list[Operation]) -> str:
    facts = ((dump.loop_name(loop), string(loop, "sched.location")) for loop in loops)
    words = (" at ".join(filter(None, both)) or "unnamed" for both in facts)
    return ", ".join(f"{number} ({said})" for number, said in enumerate(words))


def _is_outer(loop: Operation) -> bool:
    return any(name_of(inner) == "scf.for" for inner in loop.walk() if inner is not loop)


class BodyGraph:
    """Nodes and edges of one loop body, as it is written.

    Nodes are positions in the body, whose terminator is left out. An edge is a producer, a consumer
    and how many iterations lie between. `carried` and `initial` are what the next and the first
    iteration find in each loop-carried argument.

    Raises
    ------
    RefusedError
        If the body has control flow of its own.
    """

    def __init__(self, loop: Operation, file: str = "") -> None:
        self._file = file
        if not has_body(loop):
            raise InputError("a loop without a body", file=file)
        block = loop.regions[0].blocks[0]
        *self.operations, terminator = block.ops
        for operation in self.operations:
            if name_of(operation) in CONTROL_FLOW:
                place = string(operation, "sched.location")
                found = f"{name_of(operation)}{f' at {place}' if place else ''}"
                only = "only singly-nested loops without inner control flow can be scheduled"
                raise refused(file, f"the loop body contains {found}; {only}")
        arguments = list(block.args)[1:]
        first, following = list(loop.operands)[3:], terminator.operands
        if len(arguments) != len(following) or len(first) < len(arguments):
            raise InputError("a loop's arguments and yielded values differ in number", file=file)
        self.carried: dict[SSAValue, SSAValue] = dict(zip(arguments, following, strict=True))
        self.initial: dict[SSAValue, SSAValue] = dict(zip(arguments, first, strict=True))
        self.position = {operation: node for node, operation in enumerate(self.operations)}
        self.edges = {
            (origin[0], consumer, origin[1])
            for consumer, operation in enumerate(self.operations)
            for value in uses(operation)
            if (origin := self._origin(value)) is not None
        }

    def _origin(self, value: SSAValue) -> tuple[int, int] | None:
        """Return (node, iterations ago), or None if a value comes from outside."""
        made, hops = self.before_arguments(value)
        if hops >= MOST_HOPS:
            raise refused(self._file, f"a value is carried over more than {MOST_HOPS} iterations")
        node = self.node_of(made)
        return None if node is None else (node, hops)

    def before_arguments(self, value: SSAValue) -> tuple[SSAValue, int]:
        """Follow loop-carried arguments back; return what they hold, and since when."""
        passed: set[SSAValue] = set()
        while value in self.carried and value not in passed:
            passed.add(value)
            value = self.carried[value]
        return value, len(passed)

    def node_of(self, value: SSAValue) -> int | None:
        """Return the node that makes a value, None if it is an argument or from outside."""
        return self.position.get(value.owner) if isinstance(value.owner, Operation) else None


@dataclass(frozen=True)
class Source:
    """The origin of a value: a node of the body some iterations ago, or a value from outside.

    `axes`: for each dimension of the source, the dimension of the value along which it lies.
    `later`: whether it is one in the second of joined loops only.
    """

    node: int | None
    outside: SSAValue | None
    distance: int
    axes: Axes | None
    later: bool = False


class Values:
    """Trace values through loop-carried arguments and free operations."""

    def __init__(self, dump: Dump, graph: BodyGraph, free: set[int]) -> None:
        self._dump, self._graph, self._free = dump, graph, free
        self._rotating = _rotating(graph)

    def edges(self) -> set[tuple[int, int, int]]:
        """Return producers, consumers and distances, with free operations left out."""
        return {
            (source.node, consumer, source.distance)
            for consumer, operation in enumerate(self._graph.operations)
            if consumer not in self._free
            for value in uses(operation)
            for source in self.sources(value)
            if source.node is not None
        }

    def sources(self, value: SSAValue) -> Iterator[Source]:
        """Yield what `value` is made of, through free operations and views from outside."""
        order = itertools.count()
        rank = len(self._dump.type_of(value).shape)
        pending: list[tuple[int, bool, int, SSAValue, Axes | None]] = [
            (0, False, next(order), value, tuple(range(rank)))
        ]
        seen: set[SSAValue] = set()
        found: set[tuple[int, int]] = set()
        while pending:
            distance, later, _, value, axes = heapq.heappop(pending)
            node = self._graph.node_of(value)
            if node is not None and node not in self._free:
                if not (later and (node, distance) in found):
                    yield Source(node, None, distance, axes, later)
                found.add((node, distance))
                continue
            if value in seen:
                continue
            seen.add(value)
            following = self._graph.carried.get(value)
            if following is not None and value not in self._rotating:
                heapq.heappush(pending, (distance + 1, later, next(order), following, axes))
                continue
            if following is not None and following is not value:
                heapq.heappush(pending, (distance, later, next(order), following, axes))
            owner = value.owner
            view = isinstance(owner, Operation) and name_of(owner) in VIEWS and owner.operands
            if not isinstance(owner, Operation) or (node is None and not view):
                if not later:
                    yield Source(None, value, distance, axes)
                continue
            # The last operand of a selection is what most iterations of joined loops read.
            always = owner.operands[-1] if is_selection(owner) else None
            for operand in owner.operands:
                reached = self._through(owner, operand, axes)
                only = later or (always is not None and operand is not always)
                heapq.heappush(pending, (distance, only, next(order), operand, reached))

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
        if before == after and (name in SAME_SHAPE or is_later(operation)):
            return axes
        return () if not before else None


def _rotating(graph: BodyGraph) -> set[SSAValue]:
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
    number = integer_of(graph.before_arguments(value)[0])
    return None if number is None else number != 0


def root_of(value: SSAValue, views: frozenset[str]) -> SSAValue:
    """Follow views back to the value that they show."""
    passed: set[SSAValue] = set()
    while isinstance(owner := value.owner, Operation) and name_of(owner) in views:
        if not owner.operands:
            break
        if value in passed:
            raise InputError("a view of itself")
        passed.add(value)
        value = owner.operands[0]
    return value
