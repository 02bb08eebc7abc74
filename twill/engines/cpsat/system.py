"""The joint system for CP-SAT: one method a family of constraints, at one interval or a range."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twill.bounds import bounds
from twill.engines.cpsat.implied import Implied, exclusions
from twill.engines.cpsat.sums import Sums
from twill.engines.cpsat.symmetry import Exchange, symmetry
from twill.engines.cpsat.times import Arc, Times
from twill.engines.families import Families, Places, exclusive
from twill.engines.questions import NO_LIMITS, Hint, Limits, Question, Range
from twill.problem import Problem
from twill.problem.groups import groups_within
from twill.problem.solution import Assignment


class CpSatSystem:
    """Everything about a problem, for every I of a range at once.

    `limits`: what the schedule may have; that of the length is not looked at.
    `helped`: whether groups that the limit leaves shut are left out, and implied constraints
    stated. Not where the schedule of a small loop is written: which of equally good ones it is
    should not follow what makes the search fast.
    """

    def __init__(
        self, asked: Question | Range, limits: Limits = NO_LIMITS, *, helped: bool = True
    ) -> None:
        problem, groups, families = asked.problem, asked.groups, asked.families
        if isinstance(asked, Question):
            low, high, length = asked.interval, asked.interval, (asked.length, 0)
        else:
            low, high, length = asked.low, asked.high, (0, asked.most_stages)
        self.problem, self.stated = problem, tuple(families)
        self.objective: Any = None
        self._exchange: Exchange | None = None
        arcs = [*(self._dependences() if "dependence" in families else []), *self._window(length)]
        names = [o.name for o in problem.operations]
        in_turn = "turns" in families and "concurrency" in families
        implies = helped and "capacity" in families
        implied = Implied(problem, turns=in_turn) if implies else None
        self._implied = implied
        self.times = Times(names, low, high, arcs, _anchor(problem, implied))
        if "capacity" in families:
            self._exclusion(implied)
        within = groups_within(groups, problem, limits.groups if helped else None)
        self.places = Places(self.times.clauses, problem, groups, within)
        for u, v, amount, iterations in arcs:
            self.times.require(v, u, amount, iterations)
        self.sums = sums = Sums(problem, self.times, self.places)
        self.families = Families(problem, self.times.clauses, self.times, self.places)
        for family, states in (
            ("transfers", [self.families.cross_warp_spills]),
            ("turns", [self.families.turns]),
            ("concurrency", [self.families.concurrency]),
            ("capacity", [sums.capacity]),
            ("registers", [self.families.big_registers, sums.registers]),
            ("memory", [sums.few_in_memory]),
            ("wishes", [self.families.wishes]),
        ):
            if family in families:
                for state in states:
                    state()
        if implied is not None:
            implied.weights(self.times, sums)
        for most, limit in (
            (limits.groups, self.families.limit_groups),
            (limits.transfers, self.families.limit_transfers),
            (limits.slack, self.families.limit_slack),
        ):
            if most is not None:
                limit(most)

    # -- time -------------------------------------------------------------------------------------

    def _dependences(self) -> list[Arc]:
        return [
            (edge.producer, edge.consumer, self.problem.least_delay(position), edge.distance)
            for position, edge in enumerate(self.problem.edges)
        ]

    def _window(self, length: tuple[int, int]) -> list[Arc]:
        """Every operation is issued after the base and ends within the length of an iteration."""
        base, found = len(self.problem.operations), []
        for operation in self.problem.operations:
            v = operation.index
            found += [(base, v, 0, 0), (v, base, operation.cycles - length[0], length[1])]
        return found

    # -- families ---------------------------------------------------------------------------------

    def _exclusion(self, implied: Implied | None) -> None:
        """Two reservations that exceed a unit's capacity together never overlap, modulo I."""
        self.times.model.add(self.times.interval >= bounds(self.problem).resource)
        for a, b, after_a, after_b in exclusive(self.problem):
            if a.start < b.start and min(after_a, after_b) < 1:
                self.times.clear(a.start, b.start, after_a, after_b)
        later = exclusions(self.problem)
        for u, v in later:
            if u < v:
                self.times.apart(u, v, later[u, v], later[v, u])
        if implied is not None:
            implied.cliques(self.times)

    def take(self, hints: Iterable[Hint]) -> None:
        """State what had to be stated for similar questions."""
        if "memory" in self.stated:
            self.sums.take(hints)

    def break_symmetry(self) -> None:
        """Look at one of two schedules where operations that are alike have changed places.

        In that the anchor is no farther behind the operation that it is exchanged with. Not
        together with anything else that distinguishes the two, such as warp groups that are known.
        """
        exchange, first = symmetry(self.problem), self.times.anchor
        if self._implied is not None and exchange is not None and exchange[first] != first:
            self.times.model.add(2 * self.times.rows[exchange[first]] <= self.times.interval)
            self._exchange = exchange

    # -- what to look for --------------------------------------------------------------------------

    def minimize(self, objective: Any) -> None:
        """Look for the least value of a variable."""
        self.objective = objective
        self.times.model.minimize(objective)

    def length(self, most: int) -> Any:
        """Return a variable for the time from first issue to last completion, at one interval."""
        times = self.times
        length = times.model.new_int_var(0, most, "L")
        for v, operation in enumerate(self.problem.operations):
            times.model.add(length >= times.later(v, times.base) + operation.cycles)
        return length

    def slack(self, most: int) -> Any:
        """Return a variable for the least time between a completion and its blocking consumer.

        At one interval only, as for `length`.
        """
        times = self.times
        slack = times.model.new_int_var(0, most, "slack")
        for edge in self.problem.edges:
            u, v = edge.producer, edge.consumer
            together = self.places.same(u, v)
            apart = times.later(v, u, edge.distance)
            if not edge.streaming:
                times.clauses.add(apart >= edge.cross_delay + slack, [together])
            if edge.blocking and not edge.streaming:
                excuse = times.clauses.negated(together)
                times.clauses.add(apart >= edge.delay + slack, [excuse])
        return slack

    def look_near(self, found: Assignment, interval: int) -> None:
        """Begin with a schedule that is known."""
        times, start = self.times, found.start
        if self._exchange is not None:
            other = self._exchange[times.anchor]
            if 2 * ((start[other] - start[times.anchor]) % interval) > interval:
                start = tuple(start[v] for v in self._exchange)
        turned = [t - start[times.anchor] for t in (*start, 0)]
        base = turned[-1] // interval
        for t, row, stage in zip(turned, times.rows, times.stages, strict=True):
            times.model.add_hint(row, t % interval)
            times.model.add_hint(stage, t // interval - base)


def _anchor(problem: Problem, implied: Implied | None) -> int:
    """Return the longest operation of the busiest clique, or of the busiest unit."""
    known = None if implied is None else implied.anchor()
    if known is not None:
        return known
    unit = bounds(problem).resource_unit
    return max(
        problem.operations,
        key=lambda o: (sum(r.length for r in o.reservations if r.unit == unit), -o.index),
    ).index
