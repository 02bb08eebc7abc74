"""Units and issue slots of the simulated SM that the operations of a loop take.

The rules are those of docs/bounds.md, without the simulator's code.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from twill.artifacts.bound import Rule
from twill.artifacts.loop import Cost, Operation, Step
from twill.artifacts.machine import Machine
from twill.bounds.arguments import Argument, Inequality, Reason, alone

# -- what an operation executes -------------------------------------------------------------------


@dataclass(frozen=True)
class Instructions:
    """Instructions of one warp on one pipe."""

    unit: str
    count: int
    interval: Fraction  # cycles from one to the next
    share: Fraction  # cycles for which each fills the pipe


@dataclass(frozen=True)
class Executed:
    """An operation as the simulator executes it."""

    operation: Operation
    cost: Cost
    machine: Machine
    load_latency: int | None  # nominal without it

    @property
    def name(self) -> str:
        """Its name."""
        return self.operation.name

    @cached_property
    def warps(self) -> tuple[tuple[Instructions, ...], ...]:
        """Instructions of each warp of a synchronous operation; the first may have one more."""
        if self.cost.asynchronous:
            return ()
        return tuple(
            tuple(self._instructions(step, warp) for step in self.cost.steps)
            for warp in range(self.operation.warps)
        )

    def _instructions(self, step: Step, warp: int) -> Instructions:
        warps = self.operation.warps
        contexts = min(warps, self.machine.contexts.value)
        each, more = divmod(step.instructions * contexts, warps)
        unit = self.machine.units[step.unit]
        interval, part = Fraction(step.cycles, step.instructions), _part(step, self.machine)
        if unit.scope == "sm":
            interval *= part
            share = interval / contexts
        else:
            share = interval * part
        return Instructions(step.unit, max(1, each + (warp < more)), interval, share)

    @cached_property
    def demands(self) -> tuple[Step, ...]:
        """Demands of the commands of an asynchronous operation, its own unit first."""
        steps = self.cost.steps if self.cost.asynchronous else ()
        return tuple(step for step in steps if step.unit != self.machine.issue_unit)

    @cached_property
    def streams(self) -> tuple[Step, ...]:
        """Demands on ports that commands move data through while they are executed."""
        units = self.machine.units
        if not self.demands or units[self.demands[0].unit].in_order:
            return ()
        ports = {name for name, unit in units.items() if unit.scope == "sm" and unit.capacity > 1}
        return tuple(demand for demand in self.demands[1:] if demand.unit in ports)

    @property
    def commands(self) -> int:
        """Commands of an asynchronous operation."""
        return self.cost.steps[0].instructions

    def share(self, demand: Step) -> Fraction:
        """Return the cycles for which all its commands fill a unit."""
        return demand.cycles * _part(demand, self.machine)

    def filling(self, unit: str, *, streams: bool) -> Fraction:
        """Return the cycles for which its commands fill a unit, with or without streams."""
        kept = (d for d in self.demands if d.unit == unit and (streams or d not in self.streams))
        return sum(map(self.share, kept), Fraction(0))

    @cached_property
    def reading(self) -> Fraction:
        """Cycles at least from its start, on a warp or on its unit, until it has read operands."""
        if not self.cost.asynchronous:
            return min(self._issuing(instructions) for instructions in self.warps)
        first, *others = self.demands
        last = Fraction(first.cycles)
        if len(others) == 1 and others[0] in self.streams:
            last = max(last, Fraction(others[0].cycles))
        return (self.share(first) * (self.commands - 1) + last) / self.commands

    def _issuing(self, instructions: Sequence[Instructions]) -> Fraction:
        """Return the cycles from a warp's first instruction until its last is through the pipe."""
        last = instructions[-1].interval
        paced = math.floor(sum(i.count * i.interval for i in instructions) - last)
        slots = (sum(i.count for i in instructions) - 1) * (self.machine.issue_unit is not None)
        return max(paced, slots) + last

    @property
    def issuing(self) -> Fraction:
        """Cycles at least from its first instruction on a warp until its last is issued."""
        return self.reading - max(instructions[-1].interval for instructions in self.warps)

    @cached_property
    def completing(self) -> Fraction:
        """Cycles at least from its start until its result is complete."""
        lengths = [step.cycles for step in self.cost.steps]
        if not self.cost.asynchronous:
            return self.reading + max(0, self.cost.latency - sum(lengths))
        if self.cost.variable_latency:
            drawn = self.cost.latency if self.load_latency is None else self.load_latency
            return max(self.reading, Fraction(drawn))
        wait = self.machine.synchronisation.wait.value
        return self.reading + max(0, self.cost.latency - max(lengths) - wait)


def _part(step: Step, machine: Machine) -> Fraction:
    """Return the part of a unit that a step takes."""
    return Fraction(step.count, machine.units[step.unit].capacity)


# -- work -----------------------------------------------------------------------------------------


