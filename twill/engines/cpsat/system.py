"""The joint system for CP-SAT: one method a family of constraints, at one interval or a range."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from twill.bounds.least import bounds
from twill.engines.cpsat.cliques import exclusions
from twill.engines.cpsat.implied import Implied
from twill.engines.cpsat.sums import Sums
from twill.engines.cpsat.symmetry import Exchange
from twill.engines.cpsat.times import Arc, Times
from twill.engines.places import Literal, Places
from twill.engines.protocol import NO_LIMITS, Hint, Limits, Question, Range
from twill.problem.groups import groups_within
from twill.problem.lifetimes import register_ends, unit_occupants
from twill.problem.problem import Problem
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
        self.problem, self.families = problem, tuple(families)
        self.objective: Any = None
        self._exchange: Exchange | None = None
        self._dependences = self._arcs() if "dependence" in families else []
        window = self._window(length)
        names = [o.name for o in problem.operations]
        in_turn = "turns" in families and "concurrency" in families
        implies = helped and "capacity" in families
        self._implied = Implied(problem, turns=in_turn) if implies else None
        implied = self._implied
        anchor = _anchor(problem, implied)
        self.times = Times(names, low, high, [*self._dependences, *window], anchor)
        if "capacity" in families:
            self._exclusion(implied)
        within = groups_within(groups, problem, limits.groups if helped else None)
        self.places = Places(self.times.clauses, problem, groups, within)
        for u, v, amount, iterations in [*self._dependences, *window]:
            self.times.require(v, u, amount, iterations)
        self.sums = sums = Sums(problem, self.times, self.places)
        for family, states in (
            ("transfers", [self._spills]),
            ("turns", [self._turns]),
            ("concurrency", [self._concurrency]),
            ("capacity", [sums.capacity]),
            ("registers", [self._big_registers, sums.registers]),
            ("memory", [sums.few_in_memory]),
            ("wishes", [self._wishes]),
        ):
            if family in families:
                for state in states:
                    state()
        if implied is not None:
            implied.weights(self.times, sums)
        self._limit(limits)

    # -- time -------------------------------------------------------------------------------------

    def _arcs(self) -> list[Arc]:
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
        for unit, capacity in self.problem.capacities.items():
            for a, b in itertools.combinations(unit_occupants(self.problem, unit), 2):
                after_a, after_b = a.ends[0].offset - b.delay, b.ends[0].offset - a.delay
                together = a.weight + b.weight <= capacity or a.start == b.start
                if not together and min(after_a, after_b) < 1:
                    self._clear(a.start, b.start, after_a, after_b, [])
        later = exclusions(self.problem)
        for u, v in later:
            if u < v:
                self.times.apart(u, v, later[u, v], later[v, u])
        if implied is not None:
            implied.cliques(self.times)

    def _clear(self, u: int, v: int, after_u: int, after_v: int, unless: Sequence[Literal]) -> None:
        """State that v comes `after_u` later than u or u `after_v` later than v, modulo I."""
        times = self.times
        most = (max(abs(after_u), abs(after_v)) // times.low) + 2
        for m in range(-most, most + 1):
            times.clauses.clause(
                *unless, times.later_row(v, u, after_u, -m), times.later_row(u, v, after_v, m)
            )

    def _spills(self) -> None:
        """Across groups a signal, and a register value's transfer, take longer."""
        for edge in self.problem.edges:
            if edge.cross_delay > edge.delay and edge.producer != edge.consumer:
                together = self.places.same(edge.producer, edge.consumer)
                self.times.require(
                    edge.consumer, edge.producer, edge.cross_delay, edge.distance, [together]
                )

    def _turns(self) -> None:
        """Operations of different groups on one in-order unit leave time to pass the turn."""
        for u, v in itertools.combinations(range(len(self.problem.operations)), 2):
            if not self.problem.separated(u, v):
                after_u, after_v = self.problem.turn(u, v), self.problem.turn(v, u)
                self._clear(u, v, after_u, after_v, [self.places.same(u, v)])

    def _concurrency(self) -> None:
        """Nothing of a group is being issued when one of its blocking operations starts."""
        for v, wait in enumerate(self._waits()):
            for other in self.problem.operations:
                if other.index != v and other.blocked_span:
                    together = self.places.same(v, other.index)
                    unless = [
                        self.times.clauses.negated(wait),
                        self.times.clauses.negated(together),
                    ]
                    self._clear(other.index, v, other.blocked_span, 1, unless)

    def _waits(self) -> list[Literal]:
        """For each operation, a literal that is true if it executes a blocking wait."""
        found: list[list[Literal]] = [[] for _ in self.problem.operations]
        for position, edge in enumerate(self.problem.edges):
            always = edge.blocking or self.problem.forced_cross[position]
            found[edge.consumer].append(
                True if always else self.places.apart(edge.producer, edge.consumer)
            )
        return [self.times.clauses.either(reasons) for reasons in found]

    def _big_registers(self) -> None:
        """A value lives no longer than its group can hold further instances of it (redundant)."""
        if self.problem.registers is None:
            return
        limit = max(group.live_limit for group in self.places.groups)
        for operation in self.problem.operations:
            if not operation.registers:
                continue
            copies = limit // operation.registers
            for end in register_ends(self.problem, operation.index):
                if end.operation != operation.index:
                    unless = self.places.unless(end)
                    self.times.require(
                        operation.index, end.operation, end.offset, copies - end.iterations, unless
                    )

    def _wishes(self) -> None:
        """What the user has pinned and ordered."""
        wishes = self.problem.wishes
        for (u, here), (v, there) in itertools.combinations(wishes.pins, 2):
            together = self.places.same(u, v)
            self.times.clauses.clause(
                together if here == there else self.times.clauses.negated(together)
            )
        for first, second in wishes.orders:
            self.times.require(second, first, 0, 0)

    def take(self, hints: Iterable[Hint]) -> None:
        """State what had to be stated for similar questions."""
        if "memory" in self.families:
            self.sums.take(hints)

    def break_symmetry(self) -> None:
        """Look at one of two schedules where operations that are alike have changed places.

        Not beside warp groups that are known: they may be those of the other.
        """
        if self._implied is not None:
            self._exchange = self._implied.symmetry(self.times)

    # -- what to look for --------------------------------------------------------------------------

    def minimize(self, objective: Any) -> None:
        """Look for the least value of a variable."""
        self.objective = objective
        self.times.model.minimize(objective)

    def length(self, most: int) -> Any:
        """Return a variable for the time from first issue to last completion, at one interval."""
        times, interval = self.times, self.times.low
        length = times.model.new_int_var(0, most, "L")
        for v, operation in enumerate(self.problem.operations):
            stages = times.stages[v] - times.stages[times.base]
            rows = times.rows[v] - times.rows[times.base]
            times.model.add(length >= stages * interval + rows + operation.cycles)
        return length

    def slack(self, most: int) -> Any:
        """Return a variable for the least time between a completion and its blocking consumer.

        At one interval only, as for `length`.
        """
        times, interval = self.times, self.times.low
        slack = times.model.new_int_var(0, most, "slack")
        for edge in self.problem.edges:
            u, v = edge.producer, edge.consumer
            together = self.places.same(u, v)
            stages = 0 if u == v else times.stages[v] - times.stages[u]
            rows = 0 if u == v else times.rows[v] - times.rows[u]
            apart = (stages + edge.distance) * interval + rows
            cases = [(self.times.clauses.negated(together), edge.cross_delay)]
            if edge.blocking:
                cases.append((together, edge.delay))
            for literal, delay in () if edge.streaming else cases:
                if literal is not False:
                    condition = [] if literal is True else [literal]
                    times.model.add(apart >= delay + slack).only_enforce_if(condition)
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

    # -- limits -----------------------------------------------------------------------------------

    def _limit(self, limits: Limits) -> None:
        if limits.groups is not None:
            self.times.model.add(sum(self.places.used) <= limits.groups)
        if limits.transfers is not None:
            self._limit_transfers(limits.transfers)
        if limits.slack is not None:
            self.limit_slack(limits.slack)

    def _limit_transfers(self, most: int) -> None:
        """Allow at most so many dependences that move a register value to another group."""
        crossing = [
            1 - self.places.same(e.producer, e.consumer)
            for e in self.problem.edges
            if e.transferable
        ]
        self.times.model.add(sum(crossing) <= most)

    def limit_slack(self, least: int) -> None:
        """Demand so much time between a completion and its blocking consumer."""
        for edge in self.problem.edges:
            if edge.streaming:
                continue
            u, v = edge.producer, edge.consumer
            together = self.places.same(u, v)
            if edge.blocking:
                unless = [self.times.clauses.negated(together)]
                self.times.require(v, u, edge.delay + least, edge.distance, unless)
            self.times.require(v, u, edge.cross_delay + least, edge.distance, [together])


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
