"""A problem of a loop and a machine, built of the rules of docs/model.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from twill.artifacts.loop import Dependence, Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Rules, TimeScale
from twill.base.errors import InputError, short
from twill.problem import rules as model
from twill.problem.costs import Reservation, StaticCost, static_costs
from twill.problem.operations import Edge, PinnedRegisters, ProblemOperation, RegisterFile
from twill.problem.problem import Problem


def build_problem(
    loop: Loop, machine: Machine, *, rules: Rules = "issue", scale: TimeScale | None = None
) -> Problem:
    """Turn a loop and a machine into integers.

    Raises
    ------
    InputError
        If an operation cannot be costed, or is wider than any warp group of the machine.
    """
    scale = scale or TimeScale()
    units, costs = _units(scale), static_costs(loop, machine)
    operations = {
        operation.name: _operation(index, loop, machine, costs[operation.name], rules, units)
        for index, operation in enumerate(loop.operations)
    }
    registers = {name: operation.registers for name, operation in operations.items()}
    taken = {name: model.taken_over(loop, registers, name) for name in operations}
    for name, dependence in taken.items():
        if dependence is not None:
            result = operations[name]
            extra = model.widening(operations[dependence.producer], result)
            operations[name] = replace(result, working_set=result.working_set + extra)
    hop = units(machine.synchronisation.hop.value)
    edges = tuple(_edge(d, operations, taken, rules, units, hop) for d in loop.dependences)
    problem = Problem(
        loop=loop,
        machine=machine,
        rules=rules,
        scale=scale,
        operations=tuple(operations.values()),
        edges=edges,
        capacities={name: unit.capacity for name, unit in machine.units.items()},
        memories={
            name: memory.room - _kept_for_the_kernel(loop, name)
            for name, memory in machine.memories.by_name.items()
        },
        fixed={
            memory: sum(
                machine.footprint(i.tile) for i in loop.invariants if i.tile.memory == memory
            )
            for memory in ("smem", "tmem")
        },
        pinned=(*_pinned(loop, machine), *_kept_for_products(operations.values(), machine, rules)),
        registers=_register_file(machine),
        hop=hop,
    )
    _check(problem)
    return problem


def _kept_for_the_kernel(loop: Loop, memory: str) -> int:
    """Return what values do not get of a memory, since the kernel around the loop needs it."""
    taken = loop.source.shared_bytes if loop.source is not None and memory == "smem" else None
    return taken or 0


def _check(problem: Problem) -> None:
    """Refuse a problem that no machine could be meant for.

    Raises
    ------
    InputError
        Names the operation, what it needs and what there is.
    """
    widest = max(pool.warps for pool in problem.machine.groups)
    file, machine = problem.loop.file or problem.loop.name, problem.machine.name
    for position, operation in enumerate(problem.operations):
        path, name = f"operations[{position}]", short(operation.name)
        if operation.warps > widest:
            message = f"operation {name} needs {operation.warps} warps, the widest warp group of "
            message += f"{machine} has {widest}"
            raise InputError(message, path=f"{path}.warps", file=file)
        if operation.memory is not None and operation.memory not in problem.memories:
            message = f"{machine} has no {operation.memory} for the result of {name}"
            raise InputError(message, path=f"{path}.result.memory", file=file)


def _units(scale: TimeScale) -> Callable[[int], int]:
    """Return what turns cycles into the problem's units of time."""
    table = dict(scale.costs) if scale.mode == "normalized" else None

    def convert(cycles: int) -> int:
        if table is None or cycles == 0:
            return cycles
        if cycles not in table:
            raise InputError(f"no normalized cost for {cycles} cycles", path="time.costs")
        return table[cycles]

    return convert


