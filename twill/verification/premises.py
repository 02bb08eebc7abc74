"""Premises of a bound, as the judge states them from loop and machine: docs/bounds.md."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from twill.artifacts.bound import Premise
from twill.artifacts.hardware import HALVES, TensorMemory
from twill.artifacts.loop import Dependence
from twill.artifacts.machine import Machine
from twill.verification.argued import Argued
from twill.verification.groups import SharedGroup, SharedGroups
from twill.verification.reading import available


@dataclass(frozen=True)
class Stated:
    """An inequality of every program: terms and intervals add up to the cycles or more."""

    cycles: Fraction | int
    intervals: Fraction | int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def says(self, premise: Premise) -> bool:
        """Whether a premise is this inequality."""
        sums = Counter[str]()
        for name, coefficient in self.terms:
            sums[name] += coefficient
        return (
            premise.cycles == self.cycles
            and premise.intervals == self.intervals
            and dict(premise.terms) == {name: c for name, c in sums.items() if c}
        )

    def __str__(self) -> str:
        """Return it as people write it."""
        parts = [f"{c:+d} {name}" for name, c in self.terms]
        return f"{' '.join([*parts, f'+{self.intervals} T'])} >= {self.cycles}"


def stated(argued: Argued, premise: Premise, shared: SharedGroups | None) -> Stated | None:
    """Return what the rule of a premise says; None if it is no rule of what is named."""
    for judge in (_of_units, _of_times, _of_values):
        if (found := judge(argued, premise)) is not None:
            return found
    return None if shared is None else _of_groups(argued, premise, shared)


def _read(argued: Argued, premise: Premise) -> Dependence | None:
    """Return the dependence of data that a premise names."""
    dependences, position = argued.loop.dependences, premise.dependence
    if position is None or position >= len(dependences) or dependences[position].kind != "data":
        return None
    return dependences[position]


# -- work -----------------------------------------------------------------------------------------


def _of_units(argued: Argued, premise: Premise) -> Stated | None:
    """Return what units and issue slots have to do for an iteration."""
    units, rule = argued.machine.units, premise.rule
    match rule, premise.of:
        case "work", (unit,) if unit in units:
            of_sm = units[unit].scope == "sm"
            warps = sum(map(sum, argued.of_warps(unit)), Fraction(0)) if of_sm else 0
            return Stated(argued.of_commands(unit) + warps, 1)
        case (("work of contexts" | "work of a context"), (unit,)) if unit in units:
            shared = units[unit].scope == "sm"
            return None if shared else _of_contexts(argued, rule, argued.of_warps(unit))
        case (("slots of contexts" | "slots of a context"), (unit,)) if (
            unit == argued.machine.issue_unit
        ):
            return _of_contexts(argued, rule, argued.of_warps(None))
        case "slots of contexts with products", (unit,):
            return _with_products(argued, unit)
    return None


def _with_products(argued: Argued, unit: str) -> Stated | None:
    """Return that a context's slots are for its instructions and for products, one a cycle."""
    machine = argued.machine
    slots = None if machine.mechanisms is None else machine.mechanisms.registers
    if slots is None or slots.unit != unit or machine.issue_unit is None:
        return None
    pipes = {pipe for pipe in slots.first + slots.waiting if machine.units[pipe].scope != "sm"}
    of_products = (1 - Fraction(str(slots.free.value))) * argued.of_commands(unit)
    return Stated(argued.instructions(pipes) + argued.contexts * of_products, argued.contexts)


def _of_contexts(argued: Argued, rule: str, warps: list[list[Fraction]]) -> Stated:
    """Return what contexts have to do: all of them together, or the fullest."""
    if rule.endswith("of a context"):
        return Stated(argued.of_fullest(warps), 1)
    return Stated(sum(map(sum, warps), Fraction(0)), argued.contexts)


def _of_times(argued: Argued, premise: Premise) -> Stated | None:
    """Return what passes from one issue or start to another."""
    match premise.rule, premise.of:
        case "time", ():
            return Stated(0, 1)
        case "command", (name,) if name in argued.commanded:
            return Stated(Fraction(argued.costs[name].issue, argued.commands[name]), 1)
        case (("delay" | "transfer"), (producer, consumer)):
            read = _read(argued, premise)
            if read is None or (read.producer, read.consumer) != (producer, consumer):
                return None
            sent = argued.costs[producer].transfer if premise.rule == "transfer" else 0
            terms = (f"start of {consumer}", 1), (f"start of {producer}", -1)
            return Stated(argued.apart(read) + sent, read.distance, terms)
    return None


# -- memory and registers -------------------------------------------------------------------------


def _of_values(argued: Argued, premise: Premise) -> Stated | None:
    """Return how long values are kept, and that they have room."""
    match premise.rule, premise.of:
        case "room", (memory, *values):
            return _room(argued, memory, values)
        case "read", (memory,):
            return _kept_in(argued, memory, _read(argued, premise))
        case "made", ("registers", name) if name in argued.operations:
            return _made(argued, name)
        case "made", ("group", name) if name in argued.operations:
            return Stated(argued.until_readable(name), 0, ((f"{name} in group", 1),))
    return None


