"""Loops from dependence graphs in the format ``ddg-0.1``, with the costs that the file gives.

The costs are for the packaged machine ``ddg``, whose units are the file's pipelines. Occupancy is
the reservation, latency the dependence, and self_latency the issue cost of an operation that other
hardware executes (TMA, TC, access to tensor memory). ResMII and RecMII of the loop are then the
file's ``res_mii`` and ``rec_mii`` (if ``res_mii`` is not, a warning says so):

- Nodes that occupy nothing are folded into the delays of what they connect. An allocation among
  them says where the value is stored that it is made of.
- Integer scalars stay, since the file costs them, but have no result that takes a register, and a
  TMA load does not wait for those that follow from the loop counter alone: they are addresses.
- An edge carries data where its end reads a result of its beginning, or memory that this wrote. A
  token only orders: what writes memory that was read before follows, and holds no registers.
- A TMA load that waits for nothing streams: the depth of its ring hides its latency.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from twill.artifacts.loop import (
    MOST_CYCLES,
    MOST_DISTANCE,
    Cost,
    Dependence,
    DependenceKind,
    Folded,
    Invariant,
    Loop,
    Operation,
    Origin,
    Step,
    Tile,
)
from twill.base.console import warn
from twill.base.errors import InputError, RefusedError
from twill.base.files import read_bytes
from twill.frontends.ddg.format import DependenceGraphs, Node, Op, Operand, is_integer
from twill.frontends.ttgir.kinds import ALLOCATIONS, ELEMENTWISE, KINDS, WRITES

MACHINE = "ddg"
ASYNCHRONOUS = ("TMA", "TC")
TMEM_ACCESS = ("ttng.tmem_load", "ttng.tmem_store")
USE_ACCUMULATOR = 4  # the operand of a product that says whether it adds to its buffer
# Instructions that a synchronous operation counts as, between which its unit may change hands.
MOST_PIECES = 64
MOST_DELAYS = 20_000
MOST_WAYS = 1_000_000  # ways through free nodes that are looked at


def load_ddg(file: str, *, loop: int | None = None, name: str | None = None) -> Loop:
    """Read one loop of a ``ddg-0.1`` file.

    Raises
    ------
    InputError
        If the file is not such a file, or `loop` is not one of its loops or has to be chosen.
    RefusedError
        If the loop has another one inside, or no operation that occupies anything.
    """
    graphs = DependenceGraphs.from_json(read_bytes(file), file=file)
    try:
        return _Extraction(graphs, _chosen(graphs, loop)).loop(name)
    except InputError as error:
        raise error.within(file) from None


def _chosen(graphs: DependenceGraphs, loop: int | None) -> int:
    """Return the position of the wanted loop."""
    found = [
        position
        for position, entry in enumerate(graphs.loops)
        if (not entry.is_outer if loop is None else entry.loop_id == loop)
    ]
    if len(found) != 1:
        wrong = f"no loop {loop}"
        if loop is None:
            wrong = f"{len(found)} innermost loops; choose one with loop="
        known = ", ".join(str(entry.loop_id) for entry in graphs.loops) or "none"
        raise InputError(f"{wrong} (there are: {known})", path="loops")
    return found[0]


class _Extraction:
    def __init__(self, graphs: DependenceGraphs, position: int) -> None:
        self.graphs = graphs
        self.entry = graphs.loops[position]
        self.path = f"loops[{position}].ddg"
        self.all = self.entry.ddg.nodes
        self.nodes = {node.id: node for node in self.all}
        self.free = [n.id for n in self.all if n.occupancy == 0]
        self.kept = [n for n in self.all if n.occupancy]
        self._check()
        self.names = {n.id: operation_name(n.op_kind, n.id) for n in self.all}
        self.addresses = self._addresses()
        self.delays = self._delays()
        self.waiting = {delay.consumer for delay in self.delays}
        self.tiles = {n.id: self._result(n) for n in self.kept}

    def _check(self) -> None:
        """Refuse what cannot be scheduled; warn if a ResMII is not what the nodes occupy."""
        where = f"{self.graphs.file}: {self.path}"
        for position, node in enumerate(self.all):
            if node.is_super_node:
                raise RefusedError(
                    f"{where}.nodes[{position}]: node {node.id} is a loop of its own; only "
                    "singly-nested loops can be scheduled"
                )
        if not self.kept:
            raise RefusedError(f"{where}: no node occupies anything")
        busy = Counter[str]()
        for node in self.kept:
            busy[node.pipeline] += node.occupancy
        ((unit, cycles),) = busy.most_common(1)
        if self.entry.res_mii not in (None, cycles):
            warn(
                f"{where.removesuffix('.ddg')}.res_mii is {self.entry.res_mii} cycles; its nodes "
                f"occupy {unit} for {cycles}, which counts"
            )

    def loop(self, name: str | None) -> Loop:
        return Loop.model_validate(
            {
                "name": name or self.graphs.kernel.name,
                "description": f"loop {self.entry.loop_id} of {self.graphs.kernel.name}",
                "operations": tuple(self._operation(node) for node in self.kept),
                "dependences": tuple(self._dependence(delay) for delay in self.delays),
                "invariants": tuple(self._invariants()),
                "folded": tuple(self._folded()),
                "origin": Origin(
                    kernel=self.graphs.kernel.name,
                    compiler="ddg-0.1",
                    nodes_as_written=len(self.nodes),
                    edges_as_written=len(self.entry.ddg.edges),
                    nodes_after_folding=len(self.kept),
                    edges_after_folding=len(self.delays),
                ),
            }
        )

    def _op(self, node: Node) -> Op:
        return self.graphs.ops[node.op_ref]

    def _addresses(self) -> set[int]:
        """Return the integer scalars that follow from the loop counter alone."""
        found = {
            node.id
            for node in self.all
            if (types := self._op(node).result_types) and all(map(is_integer, types))
        }
        while others := found & {e.dst for e in self.entry.ddg.edges if e.src not in found}:
            found -= others
        return found

    def _delays(self) -> list[Delay]:
        edges = (Delay(e.src, e.dst, e.distance, e.latency) for e in self.entry.ddg.edges)
        try:
            delays = _contract(edges, self.free)
        except InputError as error:
            raise InputError(error.message, path=f"{self.path}.edges") from None
        loads = {node.id for node in self.all if _is_load(node)}
        return [d for d in delays if d.producer not in self.addresses or d.consumer not in loads]

    def _operation(self, node: Node) -> Operation:
        kind = _kind(node.op_kind)
        tile = self.tiles[node.id]
        return Operation(
            name=self.names[node.id],
            kind=kind,
            warps=node.min_warps,
            result=tile,
            elementwise=kind in ELEMENTWISE and tile is not None and tile.memory == "registers",
            cost=_cost(node),
        )

    def _result(self, node: Node) -> Tile | None:
        """Return what an operation makes and where that is stored."""
        op = self._op(node)
        if node.id in self.addresses:
            return None
        buffer = self._buffer(node)
        if buffer is not None:
            return self.graphs.tile(buffer)
        tiles = [self._allocated(node)]
        tiles += [self.graphs.result(node.op_ref, i) for i in range(len(op.result_types))]
        return next((tile for tile in tiles if tile is not None), None)

    def _allocated(self, node: Node) -> Tile | None:
        """Return the buffer that a free allocation gives a value which nothing else reads."""
        readers = {e.dst for e in self.entry.ddg.edges if e.src == node.id and e.kind == "data"}
        if len(readers) != 1:
            return None
        reader = self.nodes[readers.pop()]
        if reader.occupancy or reader.op_kind not in ALLOCATIONS:
            return None
        return self.graphs.result(reader.op_ref, 0) if self._op(reader).result_types else None

    def _dependence(self, delay: Delay) -> Dependence:
        producer, consumer = self.nodes[delay.producer], self.nodes[delay.consumer]
        kind = self._dependence_kind(delay)
        buffer = self._written(consumer)
        in_place = kind == "data" and not delay.through and buffer in self._read(consumer)
        in_place = in_place and self._written(producer) == buffer
        streams = _is_load(producer) and producer.id not in self.waiting
        return Dependence(
            producer=self.names[producer.id],
            consumer=self.names[consumer.id],
            distance=delay.distance,
            kind=kind,
            in_place=in_place,
            delay=None if streams else delay.cycles,
        )

    def _dependence_kind(self, delay: Delay) -> DependenceKind:
        """Say whether the consumer reads the value, overwrites what was read, or merely follows."""
        way = [self.nodes[n] for n in (delay.producer, *delay.through, delay.consumer)]
        kinds = {self._step(u, v, delay.distance) for u, v in itertools.pairwise(way)}
        if kinds == {"data"} and self.tiles[delay.producer] is None:
            return "order"
        return kinds.pop() if len(kinds) == 1 else "order"

    def _step(self, first: Node, then: Node, distance: int) -> DependenceKind:
        """Say what one node is to the next: a token orders both and is nothing to read.

        A token stands for memory: the second node reads what the first wrote, or overwrites it.
        """
        operands = self._op(then).operands
        sources = [self.graphs.carried(operand) for operand in operands]
        values = [s.op for s in sources if s is not None and self.graphs.tile(s) is not None]
        if not operands or first.op_ref in values or self._written(first) in self._read(then):
            return "data"
        buffer = self._written(then)
        if buffer is not None:
            return "anti" if buffer in self._read(first) else "order"
        return "data" if distance and None in sources else "order"

    def _buffer(self, node: Node) -> Operand | None:
        """Return the buffer that a node writes into, as it names it."""
        operands = self._op(node).operands
        position = WRITES.get(node.op_kind, len(operands))
        return operands[position] if position < len(operands) else None

    def _written(self, node: Node) -> str | None:
        """Return the operation that made the buffer which a node writes into."""
        buffer = self._buffer(node)
        root = None if buffer is None else self.graphs.root(buffer)
        return None if root is None else root.op

    def _read(self, node: Node) -> set[str]:
        """Return the operations that made the buffers which a node reads.

        A product reads the buffer that it adds to: unless a constant says that it does not add.
        """
        operands = self._op(node).operands
        roots = {root.op for o in operands if (root := self.graphs.root(o)) is not None}
        adds = len(operands) <= USE_ACCUMULATOR or operands[USE_ACCUMULATOR].const not in (0, False)
        adds = adds and _kind(node.op_kind).startswith("mma")
        return {name for name in roots if name and (adds or name != self._written(node))}

    def _invariants(self) -> Iterator[Invariant]:
        """Yield the buffers from outside the loop that its operations read."""
        made = {node.op_ref for node in self.all} | {self._written(node) for node in self.all}
        users: dict[str, set[str]] = {}
        for node in self.all:
            for operand in self._op(node).operands:
                root = self.graphs.root(operand)
                tile = None if root is None or root.op in made else self.graphs.tile(root)
                if root is not None and tile is not None and tile.memory in ("smem", "tmem"):
                    users.setdefault(str(root.op), set()).add(node.op_ref)
        for name, refs in users.items():
            tile = self.graphs.result(name, 0)
            if tile is not None:
                used_by = [self.names[n.id] for n in self.kept if n.op_ref in refs]
                yield Invariant(name=name, tile=tile, used_by=tuple(used_by))

    def _folded(self) -> Iterator[Folded]:
        for free in self.free:
            users = sorted({d.consumer for d in self.delays if free in d.through})
            into = tuple(self.names[user] for user in users)
            yield Folded(name=self.names[free], kind=self.nodes[free].op_kind, into=into)


def operation_name(op_kind: str, number: int) -> str:
    """Return the name of the operation that a node becomes."""
    return f"{_kind(op_kind).rsplit('.', 1)[-1]}.{number}"


def _kind(op_kind: str) -> str:
    return KINDS.get(op_kind, op_kind.removeprefix("ttng."))


def _is_load(node: Node) -> bool:
    return node.pipeline == "TMA" and "store" not in node.op_kind and "reduce" not in node.op_kind


def _cost(node: Node) -> Cost:
    """Return a node's costs; what its group is not busy for as long as its unit is asynchronous."""
    elsewhere = node.pipeline in ASYNCHRONOUS or node.op_kind in TMEM_ACCESS
    asynchronous = elsewhere or node.self_latency != node.occupancy
    pieces = 1 if asynchronous else min(node.occupancy, MOST_PIECES)
    return Cost(
        steps=(Step(unit=node.pipeline, cycles=node.occupancy, instructions=pieces),),
        asynchronous=asynchronous,
        issue=node.self_latency if asynchronous else 0,
        latency=node.latency,
        variable_latency=_is_load(node),
    )


