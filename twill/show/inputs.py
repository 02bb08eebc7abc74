"""Inputs as text and as data: loops that were extracted or cut into sub-tiles, and machines."""

from __future__ import annotations

from collections import Counter
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.base.console import say
from twill.base.formats import count, megahertz, number, plural
from twill.base.tables import Column, Table
from twill.bounds.analysis import components
from twill.frontends.subtiling import Plan
from twill.frontends.subtiling import Role as Part
from twill.frontends.subtiling.dimensions import is_product
from twill.frontends.subtiling.plan import product_shape


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
    """Print the numbers of a machine."""
    clock, contexts = f"{megahertz(machine.clock.value)} MHz", machine.contexts.value
    say(f"{machine.name}: {plural(machine.multiprocessors.value, 'SM')} at {clock}")
    say(f"an SM has {plural(contexts, 'context')} of {machine.warps.value // contexts} warps")
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
    product = f", {registers.product.value} more for products" if registers.product else ""
    launch = f"; a launch gives multiples of {registers.launch.value}" if registers.launch else ""
    say(
        f"registers: {registers.file.value} of 32 bit; {registers.least.value} to "
        f"{registers.most.value} per thread in steps of {registers.step.value} for "
        f"{registers.warps.value} warps together; {registers.limit.value} usable, "
        f"{number(registers.reserve.value)} of them reserved{product}{launch}"
    )
