"""A solved problem with names: the common ground of storage and programs."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from twill.problem.groups import WarpGroup
from twill.problem.operations import Edge
from twill.problem.problem import Problem
from twill.problem.solution import Assignment


@dataclass(frozen=True)
class Pipeline:
    """A modulo schedule with warp assignment, as `twill.lower.programs` reads it.

    Attributes
    ----------
    problem : Problem
        What was solved.
    interval : int
        I.
    assignment : Assignment
        M and A; nothing starts before 0.
    names : dict
        Names of the groups that have operations by their index, in the order of the schedule.
    """

    problem: Problem
    interval: int
    assignment: Assignment
    names: Mapping[int, str]

    @property
    def start(self) -> tuple[int, ...]:
        """M(v)."""
        return self.assignment.start

    @cached_property
    def place(self) -> tuple[str, ...]:
        """Name of A(v)."""
        return tuple(self.names[g] for g in self.assignment.group)

    @cached_property
    def groups(self) -> dict[str, WarpGroup]:
        """Warp groups by name, in the order of the schedule."""
        return {name: self.assignment.groups[g] for g, name in self.names.items()}

    @cached_property
    def crossing(self) -> tuple[Edge, ...]:
        """Edges between different groups."""
        return tuple(e for e in self.problem.edges if self.crosses(e))

    @cached_property
    def copies(self) -> tuple[Edge, ...]:
        """Edges whose consumer's group takes a copy of a register value: one a distance.

        Operands that are one instance of a value share its copy.
        """
        found: dict[tuple[int, int, int], Edge] = {}
        for edge in self.crossing:
            if edge.transferable:
                found.setdefault((edge.producer, edge.consumer, edge.distance), edge)
        return tuple(found.values())

    def crosses(self, edge: Edge) -> bool:
        """Return whether the ends of an edge are on different groups."""
        return self.place[edge.producer] != self.place[edge.consumer]

    def members(self, group: str) -> list[int]:
        """Return the operations of a group by issue time."""
        return sorted(
            (v for v, name in enumerate(self.place) if name == group),
            key=lambda v: (self.start[v], v),
        )

    def read_until(self, edge: Edge) -> int:
        """Return when the consumer has read the value, relative to the producer's iteration."""
        return self.start[edge.consumer] + edge.distance * self.interval + edge.reads


def pipeline(
    problem: Problem,
    interval: int,
    assignment: Assignment,
    names: Mapping[int, str] | None = None,
) -> Pipeline:
    """Let time begin with the first issue, and name the groups unless `names` does.

    `names`: of all groups that have operations, by their index.
    """
    earliest = min(assignment.start)
    shifted = replace(assignment, start=tuple(time - earliest for time in assignment.start))
    return Pipeline(problem, interval, shifted, names or _names(problem, assignment))


def _names(problem: Problem, assignment: Assignment) -> dict[int, str]:
    """Name groups in the order in which they are first used; one that the user named keeps that."""
    first: dict[int, int] = {}
    for v in sorted(range(len(assignment.start)), key=lambda v: (assignment.start[v], v)):
        first.setdefault(assignment.group[v], len(first))
    order = sorted(first, key=lambda g: (not assignment.groups[g].variable_latency, first[g]))
    names = {assignment.group[v]: name for v, name in problem.wishes.pins}
    for g in order:
        if g not in names:
            names[g] = _free_name(assignment.groups[g].variable_latency, names.values())
    return {g: names[g] for g in order}


def _free_name(loads: bool, taken: Collection[str]) -> str:  # noqa: FBT001 - of one group
    """Return ``load``, ``load1``, ... or ``compute0``, ``compute1``, ..., the first not taken."""
    numbers = itertools.count()
    if loads:
        names = ("load" if n == 0 else f"load{n}" for n in numbers)
    else:
        names = (f"compute{n}" for n in numbers)
    return next(name for name in names if name not in taken)
