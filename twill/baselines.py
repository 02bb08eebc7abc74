"""Naive loops to compare with, as programs in the same format.

``sequential`` is the loop as written on one warp group, every asynchronous result waited for at
once. ``multi-warp`` puts independent sub-tiles on groups of their own, each as written, with the
streaming loads on a warp of their own: what the hardware's interleaving of warps gives by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from twill.artifacts.loop import Loop, Operation
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import (
    Arrive,
    Await,
    Barrier,
    Group,
    Instruction,
    Issue,
    Placement,
    Program,
    Schedule,
    Storage,
    Wait,
)

DEFAULT_DEPTH = 2


def sequential(loop: Loop, machine: Machine) -> Schedule:
    """Return the loop as written on one warp group.

    Parameters
    ----------
    loop : Loop
        The loop.
    machine : Machine
        For which SM.
    """
    group = Group(name="all", warps=_width(machine, loop.operations))
    body = [
        instruction for operation in loop.operations for instruction in _at_once(operation, machine)
    ]
    return _schedule(
        "sequential",
        loop,
        machine,
        [group],
        dict.fromkeys((o.name for o in loop.operations), "all"),
        [Program(group="all", body=tuple(body))],
        [],
        {o.name: _instances(o, loop) for o in loop.operations},
    )


def multi_warp(loop: Loop, machine: Machine, depths: dict[str, int] | None = None) -> Schedule:
    """Return the loop with each independent sub-tile on a group of its own, each as written.

    Parameters
    ----------
    loop : Loop
        The loop.
    machine : Machine
        For which SM.
    depths : dict, optional
        Ring slots of each streaming load; 2 without them.
    """
    streaming = [o for o in loop.operations if is_streaming(o, loop, machine)]
    names = {o.name for o in streaming}
    tiles = components(loop, [o for o in loop.operations if o.name not in names])
    slots = {
        o.name: (depths or {}).get(o.name, DEFAULT_DEPTH)
        if o.name in names
        else _instances(o, loop)
        for o in loop.operations
    }
    groups = [Group(name=f"tile{i}", warps=_width(machine, tile)) for i, tile in enumerate(tiles)]
    place = {o.name: f"tile{i}" for i, tile in enumerate(tiles) for o in tile}
    programs = [
        Program(group=f"tile{i}", body=tuple(_tile_body(tile, names, loop, machine)))
        for i, tile in enumerate(tiles)
    ]
    barriers: list[Barrier] = []
    if streaming:
        groups.insert(
            0, Group(name="load", warps=_width(machine, streaming), variable_latency=True)
        )
        place |= dict.fromkeys(names, "load")
        programs.insert(0, Program(group="load", body=tuple(_load_body(streaming, slots))))
        for load in streaming:
            users = sum(any(_reads(o, load.name, loop) for o in tile) for tile in tiles)
            barriers += [
                Barrier(name=f"{load.name}.full", slots=slots[load.name]),
                Barrier(name=f"{load.name}.empty", slots=slots[load.name], arrivals=max(1, users)),
            ]
    return _schedule("multi-warp", loop, machine, groups, place, programs, barriers, slots)


def _at_once(operation: Operation, machine: Machine) -> list[Instruction]:
    issue = Issue(operation=operation.name)
    if machine.cost(operation).asynchronous:
        return [issue, Await(operation=operation.name)]
    return [issue]


def _tile_body(
    tile: Sequence[Operation], streaming: set[str], loop: Loop, machine: Machine
) -> list[Instruction]:
    """As written, with a wait before the first and a release after the last use of each load."""
    body: list[Instruction] = []
    last_use = {
        load: max((i for i, o in enumerate(tile) if _reads(o, load, loop)), default=-1)
        for load in streaming
    }
    awaited: set[str] = set()
    for index, operation in enumerate(tile):
        for load in sorted(streaming - awaited):
            if _reads(operation, load, loop):
                body.append(Wait(barrier=f"{load}.full"))
                awaited.add(load)
        body.extend(_at_once(operation, machine))
        body.extend(
            Arrive(barrier=f"{load}.empty") for load in sorted(streaming) if last_use[load] == index
        )
    return body


def _load_body(streaming: Sequence[Operation], slots: dict[str, int]) -> list[Instruction]:
    body: list[Instruction] = []
    for load in streaming:
        body.append(Wait(barrier=f"{load.name}.empty", distance=slots[load.name]))
        body.append(Issue(operation=load.name, signals=(f"{load.name}.full",)))
    return body


def _instances(operation: Operation, loop: Loop) -> int:
    """Return how many instances of a result are needed at once when nothing is pipelined."""
    distances = [
        d.distance
        for d in loop.dependences
        if d.producer == operation.name and d.kind == "data" and not d.in_place
    ]
    return 1 + max(distances, default=0)


def _reads(operation: Operation, value: str, loop: Loop) -> bool:
    return any(
        d.producer == value and d.consumer == operation.name and d.kind == "data"
        for d in loop.dependences
    )


def is_streaming(operation: Operation, loop: Loop, machine: Machine) -> bool:
    """Return whether an operation is a load that waits for nothing.

    Parameters
    ----------
    operation : Operation
        One of the loop's.
    loop, machine : Loop, Machine
        The loop, and where it runs.
    """
    return machine.cost(operation).variable_latency and not any(
        d.consumer == operation.name and d.kind == "data" for d in loop.dependences
    )


def components(loop: Loop, operations: Sequence[Operation]) -> list[list[Operation]]:
    """Return operations that depend on each other together, in program order.

    Parameters
    ----------
    loop : Loop
        The loop.
    operations : sequence of Operation
        Those of it that are to be divided; dependences on others do not tie them together.
    """
    leader = {o.name: o.name for o in operations}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for dependence in loop.dependences:
        if dependence.producer in leader and dependence.consumer in leader:
            leader[find(dependence.consumer)] = find(dependence.producer)
    tiles: dict[str, list[Operation]] = {}
    for operation in operations:
        tiles.setdefault(find(operation.name), []).append(operation)
    return list(tiles.values())


def _width(machine: Machine, operations: Sequence[Operation]) -> int:
    needed = max(operation.warps for operation in operations)
    return min((pool.warps for pool in machine.groups if pool.warps >= needed), default=needed)


def _schedule(
    kind: str,
    loop: Loop,
    machine: Machine,
    groups: list[Group],
    place: dict[str, str],
    programs: list[Program],
    barriers: list[Barrier],
    slots: dict[str, int],
) -> Schedule:
    storage = [
        Storage(
            value=o.name,
            memory=o.result.memory,
            slots=slots[o.name],
            group=place[o.name] if o.result.memory == "registers" else None,
            size=o.result.registers(o.warps)
            if o.result.memory == "registers"
            else o.result.bytes
            if o.result.memory == "smem"
            else o.result.columns,
        )
        for o in loop.operations
        if o.result is not None and o.result.memory != "none"
    ]
    return Schedule.model_validate(
        {
            "name": f"{loop.name} {kind}",
            "groups": tuple(groups),
            "placements": tuple(
                Placement(operation=o.name, group=place[o.name]) for o in loop.operations
            ),
            "storage": tuple(storage),
            "barriers": tuple(barriers),
            "programs": tuple(programs),
            "loop": loop,
            "machine": machine,
            "machine_hash": machine.digest,
        }
    )
