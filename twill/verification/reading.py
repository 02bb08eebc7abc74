"""A loop and a machine in terms of docs/model.md, as the judge reads it.

Written from the page, apart from what solvers are given, so that a mistake there is none here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from twill.artifacts.hardware import CELL_BITS, EIGHTHS, SharedMemory, TensorMemory
from twill.artifacts.loop import Cost, Dependence, Loop, Operation, Step, Tile
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Rules, TimeScale
from twill.base.errors import InputError, short

Units = Callable[[int], int]  # turns cycles into the schedule's units of time


@dataclass(frozen=True)
class Reservation:
    """`count` of a unit in use for `length`, from `start` after issue."""

    unit: str
    start: int
    length: int
    count: int


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
    # Which wider operand is taken over, of how long ago, and what of the working set is of it.
    widening: tuple[int, int, int] | None = None


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
    product: int | None
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

    @cached_property
    def index(self) -> dict[str, int]:
        """Positions of operations by name."""
        return {work.name: work.index for work in self.operations}

    def least_delay(self, edge: Edge) -> int:
        """Return the delay that holds wherever the ends are; loads are on groups of their own."""
        u, v = self.operations[edge.producer], self.operations[edge.consumer]
        return edge.delay if u.variable_latency == v.variable_latency else edge.cross_delay

    def turn(self, u: Work, v: Work) -> int:
        """Return how long after u another group's operation may use their unit; 0 if at once."""
        shared = u.in_order_unit is not None and u.in_order_unit == v.in_order_unit
        return u.issue + self.hop if shared and self.rules == "issue" else 0


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
    operations = [_operation(loop, machine, i, rules, units) for i in range(len(loop.operations))]
    works = {work.name: work for work in operations}
    taken = {name: _taken_over(loop, works, name) for name in works}
    for name, operand in taken.items():
        if operand is not None:
            wider = works[operand.producer].registers - works[name].registers
            of = works[operand.producer].index, operand.distance, wider
            working_set = works[name].working_set + wider
            works[name] = replace(works[name], working_set=working_set, widening=of)
    hop, held = units(machine.synchronisation.hop.value), rules == "issue"
    beside = getattr(loop.source, "shared_bytes", None) or 0  # by the kernel around the loop
    return Model(
        rules=rules,
        operations=tuple(works.values()),
        edges=tuple(
            _edge(d, works, units, hop, kept=held and not d.in_place and taken[d.consumer] is not d)
            for d in loop.dependences
        ),
        capacities={name: unit.capacity for name, unit in machine.units.items()},
        memories={
            name: 2 * available(m) if isinstance(m, TensorMemory) else available(m) - beside
            for name, m in machine.memories.by_name.items()
        },
        fixed={
            name: sum(footprint(i.tile, machine) for i in loop.invariants if i.tile.memory == name)
            for name in ("smem", "tmem")
        },
        pinned=tuple(_pinned(loop, machine, works, rules)),
        registers=_registers(machine),
        hop=hop,
    )


def _units(scale: TimeScale) -> Units:
    normalized = dict(scale.costs) if scale.mode == "normalized" else None

    def convert(cycles: int) -> int:
        if normalized is None or not cycles:
            return cycles
        if cycles not in normalized:
            raise InputError(f"no normalized cost for {cycles} cycles", path="time.costs")
        return normalized[cycles]

    return convert


# -- operations -----------------------------------------------------------------------------------


def _operation(loop: Loop, machine: Machine, index: int, rules: Rules, units: Units) -> Work:
    """Read an operation (Operations)."""
    operation = loop.operations[index]
    _check(operation, f"operations[{index}]", loop.file or loop.name, machine)
    cost, result = machine.cost(operation), operation.result
    where = None if result is None else result.memory
    addressed = where in ("smem", "tmem")
    used, length = _reserved(cost, machine)
    table = tuple(Reservation(unit, 0, units(taken), n) for unit, (taken, n) in used.items())
    occupancy = max(units(length), *(r.length for r in table))
    # What is costed at less than the full issue rate has its result later, too.
    late = 0 if cost.asynchronous else length - sum(step.cycles for step in cost.steps)
    latency = units(cost.latency + late)
    if length <= cost.latency + late:
        latency = max(latency, occupancy)
    issue = units(cost.issue if cost.asynchronous else length)
    in_order = cost.asynchronous and machine.units[cost.steps[0].unit].in_order
    waits = any(d.consumer == operation.name for d in loop.dependences)
    streaming = cost.variable_latency and addressed and not waits
    threads = operation.warps * machine.threads_per_warp.value
    return Work(
        name=operation.name,
        index=index,
        warps=operation.warps,
        reservations=table,
        cycles=occupancy,
        issue=issue,
        blocked_span=occupancy if rules == "paper" else issue,
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
        in_order_unit=cost.steps[0].unit if in_order else None,
    )


def _reserved(cost: Cost, machine: Machine) -> tuple[dict[str, tuple[int, int]], int]:
    """Return for how many cycles, and of how much, each unit is taken, and the occupancy.

    Steps of an asynchronous operation run side by side and add up on a unit. Steps of other
    operations follow each other, and take issue slots throughout as the fastest of them does.
    """
    used: dict[str, tuple[int, int]] = {}
    if cost.asynchronous:
        for step in cost.steps:
            length, count = used.get(step.unit, (0, 0))
            used[step.unit] = max(length, step.cycles), count + step.count
        return used, max(step.cycles for step in cost.steps)
    occupancy = fastest = 0
    for step in cost.steps:
        cycles, share = _pace(step, machine)
        length, count = used.get(step.unit, (0, 0))
        used[step.unit] = length + cycles, max(count, step.count)
        occupancy, fastest = occupancy + cycles, max(fastest, share)
    if fastest and machine.issue_unit is not None:
        _, count = used.get(machine.issue_unit, (0, 0))
        used[machine.issue_unit] = occupancy, max(count, fastest)
    return used, occupancy


