"""A loop without a machine: operations, shapes, dependences, what was folded away."""

from __future__ import annotations

from collections import Counter
from typing import Any

from twill.artifacts.loop import Invariant, Loop, Operation, Tile
from twill.artifacts.machine import Machine
from twill.bounds.analysis import components
from twill.console import say
from twill.frontends.loops import machine_of
from twill.show.tables.grid import Column, grid


def print_structure(loop: Loop) -> None:
    """Print operations, shapes and dependences, and that a machine would add costs."""
    say(f"{loop.name}: {len(loop.operations)} operations, {len(loop.dependences)} dependences")
    grid(
        [
            Column("operation", right=False),
            Column("kind", right=False),
            Column("warps"),
            Column("after", right=False),
            Column("result", right=False),
            Column("operands", right=False),
        ],
        [
            [
                operation.name,
                operation.kind,
                str(operation.warps),
                ", ".join(_producers(loop, operation.name)),
                _short_tile(operation.result) if operation.result else "",
                ", ".join(_short_tile(tile) for tile in operation.operands),
            ]
            for operation in loop.operations
        ],
    )
    for recurrence in recurrent(loop):
        say(f"recurrence through {', '.join(recurrence)}")
    for invariant in loop.invariants:
        say(
            f"invariant {invariant.name}: {tile_text(invariant.tile)}, "
            f"{occupied_text(loop, invariant, machine_of(loop))}"
        )
    say("no costs without a machine: --machine NAME adds them (twill machine list)")


def _producers(loop: Loop, name: str) -> list[str]:
    """Producers that an operation depends on; [-1] is the one of the iteration before."""
    found = [
        f"{d.producer}[-{d.distance}]" if d.distance else d.producer
        for d in loop.dependences
        if d.consumer == name
    ]
    return list(dict.fromkeys(found))


def _short_tile(tile: Tile) -> str:
    return f"{'x'.join(str(size) for size in tile.shape) or 'scalar'} {tile.dtype}"


def tile_text(tile: Tile) -> str:
    """Return shape, element type and memory of a tile in words."""
    where = "" if tile.memory == "none" else f" in {tile.memory}"
    return f"{_short_tile(tile)}{where}"


def result_registers(operation: Operation, machine: Machine | None) -> int | None:
    """Return the registers per thread of an operation's result, 0 if it is elsewhere.

    None without a machine: how many threads a warp has is not known.
    """
    result = operation.result
    if result is None or result.memory != "registers":
        return 0
    return None if machine is None else result.registers_each(machine.threads(operation.warps))


def occupied_text(loop: Loop, invariant: Invariant, machine: Machine | None) -> str:
    """Return what an invariant occupies, with its unit."""
    tile = invariant.tile
    if tile.memory == "tmem" and machine is not None and machine.memories.tmem is not None:
        return f"{machine.memories.tmem.slot_size(tile)} columns"
    if tile.memory == "registers" and machine is not None and invariant.used_by:
        widest = max(loop.operation(name).warps for name in invariant.used_by)
        return f"{tile.registers_each(machine.threads(widest))} registers per thread"
    return f"{tile.bytes} bytes"


def recurrent(loop: Loop) -> list[list[str]]:
    """Return the operations of every recurrence, in program order."""
    names = [operation.name for operation in loop.operations]
    position = {name: index for index, name in enumerate(names)}
    arcs = ((position[d.producer], position[d.consumer]) for d in loop.dependences)
    return [[names[v] for v in part] for part in components(len(names), arcs)]


def folded_kinds(loop: Loop) -> dict[str, int]:
    """Return how many free operations of each kind were folded away, most first."""
    return dict(Counter(folded.kind for folded in loop.folded).most_common())


def operation_data(operation: Operation, machine: Machine | None) -> dict[str, Any]:
    """Return an operation as plain data, what it stores included."""
    result = operation.result
    return {
        "name": operation.name,
        "kind": operation.kind,
        "warps": operation.warps,
        "location": operation.location,
        "operands": [
            tile.model_dump(mode="json", exclude_none=True) for tile in operation.operands
        ],
        "result": None if result is None else result.model_dump(mode="json", exclude_none=True),
        "registers_per_thread": result_registers(operation, machine),
        "bytes": 0 if result is None else result.bytes,
    }


def invariants_data(loop: Loop, machine: Machine | None) -> list[dict[str, Any]]:
    """Return the invariants as plain data."""
    return [
        invariant.model_dump(mode="json", exclude_none=True)
        | {"occupies": occupied_text(loop, invariant, machine)}
        for invariant in loop.invariants
    ]


def structure_data(loop: Loop) -> dict[str, Any]:
    """Return what `print_structure` shows as plain data."""
    machine = machine_of(loop)
    return {
        "loop": loop.name,
        "machine": None,
        "operations": [operation_data(operation, machine) for operation in loop.operations],
        "dependences": [d.model_dump(mode="json", exclude_none=True) for d in loop.dependences],
        "recurrences": recurrent(loop),
        "invariants": invariants_data(loop, machine),
        "folded": folded_kinds(loop),
    }