def works(executed: Sequence[Executed], machine: Machine) -> Iterator[Argument]:
    """Yield what units and issue slots need for one iteration."""
    for name, unit in machine.units.items():
        pipe = {e.name: [_on(name, warp) for warp in e.warps] for e in executed}
        streams = not _is_crowded(name, executed)
        commands = {e.name: e.filling(name, streams=streams) for e in executed}
        if unit.scope == "sm":
            together = {of: sum(pipe[of]) + commands[of] for of in pipe}
            yield from _argument("work", "work", name, together)
        else:
            yield from _in_contexts("work", name, pipe, machine.contexts.value)
            yield from _argument("work", "work", name, commands)
    if machine.issue_unit is not None:
        slots = {
            e.name: [Fraction(sum(i.count for i in warp)) for warp in e.warps] for e in executed
        }
        yield from _in_contexts("issue slots", machine.issue_unit, slots, machine.contexts.value)
        yield from _beside_products(executed, machine)


def _beside_products(executed: Sequence[Executed], machine: Machine) -> Iterator[Argument]:
    """Yield what instructions and products need together of the register slots of all contexts."""
    rules = None if machine.mechanisms is None else machine.mechanisms.registers
    if rules is None:
        return
    pipes = {p for p in (*rules.first, *rules.waiting) if machine.units[p].scope == "context"}
    taken, contexts = 1 - Fraction(str(rules.free.value)), machine.contexts.value
    slots = {
        e.name: sum((Fraction(i.count) for w in e.warps for i in w if i.unit in pipes), Fraction(0))
        + contexts * taken * e.filling(rules.unit, streams=True)
        for e in executed
    }
    rule: Rule = "slots of contexts with products"
    yield from _argument("register slots", rule, rules.unit, slots, contexts)


def _is_crowded(port: str, executed: Iterable[Executed]) -> bool:
    """Return whether streams through a port may wait for each other.

    The simulator then books other streams at the same time, above the capacity.
    """
    parts = defaultdict[str, list[Fraction]](list)
    lengths, apart = defaultdict[str, list[Fraction]](list), defaultdict[str, list[Fraction]](list)
    for one in executed:
        for stream in one.streams:
            if stream.unit == port:
                unit = one.demands[0].unit
                parts[unit].append(_part(stream, one.machine))
                lengths[unit].append(Fraction(stream.cycles, one.commands))
                apart[unit].append(one.share(one.demands[0]) / one.commands)
    at_once = (max(parts[u]) * math.ceil(max(lengths[u]) / min(apart[u])) for u in parts)
    return sum(at_once) > 1


def _on(unit: str, warp: Iterable[Instructions]) -> Fraction:
    """Return the cycles for which a warp's instructions fill a pipe."""
    return sum((i.count * i.share for i in warp if i.unit == unit), Fraction(0))


def _in_contexts(
    reason: Reason, unit: str, warps: Mapping[str, Sequence[Fraction]], contexts: int
) -> Iterator[Argument]:
    """Yield what contexts have to do on average, and that which has most of a narrow operation.

    The warps of an operation follow each other, one context after the other.

    `warps`: cycles of every warp, by operation.
    """
    average: Rule = "work of contexts" if reason == "work" else "slots of contexts"
    fullest: Rule = "work of a context" if reason == "work" else "slots of a context"
    together = {of: sum(w, Fraction(0)) for of, w in warps.items()}
    yield from _argument(reason, average, unit, together, contexts)
    everywhere = {of: len(w) // contexts * min(w, default=Fraction(0)) for of, w in warps.items()}
    narrow = {of: w[-1] for of, w in warps.items() if len(w) % contexts}
    if narrow:
        most = max(narrow, key=lambda of: narrow[of])
        figures = everywhere | {most: everywhere[most] + narrow[most]}
        yield from _argument(reason, fullest, unit, figures)


def _argument(
    reason: Reason, rule: Rule, of: str, figures: Mapping[str, Fraction], over: int = 1
) -> Iterator[Argument]:
    """Yield an argument of those figures that are not nothing, if there are any."""
    if some := {name: figure for name, figure in figures.items() if figure}:
        needed = Inequality(rule, (of,), sum(some.values(), Fraction(0)), over)
        yield Argument(reason, (of,), some, over, alone([(needed, 1)]))


def commands(executed: Iterable[Executed]) -> Iterator[Argument]:
    """Yield for how long a command keeps a warp from issuing that of the next iteration."""
    for one in executed:
        if one.cost.asynchronous and one.cost.issue:
            figures = {one.name: Fraction(one.cost.issue, one.commands)}
            yield from _argument("commands", "command", one.name, figures)


def uneven_units(executed: Collection[Executed], machine: Machine) -> set[str]:
    """Return the units on which commands may begin or end within a cycle."""
    found = {
        i.unit
        for one in executed
        for warp in one.warps
        for i in warp
        if machine.units[i.unit].scope == "sm" and i.share.denominator > 1
    }
    together = [{d.unit for d in one.demands} for one in executed]
    for one, units in zip(executed, together, strict=True):
        times = [time for d in one.demands for time in (Fraction(d.cycles), one.share(d))]
        if any((time / one.commands).denominator > 1 for time in times):
            found |= units
    while more := [units - found for units in together if units & found and units - found]:
        found |= set().union(*more)
    return found
