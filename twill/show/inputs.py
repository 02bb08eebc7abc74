"""What is scheduled and on what: loops without a machine, and machines.

Of a loop its operations, what an extraction took, what sub-tiling made of it; of a machine its SM
drawn as boxes, then its numbers.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from twill.artifacts.hardware import EIGHTHS
from twill.artifacts.loop import Invariant, Loop, Operation, Tile
from twill.artifacts.machine import Machine
from twill.base.console import say
from twill.base.formats import count, megahertz, number, plural
from twill.base.tables import Column, Table, output
from twill.bounds.analysis import components
from twill.frontends import machine_of
from twill.frontends.subtiling import Plan
from twill.frontends.subtiling import Role as Part
from twill.frontends.subtiling.dimensions import is_product
from twill.frontends.subtiling.plan import product_shape

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.panel import Panel

WIDEST = 98
MOST_CONTEXTS = 8


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


def print_structure(loop: Loop) -> None:
    """Print operations, shapes and dependences, and that a machine would add costs."""
    say(f"{loop.name}: {len(loop.operations)} operations, {len(loop.dependences)} dependences")
    columns = [Column("operation"), Column("kind"), Column("warps", form=count)]
    rows = []
    for operation in loop.operations:
        after, read = _producers(loop, operation.name), map(_short_tile, operation.operands)
        made = _short_tile(operation.result) if operation.result else ""
        facts = [operation.name, operation.kind, operation.warps]
        rows.append([*facts, ", ".join(after), made, ", ".join(read)])
    Table([*columns, Column("after"), Column("result"), Column("operands")], rows).print()
    for names in recurrent(loop):
        say(f"recurrence through {', '.join(names)}")
    for invariant in loop.invariants:
        say(invariant_text(loop, invariant, machine_of(loop)))
    say("no costs without a machine: --machine NAME adds them (twill machine list)")


def _producers(loop: Loop, name: str) -> list[str]:
    """Producers that an operation depends on; [-1] is the one of the iteration before."""
    into = (d for d in loop.dependences if d.consumer == name)
    found = (f"{d.producer}[-{d.distance}]" if d.distance else d.producer for d in into)
    return list(dict.fromkeys(found))


def _short_tile(tile: Tile) -> str:
    return f"{'x'.join(str(size) for size in tile.shape) or 'scalar'} {tile.dtype}"


def invariant_text(loop: Loop, invariant: Invariant, machine: Machine | None) -> str:
    """Return an invariant's shape, element type and memory, and what it occupies, in words."""
    tile = invariant.tile
    where = "" if tile.memory == "none" else f" in {tile.memory}"
    occupied = _occupied(loop, invariant, machine)
    return f"invariant {invariant.name}: {_short_tile(tile)}{where}, {occupied}"


def _occupied(loop: Loop, invariant: Invariant, machine: Machine | None) -> str:
    """Return what an invariant occupies, with its unit."""
    tile = invariant.tile
    if tile.memory == "tmem" and machine is not None and machine.memories.tmem is not None:
        return f"{machine.memories.tmem.slot_size(tile)} columns"
    if tile.memory == "registers" and machine is not None and invariant.used_by:
        widest = max(loop.operation(name).warps for name in invariant.used_by)
        return f"{tile.registers_each(machine.threads(widest))} registers per thread"
    return f"{tile.bytes} bytes"


def result_registers(operation: Operation, machine: Machine | None) -> int | None:
    """Return the registers per thread of an operation's result, 0 if it is elsewhere.

    None without a machine: how many threads a warp has is not known.
    """
    result = operation.result
    if result is None or result.memory != "registers":
        return 0
    return None if machine is None else result.registers_each(machine.threads(operation.warps))


def recurrent(loop: Loop) -> list[list[str]]:
    """Return the operations of every recurrence, in program order."""
    names = [operation.name for operation in loop.operations]
    position = {name: index for index, name in enumerate(names)}
    arcs = ((position[d.producer], position[d.consumer]) for d in loop.dependences)
    return [[names[v] for v in part] for part in components(len(names), arcs)]


def folded_kinds(loop: Loop) -> dict[str, int]:
    """Return how many operations of each kind were folded away, most first."""
    return dict(Counter(folded.kind for folded in loop.folded).most_common())


def kinds_line(kinds: dict[str, int]) -> str:
    """Return counts by kind in one line."""
    return ", ".join(f"{number} {kind}" for kind, number in kinds.items())


def operation_data(operation: Operation, machine: Machine | None) -> dict[str, Any]:
    """Return an operation as plain data, what it stores included."""
    result = operation.result
    return {
        "name": operation.name,
        "kind": operation.kind,
        "warps": operation.warps,
        "location": operation.location,
        "operands": [_tile_data(tile) for tile in operation.operands],
        "result": None if result is None else _tile_data(result),
        "registers_per_thread": result_registers(operation, machine),
        "bytes": 0 if result is None else result.bytes,
    }


