"""Limits of a loop on a machine before anything is solved: costs, bounds, recurrences."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.base.errors import InputError
from twill.bounds.intervals import Bounds, every_bound, recurrence_bound
from twill.problem import Problem, build_problem
from twill.problem.costs import StaticCost, static_costs


@dataclass(frozen=True)
class Step:
    """A dependence of a recurrence: its consumer, its delay and its distance in iterations."""

    consumer: str
    delay: int
    distance: int


@dataclass(frozen=True)
class Recurrence:
    """A strongly connected part of the dependence graph and the cycle that sets its bound.

    `operations`: all operations of the part, in program order.
    `start`: first operation of the cycle.
    `steps`: the cycle's dependences; the last one leads back to `start`. Empty if every cycle of
    the part is free.
    `bound`: least interval that the part allows, in cycles.
    """

    operations: tuple[str, ...]
    start: str
    steps: tuple[Step, ...]
    bound: int


@dataclass(frozen=True)
class Analysis:
    """A loop on a machine, as far as it can be costed."""

    loop: Loop
    machine: Machine
    costs: dict[str, StaticCost]  # of the operations that have one, by name
    problem: Problem | None = None  # None while anything is unknown, as are the bounds
    bounds: Bounds | None = None
    recurrences: tuple[Recurrence, ...] = ()  # largest bound first
    refusal: InputError | None = None  # why there are no totals

    @property
    def unknown(self) -> tuple[str, ...]:
        """Operations without a cost, in program order."""
        return tuple(o.name for o in self.loop.operations if o.name not in self.costs)

    def throughput(self, interval: int) -> float | None:
        """Return TFLOP/s of the whole chip at one iteration every `interval` cycles on each SM.

        None if the loop has no matrix products or the interval is 0.

        `interval`: cycles an iteration.
        """
        work = product_flops(self.loop)
        if not work or not interval:
            return None
        rate = self.machine.clock.value * 1e6 * self.machine.multiprocessors.value
        return work / interval * rate / 1e12


def analyse(loop: Loop, machine: Machine) -> Analysis:
    """Cost a loop and bound its interval; operations without a cost leave the rest standing."""
    costs: dict[str, StaticCost] = {}
    try:
        costs = static_costs(loop, machine)
        problem = build_problem(loop, machine)
    except InputError as error:
        return Analysis(loop, machine, costs or _known_costs(loop, machine), refusal=error)
    return Analysis(loop, machine, costs, problem, every_bound(problem), recurrences(problem))


def _known_costs(loop: Loop, machine: Machine) -> dict[str, StaticCost]:
    known: dict[str, StaticCost] = {}
    for operation in loop.operations:
        alone = loop.model_copy(update={"operations": (operation,)})
        with suppress(InputError):
            known |= static_costs(alone, machine)
    return known


def product_flops(loop: Loop) -> int:
    """Return the floating-point operations of a loop's matrix products, 2 m n k each."""
    return sum(
        2 * operation.result.elements * operation.operands[0].shape[-1]
        for operation in loop.operations
        if operation.kind == "mma" and operation.result and operation.operands
    )


def recurrences(problem: Problem) -> tuple[Recurrence, ...]:
    """Return every recurrence of a problem, largest bound first."""
    parts = components(
        len(problem.operations), ((edge.producer, edge.consumer) for edge in problem.edges)
    )
    found = [_recurrence(problem, part) for part in parts]
    return tuple(sorted(found, key=lambda recurrence: -recurrence.bound))


def components(size: int, arcs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the strongly connected parts of a graph that contain a cycle, nodes ascending."""
    reach = np.zeros((size, size), dtype=bool)
    for u, v in arcs:
        reach[u, v] = True
    for k in range(size):
        reach |= reach[:, k, None] & reach[None, k, :]
    together = reach & reach.T
    return [
        np.flatnonzero(together[node]).tolist()
        for node in range(size)
        if together[node, node] and node == np.argmax(together[node])
    ]


def _recurrence(problem: Problem, part: list[int]) -> Recurrence:
    inside = set(part)
    alone = replace(
        problem,
        edges=tuple(e for e in problem.edges if e.producer in inside and e.consumer in inside),
    )
    names = tuple(problem.operations[v].name for v in part)
    bound, cycle = recurrence_bound(alone)
    nodes = [problem.index[name] for name in cycle]
    steps = tuple(
        _tightest(alone, u, v, bound) for u, v in zip(nodes, [*nodes[1:], *nodes[:1]], strict=True)
    )
    return Recurrence(names, cycle[0] if cycle else names[0], steps, bound)


def _tightest(problem: Problem, u: int, v: int, bound: int) -> Step:
    """Return the dependence from u to v that leaves the least time at the interval below."""
    steps = [
        Step(problem.operations[v].name, problem.least_delay(position), edge.distance)
        for position, edge in enumerate(problem.edges)
        if (edge.producer, edge.consumer) == (u, v)
    ]
    return max(steps, key=lambda step: step.delay - step.distance * (bound - 1))
