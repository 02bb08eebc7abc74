"""Registers: what is live on every group, what groups are allocated, and the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model_helper import Literal

from tests.oracle.facts import Op
from twill.artifacts.hardware import Registers
from twill.artifacts.machine import Machine

if TYPE_CHECKING:
    from tests.oracle.system import System

Linear = cp_model.LinearExpr | int


@dataclass(frozen=True)
class Moment:
    """An operation's issue, or some cycles ahead of it."""

    op: Op
    ahead: int = 0


@dataclass(frozen=True)
class Held:
    """Something of a size that is there from a moment on, for some cycles, on a condition."""

    begin: Moment
    size: int
    life: Linear
    longest: int
    when: tuple[Literal, ...] = ()


def pool(machine: Machine, file: Registers, blocks: int) -> int:
    """Return the registers a lane of so many blocks of warps that groups share out."""
    lanes = file.file.value // machine.threads(file.warps.value)
    if file.launch is None:
        return lanes
    given = min(lanes // blocks, file.most.value)
    return given // file.launch.value * file.launch.value * blocks


def state_registers(system: System, file: Registers) -> list[cp_model.IntVar]:
    """State that what is live fits; return the registers per thread allocated to each group."""
    allocated = _allocations(system, file)
    held = [*_working_sets(system), *_values(system)]
    kept = [_invariants(system, g) + _kept(system, file, g) for g in range(len(allocated))]
    issues = [Moment(op) for op in system.given.ops]
    for at in dict.fromkeys([*issues, *(entry.begin for entry in held)]):
        live: list[Linear] = [
            system.alive(entry, at, system.same[entry.begin.op.index, at.op.index]) * entry.size
            for entry in held
        ]
        for g, amount in enumerate(allocated):
            for most in (amount, file.limit.value):
                fits = system.model.add(sum(live) + kept[g] <= most)
                fits.only_enforce_if(system.on[at.op.index][g])
    return allocated


def _allocations(system: System, file: Registers) -> list[cp_model.IntVar]:
    """Return allocations that fit the file together; narrow groups share a block of warps."""
    model, widths, wide = system.model, system.given.groups, file.warps.value
    narrow = [g for g, width in enumerate(widths) if width < wide]
    assert sum(widths[g] for g in narrow) <= wide
    parts = [([g], width // wide) for g, width in enumerate(widths) if width >= wide]
    parts += [(narrow, 1)] if narrow else []
    allocated: dict[int, cp_model.IntVar] = {}
    taken: list[Linear] = []
    launched: list[Linear] = []
    for members, blocks in parts:
        used = model.new_bool_var("")
        model.add_max_equality(used, [system.used[g] for g in members])
        steps = model.new_int_var(0, file.most.value // file.step.value, "")
        amount = model.new_int_var(0, file.most.value, "")
        model.add(amount == steps * file.step.value)
        model.add(amount >= file.least.value).only_enforce_if(used)
        allocated |= dict.fromkeys(members, amount)
        taken.append(amount * blocks)
        launched.append(used * blocks)
    most = sum(blocks for _, blocks in parts)
    shared = model.new_int_var(0, file.file.value, "pool")
    model.add_element(
        sum(launched), [0, *(pool(system.given.machine, file, n + 1) for n in range(most))], shared
    )
    model.add(sum(taken) <= shared)
    return [allocated[g] for g in range(len(widths))]


def _invariants(system: System, g: int) -> Linear:
    total: Linear = 0
    by_name = {op.name: op for op in system.given.ops}
    for invariant in system.given.loop.invariants:
        users = [by_name[name] for name in invariant.used_by]
        if invariant.tile.memory != "registers" or not users:
            continue
        here = system.model.new_bool_var("")
        for user in users:
            system.model.add_implication(system.on[user.index][g], here)
        total += here * invariant.tile.registers_each(users[0].threads)
    return total


def _kept(system: System, file: Registers, g: int) -> Linear:
    """Return what a group keeps: for addresses, and once if it has the result of a product."""
    kept = 0 if file.product is None else file.product.value
    issues = system.model.new_bool_var("")
    for op in system.given.ops:
        if op.in_order and op.registers:
            system.model.add_implication(system.on[op.index][g], issues)
    return int(file.reserve.value) + kept * issues


def _working_sets(system: System) -> list[Held]:
    return [
        Held(Moment(op), op.working_set, at_work, at_work)
        for op in system.given.ops
        for at_work in (max(op.occupancy, op.issue),)
        if op.working_set
    ]


def _values(system: System) -> list[Held]:
    """Return values on the groups that make them, and their copies on those that read them."""
    found = []
    for u in system.given.ops:
        if not u.registers:
            continue
        edges = [e for e in system.given.edges if e.u == u.index and e.carries]
        life = system.model.new_int_var(0, system.far, f"life {u.name}")
        if not edges:
            system.model.add(life >= u.latency)
        for e in edges:
            same = system.same[e.u, e.v]
            system.model.add(life >= system.issued(e) + e.hold).only_enforce_if(same)
            system.model.add(life >= u.latency + u.transfer).only_enforce_if(same.Not())
            if e.u != e.v:
                fetched = Moment(system.given.ops[e.v], -(-u.transfer // 2))
                life_of_copy = fetched.ahead + e.hold
                copy = Held(fetched, u.registers, life_of_copy, life_of_copy, (same.Not(),))
                found.append(copy)
        found.append(Held(Moment(u), u.registers, life, system.far))
    return found
