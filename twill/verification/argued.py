"""Times and work of a loop's operations on the simulated SM: docs/bounds.md.

Times are of the starts of operations, as on the page.
"""

from __future__ import annotations

import math
from collections.abc import Container
from fractions import Fraction

from twill.artifacts.loop import Dependence, Loop, Operation, Step
from twill.artifacts.machine import Machine


class Argued:
    """Times and work of the operations of one loop on one machine."""

    def __init__(self, loop: Loop, machine: Machine, latency: int | None) -> None:
        self.loop, self.machine, self.latency = loop, machine, latency
        self.operations = {o.name: o for o in loop.operations}
        self.costs = {o.name: machine.cost(o) for o in loop.operations}
        self.reads = [d for d in loop.dependences if d.kind == "data"]
        self.contexts = machine.contexts.value
        # What commands take of units, of their own first.
        self.commanded = {
            name: [s for s in cost.steps if s.unit != machine.issue_unit]
            for name, cost in self.costs.items()
            if cost.asynchronous
        }
        self.commands = {name: self.costs[name].steps[0].instructions for name in self.commanded}

    # -- what warps and units do --------------------------------------------------------------

    def _issued(self, o: Operation, step: Step) -> list[int]:
        """Return how many instructions of a step each warp issues."""
        among = step.instructions * min(o.warps, self.contexts)
        return [max(1, (among + o.warps - 1 - warp) // o.warps) for warp in range(o.warps)]

    def pace(self, o: Operation, step: Step) -> tuple[Fraction, Fraction]:
        """Return the cycles between instructions, and those for which one fills the pipe."""
        unit, each = self.machine.units[step.unit], Fraction(step.cycles, step.instructions)
        used = each * step.count / unit.capacity
        if unit.scope == "sm":
            return used, used / min(o.warps, self.contexts)
        return each, used

    def _fills(self, name: str, step: Step) -> Fraction:
        """Return the cycles for which a command fills a unit."""
        filled = Fraction(step.cycles * step.count, self.machine.units[step.unit].capacity)
        return filled / self.commands[name]

    def _streams(self, name: str, step: Step) -> bool:
        """Whether commands move data through a port at their own pace."""
        own, *others = self.commanded[name]
        port = self.machine.units[step.unit]
        in_order = self.machine.units[own.unit].in_order
        return step in others and not in_order and port.scope == "sm" and port.capacity > 1

    def _begins_within_cycles(self) -> set[str]:
        """Return units whose commands do not begin and end with cycles."""
        found = {
            step.unit
            for o in self.loop.operations
            if o.name not in self.commanded
            for step in self.costs[o.name].steps
            if self.machine.units[step.unit].scope == "sm" and self.pace(o, step)[1] % 1
        }
        for name, steps in self.commanded.items():
            lengths = [Fraction(s.cycles, self.commands[name]) for s in steps]
            if any(time % 1 for time in (*lengths, *(self._fills(name, s) for s in steps))):
                found |= {s.unit for s in steps}
        for _ in self.machine.units:
            for steps in self.commanded.values():
                units = {s.unit for s in steps}
                found |= units if units & found else set()
        return found

    # -- work ---------------------------------------------------------------------------------

    def of_warps(self, unit: str | None) -> list[list[Fraction]]:
        """Return the cycles of a unit that each warp of an operation takes; its instructions.

        `unit`: None for instructions, each of which takes an issue slot.
        """
        found: list[list[Fraction]] = []
        for o in self.loop.operations:
            if o.name not in self.commanded:
                warps = [Fraction(0)] * o.warps
                for step in self.costs[o.name].steps:
                    filled = self.pace(o, step)[1] if step.unit == unit else Fraction(unit is None)
                    counts = zip(warps, self._issued(o, step), strict=True)
                    warps = [taken + n * filled for taken, n in counts]
                found.append(warps)
        return found

    def instructions(self, pipes: Container[str]) -> int:
        """Return how many instructions all warps issue to some pipes."""
        return sum(
            sum(self._issued(o, step))
            for o in self.loop.operations
            if o.name not in self.commanded
            for step in self.costs[o.name].steps
            if step.unit in pipes
        )

    def of_commands(self, unit: str) -> Fraction:
        """Return the cycles for which all commands fill a unit."""
        kept = self._no_stream_waits(unit)
        return sum(
            (
                self.commands[name] * self._fills(name, step)
                for name, steps in self.commanded.items()
                for step in steps
                if step.unit == unit and (kept or not self._streams(name, step))
            ),
            Fraction(0),
        )

    def of_fullest(self, warps: list[list[Fraction]]) -> Fraction:
        """Return what some context has to do at least of what each operation's warps do."""
        every = [len(w) // self.contexts * min(w) for w in warps]
        more = [min(w) for w in warps if len(w) % self.contexts]
        return sum(every, Fraction(0)) + max(more, default=Fraction(0))

    def _no_stream_waits(self, port: str) -> bool:
        """Whether a port has room for as many streams as there can be at once."""
        streams: dict[str, list[tuple[str, Step, Step]]] = {}
        for name, (own, *others) in self.commanded.items():
            for step in others:
                if step.unit == port and self._streams(name, step):
                    streams.setdefault(own.unit, []).append((name, own, step))
        taken = 0
        for mine in streams.values():
            length = max(Fraction(step.cycles, self.commands[name]) for name, _, step in mine)
            apart = min(self._fills(name, own) for name, own, _ in mine)
            taken += max(step.count for _, _, step in mine) * math.ceil(length / apart)
        return taken <= self.machine.units[port].capacity

    # -- times --------------------------------------------------------------------------------

    def until_read(self, o: Operation) -> Fraction:
        """Return the time from an operation's start until it has read its operands."""
        cost = self.costs[o.name]
        if o.name in self.commanded:
            own, *others = self.commanded[o.name]
            last = Fraction(own.cycles, self.commands[o.name])
            if len(others) == 1 and self._streams(o.name, others[0]):
                last = max(last, Fraction(others[0].cycles, self.commands[o.name]))
            return self._fills(o.name, own) * (self.commands[o.name] - 1) + last
        paces = [self.pace(o, step)[0] for step in cost.steps]
        times: list[Fraction] = []
        for counts in zip(*(self._issued(o, step) for step in cost.steps), strict=True):
            paced = sum(n * pace for n, pace in zip(counts, paces, strict=True)) - paces[-1]
            slots = sum(counts) - 1 if self.machine.issue_unit is not None else 0
            times.append(max(math.floor(paced), slots) + paces[-1])
        return min(times)

    def until_readable(self, name: str) -> Fraction:
        """Return the time from an operation's start until others can have its result."""
        cost, signals = self.costs[name], self.machine.synchronisation
        lengths = [step.cycles for step in cost.steps]
        worked = self.until_read(self.operations[name])
        if name not in self.commanded:
            return worked + max(0, cost.latency - sum(lengths))
        done = worked + max(0, cost.latency - max(lengths) - signals.wait.value)
        if cost.variable_latency:
            done = max(worked, Fraction(cost.latency if self.latency is None else self.latency))
        if self._others_in_order(name):
            return done
        waits = [signals.wait.value, *([signals.named.wait.value] if signals.named else [])]
        within = {step.unit for step in self.commanded[name]} & self._begins_within_cycles()
        return done + max(0, min(waits) - bool(within))

    def _others_in_order(self, name: str) -> bool:
        """Whether an in-order unit of an operation has others, the wait for which will do."""
        mine = {s.unit for s in self.commanded[name] if self.machine.units[s.unit].in_order}
        return any(
            step.unit in mine
            for other, steps in self.commanded.items()
            for step in steps
            if other != name
        )

    def apart(self, read: Dependence) -> Fraction:
        """Return the time from the start of a maker to that of its reader."""
        if not self.accumulates(read):
            return self.until_readable(read.producer)
        first, *_ = self.commanded[read.producer]
        return self._fills(read.producer, first)

    def accumulates(self, read: Dependence) -> bool:
        """Whether a reader updates what its own in-order unit makes."""
        if not read.in_place or not {read.producer, read.consumer} <= self.commanded.keys():
            return False
        unit = self.costs[read.producer].steps[0].unit
        same = self.costs[read.consumer].steps[0].unit == unit
        return same and self.machine.units[unit].in_order