@dataclass(frozen=True, order=True)
class Delay:
    """`consumer` issues at least `cycles` after `producer` of `distance` iterations before.

    `through`: free nodes on the way.
    """

    producer: int
    consumer: int
    distance: int
    cycles: int
    through: tuple[int, ...] = ()


def _contract(delays: Iterable[Delay], free: Iterable[int]) -> list[Delay]:
    """Replace every way through free nodes by one delay; of several keep the longest.

    Raises
    ------
    InputError
        If a recurrence has free nodes only, the graph becomes too large, or a delay does.
    """
    ways = 0
    longest: dict[tuple[int, int, int], Delay] = {}
    for delay in delays:
        _keep(longest, delay)
    for node in free:
        into = [d for d in longest.values() if d.consumer == node]
        out = [d for d in longest.values() if d.producer == node]
        for delay in {*into, *out}:
            del longest[delay.producer, delay.consumer, delay.distance]
        if any(d.consumer == node and d.cycles for d in out):
            raise InputError(f"a recurrence of nodes that occupy nothing (at node {node})")
        ways += len(into) * len(out)
        if ways > MOST_WAYS:
            raise InputError(f"more than {MOST_WAYS} ways through the free nodes")
        for first, then in itertools.product(into, out):
            if node not in (first.producer, then.consumer):
                _keep(longest, _joined(first, then, node))
        if len(longest) > MOST_DELAYS:
            raise InputError(f"more than {MOST_DELAYS} dependences without the free nodes")
    return sorted(longest.values())


def _keep(longest: dict[tuple[int, int, int], Delay], delay: Delay) -> None:
    key = delay.producer, delay.consumer, delay.distance
    if longest.setdefault(key, delay).cycles < delay.cycles:
        longest[key] = delay


def _joined(first: Delay, then: Delay, node: int) -> Delay:
    distance, cycles = first.distance + then.distance, first.cycles + then.cycles
    if cycles > MOST_CYCLES or distance > MOST_DISTANCE:
        raise InputError(
            f"delays of more than {MOST_CYCLES} cycles or {MOST_DISTANCE} iterations together "
            f"(at node {node})"
        )
    through = (*first.through, node, *then.through)
    return Delay(first.producer, then.consumer, distance, cycles, through)
