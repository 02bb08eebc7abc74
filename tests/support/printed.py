"""The paper's Figures 4 to 6 evaluated for a given schedule, slot by slot, without a solver."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from twill.problem import Problem
from twill.problem.groups import WarpGroup
from twill.problem.operations import Edge


@dataclass
class Printed:
    """One candidate: M(v) and A(v) in the straight-line program of K copies."""

    problem: Problem
    interval: int
    length: int
    start: Sequence[int]
    group: Sequence[int]
    groups: Sequence[WarpGroup]

    def __post_init__(self) -> None:
        self.copies = -(-self.length // self.interval)
        self.span = (self.copies - 1) * self.interval + self.length

    def holds(self) -> bool:
        rules = (
            self.completion,
            self.dependence,
            self.capacity,
            self.memory,
            self.warps,
            self.registers,
            self.spills,
            self.concurrency,
            self.wishes,
        )
        return all(rule() for rule in rules)

    def issued(self, v: int, i: int) -> int:
        return self.start[v] + i * self.interval

    def instances(self) -> itertools.product[tuple[int, int]]:
        return itertools.product(range(len(self.start)), range(self.copies))

    def completion(self) -> bool:
        cycles = [o.cycles for o in self.problem.operations]
        return all(self.issued(v, i) + cycles[v] <= self.span for v, i in self.instances())

    def pairs(self) -> list[tuple[Edge, int, int]]:
        """Edges with the issue times of producer and consumer, where both are in the program."""
        return [
            (e, self.issued(e.producer, i), self.issued(e.consumer, i + e.distance))
            for e in self.problem.edges
            for i in range(self.copies - e.distance)
        ]

    def dependence(self) -> bool:
        return all(consumed >= produced + e.delay for e, produced, consumed in self.pairs())

    def capacity(self) -> bool:
        used: dict[tuple[str, int], int] = {}
        for v, i in self.instances():
            for r in self.problem.operations[v].reservations:
                for c in range(r.length):
                    slot = (r.unit, self.issued(v, i) + r.start + c)
                    used[slot] = used.get(slot, 0) + r.count
        return all(n <= self.problem.capacities[unit] for (unit, _), n in used.items())

    def live(self, v: int, i: int) -> set[int]:
        """Backwards dataflow from T."""
        users = [e for e in self.problem.edges if e.producer == v and e.carries]
        uses = {
            self.issued(e.consumer, i + e.distance) for e in users if i + e.distance < self.copies
        }
        alive = i == self.copies - 1 and any(e.distance for e in users)
        found = {self.span} if alive else set()
        for t in range(self.span, 0, -1):
            alive = t != self.issued(v, i) if alive else t in uses
            if alive:
                found.add(t - 1)
        return found

    def fits(self, weights: Sequence[int], capacity: int) -> bool:
        lives = [(weights[v], self.live(v, i)) for v, i in self.instances()]
        return all(sum(w for w, live in lives if t in live) <= capacity for t in range(self.span))

    def memory(self) -> bool:
        return all(
            self.fits(
                [o.footprint if o.memory == memory else 0 for o in self.problem.operations],
                capacity - self.problem.fixed[memory],
            )
            for memory, capacity in self.problem.memories.items()
        )

    def warps(self) -> bool:
        used = sum(self.groups[w].warps for w in set(self.group))
        return used <= self.problem.machine.warps.value and all(
            self.groups[w].warps >= o.warps
            and self.groups[w].variable_latency == o.variable_latency
            for o, w in zip(self.problem.operations, self.group, strict=True)
        )

    def registers(self) -> bool:
        return self.problem.registers is None or all(
            self.fits(
                [o.registers if self.group[o.index] == w else 0 for o in self.problem.operations],
                group.live_limit,
            )
            for w, group in enumerate(self.groups)
        )

    def crosses(self, edge: Edge) -> bool:
        return self.group[edge.producer] != self.group[edge.consumer]

    def spills(self) -> bool:
        return not any(
            self.crosses(e) and produced + e.delay <= consumed < produced + e.cross_delay
            for e, produced, consumed in self.pairs()
        )

    def concurrency(self) -> bool:
        waiting = {e.consumer for e in self.problem.edges if e.blocking or self.crosses(e)}
        for (v, i), (o, j) in itertools.product(self.instances(), repeat=2):
            if v in waiting and o != v and self.group[o] == self.group[v]:
                inside = self.issued(v, i) - self.issued(o, j)
                if 0 <= inside < self.problem.operations[o].cycles:
                    return False
        return True

    def wishes(self) -> bool:
        wishes, start, group = self.problem.wishes, self.start, self.group
        pairs = itertools.combinations(wishes.pins, 2)
        return all(
            (group[u] == group[v]) == (here == there) for (u, here), (v, there) in pairs
        ) and all(start[u] <= start[v] for u, v in wishes.orders)
