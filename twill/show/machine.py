"""A machine on a terminal: its SM drawn as boxes, then its numbers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from twill.artifacts.hardware import EIGHTHS
from twill.artifacts.machine import Machine
from twill.console import say
from twill.formats import count, megahertz, number, plural
from twill.show.loop import kinds_line
from twill.tables import Column, Table, output

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.panel import Panel

WIDEST = 98
MOST_CONTEXTS = 8


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
    Table(
        [
            Column("unit"),
            Column("capacity", form=count),
            Column("scope"),
            Column("in order"),
            Column("rules", form=count),
            Column("one is"),
        ],
        [
            (name, u.capacity, u.scope, "yes" if u.in_order else "", users[name], u.unit)
            for name, u in machine.units.items()
        ],
    ).print()
    for name, memory in machine.memories.by_name.items():
        say(f"{name}: {memory.capacity} {memory.unit}")
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
    launch = f"; a launch gives multiples of {registers.launch.value}" if registers.launch else ""
    say(
        f"registers: {registers.file.value} of 32 bit; {registers.least.value} to "
        f"{registers.most.value} per thread in steps of {registers.step.value} for "
        f"{registers.warps.value} warps together; {registers.limit.value} usable, "
        f"{number(registers.reserve.value)} of them reserved{launch}"
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
    contexts = machine.contexts.value
    own = [name for name, unit in machine.units.items() if unit.scope == "context"]
    slots = {name: f" {machine.units[name].capacity // EIGHTHS}/cycle"
             for name in own if name == machine.issue_unit}  # fmt: skip
    registers = machine.registers
    file = [] if registers is None else [f"{registers.file.value // contexts} registers"]
    lines = [f"{machine.warps.value // contexts} warps", *file]
    lines += [f"{name}{slots.get(name, '')}" for name in own]
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
    return [
        _panel(
            name,
            [f"{memory.capacity} {memory.unit}"]
            + [
                f"{u}: {_facts(machine, u)}"
                for u in machine.units
                if _memory_of(machine, u) == name
            ],
        )
        for name, memory in machine.memories.by_name.items()
    ]


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
