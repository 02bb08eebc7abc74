"""What docs/model.md makes of a loop and a machine, as the judge reads it.

Written from the page, apart from `twill.problem`, so that a mistake there is none here. What single
operations cost is common to both (`twill.problem.costs`): it comes from the machine file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from twill.artifacts.loop import Dependence, Loop, Operation, Tile
from twill.artifacts.machine import CELL_BITS, Machine, TensorMemory
from twill.artifacts.schedule import Rules, TimeScale
from twill.errors import InputError, short
from twill.problem.costs import Reservation, StaticCost, static_costs


@dataclass(frozen=True)
class Work:
    """An operation; times in the schedule's units, registers per thread."""

    name: str
    index: int
    warps: int
    reservations: tuple[Reservation, ...]
    cycles: int
    issue: int
    blocked_span: int
    latency: int
    nominal_latency: int
    registers: int
    working_set: int
    memory: str | None
    footprint: int
    halved: bool
    transfer: int
    transfer_bytes: int
    asynchronous: bool
    variable_latency: bool
    streaming: bool
    in_order_unit: str | None


@dataclass(frozen=True)
class Edge:
    """A dependence: least times between issues, whether it blocks, and until when a value lives."""

    producer: int
    consumer: int
    distance: int
    delay: int
    cross_delay: int
    blocking: bool
    carries: bool
    transferable: bool
    hold: int
    reads: int
    copy_hold: int
    copy_reads: int
    streaming: bool


@dataclass(frozen=True)
class RegisterFile:
    """Registers: of the file, per thread of a group, and what allocations may be."""

    file: int
    limit: int
    step: int
    least: int
    most: int
    warps: int
    threads: int
    reserve: int
    launch: int | None


@dataclass(frozen=True)
class Pinned:
    """Registers per thread of an invariant, on groups with one of its users."""

    registers: int
    used_by: tuple[int, ...]


@dataclass(frozen=True)
class Model:
    """A loop on a machine under some rules."""

    rules: Rules
    operations: tuple[Work, ...]
    edges: tuple[Edge, ...]
    capacities: dict[str, int]
    memories: dict[str, int]
    fixed: dict[str, int]
    pinned: tuple[Pinned, ...]
    registers: RegisterFile | None
    hop: int

    @property
    def index(self) -> dict[str, int]:
        """Positions of operations by name."""
        return {work.name: work.index for work in self.operations}

    def least_delay(self, edge: Edge) -> int:
        """Return the delay that holds wherever the ends are; loads are on groups of their own."""
        u, v = self.operations[edge.producer], self.operations[edge.consumer]
        return edge.delay if u.variable_latency == v.variable_latency else edge.cross_delay

    def turn(self, u: Work, v: Work) -> int:
        """Return how long after u another group's operation may use their unit; 0 if at once."""
        takes_turns = (
            self.rules == "issue" and u.in_order_unit and u.in_order_unit == v.in_order_unit
        )
        return u.issue + self.hop if takes_turns else 0


def read_model(
    loop: Loop, machine: Machine, *, rules: Rules = "issue", scale: TimeScale | None = None
) -> Model:
    """Return what the model says of a loop on a machine.

    Raises
    ------
    InputError
        If an operation cannot be costed, or the machine has no group or no memory for it.
    """
    units = _units(scale or TimeScale())
    costs = static_costs(loop, machine)
    awaiting = {d.consumer for d in loop.dependences}
    works = {
        o.name: _work(index, o, costs[o.name], machine, rules, units, waits=o.name in awaiting)
        for index, o in enumerate(loop.operations)
    }
    for index, work in enumerate(works.values()):
        _check(index, work, loop, machine)
    takes = {name: _takes_over(loop, works, name) for name in works}
    for name, taken in takes.items():
        if taken is not None:
            # What is wider than the result stays occupied while the operation runs.
            wider = works[taken.producer].registers - works[name].registers
            changed = {**works[name].__dict__, "working_set": works[name].working_set + wider}
            works[name] = Work(**changed)
    hop = units(machine.synchronisation.hop.value)
    return Model(
        rules=rules,
        operations=tuple(works.values()),
        edges=tuple(
            _edge(
                d,
                works,
                units,
                hop,
                released=rules == "paper" or d.in_place or takes[d.consumer] is d,
            )
            for d in loop.dependences
        ),
        capacities={name: unit.capacity for name, unit in machine.units.items()},
        memories={
            name: memory.capacity * (2 if isinstance(memory, TensorMemory) else 1)
            for name, memory in machine.memories.by_name.items()
        },
        fixed={
            memory: sum(
                footprint(i.tile, machine) for i in loop.invariants if i.tile.memory == memory
            )
            for memory in ("smem", "tmem")
        },
        pinned=tuple(_pinned(loop, machine, works)),
        registers=_registers(machine),
        hop=hop,
    )