def _pace(step: Step, machine: Machine) -> tuple[int, int]:
    """Return the cycles that a step takes, and the eighths of issue slots, of which 7 are most."""
    if machine.issue_unit in (None, step.unit):
        return step.cycles, 0
    share = -(-EIGHTHS * step.instructions // step.cycles)
    if share < EIGHTHS:
        return step.cycles, share
    return -(-step.instructions * EIGHTHS // (EIGHTHS - 1)), EIGHTHS - 1


def _check(operation: Operation, path: str, file: str, machine: Machine) -> None:
    """Refuse what the machine has no place for."""
    widest, name = max(group.warps for group in machine.groups), short(operation.name)
    memory = operation.result.memory if operation.result else "registers"
    for step in operation.cost.steps if operation.cost else ():
        if step.unit not in machine.units:
            message = f"{machine.name} has no unit named {short(step.unit)}, which {name} uses"
            raise InputError(message, path=f"{path}.cost.steps", file=file)
    if operation.warps > widest:
        wide = f"the widest warp group of {machine.name} has {widest}"
        message = f"operation {name} needs {operation.warps} warps, {wide}"
        raise InputError(message, path=f"{path}.warps", file=file)
    if memory in ("smem", "tmem") and memory not in machine.memories.by_name:
        message = f"{machine.name} has no {memory} for the result of {name}"
        raise InputError(message, path=f"{path}.result.memory", file=file)


def halved(tile: Tile, memory: TensorMemory | None) -> bool:
    """Return whether a tile takes half the lanes of its columns of TMEM (Addresses)."""
    few = len(tile.shape) > 1 and memory is not None and _rows(tile) <= memory.half.value
    return few and tile.memory == "tmem"


def available(memory: SharedMemory | TensorMemory) -> int:
    """Return the bytes or columns that values can have of a memory (4. Memory)."""
    aside = memory.set_aside if isinstance(memory, SharedMemory) else None
    return memory.capacity - (0 if aside is None else aside.value)


def slot_size(tile: Tile, machine: Machine) -> int:
    """Return the columns of TMEM, or the bytes, that a tile takes (Addresses)."""
    tmem = machine.memories.tmem
    if tile.memory != "tmem" or tmem is None:
        return tile.bytes
    width = tile.shape[-1] if tile.shape else 1
    return -(-width * tile.bits // CELL_BITS) * -(-_rows(tile) // tmem.lanes.value)


def footprint(tile: Tile, machine: Machine) -> int:
    """Return the bytes that a tile takes of SMEM, or its halves of columns of TMEM (4. Memory)."""
    if tile.memory not in ("smem", "tmem"):
        return 0
    whole = tile.memory == "tmem" and not halved(tile, machine.memories.tmem)
    return slot_size(tile, machine) * (2 if whole else 1)


def _rows(tile: Tile) -> int:
    return math.prod(tile.shape[:-1])


# -- dependences ----------------------------------------------------------------------------------


def _taken_over(loop: Loop, works: dict[str, Work], name: str) -> Dependence | None:
    """Return the operand whose registers an element-wise operation takes over (Lifetimes)."""
    needed = works[name].registers
    if not needed or not loop.operation(name).elementwise:
        return None
    rewritten = {d.producer for d in loop.dependences if d.in_place}
    data = (d for d in loop.dependences if d.consumer == name and d.kind == "data")
    free = (d for d in data if d.producer not in rewritten)
    wide = (d for d in free if works[d.producer].registers >= needed)
    return max(wide, key=lambda d: works[d.producer].registers, default=None)


def _edge(d: Dependence, works: dict[str, Work], units: Units, hop: int, *, kept: bool) -> Edge:
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
        hold=reads if kept else 0,
        reads=reads,
        copy_hold=finished if kept else 0,
        copy_reads=finished,
        streaming=u.streaming,
    )


def _pinned(loop: Loop, machine: Machine, works: dict[str, Work], rules: Rules) -> list[Pinned]:
    """Read what groups have throughout: invariants, and what they keep for products (rule 5)."""
    found = []
    for invariant in loop.invariants:
        if invariant.tile.memory == "registers" and invariant.used_by:
            widest = max(works[name].warps for name in invariant.used_by)
            threads = widest * machine.threads_per_warp.value
            users = tuple(works[name].index for name in invariant.used_by)
            found.append(Pinned(invariant.tile.registers_each(threads), users))
    kept = machine.registers and machine.registers.product
    if kept and rules == "issue":
        products = tuple(w.index for w in works.values() if w.registers and w.in_order_unit)
        found += [Pinned(kept.value, products)] if products else []
    return found


def _registers(machine: Machine) -> RegisterFile | None:
    if machine.registers is None:
        return None
    figures: dict[str, Any] = {n: said and int(said.value) for n, said in machine.registers}
    return RegisterFile(threads=figures["warps"] * machine.threads_per_warp.value, **figures)