def _operation(
    index: int,
    loop: Loop,
    machine: Machine,
    cost: StaticCost,
    rules: Rules,
    units: Callable[[int], int],
) -> ProblemOperation:
    operation = loop.operations[index]
    result, threads = operation.result, machine.threads(operation.warps)
    memory = result.memory if result and result.memory in ("smem", "tmem") else None
    tmem = machine.memories.tmem
    reservations = tuple(
        Reservation(r.unit, units(r.start), units(r.length), r.count) for r in cost.reservations
    )
    cycles = max(units(cost.occupancy), *(r.start + r.length for r in reservations))
    latency = units(cost.latency)
    if cost.latency >= cost.occupancy:
        latency = max(latency, cycles)
    streaming = model.streaming(
        variable_latency=cost.variable_latency,
        addressed=memory is not None,
        waits=any(d.consumer == operation.name for d in loop.dependences),
    )
    in_registers = result is not None and result.memory == "registers"
    return ProblemOperation(
        name=operation.name,
        index=index,
        warps=operation.warps,
        reservations=reservations,
        cycles=cycles,
        issue=units(cost.issue),
        blocked_span=model.blocked_span(cycles, units(cost.issue), rules),
        latency=0 if streaming else latency,
        registers=result.registers_each(threads) if result and in_registers else 0,
        working_set=cost.working_set,
        memory=memory,
        footprint=machine.footprint(result) if result else 0,
        halved=bool(result and tmem and memory == "tmem" and tmem.halved(result)),
        transfer=units(cost.transfer),
        transfer_bytes=result.bytes if result else 0,
        asynchronous=cost.asynchronous,
        variable_latency=cost.variable_latency,
        streaming=streaming,
        nominal_latency=latency,
        in_order_unit=cost.in_order_unit,
    )


def _edge(
    dependence: Dependence,
    operations: Mapping[str, ProblemOperation],
    taken: Mapping[str, Dependence | None],
    rules: Rules,
    units: Callable[[int], int],
    hop: int,
) -> Edge:
    u, v = operations[dependence.producer], operations[dependence.consumer]
    given = None if dependence.delay is None else units(dependence.delay)
    freed = model.takes_over(dependence, taken[v.name], rules)
    reads, copy_reads = model.reads(dependence, u, v), model.copy_reads(v)
    return Edge(
        producer=u.index,
        consumer=v.index,
        distance=dependence.distance,
        delay=model.delay(dependence, u, v) if given is None else given,
        cross_delay=model.cross_delay(dependence, u, v, given, hop),
        blocking=model.blocking(dependence, u, v),
        carries=dependence.kind == "data",
        hold=0 if freed else reads,
        reads=reads,
        copy_hold=0 if freed else copy_reads,
        copy_reads=copy_reads,
        transferable=model.transferable(dependence, u),
        streaming=u.streaming,
    )


def _pinned(loop: Loop, machine: Machine) -> tuple[PinnedRegisters, ...]:
    position = {operation.name: index for index, operation in enumerate(loop.operations)}
    return tuple(
        PinnedRegisters(
            registers=invariant.tile.registers_each(
                machine.threads(max(loop.operation(name).warps for name in invariant.used_by))
            ),
            used_by=tuple(position[name] for name in invariant.used_by),
        )
        for invariant in loop.invariants
        if invariant.tile.memory == "registers" and invariant.used_by
    )


def _kept_for_products(
    operations: Iterable[ProblemOperation], machine: Machine, rules: Rules
) -> Iterator[PinnedRegisters]:
    """Yield what a group keeps, once, if it issues products that leave results in its registers."""
    kept = machine.registers.product if machine.registers is not None else None
    products = tuple(operation.index for operation in filter(model.accumulates, operations))
    if kept is not None and products and rules == "issue":
        yield PinnedRegisters(registers=kept.value, used_by=products)


def _register_file(machine: Machine) -> RegisterFile | None:
    given = machine.registers
    if given is None:
        return None
    figures: dict[str, Any] = {name: figure and int(figure.value) for name, figure in given}
    return RegisterFile(**figures, threads=machine.threads(given.warps.value))