def _units(scale: TimeScale) -> Callable[[int], int]:
    """Return what turns cycles into the schedule's units of time."""
    normalized = dict(scale.costs) if scale.mode == "normalized" else None

    def convert(cycles: int) -> int:
        if normalized is None or not cycles:
            return cycles
        if cycles not in normalized:
            raise InputError(f"no normalized cost for {cycles} cycles", path="time.costs")
        return normalized[cycles]

    return convert


def _work(
    index: int,
    operation: Operation,
    cost: StaticCost,
    machine: Machine,
    rules: Rules,
    units: Callable[[int], int],
    *,
    waits: bool,
) -> Work:
    """Read an operation (Operations)."""
    result = operation.result
    where = None if result is None else result.memory
    table = tuple(
        Reservation(r.unit, units(r.start), units(r.length), r.count) for r in cost.reservations
    )
    occupancy = max([units(cost.occupancy), *(r.start + r.length for r in table)])
    latency = units(cost.latency)
    if cost.occupancy <= cost.latency:
        latency = max(latency, occupancy)
    threads = operation.warps * machine.threads_per_warp.value
    addressed = where in ("smem", "tmem")
    streaming = cost.variable_latency and addressed and not waits
    return Work(
        name=operation.name,
        index=index,
        warps=operation.warps,
        reservations=table,
        cycles=occupancy,
        issue=units(cost.issue),
        blocked_span=occupancy if rules == "paper" else units(cost.issue),
        latency=0 if streaming else latency,
        nominal_latency=latency,
        registers=result.registers_each(threads) if result and where == "registers" else 0,
        working_set=cost.working_set,
        memory=where if addressed else None,
        footprint=footprint(result, machine) if result else 0,
        halved=result is not None and halved(result, machine.memories.tmem),
        transfer=units(cost.transfer),
        transfer_bytes=result.bytes if result else 0,
        asynchronous=cost.asynchronous,
        variable_latency=cost.variable_latency,
        streaming=streaming,
        in_order_unit=cost.in_order_unit,
    )


def halved(tile: Tile, memory: TensorMemory | None) -> bool:
    """Return whether a tile takes half the lanes of its columns of TMEM (Addresses)."""
    few = len(tile.shape) > 1 and memory is not None and _rows(tile) <= memory.half.value
    return few and tile.memory == "tmem"


