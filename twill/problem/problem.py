"""A loop on a machine as the integers that solvers see, built of the rules of docs/model.md.

A problem is in units of one time scale: clock cycles, or the normalized units of the paper
(section 5.2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from twill.artifacts.hardware import HALVES
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Rules, TimeScale
from twill.problem import rules as model
from twill.problem.operations import Edge, PinnedRegisters, ProblemOperation, RegisterFile, Wishes


@dataclass(frozen=True)
class Problem:
    """Everything that makes a schedule of one loop on one machine valid or not."""

    loop: Loop
    machine: Machine
    rules: Rules
    scale: TimeScale
    operations: tuple[ProblemOperation, ...]
    edges: tuple[Edge, ...]
    capacities: dict[str, int]
    # Capacity of each addressed memory, and what invariants take of it: bytes of SMEM, columns of
    # half of the lanes of TMEM.
    memories: dict[str, int]
    fixed: dict[str, int]
    pinned: tuple[PinnedRegisters, ...]
    registers: RegisterFile | None
    hop: int
    wishes: Wishes = field(default_factory=Wishes)

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each operation by name."""
        return {operation.name: operation.index for operation in self.operations}

    @cached_property
    def variable(self) -> tuple[bool, ...]:
        """Whether each operation is of variable latency."""
        return tuple(operation.variable_latency for operation in self.operations)

    @cached_property
    def consumers(self) -> tuple[tuple[Edge, ...], ...]:
        """For each operation, the edges that read its value."""
        return tuple(
            tuple(e for e in self.edges if e.carries and e.producer == v)
            for v in range(len(self.operations))
        )

    @cached_property
    def forced_cross(self) -> tuple[bool, ...]:
        """For each edge, whether its ends can never be on one group."""
        return tuple(self.variable[e.producer] != self.variable[e.consumer] for e in self.edges)

    @cached_property
    def least_distances(self) -> dict[tuple[int, int], int]:
        """By how many iterations an operation is at least behind one that it depends on.

        A pair ``(u, v): d`` says that v of iteration i is issued after u of iteration i - d is
        complete, or behind it on a unit that executes in order. Dependences with a delay of their
        own are left out.
        """
        found = {(v, v): 0 for v in range(len(self.operations))}
        steps: dict[int, list[tuple[int, int]]] = {}
        for edge, dependence in zip(self.edges, self.loop.dependences, strict=True):
            if dependence.delay is None:
                steps.setdefault(edge.producer, []).append((edge.consumer, edge.distance))
        for u in range(len(self.operations)):
            pending = [u]
            while pending:
                v = pending.pop()
                for w, distance in steps.get(v, []):
                    reached = found[u, v] + distance
                    if reached < found.get((u, w), reached + 1):
                        found[u, w] = reached
                        pending.append(w)
        return found

    def turn(self, u: int, v: int) -> int:
        """Return how long after u its successor v on another group can follow on their unit.

        0 if they do not share an in-order unit. Groups take turns on such a unit: v's group is
        signalled when u has been issued (docs/model.md, turns).
        """
        first, second = self.operations[u], self.operations[v]
        return model.turn(first, second, self.hop, self.rules)

    @property
    def in_turn(self) -> dict[int, str]:
        """Operations that are issued one after another, with the in-order unit they are issued to.

        They always wait for something. On one group nothing else is being issued then, and groups
        take turns on the unit: no two are being issued at the same time, modulo I.
        """
        if self.rules != "issue":
            return {}
        waiting = {edge.consumer for edge in self.edges if edge.blocking}
        units = {v: self.operations[v].in_order_unit for v in sorted(waiting)}
        return {v: unit for v, unit in units.items() if unit is not None}

    def separated(self, u: int, v: int) -> bool:
        """Return whether the capacity of their unit alone makes two operations take turns."""
        first, second = self.operations[u], self.operations[v]
        if self.turn(u, v) == self.turn(v, u) == 0:
            return True
        unit = first.in_order_unit or ""
        ours, theirs = (
            [(r.length, r.count) for r in o.reservations if r.unit == unit and r.start == 0]
            for o in (first, second)
        )
        return any(
            mine >= self.turn(u, v) and yours >= self.turn(v, u) and m + n > self.capacities[unit]
            for mine, m in ours
            for yours, n in theirs
        )

    def least_delay(self, position: int) -> int:
        """Return the delay of edge `position` that holds on whatever groups its ends are."""
        edge = self.edges[position]
        return edge.cross_delay if self.forced_cross[position] else edge.delay

    def amount(self, memory: str, taken: int) -> str:
        """Say an amount of memory in the unit of the machine file.

        `taken`: bytes, or half columns.
        """
        return f"{taken / HALVES:g} columns" if memory == "tmem" else f"{taken} bytes"

    @property
    def starts_at_issue(self) -> bool:
        """Whether every reservation starts at its operation's issue."""
        return all(r.start == 0 for operation in self.operations for r in operation.reservations)
