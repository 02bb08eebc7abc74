"""Statements of both engines on a problem: warp groups, and a method for each constraint family.

Literals and times are those of any solver. Rows, stages, clauses and all counts (capacities above
one, registers, memories) are stated by each engine itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol

from twill.problem import Problem
from twill.problem.groups import WarpGroup, filled_before, opened_before, pools
from twill.problem.lifetimes import Moment, Occupant, register_ends, unit_occupants

Literal = Any  # `True`, `False`, or a Boolean variable of a solver or its complement


class Logic(Protocol):
    """Statements on literals."""

    def fresh(self, name: str = "") -> Literal:
        """Return a new Boolean variable."""

    def negated(self, literal: Literal) -> Literal:
        """Return the complement of a literal."""

    def clause(self, *literals: Literal) -> None:
        """State that one of the literals is true."""

    def define(self, *literals: Literal) -> None:
        """State a clause of what defines a new variable, which holds in any case."""

    def either(self, literals: Iterable[Literal]) -> Literal:
        """Return a literal that is true if one of `literals` is."""

    def exactly_one(self, literals: Sequence[Literal]) -> None:
        """State that one of the literals is true, and no other."""

    def at_most(
        self, items: Sequence[tuple[int, Literal]], most: int, *, unless: Literal = False
    ) -> None:
        """State that the weights of the true literals sum to at most `most`."""


class Clock(Protocol):
    """Statements on issue times M(v), unless one of some literals is true."""

    def require(
        self, v: int, u: int, amount: int, iterations: int, unless: Sequence[Literal] = ()
    ) -> None:
        """State M(v) + iterations * I >= M(u) + amount."""

    def clear(
        self, u: int, v: int, after_u: int, after_v: int, unless: Sequence[Literal] = ()
    ) -> None:
        """State that v comes `after_u` later than u or u `after_v` later than v, modulo I."""

    def outside(self, v: int, u: int, span: int, unless: Sequence[Literal] = ()) -> None:
        """State that v is not issued within `span` from the issue of u on, modulo I."""


def exclusive(problem: Problem) -> Iterator[tuple[Occupant, Occupant, int, int]]:
    """Yield the reservations a, b that exceed a unit together, in either order.

    With each how much later b is then issued than a, or else a than b.
    """
    for unit, capacity in problem.capacities.items():
        for a, b in itertools.permutations(unit_occupants(problem, unit), 2):
            if a.weight + b.weight > capacity and a.start != b.start:
                yield a, b, a.ends[0].offset - b.delay, b.ends[0].offset - a.delay


class Places:
    """Every operation is on exactly one group of its kind; equal groups are opened in order.

    `within`: the groups that may be used.
    """

    def __init__(
        self,
        logic: Logic,
        problem: Problem,
        groups: Sequence[WarpGroup],
        within: Collection[int],
    ) -> None:
        self._logic, self._problem, self.groups = logic, problem, tuple(groups)
        self._same: dict[tuple[int, int], Literal] = {}
        self.on: list[dict[int, Literal]] = []
        for operation in problem.operations:
            allowed = [g for g in sorted(within) if self.groups[g].takes(operation)]
            here = dict.fromkeys(allowed, True)
            if len(allowed) != 1:
                here = {g: logic.fresh(f"{operation.name} on {g}") for g in allowed}
                logic.exactly_one(list(here.values()))
            self.on.append(here)
        self.used = [self.any_of([on[g] for on in self.on if g in on]) for g in range(len(groups))]
        self._open_in_order()
        self._limit_warps()

    def any_of(self, literals: Sequence[Literal]) -> Literal:
        """Return a literal that is true if, and only if, one of some is."""
        found = self._logic.either(literals)
        self._logic.clause(self._logic.negated(found), *literals)
        return found

    def _open_in_order(self) -> None:
        """Remove what only renames groups: of equal groups the first takes the first operation."""
        logic = self._logic
        first = sorted(self._problem.operations, key=lambda o: (-o.cycles, o.index))
        for before, after in opened_before(self.groups, self._problem):
            logic.clause(logic.negated(self.used[after]), self.used[before])
            if self.groups[before] != self.groups[after]:
                continue
            seen: list[Literal] = []
            for operation in first:
                here = self.on[operation.index]
                if after in here:
                    logic.clause(logic.negated(here[after]), *seen)
                if before in here:
                    seen.append(here[before])
        for pool, after in filled_before(self.groups, self._problem):
            idle = [(1, logic.negated(self.used[g])) for g in pool.members]
            room = len(idle) - pool.most
            logic.at_most(idle, room, unless=logic.negated(self.used[after]))

    def _limit_warps(self) -> None:
        """Keep used groups within those of the machine, and their warps within what an SM holds."""
        for pool in pools(self.groups):
            self._logic.at_most([(1, self.used[g]) for g in pool.members], pool.most)
        most = self._problem.machine.warps.value
        if sum(group.warps for group in self.groups) > most:
            warps = [(g.warps, used) for g, used in zip(self.groups, self.used, strict=True)]
            self._logic.at_most(warps, most)

    def keep(self, group: Sequence[int]) -> None:
        """State that every operation is where it was."""
        for here, mine in zip(self.on, group, strict=True):
            self._logic.clause(here.get(mine, False))

    def same(self, u: int, v: int) -> Literal:
        """Return the literal "u and v are on one group"."""
        if u == v:
            return True
        key = (min(u, v), max(u, v))
        if key not in self._same:
            self._same[key] = self._are_same(*key)
        return self._same[key]

    def _are_same(self, u: int, v: int) -> Literal:
        logic, on_u, on_v = self._logic, self.on[u], self.on[v]
        if not on_u.keys() & on_v.keys():
            return False
        if len(on_u) == len(on_v) == 1:
            return True
        literal = logic.fresh()
        for g in sorted(on_u.keys() | on_v.keys()):
            here_u, here_v = on_u.get(g, False), on_v.get(g, False)
            logic.define(logic.negated(here_u), logic.negated(here_v), literal)
            logic.define(logic.negated(literal), logic.negated(here_u), here_v)
            logic.define(logic.negated(literal), logic.negated(here_v), here_u)
        return literal

    def apart(self, u: int, v: int) -> Literal:
        """Return the literal "u and v are on different groups"."""
        return self._logic.negated(self.same(u, v))

    def conditions(self, end: Moment) -> list[Literal]:
        """Return the literals under which a moment counts."""
        found = []
        if end.same is not None:
            found.append(self.same(*end.same))
        if end.apart is not None:
            found.append(self.apart(*end.apart))
        return found

    def unless(self, end: Moment) -> list[Literal]:
        """Return the literals that excuse a constraint on a moment, which then does not count."""
        return [self._logic.negated(x) for x in self.conditions(end)]

    def read(self, holds: Callable[[Literal], bool]) -> tuple[int, ...]:
        """Return the group of each operation; `holds` evaluates a literal."""
        return tuple(next(g for g, x in here.items() if x is True or holds(x)) for here in self.on)


class Families:
    """Constraints named as in the paper's figures, and limits on what a schedule may have."""

    def __init__(self, problem: Problem, logic: Logic, clock: Clock, places: Places) -> None:
        self._problem, self._logic, self._clock, self._places = problem, logic, clock, places

    def dependence(self) -> None:
        """A consumer issues no earlier than its producer's delay after it."""
        for position, edge in enumerate(self._problem.edges):
            delay = self._problem.least_delay(position)
            self._clock.require(edge.consumer, edge.producer, delay, edge.distance)

    def cross_warp_spills(self) -> None:
        """Across groups a signal, and a register value's transfer, take longer."""
        for edge in self._problem.edges:
            u, v = edge.producer, edge.consumer
            if edge.cross_delay > edge.delay and u != v:
                together = self._places.same(u, v)
                self._clock.require(v, u, edge.cross_delay, edge.distance, [together])

    def turns(self) -> None:
        """Operations of different groups on one in-order unit leave time to pass the turn."""
        for u, v in itertools.combinations(range(len(self._problem.operations)), 2):
            if not self._problem.separated(u, v):
                after_u, after_v = self._problem.turn(u, v), self._problem.turn(v, u)
                self._clock.clear(u, v, after_u, after_v, [self._places.same(u, v)])

    def concurrency(self) -> None:
        """Nothing of a group is being issued when one of its blocking operations starts."""
        for v, waits in enumerate(self._waits()):
            for other in self._problem.operations:
                if other.index != v and other.blocked_span:
                    apart = self._places.apart(v, other.index)
                    unless = [self._logic.negated(waits), apart]
                    self._clock.outside(v, other.index, other.blocked_span, unless)

    def _waits(self) -> list[Literal]:
        """For each operation, a literal that is true if it executes a blocking wait."""
        found: list[list[Literal]] = [[] for _ in self._problem.operations]
        for position, edge in enumerate(self._problem.edges):
            always = edge.blocking or self._problem.forced_cross[position]
            waits = True if always else self._places.apart(edge.producer, edge.consumer)
            found[edge.consumer].append(waits)
        return [self._logic.either(reasons) for reasons in found]

    def big_registers(self) -> None:
        """A value lives no longer than its group can hold further instances of it (redundant)."""
        if self._problem.registers is None:
            return
        limit = max(group.live_limit for group in self._places.groups)
        for operation in self._problem.operations:
            v = operation.index
            for end in register_ends(self._problem, v) if operation.registers else ():
                if end.operation != v:
                    more = limit // operation.registers - end.iterations
                    unless = self._places.unless(end)
                    self._clock.require(v, end.operation, end.offset, more, unless)

    def wishes(self) -> None:
        """Pins and orders of the user."""
        wishes = self._problem.wishes
        for (u, here), (v, there) in itertools.combinations(wishes.pins, 2):
            places = self._places
            self._logic.clause(places.same(u, v) if here == there else places.apart(u, v))
        for first, second in wishes.orders:
            self._clock.require(second, first, 0, 0)

    def limit_groups(self, most: int) -> None:
        """At most so many groups have operations."""
        self._logic.at_most([(1, used) for used in self._places.used], most)

    def limit_transfers(self, most: int) -> None:
        """At most so many dependences move a register value to another group."""
        crossing = [
            (1, self._places.apart(edge.producer, edge.consumer))
            for edge in self._problem.edges
            if edge.transferable
        ]
        self._logic.at_most(crossing, most)

    def limit_slack(self, least: int) -> None:
        """So much time passes between a completion and its blocking consumer's issue."""
        for edge in self._problem.edges:
            u, v = edge.producer, edge.consumer
            if edge.streaming:
                continue
            together = self._places.same(u, v)
            if edge.blocking:
                apart = self._logic.negated(together)
                self._clock.require(v, u, edge.delay + least, edge.distance, [apart])
            self._clock.require(v, u, edge.cross_delay + least, edge.distance, [together])