def _tile_data(tile: Tile) -> dict[str, Any]:
    return tile.model_dump(mode="json", exclude_none=True)


def invariants_data(loop: Loop, machine: Machine | None) -> list[dict[str, Any]]:
    """Return the invariants as plain data."""
    return [
        invariant.model_dump(mode="json", exclude_none=True)
        | {"occupies": _occupied(loop, invariant, machine)}
        for invariant in loop.invariants
    ]


# -- extraction -------------------------------------------------------------------------------


def extraction_data(loop: Loop) -> dict[str, Any]:
    """Return what an extraction took from a dump and what it left out, as plain data."""
    origin = loop.origin
    return {
        "loop": loop.name,
        "origin": None if origin is None else origin.model_dump(mode="json", exclude_none=True),
        "operations": len(loop.operations),
        "kinds": dict(Counter(operation.kind for operation in loop.operations)),
        "dependences": len(loop.dependences),
        "renamed": [f"{d.producer} -> {d.consumer}" for d in loop.renamed],
        "folded": folded_kinds(loop),
        "recurrences": recurrent(loop),
        "invariants": [invariant.name for invariant in loop.invariants],
    }


def print_extraction(loop: Loop) -> None:
    """Print what an extraction took from a dump and what it left out."""
    data = extraction_data(loop)
    say(f"loop {loop.name}")
    _print_origin(data["origin"] or {})
    say(f"{data['operations']} operations: {kinds_line(data['kinds'])}")
    folded = sum(data["folded"].values())
    away = f"{folded} folded away: {kinds_line(data['folded'])}"
    say(away if folded else "nothing folded away")
    if data["renamed"]:
        say(f"orders only for a reused buffer, dropped: {', '.join(data['renamed'])}")
    for names in data["recurrences"]:
        say(f"recurrence through {', '.join(names)}")
    if data["invariants"]:
        say(f"invariant: {', '.join(data['invariants'])}")


def _print_origin(origin: dict[str, Any]) -> None:
    if origin:
        said = [origin.get(key) for key in ("kernel", "architecture", "compiler")]
        say(f"kernel {', '.join(word for word in said if word)}")
    if "loop" in origin:
        place = f" at {origin['location']}" if "location" in origin else ""
        say(f"loop over {origin['loop']}{place}")
    if "nodes_as_written" in origin:
        say(
            f"nodes/edges {origin['nodes_as_written']}/{origin['edges_as_written']} as written, "
            f"{origin['nodes_after_folding']}/{origin['edges_after_folding']} after folding"
        )


# -- sub-tiles --------------------------------------------------------------------------------


def subtiles_data(plan: Plan, made: Loop) -> dict[str, Any]:
    """Return what is shared, what every sub-tile has of its own, and the products, as data."""
    return {
        "loop": made.name,
        "factor": plan.factor,
        "along": plan.along,
        "extent": plan.extent,
        "sub_tile": plan.extent // plan.factor,
        "operations": {"before": len(plan.loop.operations), "after": len(made.operations)},
        "dependences": {"before": len(plan.loop.dependences), "after": len(made.dependences)},
        **{role.value: [operation.name for operation in plan.with_role(role)] for role in Part},
        "products": [
            {"name": operation.name, "shape": list(product_shape(operation))}
            for operation in made.operations
            if is_product(operation)
        ],
        "invariants": [invariant.name for invariant in made.invariants],
    }


def print_subtiles(plan: Plan, made: Loop) -> None:
    """Print what is shared, what every sub-tile has of its own, and the products."""
    data = subtiles_data(plan, made)
    tiles = f"{plural(plan.factor, 'sub-tile')} of {data['sub_tile']}"
    say(f"{data['loop']}: {tiles} along {plan.along} ({plan.extent})")
    operations, dependences = data["operations"], data["dependences"]
    say(
        f"{operations['before']} operations become {operations['after']}, "
        f"{dependences['before']} dependences {dependences['after']}"
    )
    for key, said in (
        ("shared", "shared"),
        ("copied", "one for each sub-tile"),
        ("chained", "summed over the sub-tiles"),
        ("invariants", "invariant"),
    ):
        if data[key]:
            say(f"{said}: {', '.join(data[key])}")
    if data["products"]:
        numbers = (Column(heading, form=count) for heading in ("rows", "columns", "depth"))
        rows = [[p["name"], *p["shape"]] for p in data["products"]]
        Table([Column("product"), *numbers], rows).print()


# -- machines -------------------------------------------------------------------------------------


def machine_data(machine: Machine) -> dict[str, Any]:
    """Return a machine as plain data, its rules counted by kind."""
    data = machine.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"rules"})
    return data | {"hash": machine.digest, "rules_by_kind": _rules_by_kind(machine)}


