"""A machine on the terminal: a picture of its SM, then its numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any

from twill.artifacts.machine import Machine
from twill.console import say, table
from twill.show.tables.picture import draw
from twill.show.tables.words import kinds_line


def rules_by_kind(machine: Machine) -> dict[str, int]:
    """Return how many rules each kind of operation has, in the file's order."""
    return dict(Counter(kind for rule in machine.rules for kind in dict.fromkeys(rule.kind)))


def machine_data(machine: Machine) -> dict[str, Any]:
    """Return a machine as plain data, its rules counted by kind."""
    data = machine.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"rules"})
    return data | {"hash": machine.digest, "rules_by_kind": rules_by_kind(machine)}


def print_machine(machine: Machine) -> None:
    """Print the picture and the numbers of a machine."""
    draw(machine)
    _print_units(machine)
    for name, memory in machine.memories.by_name.items():
        say(f"{name}: {memory.capacity} {memory.unit}")
    _print_warps(machine)
    sync = machine.synchronisation
    say(
        f"signals, in cycles: wait {sync.wait.value}, arrive {sync.arrive.value}, "
        f"hop {sync.hop.value}"
    )
    say(f"transfer of a register value, in cycles: {machine.transfer.cycles}")
    say(f"{len(machine.rules)} rules, by kind: {kinds_line(rules_by_kind(machine))}")
    say(f"hash {machine.digest}")


def _print_units(machine: Machine) -> None:
    users = Counter(unit for rule in machine.rules for unit in {step.unit for step in rule.steps})
    rows = [
        [
            name,
            str(unit.capacity),
            unit.scope,
            "yes" if unit.in_order else "",
            str(users[name]),
            unit.unit,
        ]
        for name, unit in machine.units.items()
    ]
    table(
        ["unit", "capacity", "scope", "in order", "rules", "one is"],
        rows,
        right={"capacity", "rules"},
    )


def _print_warps(machine: Machine) -> None:
    pools = ", ".join(f"{pool.count} of {pool.warps}" for pool in machine.groups)
    say(f"warp groups: up to {pools} warps; {machine.warps.value} warps are resident at most")
    registers = machine.registers
    if registers is None:
        say("registers are not limited")
        return
    say(
        f"registers: {registers.file.value} of 32 bit; {registers.least.value} to "
        f"{registers.most.value} per thread in steps of {registers.step.value} for "
        f"{registers.warps.value} warps together; {registers.limit.value} usable, "
        f"{registers.reserve.value:g} of them reserved"
        + (f"; a launch gives multiples of {registers.launch.value}" if registers.launch else "")
    )
