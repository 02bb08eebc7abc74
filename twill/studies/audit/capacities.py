"""Checks of capacities and costs of a machine file that contradict each other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from twill.artifacts.hardware import Registers
from twill.base.errors import InputError
from twill.studies.audit.rules import Check, Finding, Subject
from twill.studies.judged import instruction_costs

MEMORY_UNITS = {"smem": "bytes", "tmem": "columns"}


def _of_registers(check: Callable[[Subject, Registers], Iterator[Finding]]) -> Check:
    """Let a check look at the register file of machines that have one."""

    @functools.wraps(check)
    def checked(subject: Subject) -> Iterator[Finding]:
        if subject.machine.registers is not None:
            yield from check(subject, subject.machine.registers)

    return checked


def clock(subject: Subject) -> Iterator[Finding]:
    """The clock is in MHz and runs."""
    found = subject.machine.clock
    if found.unit != "MHz":
        yield Finding(
            "clock.unit", f"throughput is computed from MHz (got {found.unit!r})", "give it in MHz"
        )
    if not found.value:
        yield Finding("clock.value", "a clock of 0 does nothing", "give the clock in MHz")


def warps_on_contexts(subject: Subject) -> Iterator[Finding]:
    """Every context holds the same number of warps."""
    warps, contexts = subject.machine.warps.value, subject.machine.contexts.value
    if warps % contexts:
        yield Finding(
            "warps.value",
            f"{warps} warps do not spread evenly over {contexts} issue contexts",
            "make it a multiple of contexts.value",
        )


def context_units(subject: Subject) -> Iterator[Finding]:
    """A unit of which each context has a part counts as one; only issue slots are in eighths."""
    for name, unit in subject.machine.units.items():
        if unit.scope == "context" and unit.capacity != 1 and name != subject.machine.issue_unit:
            yield Finding(
                f"units.{name}.capacity",
                f"each context has its part of this unit, which counts as 1 (got {unit.capacity})",
                "set capacity = 1, or scope = 'sm' if the contexts share it",
            )


def issue_unit(subject: Subject) -> Iterator[Finding]:
    """Issue slots belong to the contexts."""
    name = subject.machine.issue_unit
    if name is not None and subject.machine.units[name].scope != "context":
        yield Finding(
            f"units.{name}.scope", "issue slots belong to the contexts", "set scope = 'context'"
        )


def in_order_units(subject: Subject) -> Iterator[Finding]:
    """A unit that executes in the order of issue is one unit of the SM."""
    for name, unit in subject.machine.units.items():
        if unit.in_order and (unit.capacity != 1 or unit.scope != "sm"):
            yield Finding(
                f"units.{name}.in_order",
                f"only one unit of the SM can execute in issue order (got capacity "
                f"{unit.capacity}, scope {unit.scope!r})",
                "set capacity = 1 and scope = 'sm', or in_order = false",
            )


@_of_registers
def register_order(_: Subject, registers: Registers) -> Iterator[Finding]:
    """The least allocation is below the most, and so is what a thread can use."""
    least, limit, most = registers.least.value, registers.limit.value, registers.most.value
    if least > most:
        yield Finding(
            "registers.least.value",
            f"the least allocation, {least}, is more than the most, {most}",
            "make least no more than most",
        )
    if limit > most:
        yield Finding(
            "registers.limit.value",
            f"a thread cannot use {limit} registers if at most {most} are allocated",
            "make limit no more than most",
        )


@_of_registers
def register_steps(_: Subject, registers: Registers) -> Iterator[Finding]:
    """Allocations go in whole steps, and the largest leaves less than one step unusable."""
    step, most, limit = registers.step.value, registers.most.value, registers.limit.value
    for key, value in (("least", registers.least.value), ("most", most)):
        if value % step:
            yield Finding(
                f"registers.{key}.value",
                f"{value} is not a multiple of the step of {step}",
                "make it a multiple of registers.step.value",
            )
    if most - limit >= step:
        yield Finding(
            "registers.most.value",
            f"{most} registers are allocated to a thread that can use {limit}: a step of {step} "
            "or more is lost",
            "lower most to the first multiple of step that is no less than limit",
        )


@_of_registers
def register_reserve(_: Subject, registers: Registers) -> Iterator[Finding]:
    """The reserve leaves registers for values, of which there is a whole number."""
    reserve = registers.reserve.value
    if reserve >= min(registers.limit.value, registers.most.value):
        yield Finding(
            "registers.reserve.value",
            f"a reserve of {reserve:g} leaves none of {registers.limit.value} registers",
            "lower it below registers.limit.value",
        )
    elif reserve != int(reserve):
        yield Finding(
            "registers.reserve.value",
            f"registers come whole (got {reserve:g})",
            "give a whole number",
        )


@_of_registers
def register_file(subject: Subject, registers: Registers) -> Iterator[Finding]:
    """The register file holds one group of each width at the least allocation."""
    for index, pool in enumerate(subject.machine.groups):
        blocks = -(-pool.warps // registers.warps.value)
        threads = subject.machine.threads(blocks * registers.warps.value)
        needed = threads * registers.least.value
        if needed > registers.file.value:
            yield Finding(
                f"groups[{index}]",
                f"one group of {pool.warps} warps needs {needed} registers at the least "
                f"allocation, the file holds {registers.file.value}",
                "correct registers.file or registers.least, or leave the group out",
            )


@_of_registers
def group_widths(subject: Subject, registers: Registers) -> Iterator[Finding]:
    """A group is a fraction or a multiple of the warps that share an allocation."""
    together = registers.warps.value
    for index, pool in enumerate(subject.machine.groups):
        if pool.warps % together and together % pool.warps:
            yield Finding(
                f"groups[{index}].warps",
                f"a group of {pool.warps} warps is neither a part nor a multiple of the "
                f"{together} that share one register allocation",
                f"choose a divisor or a multiple of {together}",
            )


def group_counts(subject: Subject) -> Iterator[Finding]:
    """The groups of one pool fit the resident warps of the SM."""
    warps = subject.machine.warps.value
    for index, pool in enumerate(subject.machine.groups):
        if pool.warps * pool.count > warps:
            yield Finding(
                f"groups[{index}]",
                f"{pool.count} groups of {pool.warps} warps are {pool.warps * pool.count} warps, "
                f"the SM has {warps}",
                f"lower count to {warps // pool.warps}"
                if warps >= pool.warps
                else "leave the group out, or correct warps.value",
            )


def repeated_groups(subject: Subject) -> Iterator[Finding]:
    """Each width has one pool."""
    seen: dict[int, int] = {}
    for index, pool in enumerate(subject.machine.groups):
        if pool.warps in seen:
            yield Finding(
                f"groups[{index}].warps",
                f"groups[{seen[pool.warps]}] is of {pool.warps} warps too; only the last counts",
                "add up their counts in one entry",
            )
        seen[pool.warps] = index


def hop_covers_its_parts(subject: Subject) -> Iterator[Finding]:
    """A hop includes the arrive before it and the wait after it."""
    sync = subject.machine.synchronisation
    parts = sync.wait.value + sync.arrive.value
    if sync.hop.value < parts:
        yield Finding(
            "synchronisation.hop.value",
            f"a hop of {sync.hop.value} cycles is shorter than its arrive and wait together, "
            f"{parts} cycles",
            "raise it to at least wait + arrive, which it includes",
        )


def memories_hold_their_loops(subject: Subject) -> Iterator[Finding]:
    """A memory holds, for each packaged loop, the invariants together with the largest value."""
    for loop in subject.loops:
        for name, unit in MEMORY_UNITS.items():
            fixed = [i.tile for i in loop.invariants if i.tile.memory == name]
            made = [o.result for o in loop.operations if o.result and o.result.memory == name]
            memory = subject.machine.memories.by_name.get(name)
            if memory is None:
                if fixed or made:
                    yield Finding(
                        f"memories.{name}",
                        f"the packaged loop {loop.name} has values there, and there is none",
                        f"add the memory with its capacity in {unit}",
                    )
                continue
            needed = sum(map(memory.footprint, fixed)) + max(map(memory.footprint, made), default=0)
            needed = -(-needed * memory.available // memory.room)
            if needed > memory.available:
                yield Finding(
                    f"memories.{name}",
                    f"the packaged loop {loop.name} needs at least {needed} {unit}, there are "
                    f"{memory.available}",
                    "correct its capacity",
                )


def machine_code(subject: Subject) -> Iterator[Finding]:
    """Pipes of machine code, if there are any, have every cost that is asked for, and no other."""
    if subject.machine.instructions is not None:
        try:
            instruction_costs(subject.machine)
        except InputError as error:
            mend = "compare with the packaged files"
            yield Finding("instructions", error.message, mend)