def columns(tile: Tile, memory: TensorMemory) -> int:
    """Return the columns of TMEM that a tile takes (Addresses)."""
    width = tile.shape[-1] if tile.shape else 1
    each = -(-width * tile.bits // CELL_BITS)
    return each * -(-_rows(tile) // memory.lanes.value)


def footprint(tile: Tile, machine: Machine) -> int:
    """Return the bytes that a tile takes of SMEM, or its halves of columns of TMEM (Memory)."""
    tmem = machine.memories.tmem
    if tile.memory == "tmem" and tmem is not None:
        return columns(tile, tmem) * (1 if halved(tile, tmem) else 2)
    return tile.bytes if tile.memory == "smem" else 0


def _rows(tile: Tile) -> int:
    return math.prod(tile.shape[:-1])


def _check(index: int, work: Work, loop: Loop, machine: Machine) -> None:
    """Refuse what the machine has no place for."""
    widest, file = max(group.warps for group in machine.groups), loop.file or loop.name
    if work.warps > widest:
        raise InputError(
            f"operation {short(work.name)} needs {work.warps} warps, the widest warp group of "
            f"{machine.name} has {widest}",
            path=f"operations[{index}].warps",
            file=file,
        )
    if work.memory is not None and work.memory not in machine.memories.by_name:
        raise InputError(
            f"{machine.name} has no {work.memory} for the result of {short(work.name)}",
            path=f"operations[{index}].result.memory",
            file=file,
        )


def _takes_over(loop: Loop, works: dict[str, Work], name: str) -> Dependence | None:
    """Return the operand whose registers an element-wise operation takes over (Lifetimes)."""
    work, widest = works[name], None
    if not work.registers or not loop.operation(name).elementwise:
        return None
    for d in loop.dependences:
        if d.consumer != name or d.kind != "data" or d.in_place:
            continue
        registers = works[d.producer].registers
        if registers >= work.registers and (
            widest is None or registers > works[widest.producer].registers
        ):
            widest = d
    return widest


def _edge(
    d: Dependence,
    works: dict[str, Work],
    units: Callable[[int], int],
    hop: int,
    *,
    released: bool,
) -> Edge:
    """Read a dependence (Dependences; rules 1 and 6; Lifetimes)."""
    u, v = works[d.producer], works[d.consumer]
    in_order = u.in_order_unit is not None and u.in_order_unit == v.in_order_unit
    accumulates = d.in_place and in_order
    carries = d.kind == "data"
    moves = carries and u.registers > 0
    # An anti-dependence waits until u has read, which is over with its occupancy if nobody can
    # overtake it.
    done = u.latency
    if accumulates or (d.kind == "anti" and (in_order or not u.asynchronous)):
        done = u.cycles
    delay = done if d.delay is None else units(d.delay)
    across = u.latency if accumulates and moves and d.delay is None else delay
    tells_by_itself = u.asynchronous and u.memory is not None and not accumulates
    if not tells_by_itself:
        across += hop
    if moves:
        across += u.transfer
    waits = u.asynchronous and not accumulates and not (d.kind == "anti" and in_order)
    # How long after v's issue it reads: a unit that works in order has read an operand in memory
    # when it is done with v, whatever comes next.
    finished = v.latency if v.asynchronous else v.cycles
    reads = v.cycles if in_order and not u.registers else finished
    if d.in_place and (u is v or not u.registers):
        reads = 0
    return Edge(
        producer=u.index,
        consumer=v.index,
        distance=d.distance,
        delay=delay,
        cross_delay=across,
        blocking=waits if d.blocking is None else d.blocking,
        carries=carries,
        transferable=moves,
        hold=0 if released else reads,
        reads=reads,
        copy_hold=0 if released else finished,
        copy_reads=finished,
        streaming=u.streaming,
    )


def _pinned(loop: Loop, machine: Machine, works: dict[str, Work]) -> list[Pinned]:
    found = []
    for invariant in loop.invariants:
        if invariant.tile.memory == "registers" and invariant.used_by:
            widest = max(works[name].warps for name in invariant.used_by)
            threads = widest * machine.threads_per_warp.value
            users = tuple(works[name].index for name in invariant.used_by)
            found.append(Pinned(invariant.tile.registers_each(threads), users))
    return found


def _registers(machine: Machine) -> RegisterFile | None:
    given = machine.registers
    if given is None:
        return None
    return RegisterFile(
        file=given.file.value,
        limit=given.limit.value,
        step=given.step.value,
        least=given.least.value,
        most=given.most.value,
        warps=given.warps.value,
        threads=given.warps.value * machine.threads_per_warp.value,
        reserve=int(given.reserve.value),
        launch=None if given.launch is None else given.launch.value,
    )
