"""What each reason for a bound gives for a loop on a machine: docs/bounds.md.

Times are of the starts of operations, as on the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from twill.artifacts.hardware import HALVES, TensorMemory
from twill.artifacts.loop import Dependence, Loop, Operation, Step
from twill.artifacts.machine import Machine
from twill.verification.reading import available

ROUNDING = 1e-6  # part of a bound by which it may differ


class Argued:
    """What each reason gives for one loop on one machine."""

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

    def by_work(self, unit: str) -> float:
        """Return what a unit has to do for an iteration."""
        instructions: list[list[Fraction]] = []
        for o in self.loop.operations:
            if o.name not in self.commanded:
                warps = [Fraction(0)] * o.warps
                for step in self.costs[o.name].steps:
                    filled = self.pace(o, step)[1] if step.unit == unit else Fraction(0)
                    warps = [
                        w + n * filled for w, n in zip(warps, self._issued(o, step), strict=True)
                    ]
                instructions.append(warps)
        kept = self._no_stream_waits(unit)
        commands = sum(
            self.commands[name] * self._fills(name, step)
            for name, steps in self.commanded.items()
            for step in steps
            if step.unit == unit and (kept or not self._streams(name, step))
        )
        if self.machine.units[unit].scope == "sm":
            return float(sum(map(sum, instructions)) + commands)
        return max(self._in_contexts(instructions), float(commands))

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

    def _in_contexts(self, warps: list[list[Fraction]]) -> float:
        """Return what some context has to do at least of what each operation's warps do."""
        every = [len(w) // self.contexts * min(w) for w in warps]
        more = [min(w) for w in warps if len(w) % self.contexts]
        average = sum(map(sum, warps)) / Fraction(self.contexts)
        return float(max(average, sum(every) + max(more, default=Fraction(0))))

    def by_issue_slots(self) -> float:
        """Return the instructions that some context issues for an iteration."""
        return self._in_contexts(
            [
                [
                    Fraction(sum(of_a_warp))
                    for of_a_warp in zip(
                        *(self._issued(o, s) for s in self.costs[o.name].steps), strict=True
                    )
                ]
                for o in self.loop.operations
                if o.name not in self.commanded
            ]
        )

    def by_commands(self, name: str) -> float:
        """Return for how long one command of an operation keeps its warp."""
        return self.costs[name].issue / self.commands[name] if name in self.commanded else 0.0

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

    def by_recurrence(self, names: tuple[str, ...]) -> float:
        """Return what a circle of operations that read each other takes an iteration."""
        if not names or len({*names}) < len(names):
            return 0.0
        steps = [
            [d for d in self.reads if (d.producer, d.consumer) == ends]
            for ends in pairwise((*names, names[0]))
        ]
        ways = [
            (sum(map(self.apart, way), Fraction(0)), sum(d.distance for d in way))
            for way in product(*steps)
        ]
        return max((float(time / distance) for time, distance in ways), default=0.0)

    # -- memory and registers -----------------------------------------------------------------

    def room(self, memory: str, interval: float) -> float:
        """Return what the values leave of a memory, on average over an interval, times that."""
        there = self.machine.memories.by_name[memory]
        halves = HALVES if isinstance(there, TensorMemory) else 1
        fixed = [i.tile for i in self.loop.invariants if i.tile.memory == memory]
        left = (available(there) * halves - sum(map(there.footprint, fixed))) * interval
        sizes = {
            o.name: there.footprint(o.result)
            for o in self.loop.operations
            if o.result is not None and o.result.memory == memory
        }
        paths = self.paths(interval)
        if paths is None:
            return -math.inf  # so short is no interval
        index = {name: position for position, name in enumerate(self.operations)}
        for circle, distance in _updated_in_circles(self.reads, sizes):
            left -= min(sizes[name] for name in circle) * distance * interval
            sizes = {name: size for name, size in sizes.items() if name not in circle}
        for name, size in sizes.items():
            lives = [
                paths[index[name], index[d.consumer]]
                + d.distance * interval
                + (0.0 if d.in_place else float(self.until_read(self.operations[d.consumer])))
                for d in self.reads
                if d.producer == name
            ]
            left -= size * max([0.0, *lives])
        return left

    def paths(
        self, interval: float, later: Mapping[int, int] | None = None
    ) -> NDArray[np.float64] | None:
        """Return the longest times between starts, None if some recurrence takes longer.

        `later`: by position among `reads`, how many cycles more some take.
        """
        more = later or {}
        index = {name: position for position, name in enumerate(self.operations)}
        paths = np.full((len(index), len(index)), -np.inf)
        np.fill_diagonal(paths, 0.0)
        for position, d in enumerate(self.reads):
            ends = index[d.producer], index[d.consumer]
            time = float(self.apart(d)) + more.get(position, 0)
            paths[ends] = max(paths[ends], time - d.distance * interval)
        for via in range(len(index)):
            paths = np.maximum(paths, paths[:, via, None] + paths[None, via, :])
        return None if (np.diagonal(paths) > ROUNDING).any() else paths

    def by_registers(self) -> float:
        """Return in how many cycles the register file has room for what values take of it."""
        file = self.machine.registers
        if file is None:
            return 0.0
        taken = Fraction(0)
        left = 0.0
        width = self.machine.threads(file.warps.value)
        for sets in range(1, self.machine.warps.value // file.warps.value + 1):
            pool = float(file.file.value // width)
            if file.launch is not None:
                each = file.file.value // (width * sets) // file.launch.value * file.launch.value
                pool = sets * min(each, file.most.value)
            most = min(file.limit.value, file.most.value) * sets
            left = max(left, width * (min(most, pool) - math.ceil(sets * file.reserve.value)))
        for invariant in self.loop.invariants:
            if invariant.tile.memory == "registers" and invariant.used_by:
                warps = max(self.operations[name].warps for name in invariant.used_by)
                threads = self.machine.threads(warps)
                left -= invariant.tile.registers_each(threads) * threads
        for o in self.loop.operations:
            readers = [d for d in self.reads if d.producer == o.name]
            if o.result is None or o.result.memory != "registers" or not readers:
                continue
            warps = min(o.warps, max(self.operations[d.consumer].warps for d in readers))
            size = o.result.registers_each(self.machine.threads(o.warps))
            size *= self.machine.threads(warps)
            own = [d.distance for d in readers if d.in_place and d.consumer == o.name]
            if own and size:
                left -= size * own[-1]
                continue
            others = [d for d in readers if not self.accumulates(d)]
            held = [
                self.until_read(self.operations[d.consumer])
                for d in others
                if d.consumer in self.commanded and not d.in_place
            ]
            if others:
                taken += size * (self.until_readable(o.name) + max(held, default=0))
        return float(taken) / left if left > 0 else 0.0


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