def _rules_by_kind(machine: Machine) -> dict[str, int]:
    """Return how many rules each kind of operation has, in the file's order."""
    return dict(Counter(kind for rule in machine.rules for kind in dict.fromkeys(rule.kind)))


def print_machine(machine: Machine) -> None:
    """Print the picture and the numbers of a machine."""
    draw(machine)
    users = Counter(unit for rule in machine.rules for unit in {step.unit for step in rule.steps})
    rows = [
        (name, u.capacity, u.scope, "yes" if u.in_order else "", users[name], u.unit)
        for name, u in machine.units.items()
    ]
    columns = [Column("unit"), Column("capacity", form=count), Column("scope"), Column("in order")]
    Table([*columns, Column("rules", form=count), Column("one is")], rows).print()
    for name, memory in machine.memories.by_name.items():
        aside = memory.available != memory.capacity
        values = f", {memory.available} for values" if aside else ""
        say(f"{name}: {memory.capacity} {memory.unit}{values}")
    _print_warps(machine)
    sync = machine.synchronisation
    say(
        f"signals, in cycles: wait {sync.wait.value}, arrive {sync.arrive.value}, "
        f"hop {sync.hop.value}"
    )
    say(f"transfer of a register value, in cycles: {machine.transfer.cycles}")
    say(f"{len(machine.rules)} rules, by kind: {kinds_line(_rules_by_kind(machine))}")
    say(f"hash {machine.digest}")


def _print_warps(machine: Machine) -> None:
    pools = ", ".join(f"{pool.count} of {pool.warps}" for pool in machine.groups)
    say(f"warp groups: up to {pools} warps; {machine.warps.value} warps are resident at most")
    registers = machine.registers
    if registers is None:
        say("registers are not limited")
        return
    product = f", {registers.product.value} more for each product" if registers.product else ""
    launch = f"; a launch gives multiples of {registers.launch.value}" if registers.launch else ""
    say(
        f"registers: {registers.file.value} of 32 bit; {registers.least.value} to "
        f"{registers.most.value} per thread in steps of {registers.step.value} for "
        f"{registers.warps.value} warps together; {registers.limit.value} usable, "
        f"{number(registers.reserve.value)} of them reserved{product}{launch}"
    )


def draw(machine: Machine, console: Console | None = None) -> None:
    """Draw an SM: contexts above, units they share in the middle, memories below."""
    from rich import box
    from rich.console import Group
    from rich.panel import Panel

    console = console or output()
    clock = f"{megahertz(machine.clock.value)} MHz"
    title = f"{machine.name}, {plural(machine.multiprocessors.value, 'SM')} at {clock}: one of them"
    rows = [_contexts(machine), _shared(machine), _memories(machine)]
    parts = Group(*(_row(panels) for panels in rows if panels))
    console.print(Panel(parts, title=title, box=box.SQUARE, width=min(WIDEST, console.width)))


def _row(cells: list[Panel]) -> RenderableType:
    from rich.table import Table as Grid

    row = Grid.grid(expand=True)
    for _ in cells:
        row.add_column(ratio=1)
    row.add_row(*cells)
    return row


def _contexts(machine: Machine) -> list[Panel]:
    contexts, registers = machine.contexts.value, machine.registers
    lines = [f"{machine.warps.value // contexts} warps"]
    if registers is not None:
        lines.append(f"{registers.file.value // contexts} registers")
    for name, unit in machine.units.items():
        slots = f" {unit.capacity // EIGHTHS}/cycle" if name == machine.issue_unit else ""
        lines += [f"{name}{slots}"] if unit.scope == "context" else []
    if contexts > MOST_CONTEXTS:
        return [_panel(f"{contexts} contexts, each", lines)]
    return [_panel(f"context {index}", lines) for index in range(contexts)]


def _shared(machine: Machine) -> list[Panel]:
    return [
        _panel(name, [_facts(machine, name)])
        for name, unit in machine.units.items()
        if unit.scope == "sm" and _memory_of(machine, name) is None
    ]


def _memories(machine: Machine) -> list[Panel]:
    panels = []
    for name, memory in machine.memories.by_name.items():
        ports = (unit for unit in machine.units if _memory_of(machine, unit) == name)
        facts = (f"{port}: {_facts(machine, port)}" for port in ports)
        panels.append(_panel(name, [f"{memory.capacity} {memory.unit}", *facts]))
    return panels


def _memory_of(machine: Machine, unit: str) -> str | None:
    """Return the memory whose port a unit is, by its name: ``smem``, ``tmem_read``."""
    return next(
        (m for m in machine.memories.by_name if unit == m or unit.startswith(f"{m}_")), None
    )


def _facts(machine: Machine, name: str) -> str:
    unit = machine.units[name]
    return f"capacity {unit.capacity}{', in order' if unit.in_order else ''}"


def _panel(title: str, lines: list[str]) -> Panel:
    from rich import box
    from rich.panel import Panel

    return Panel("\n".join(lines), title=title, box=box.SQUARE)
