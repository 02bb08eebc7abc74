"""The joint system over rows, stages and warp groups: one method a family of constraints.

The families are those of the paper's Figures 4 to 6; sums, which are stated only where a solution
violates them, are in `twill.engines.yices.sums`.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from twill.bounds import bounds, delays, longest
from twill.engines.families import Families, Places, exclusive
from twill.engines.questions import Question
from twill.engines.yices.clauses import Clauses, Clock
from twill.problem import Problem
from twill.problem.lifetimes import register_ends


class System:
    """Everything about a problem at one interval that is stated from the start.

    Where a refutation shall name the families that it needs, each is stated under a guard.

    `paths`: the longest paths between operations and the base.
    """

    def __init__(self, asked: Question, paths: NDArray[np.int64]) -> None:
        problem, families = asked.problem, tuple(asked.families)
        self.problem, self.interval, self.length = problem, asked.interval, asked.length
        self.stated = families
        self.clauses = Clauses(asked.seed)
        self.guards = {f: self.clauses.fresh() for f in families} if asked.explain else {}
        self.clock = Clock(
            self.clauses,
            [o.name for o in problem.operations],
            self.interval,
            paths,
            anchor_of(problem),
            self._separations() if "capacity" in families and not asked.explain else [],
        )
        self.places = Places(self.clauses, problem, asked.groups, range(len(asked.groups)))
        self.families = Families(problem, self.clauses, self.clock, self.places)
        self._completion()
        for family, state in (
            ("dependence", self.families.dependence),
            ("transfers", self.families.cross_warp_spills),
            ("capacity", self._capacity),
            ("turns", self.families.turns),
            ("concurrency", self.families.concurrency),
            ("registers", self._big_registers),
            ("wishes", self._wishes),
        ):
            if family in self.stated:
                with self.clauses.under(self.guards.get(family)):
                    state()

    def _completion(self) -> None:
        """Every operation is issued after the base and ends within the length of an iteration."""
        base = self.clock.base
        for operation in self.problem.operations:
            self.clock.require(operation.index, base, 0, 0)
            self.clock.require(base, operation.index, operation.cycles - self.length, 0)

    def _capacity(self) -> None:
        """Two reservations that exceed a unit's capacity together never overlap, modulo I."""
        for a, b, after_a, after_b in exclusive(self.problem):
            if a.start < b.start:
                self.clock.clear(a.start, b.start, after_a, after_b)

    def _big_registers(self) -> None:
        """Values that cannot share a group's registers have disjoint lifetimes there."""
        self.families.big_registers()
        limit = max(group.live_limit for group in self.places.groups)
        wide = [o for o in self.problem.operations if o.registers]
        for u, v in itertools.combinations(wide, 2):
            if u.registers + v.registers > limit:
                self._disjoint_lifetimes(u.index, v.index)

    def _disjoint_lifetimes(self, u: int, v: int) -> None:
        clauses, clock = self.clauses, self.clock
        together = self.places.same(u, v)
        if together is False:
            return
        ends_u, ends_v = register_ends(self.problem, u), register_ends(self.problem, v)
        for a, b in itertools.product(ends_u, ends_v):
            shift_a = a.offset + a.iterations * self.interval
            shift_b = b.offset + b.iterations * self.interval
            low_a, _ = clock.range_of(v, a.operation)
            low_b, _ = clock.range_of(u, b.operation)
            for m in clock.shifts(low_b - shift_b + 1, shift_a - low_a - 1):
                clauses.clause(
                    clauses.negated(together),
                    *self.places.unless(a),
                    *self.places.unless(b),
                    clock.at_least(v, a.operation, shift_a - m * self.interval),
                    clock.at_least(u, b.operation, shift_b + m * self.interval),
                    clock.at_least(u, a.operation, shift_a),
                    clock.at_least(v, b.operation, shift_b),
                )

    def _wishes(self) -> None:
        """Pins and orders of the user."""
        self.families.wishes()

    # -- helpers --------------------------------------------------------------------------------

    def _separations(self) -> list[tuple[int, int, int]]:
        """Return what mutual exclusion says of rows whichever comes first."""
        return [
            (a.start, b.start, after_a - self.interval)
            for a, b, after_a, _ in exclusive(self.problem)
            if a.delay == b.delay == 0
        ]


def longest_paths(asked: Question) -> NDArray[np.int64] | None:
    """Return the longest paths between operations, and from and to the base after the last.

    Returns: None if dependences and the length of an iteration contradict each other.
    """
    problem, base = asked.problem, len(asked.problem.operations)
    arcs = delays(problem, asked.interval) if "dependence" in asked.families else []
    for operation in problem.operations:
        v = operation.index
        arcs += [(base, v, 0), (v, base, operation.cycles - asked.length)]
    return longest(base + 1, arcs)


def anchor_of(problem: Problem) -> int:
    """Return the operation that is longest on the unit with most work."""
    unit = bounds(problem).resource_unit

    lengths = [
        max((r.length for r in operation.reservations if r.unit == unit), default=0)
        for operation in problem.operations
    ]
    return lengths.index(max(lengths))