def _room(argued: Argued, memory: str, values: list[str]) -> Stated | None:
    """Return that values have room, less what is always taken."""
    if memory == "registers":
        sizes = {o: size for o in argued.operations if (size := _registers(argued, o))}
        room = _register_room(argued.machine) - _pinned(argued)
        circles = [
            ({d.producer}, d.distance)
            for d in {d.producer: d for d in argued.reads if d.in_place}.values()
            if d.producer == d.consumer and d.producer in sizes
        ]
    elif (there := argued.machine.memories.by_name.get(memory)) is not None:
        sizes = {
            o.name: there.footprint(o.result)
            for o in argued.loop.operations
            if o.result is not None and o.result.memory == memory
        }
        halves = HALVES if isinstance(there, TensorMemory) else 1
        fixed = [i.tile for i in argued.loop.invariants if i.tile.memory == memory]
        room = available(there) * halves - sum(map(there.footprint, fixed))
        circles = list(_updated_in_circles(argued.reads, sizes))
    else:
        return None
    for circle, distance in circles:
        room -= min(sizes[name] for name in circle) * distance
        sizes = {name: size for name, size in sizes.items() if name not in circle}
    if len({*values}) < len(values) or not {*values} <= sizes.keys():
        return None
    return Stated(0, room, tuple((f"{name} in {memory}", -sizes[name]) for name in values))


def _kept_in(argued: Argued, memory: str, read: Dependence | None) -> Stated | None:
    """Return that a value stays in memory until it has been read."""
    if read is None or memory not in argued.machine.memories.by_name:
        return None
    held = 0 if read.in_place else argued.until_read(argued.operations[read.consumer])
    return until(read, memory, held)


def until(read: Dependence, place: str, held: Fraction | int) -> Stated:
    """Return that a value is kept from its start until `held` cycles after its reader's."""
    ends = (f"start of {read.consumer}", -1), (f"start of {read.producer}", 1)
    return Stated(held, -read.distance, ((f"{read.producer} in {place}", 1), *ends))


def _made(argued: Argued, name: str) -> Stated | None:
    """Return that a value is in registers until it can be read, or its copy has been."""
    others = [d for d in argued.reads if d.producer == name and not argued.accumulates(d)]
    if not others:
        return None
    held = [
        argued.until_read(argued.operations[d.consumer])
        for d in others
        if d.consumer in argued.commanded and not d.in_place
    ]
    made = argued.until_readable(name) + max(held, default=0)
    return Stated(made, 0, ((f"{name} in registers", 1),))


def _registers(argued: Argued, name: str) -> int:
    """Return the registers of a result, in the threads that its maker and its readers have."""
    o = argued.operations[name]
    readers = [d.consumer for d in argued.reads if d.producer == name]
    if o.result is None or o.result.memory != "registers" or not readers:
        return 0
    warps = min(o.warps, max(argued.operations[reader].warps for reader in readers))
    threads = argued.machine.threads(o.warps), argued.machine.threads(warps)
    return o.result.registers_each(threads[0]) * threads[1]


def _register_room(machine: Machine) -> int:
    """Return the registers that values can have, with the best number of sets of warps."""
    file = machine.registers
    if file is None:
        return 0
    left, width = 0, machine.threads(file.warps.value)
    for sets in range(1, machine.warps.value // file.warps.value + 1):
        pool = file.file.value // width
        if file.launch is not None:
            each = file.file.value // (width * sets) // file.launch.value * file.launch.value
            pool = sets * min(each, file.most.value)
        most = min(file.limit.value, file.most.value) * sets
        left = max(left, width * (min(most, pool) - math.ceil(sets * file.reserve.value)))
    return left


def _pinned(argued: Argued) -> int:
    """Return the registers of invariants."""
    found = 0
    for invariant in argued.loop.invariants:
        if invariant.tile.memory == "registers" and invariant.used_by:
            warps = max(argued.operations[name].warps for name in invariant.used_by)
            threads = argued.machine.threads(warps)
            found += invariant.tile.registers_each(threads) * threads
    return found


def _updated_in_circles(
    reads: list[Dependence], sizes: dict[str, int]
) -> Iterator[tuple[set[str], int]]:
    """Yield values that update each other in place, and over how many iterations."""
    left = {d.producer: d for d in reads if d.in_place and {d.producer, d.consumer} <= sizes.keys()}
    while left:
        way: list[str] = [next(iter(left))]
        while way[-1] in left and (reader := left[way[-1]].consumer) not in way:
            way.append(reader)
        if way[-1] in left:
            circle = way[way.index(left[way[-1]].consumer) :]
            yield {*circle}, sum(left[name].distance for name in circle)
        for name in way:
            left.pop(name, None)


# -- groups ---------------------------------------------------------------------------------------


def _of_groups(argued: Argued, premise: Premise, shared: SharedGroups) -> Stated | None:
    """Return what holds of operations that have groups to themselves."""
    if premise.rule == "launch" and not premise.of:
        return Stated(shared.excess(premise.groups))
    if len(premise.groups) != 1:
        return None
    group = shared.group(premise.groups[0])
    match premise.rule, premise.of:
        case "registers", (name,) if name in group.peaks:
            return Stated(group.peaks[name] - group.free)
        case "exclusive", names if {*names} <= {*group.large} and len({*names}) == len(names):
            return Stated(group.copied, 1, tuple((f"{name} in group", -1) for name in names))
        case "kept", ("group",):
            return _kept_by(argued, _read(argued, premise), group, shared)
    return None


def _kept_by(
    argued: Argued, read: Dependence | None, group: SharedGroup, shared: SharedGroups
) -> Stated | None:
    """Return that a group keeps its result until its own reader has read it."""
    if read is None or not {read.producer, read.consumer} <= group.peaks.keys():
        return None
    held = None if argued.accumulates(read) else shared.holds(read, group.free)
    return None if held is None else until(read, "group", held)
