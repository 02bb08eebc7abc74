"""One SM drawn as boxes: contexts above, units they share in the middle, memories below."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table

from twill.artifacts.machine import EIGHTHS, Machine
from twill.show.tables.grid import output
from twill.show.tables.words import plural

WIDEST = 98
MOST_CONTEXTS = 8


def draw(machine: Machine, console: Console | None = None) -> None:
    """Draw a machine's SM, at most 98 columns wide."""
    console = console or output()
    title = (
        f"{machine.name}, {plural(machine.multiprocessors.value, 'SM')} at "
        f"{machine.clock.value:g} MHz: one of them"
    )
    parts = [_row(_contexts(machine)), _row(_shared(machine))]
    parts += [_row(panels) for panels in (_memories(machine),) if panels]
    console.print(
        Panel(Group(*parts), title=title, box=box.SQUARE, width=min(WIDEST, console.width))
    )


def _row(cells: list[Panel]) -> RenderableType:
    row = Table.grid(expand=True)
    for _ in cells:
        row.add_column(ratio=1)
    row.add_row(*cells)
    return row


def _contexts(machine: Machine) -> list[Panel]:
    count = machine.contexts.value
    own = [_unit(machine, name) for name, u in machine.units.items() if u.scope == "context"]
    warps = f"{machine.warps.value // count} warps"
    registers = machine.registers
    file = [] if registers is None else [f"{registers.file.value // count} registers"]
    lines = "\n".join([warps, *file, *own])
    if count > MOST_CONTEXTS:
        return [_panel(f"{count} contexts, each", lines)]
    return [_panel(f"context {index}", lines) for index in range(count)]


def _shared(machine: Machine) -> list[Panel]:
    names = [
        name
        for name, unit in machine.units.items()
        if unit.scope == "sm" and _memory_of(machine, name) is None
    ]
    return [_panel(name, _facts(machine, name)) for name in names]


def _memories(machine: Machine) -> list[Panel]:
    panels = []
    for name, memory in machine.memories.by_name.items():
        ports = [
            f"{unit}: {_facts(machine, unit)}"
            for unit in machine.units
            if _memory_of(machine, unit) == name
        ]
        size = f"{memory.capacity} {memory.unit}"
        panels.append(_panel(name, "\n".join([size, *ports])))
    return panels


def _memory_of(machine: Machine, unit: str) -> str | None:
    """Return the memory whose port a unit is, by its name: ``smem``, ``tmem_read``."""
    return next(
        (m for m in machine.memories.by_name if unit == m or unit.startswith(f"{m}_")), None
    )


def _unit(machine: Machine, name: str) -> str:
    """Name a unit of which each context has its part."""
    if name == machine.issue_unit:
        return f"{name} {machine.units[name].capacity // EIGHTHS}/cycle"
    return name


def _facts(machine: Machine, name: str) -> str:
    unit = machine.units[name]
    return f"capacity {unit.capacity}{', in order' if unit.in_order else ''}"


def _panel(title: str, text: str) -> Panel:
    return Panel(text, title=title, box=box.SQUARE)
