"""Schedules that were made for graphs in the format ``ddg-0.1``.

A schedule graph (version 0.1) says for each node its warp group, cycle and stage, and for each
allocation its slots. The occupancy of a node stands only in the graph that the schedule was made
from, a file in the same folder. Each group issues its nodes by their cycles within the interval;
waits follow from that order, as from one by hand, and times are the cycles. A scalar that each
group computes for itself is left to the first group that needs it. Addresses there are none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PositiveInt, ValidationError

from twill.artifacts.base import Artifact, first_problem
from twill.artifacts.loop import MOST_CYCLES, Loop, Operation
from twill.artifacts.machine import Machine
from twill.artifacts.order import Buffer, Order, OrderedGroup, Waits
from twill.artifacts.program import Issue
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError
from twill.frontends.ddg.extraction import MACHINE, load_ddg, operation_name
from twill.frontends.ddg.format import (
    LENIENT,
    MOST_NODES,
    Edge,
    Kernel,
    Lenient,
    Number,
    Warps,
)

KEY = "schedule_loop"
NAME, BESIDE = "schedule_graph", "ddg"  # what files are called
Cycle = Annotated[int, Field(ge=0, le=MOST_CYCLES)]


class Place(Lenient):
    """When a node issues: in cycles from the beginning of its iteration, of which stages follow."""

    cycle: Cycle
    stage: Number


class ScheduledNode(Lenient):
    """A node with its place; a negative `warp_group` is none."""

    id: Number
    op_ref: str
    op_kind: str
    warp_group: int
    schedule: Place


class Graph(Lenient):
    """The nodes of a loop."""

    nodes: Annotated[tuple[ScheduledNode, ...], Field(max_length=MOST_NODES)]
    edges: tuple[Edge, ...]


class Allocation(Lenient):
    """A buffer that an operation makes; `count` slots."""

    kind: str
    count: PositiveInt
    def_op: str | None = None


class ScheduledLoop(Lenient):
    """A loop as it was scheduled."""

    interval: Annotated[int, Field(alias="II", gt=0, le=MOST_CYCLES)]
    buffers: tuple[Allocation, ...] = ()
    graph: Graph


class WarpGroup(Lenient):
    """Warps that execute one program."""

    id: Number
    num_warps: Warps


class LoopEntry(Lenient):
    """A loop of the kernel."""

    loop_id: Number
    is_outer: bool = False
    warp_groups: tuple[WarpGroup, ...]
    schedule_loop: ScheduledLoop


class ScheduleGraph(Artifact):
    """A whole file."""

    model_config = LENIENT

    schema_version: Literal["0.1"]
    kernel: Kernel
    loops: tuple[LoopEntry, ...]


def is_schedule_graph(text: str | bytes) -> bool:
    """Return whether a JSON document is a schedule of a ``ddg-0.1`` graph."""
    if (KEY not in text) if isinstance(text, str) else (KEY.encode() not in text):
        return False
    try:
        loops = json.loads(text)["loops"]
        return any(KEY in loop for loop in loops)
    except (ValueError, RecursionError, TypeError, KeyError):
        return False


def parse_schedule_graph(text: str | bytes, file: str, waits: Waits = "late") -> Schedule:
    """Return the schedule that a schedule graph describes, with its loop.

    `file`: where it was read; its graph lies in the same folder.
    `waits`: see `twill.artifacts.order.Order`.

    Raises
    ------
    InputError
        If it is no such file, has several innermost loops, or belongs to another graph. If a group
        issues a reader before the operation that makes its value.
    RefusedError
        As `twill.frontends.ddg.load_ddg` does.
    """
    found = ScheduleGraph.from_json(text, file=file)
    inner = [entry for entry in found.loops if not entry.is_outer]
    if len(inner) != 1:
        raise InputError(f"{len(inner)} innermost loops; one is read", path="loops", file=file)
    path = Path(file)
    graph = str(path.with_name(path.name.replace(NAME, BESIDE)))
    if graph == file:
        wrong = f"its name must have {NAME} where that of its graph has {BESIDE}"
        raise InputError(wrong, file=file)
    loop = load_ddg(graph, loop=inner[0].loop_id)
    reading = _Reading(found.kernel.name, inner[0], loop, file)
    try:
        return reading.schedule(waits)
    except ValidationError as error:
        raise first_problem(error, file) from None
    except InputError as error:
        raise error.within(file) from None


class _Reading:
    def __init__(self, name: str, entry: LoopEntry, loop: Loop, file: str) -> None:
        self.name, self.entry, self.loop = name, entry, loop
        self.scheduled, self.edges = entry.schedule_loop, entry.schedule_loop.graph.edges
        self.nodes = {operation_name(n.op_kind, n.id): n for n in self.scheduled.graph.nodes}
        graph = {o.name for o in loop.operations} | {folded.name for folded in loop.folded}
        if self.nodes.keys() != graph:
            raise InputError("its nodes are not those of the graph beside it", file=file)

    def schedule(self, waits: Waits) -> Schedule:
        from twill.lower.orders import schedule_of

        made = schedule_of(self._order(waits), self.loop, Machine.named(MACHINE))
        start = {name: node.schedule.cycle for name, node in self.nodes.items()}
        costs = {o.name: o.cost for o in self.loop.operations if o.cost is not None}
        length = max(start[name] + max(1, cost.latency) for name, cost in costs.items())
        return made.model_copy(
            update={
                "placements": tuple(
                    placed.model_copy(update={"start": start[placed.operation]})
                    for placed in made.placements
                ),
                "length": length,
                "stages": -(-length // self.scheduled.interval),
            }
        )

    def _order(self, waits: Waits) -> Order:
        groups = self._groups()
        return Order(
            name=self.name,
            waits=waits,
            initiation_interval=self.scheduled.interval,
            groups=tuple(
                self._group(group, [o for o in self.loop.operations if groups[o.name] == group.id])
                for group in self.entry.warp_groups
                if group.id in groups.values()
            ),
            buffers=tuple(self._buffers()),
            loop=self.loop,
            machine=MACHINE,
        )

    def _groups(self) -> dict[str, int]:
        """Return the group of each operation."""
        found = {node.id: node.warp_group for node in self.nodes.values() if node.warp_group >= 0}
        shared = [node for node in self.nodes.values() if node.warp_group < 0]
        for node in sorted(shared, key=self._cycle, reverse=True):
            name = operation_name(node.op_kind, node.id)
            waiting = [d for d in self.loop.dependences if d.producer == name and not d.distance]
            readers = [self.nodes[d.consumer] for d in waiting] or self._readers(node)
            known = [reader for reader in readers if reader.id in found]
            first = min(known, key=self._cycle, default=None)
            found[node.id] = self.entry.warp_groups[0].id if first is None else found[first.id]
        return {o.name: found[self.nodes[o.name].id] for o in self.loop.operations}

    def _cycle(self, node: ScheduledNode) -> tuple[int, int]:
        return node.schedule.cycle, node.id

    def _readers(self, node: ScheduledNode) -> list[ScheduledNode]:
        ends = {e.dst for e in self.edges if e.src == node.id and not e.distance}
        return [reader for reader in self.nodes.values() if reader.id in ends]

    def _group(self, group: WarpGroup, operations: Sequence[Operation]) -> OrderedGroup:
        """Return what a group issues in a round: by cycle, each at its stage."""

        def place(operation: Operation) -> tuple[int, int]:
            cycle, number = self._cycle(self.nodes[operation.name])
            return cycle % self.scheduled.interval, number

        return OrderedGroup(
            name=f"group{group.id}",
            warps=group.num_warps,
            variable_latency=any(
                o.cost is not None and o.cost.variable_latency for o in operations
            ),
            body=tuple(
                Issue(operation=o.name, stage=self.nodes[o.name].schedule.stage)
                for o in sorted(operations, key=place)
            ),
        )

    def _buffers(self) -> Iterator[Buffer]:
        """Yield the slots of values in memory; a folded allocation is that of what it stores."""
        stored = {
            o.name for o in self.loop.operations if o.result and o.result.memory != "registers"
        }
        made = {node.op_ref: node for node in self.nodes.values()}
        for allocation in self.scheduled.buffers:
            node = made.get(allocation.def_op or "")
            if node is None or allocation.kind == "barrier":
                continue
            ends = {node.id, *(e.src for e in self.edges if e.dst == node.id and not e.distance)}
            for name in stored & {n for n, maker in self.nodes.items() if maker.id in ends}:
                yield Buffer(value=name, slots=allocation.count)
