"""What an operation and a dependence are, as `docs/model.md` derives it from loop and machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

import twill
from twill.artifacts.loop import Dependence, Operation, Tile

ADDRESSED = ("smem", "tmem")


@dataclass(frozen=True)
class Reservation:
    """`count` of `unit` from issue on, for `cycles`."""

    unit: str
    cycles: int
    count: int


@dataclass(frozen=True)
class Op:
    """An operation as the model sees it; times in cycles, registers per thread."""

    index: int
    name: str
    warps: int
    threads: int
    reservations: tuple[Reservation, ...]
    occupancy: int
    issue: int
    latency: int
    asynchronous: bool
    variable: bool
    streaming: bool
    in_order: str | None
    working_set: int
    transfer: int
    result: Tile | None

    @property
    def memory(self) -> str:
        return self.result.memory if self.result else "none"

    @property
    def registers(self) -> int:
        """Registers per thread of its result."""
        if self.result is None or self.memory != "registers":
            return 0
        return self.result.registers_each(self.threads)


@dataclass(frozen=True)
class Edge:
    """`v` of iteration i after `u` of iteration i - `distance`.

    `delay` holds on one group; `waits` says whether the consumer blocks even there; `hold` is how
    long after the consumer's issue its operand is released; `carries` whether a value passes.
    """

    u: int
    v: int
    distance: int
    delay: int
    waits: bool
    carries: bool
    in_place: bool
    hold: int


@dataclass(frozen=True)
class Facts:
    """A loop on a machine."""

    loop: twill.Loop
    machine: twill.Machine
    ops: tuple[Op, ...]
    edges: tuple[Edge, ...]
    groups: tuple[int, ...]
    """Warps of every group there may be, pool by pool."""

    @property
    def hop(self) -> int:
        return self.machine.synchronisation.hop.value

    def nearest(self, u: int, v: int) -> float:
        """Return the iterations between two operations along a path of dependences, the fewest."""
        reached = {u: 0}
        for _ in self.ops:
            for edge in self.edges:
                if edge.u in reached:
                    far = reached[edge.u] + edge.distance
                    reached[edge.v] = min(far, reached.get(edge.v, far))
        return reached.get(v, math.inf)


def facts(loop: twill.Loop, machine: twill.Machine) -> Facts:
    """Derive what the model needs from operations that bring their costs."""
    waited_for = {d.consumer for d in loop.dependences}
    ops = tuple(
        _op(index, operation, machine, operation.name not in waited_for)
        for index, operation in enumerate(loop.operations)
    )
    by_name = {op.name: op for op in ops}
    taken = {op.name: _taken_over(loop, op, by_name) for op in ops}
    ops = tuple(_with_conversion(op, taken[op.name], by_name) for op in ops)
    by_name = {op.name: op for op in ops}
    edges = tuple(_edge(d, by_name, d is taken[d.consumer]) for d in loop.dependences)
    groups = tuple(pool.warps for pool in machine.groups for _ in range(pool.count))
    return Facts(loop, machine, ops, edges, groups)


def _op(index: int, operation: Operation, machine: twill.Machine, waits_for_nothing: bool) -> Op:
    cost = operation.cost
    assert cost is not None, "the oracle's operations bring their costs"
    assert machine.issue_unit is None, "the oracle's machines do not limit issue slots"
    cycles: dict[str, list[int]] = {}
    counts: dict[str, list[int]] = {}
    for step in cost.steps:
        cycles.setdefault(step.unit, []).append(step.cycles)
        counts.setdefault(step.unit, []).append(step.count)
    together = cost.asynchronous
    reservations = tuple(
        Reservation(
            unit,
            max(cycles[unit]) if together else sum(cycles[unit]),
            sum(counts[unit]) if together else max(counts[unit]),
        )
        for unit in cycles
    )
    every = [step.cycles for step in cost.steps]
    occupancy = max(every) if together else sum(every)
    addressed = operation.result is not None and operation.result.memory in ADDRESSED
    streaming = cost.variable_latency and addressed and waits_for_nothing
    unit = cost.steps[0].unit
    return Op(
        index=index,
        name=operation.name,
        warps=operation.warps,
        threads=machine.threads(operation.warps),
        reservations=reservations,
        occupancy=occupancy,
        issue=cost.issue if cost.asynchronous else occupancy,
        latency=0 if streaming else cost.latency,
        asynchronous=cost.asynchronous,
        variable=cost.variable_latency,
        streaming=streaming,
        in_order=unit if cost.asynchronous and machine.units[unit].in_order else None,
        working_set=cost.working_set,
        transfer=cost.transfer,
        result=operation.result,
    )


def _taken_over(loop: twill.Loop, op: Op, by_name: dict[str, Op]) -> Dependence | None:
    """Return the operand that an element-wise operation takes over at its issue."""
    if not loop.operations[op.index].elementwise or op.memory != "registers":
        return None
    updated = {d.producer for d in loop.dependences if d.in_place}
    read = [
        d
        for d in loop.dependences
        if d.consumer == op.name
        and d.kind == "data"
        and d.producer not in updated
        and by_name[d.producer].registers >= op.registers
        and by_name[d.producer].memory == "registers"
    ]
    return max(read, key=lambda d: by_name[d.producer].registers, default=None)


def _with_conversion(op: Op, taken: Dependence | None, by_name: dict[str, Op]) -> Op:
    if taken is None:
        return op
    more = by_name[taken.producer].registers - op.registers
    return Op(**{**op.__dict__, "working_set": op.working_set + more})


def _edge(d: Dependence, by_name: dict[str, Op], taken_over: bool) -> Edge:
    u, v = by_name[d.producer], by_name[d.consumer]
    data = d.kind == "data"
    chained = u.in_order is not None and u.in_order == v.in_order
    chain = data and d.in_place and chained
    addressed = u.memory in ADDRESSED
    delay = d.delay if d.delay is not None else u.occupancy if chain else u.latency
    waits = d.blocking if d.blocking is not None else u.asynchronous and not chain
    if d.in_place or taken_over:
        hold = 0
    elif not v.asynchronous or (addressed and chained):
        hold = v.occupancy
    else:
        hold = v.latency
    carries = data and u.memory != "none"
    return Edge(u.index, v.index, d.distance, delay, waits, carries, d.in_place, hold)
