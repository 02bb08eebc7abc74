"""Why each operation of a schedule sits where it does: what keeps it from being earlier or later.

All of it follows from the starts and the problem's integers, as the verifier sees them; no solver
is asked. What no constraint holds was free, and was put where it makes the schedule short or gives
its consumers slack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from twill.artifacts.schedule import Schedule
from twill.errors import InputError
from twill.problem.operations import Edge
from twill.problem.problem import Problem, build_problem


@dataclass(frozen=True)
class Position:
    """What holds one operation.

    Attributes
    ----------
    operation, group : str
        The operation and its warp group.
    start : int
        Its issue time, in units of the schedule's time.
    earlier, later : int or None
        By how much dependences alone would let it move, the others staying where they are; None
        if none limits it on that side.
    behind : tuple of str
        What it follows without a gap: what it waits for, who was on its unit or its warps.
    before : tuple of str
        What follows it without a gap.
    """

    operation: str
    group: str
    start: int
    earlier: int | None
    later: int | None
    behind: tuple[str, ...]
    before: tuple[str, ...]


def positions(schedule: Schedule) -> list[Position]:
    """Return what holds each operation, group by group in the order of the interval.

    Raises
    ------
    InputError
        If nobody solved it.
    """
    interval, start = schedule.initiation_interval, schedule.start
    if interval is None or len(start) < len(schedule.loop.operations):
        raise InputError(
            "nobody solved it, so that operations have no start",
            path="placements",
            file=schedule.file,
        )
    problem = build_problem(
        schedule.loop, schedule.machine, rules=schedule.rules, scale=schedule.time
    )
    order = {group.name: number for number, group in enumerate(schedule.groups)}
    case = _Positions(problem, schedule, interval)
    found = [case.position(v) for v in range(len(problem.operations))]
    return sorted(found, key=lambda p: (order[p.group], p.start % interval, p.operation))


class _Positions:
    def __init__(self, problem: Problem, schedule: Schedule, interval: int) -> None:
        self.problem, self.interval = problem, interval
        self.start = [schedule.start[o.name] for o in problem.operations]
        self.place = [schedule.assignment[o.name] for o in problem.operations]
        self.names = [o.name for o in problem.operations]

    def position(self, v: int) -> Position:
        into = [(e, self.spare(e)) for e in self.problem.edges if e.consumer == v != e.producer]
        out = [(e, self.spare(e)) for e in self.problem.edges if e.producer == v != e.consumer]
        behind = [self._waits(e) for e, spare in into if spare == 0]
        before = [self._waited(e) for e, spare in out if spare == 0]
        return Position(
            self.names[v],
            self.place[v],
            self.start[v],
            min((spare for _, spare in into), default=None),
            min((spare for _, spare in out), default=None),
            tuple(dict.fromkeys([*behind, *self._taken(v)])),
            tuple(dict.fromkeys(before)),
        )

    def spare(self, edge: Edge) -> int:
        """Return by how much more than its delay an edge keeps its ends apart."""
        crosses = self.place[edge.producer] != self.place[edge.consumer]
        delay = edge.cross_delay if crosses else edge.delay
        apart = self.start[edge.consumer] + edge.distance * self.interval
        return apart - self.start[edge.producer] - delay

    def _waits(self, edge: Edge) -> str:
        return f"needs {self.names[edge.producer]}{_of(edge.distance, 'before')}"

    def _waited(self, edge: Edge) -> str:
        return f"{self.names[edge.consumer]}{_of(edge.distance, 'later')} needs it"

    def _taken(self, v: int) -> Iterator[str]:
        """Yield who was on its units, its warps or its turn until it starts."""
        operation, begin = self.problem.operations[v], self.start[v] % self.interval
        for r in operation.reservations:
            if r.count == self.problem.capacities[r.unit]:
                for u, end in self._ends.get(r.unit, ()):
                    if u != v and end == (begin + r.start) % self.interval:
                        yield f"{r.unit} has {self.names[u]} until then"
        for u, other in enumerate(self.problem.operations):
            if u == v or not other.issue:
                continue
            end = (self.start[u] + other.issue) % self.interval
            if self.place[u] == self.place[v] and end == begin:
                yield f"its warps issue {self.names[u]} until then"
            turn = self.problem.turn(u, v)
            apart = (self.start[v] - self.start[u]) % self.interval
            if self.place[u] != self.place[v] and turn and apart == turn:
                yield f"its turn comes after {self.names[u]}"

    @cached_property
    def _ends(self) -> dict[str, list[tuple[int, int]]]:
        """For each unit, operations that take all of it with the slot at which they leave it."""
        found: dict[str, list[tuple[int, int]]] = {}
        for v, operation in enumerate(self.problem.operations):
            for r in operation.reservations:
                if r.count == self.problem.capacities[r.unit]:
                    end = (self.start[v] + r.start + r.length) % self.interval
                    found.setdefault(r.unit, []).append((v, end))
        return found


def _of(distance: int, word: str) -> str:
    if distance == 0:
        return ""
    return f" of the iteration {word}" if distance == 1 else f" of {distance} iterations {word}"
