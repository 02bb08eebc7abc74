"""Naive loops to compare with, as orders from which programs are derived.

``sequential`` is the loop as written on one warp group, every asynchronous result waited for at
once. ``multi-warp`` puts each independent sub-tile, as written, on a group of its own, and the
streaming loads on a warp of their own. Its speed is due to the hardware's interleaving of warps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from twill.artifacts.loop import Loop, Operation
from twill.artifacts.machine import Machine
from twill.artifacts.order import Buffer, Order, OrderedGroup
from twill.artifacts.program import Await, Issue
from twill.artifacts.schedule import Schedule
from twill.lower.orders import schedule_of
from twill.lower.written import RING

LOADS = "load"  # the group of streaming loads


Body = Iterable[Issue | Await]


def sequential(loop: Loop, machine: Machine) -> Schedule:
    """Return the loop as written on one warp group.

    Raises
    ------
    InputError
        If the loop as written reads something before it is made.
    """
    return in_order("sequential", loop, machine, {"all": _as_written(loop.operations, machine)})


def multi_warp(loop: Loop, machine: Machine, depths: Mapping[str, int] | None = None) -> Schedule:
    """Return the loop with each independent sub-tile on a group of its own, each as written.

    `depths`: ring slots of each streaming load, or slots of the staging through which one into
    registers is sent; 2 without them.

    Raises
    ------
    InputError
        If the loop as written reads something before it is made.
    """
    streaming = [o for o in loop.operations if is_streaming(o, loop, machine)]
    names = {o.name for o in streaming}
    tiles = components(loop, [o for o in loop.operations if o.name not in names])
    bodies: dict[str, Body] = {LOADS: _loads(streaming)} if streaming else {}
    bodies |= {f"tile{i}": _as_written(tile, machine) for i, tile in enumerate(tiles)}
    rings = {name: (depths or {}).get(name, RING) for name in names}
    return in_order("multi-warp", loop, machine, bodies, rings)


def in_order(
    kind: str,
    loop: Loop,
    machine: Machine,
    bodies: Mapping[str, Body],
    rings: Mapping[str, int] | None = None,
) -> Schedule:
    """Return a schedule whose groups issue operations in a given order, with the waits it needs.

    `bodies`: issues and waits of each group; ``load`` is for operations of variable latency.
    `rings`: slots of results, or of the staging through which those in registers are sent.

    Raises
    ------
    InputError
        If an operation is read before it is issued, or needs more slots than it has.
    """
    order = Order(
        name=f"{loop.name} {kind}",
        groups=tuple(_group(name, tuple(body), loop, machine) for name, body in bodies.items()),
        buffers=tuple(
            Buffer(value=name, slots=slots, transfer=_in_registers(loop.operation(name)))
            for name, slots in (rings or {}).items()
        ),
        loop=loop,
        machine=machine,
    )
    return schedule_of(order, loop, machine)


def _group(
    name: str, body: tuple[Issue | Await, ...], loop: Loop, machine: Machine
) -> OrderedGroup:
    """Return a group as wide as the widest of its operations asks for."""
    needed = max(loop.operation(i.operation).warps for i in body)
    warps = min((pool.warps for pool in machine.groups if pool.warps >= needed), default=needed)
    return OrderedGroup(name=name, warps=warps, variable_latency=name == LOADS, body=body)


def _as_written(operations: Iterable[Operation], machine: Machine) -> Iterator[Issue | Await]:
    """Yield operations in order, every asynchronous result waited for at once."""
    for operation in operations:
        yield Issue(operation=operation.name)
        if machine.cost(operation).asynchronous:
            yield Await(operation=operation.name)


def _loads(loads: Sequence[Operation]) -> Iterator[Issue | Await]:
    """Yield loads; those into registers are sent to others behind all loads of the round."""
    yield from (Issue(operation=load.name) for load in loads)
    yield from (Await(operation=load.name) for load in loads if _in_registers(load))


def _in_registers(operation: Operation) -> bool:
    return operation.result is not None and operation.result.memory == "registers"


def is_streaming(operation: Operation, loop: Loop, machine: Machine) -> bool:
    """Return whether an operation is a load that waits for nothing."""
    return machine.cost(operation).variable_latency and not any(
        d.consumer == operation.name and d.kind == "data" for d in loop.dependences
    )


def components(loop: Loop, operations: Sequence[Operation]) -> list[list[Operation]]:
    """Return operations that depend on each other together, in program order.

    `operations`: those of it that are to be divided; dependences on others do not tie them
    together.
    """
    tile = {o.name: frozenset({o.name}) for o in operations}
    for dependence in loop.dependences:
        if {dependence.producer, dependence.consumer} <= tile.keys():
            together = tile[dependence.producer] | tile[dependence.consumer]
            tile |= dict.fromkeys(together, together)
    found = defaultdict[frozenset[str], list[Operation]](list)
    for operation in operations:
        found[tile[operation.name]].append(operation)
    return list(found.values())
