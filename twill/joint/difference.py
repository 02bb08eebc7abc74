"""The finder: integer differences at a fixed interval, solved by Yices.

Issue times are unbounded integers, never time-indexed Booleans, so that one clock cycle as the unit
costs no more than a coarse grid. Each family of constraints of the paper's Figures 4 to 6 is one
method. Sums (registers, memories, units of capacity above one) rise only when something starts, so
they are stated at starts, and only once a solution was seen to violate them there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from twill.bounds import bounds, longest_paths
from twill.joint.answer import FAMILIES, Answer, Assignment
from twill.joint.groups import WarpGroup
from twill.joint.lifetimes import (
    Moment,
    Occupant,
    memory_occupants,
    register_ends,
    register_occupants,
    unit_occupants,
)
from twill.joint.sums import Sum, excess
from twill.joint.terms import Literal, Terms
from twill.problem import Problem

STATED_PER_ROUND = 4


class DifferenceEngine:
    """The joint system at one interval (see `twill.joint.answer.EngineFactory`)."""

    def __init__(
        self,
        problem: Problem,
        interval: int,
        length: int,
        groups: Sequence[WarpGroup],
        *,
        families: Sequence[str] = FAMILIES,
        explain: bool = False,
        seed: int = 0,
    ) -> None:
        self.problem, self.interval, self.length = problem, interval, length
        self.groups = tuple(groups)
        self.families = tuple(families)
        self._terms: Terms | None = None
        self._rounds = 0
        self._stated: set[tuple[str, str, int]] = set()
        self._guards: dict[str, int] = {}
        window = [
            (u.index, v.index, -(length - u.cycles))
            for u in problem.operations
            for v in problem.operations
        ]
        ordered = problem if "dependence" in families else replace(problem, edges=())
        paths = longest_paths(ordered, interval, window)
        if "capacity" in families and bounds(problem).resource > interval:
            paths = None
        self.refuted_early = paths is None
        if paths is None:
            return
        self._terms = Terms([o.name for o in problem.operations], paths, seed)
        if explain:
            self._guards = {family: self._terms.fresh() for family in families}
        self._same: dict[tuple[int, int], Literal] = {}
        self._sums = self._make_sums()
        self._limits: dict[tuple[str, int], int] = {}
        self._build()

    # -- the interface ----------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Solver and version."""
        return f"Yices {self._terms.version} (difference)" if self._terms else "longest paths"

    def dispose(self) -> None:
        """Give the solver's memory back."""
        if self._terms is not None:
            self._terms.dispose()

    def solve(
        self,
        *,
        length: int | None = None,
        transfers: int | None = None,
        slack: int | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Search for a schedule within these limits (see `twill.joint.answer.Engine`)."""
        terms = self._terms
        if terms is None:
            return Answer("unsat", families=("dependence", "capacity"))
        assumptions = [*self._guards.values()]
        if length is not None and length < self.length:
            assumptions.append(self._limit("length", length))
        if transfers is not None:
            assumptions.append(self._limit("transfers", transfers))
        if slack is not None and slack > 0:
            assumptions.append(self._limit("slack", slack))
        while True:
            self._rounds += 1
            status = terms.check(assumptions, timeout)
            if status != "sat":
                return Answer(
                    "unsat" if status == "unsat" else "unknown",
                    families=self._core() if status == "unsat" else (),
                    statistics=self._statistics(),
                )
            assignment = self._read()
            if not self._state_violated(assignment):
                return Answer("sat", assignment, statistics=self._statistics())

    # -- families of constraints ------------------------------------------------------------

    def _build(self) -> None:
        self._warp_uniqueness()
        self._completion()
        if "dependence" in self.families:
            self._dependence()
        for family, state in (
            ("transfers", self._cross_warp_spills),
            ("capacity", self._capacity),
            ("turns", self._turns),
            ("concurrency", self._concurrency),
            ("registers", self._big_registers),
        ):
            if family in self.families:
                with self._checked.under(self._guards.get(family)):
                    state()

    def _warp_uniqueness(self) -> None:
        """Every operation is on exactly one group that is wide enough and of its kind."""
        terms = self._checked
        self._on: list[dict[int, Literal]] = []
        for operation in self.problem.operations:
            allowed = [
                g
                for g, group in enumerate(self.groups)
                if group.warps >= operation.warps
                and group.variable_latency == operation.variable_latency
            ]
            literals: dict[int, Literal] = (
                {g: terms.fresh() for g in allowed}
                if len(allowed) > 1
                else dict.fromkeys(allowed, True)
            )
            self._on.append(literals)
            terms.clause(*literals.values())
            for a, b in itertools.combinations(literals.values(), 2):
                terms.clause(terms.negated(a), terms.negated(b))
        self._break_symmetry()

    def _break_symmetry(self) -> None:
        """Of identical groups, a later one is opened only after the earlier one."""
        terms = self._checked
        classes: dict[WarpGroup, list[int]] = {}
        for g, group in enumerate(self.groups):
            classes.setdefault(group, []).append(g)
        order = sorted(self.problem.operations, key=lambda o: (-o.cycles, o.index))
        for members in classes.values():
            for before, after in itertools.pairwise(members):
                earlier: list[Literal] = []
                for operation in order:
                    here = self._on[operation.index]
                    if after in here:
                        terms.clause(terms.negated(here[after]), *earlier)
                    if before in here:
                        earlier.append(here[before])

    def _completion(self) -> None:
        """Every operation ends within the length of an iteration."""
        for operation in self.problem.operations:
            self._checked.bound(operation.index, 0, self.length - operation.cycles)

    def _dependence(self) -> None:
        """A consumer issues no earlier than its producer's delay after it."""
        for position, edge in enumerate(self.problem.edges):
            amount = self.problem.least_delay(position) - edge.distance * self.interval
            if edge.producer != edge.consumer:
                self._require(self._checked.stated(edge.consumer, edge.producer, amount))

    def _cross_warp_spills(self) -> None:
        """Across groups a signal, and a register value's transfer, take longer."""
        for edge in self.problem.edges:
            if edge.cross_delay > edge.delay:
                amount = edge.cross_delay - edge.distance * self.interval
                self._require(
                    self.same(edge.producer, edge.consumer),
                    self.at_least(edge.consumer, edge.producer, amount),
                )

    def _capacity(self) -> None:
        """Two reservations that exceed a unit's capacity together never overlap, modulo I."""
        for unit, capacity in self.problem.capacities.items():
            mine = unit_occupants(self.problem, unit)
            for first, second in itertools.combinations(mine, 2):
                if first.weight + second.weight > capacity:
                    self._exclude(first, second)

    def _exclude(self, first: Occupant, second: Occupant) -> None:
        u, v = first.start, second.start
        end_u, end_v = first.ends[0].offset, second.ends[0].offset
        if u == v:
            return
        low, high = self._checked.range_of(v, u)
        for m in self._shifts(first.delay - end_v - high, end_u - second.delay - low):
            self._require(
                self.at_least(v, u, end_u - second.delay - m * self.interval),
                self.at_least(u, v, end_v - first.delay + m * self.interval),
            )

    def _turns(self) -> None:
        """Operations of different groups on one in-order unit leave time to pass the turn."""
        for u, v in itertools.combinations(self.problem.operations, 2):
            after_u = self.problem.turn(u.index, v.index)
            after_v = self.problem.turn(v.index, u.index)
            if self.problem.separated(u.index, v.index):
                continue
            together = self.same(u.index, v.index)
            if together is True:
                continue
            low, high = self._checked.range_of(v.index, u.index)
            for m in self._shifts(-after_v - high, after_u - low):
                self._require(
                    together,
                    self.at_least(v.index, u.index, after_u - m * self.interval),
                    self.at_least(u.index, v.index, after_v + m * self.interval),
                )

    def _concurrency(self) -> None:
        """Nothing of a group is being issued when one of its blocking operations starts."""
        for v, waits in enumerate(self._blocking_literals()):
            for wait in waits:
                for other in self.problem.operations:
                    if other.index != v and other.blocked_span:
                        self._keep_clear(v, other.index, other.blocked_span, wait)

    def _blocking_literals(self) -> list[list[Literal]]:
        """For each operation, literals any of which makes it execute a blocking wait."""
        found: list[list[Literal]] = [[] for _ in self.problem.operations]
        for position, edge in enumerate(self.problem.edges):
            if edge.blocking or self.problem.forced_cross[position]:
                found[edge.consumer] = [True]
            elif found[edge.consumer] != [True]:
                found[edge.consumer].append(
                    self._checked.negated(self.same(edge.producer, edge.consumer))
                )
        return found

    def _keep_clear(self, v: int, o: int, span: int, wait: Literal) -> None:
        together = self.same(v, o)
        if together is False:
            return
        terms = self._checked
        low, high = terms.range_of(v, o)
        for m in self._shifts(low - span + 1, high):
            self._require(
                terms.negated(wait),
                terms.negated(together),
                self.at_least(v, o, span + m * self.interval),
                self.at_least(o, v, 1 - m * self.interval),
            )

    def _big_registers(self) -> None:
        """Values that cannot share a group's registers have disjoint lifetimes there."""
        limit = max(group.live_limit for group in self.groups)
        wide = [o for o in self.problem.operations if o.registers]
        for u in wide:
            copies = limit // u.registers
            for end in register_ends(self.problem, u.index):
                if end.operation != u.index:
                    self._require(
                        *self._unless(end),
                        self.at_least(
                            u.index,
                            end.operation,
                            end.offset + (end.iterations - copies) * self.interval,
                        ),
                    )
        for u, v in itertools.combinations(wide, 2):
            if u.registers + v.registers > limit:
                self._disjoint_lifetimes(u.index, v.index)

    def _disjoint_lifetimes(self, u: int, v: int) -> None:
        terms = self._checked
        together = self.same(u, v)
        if together is False:
            return
        ends_u, ends_v = register_ends(self.problem, u), register_ends(self.problem, v)
        for a, b in itertools.product(ends_u, ends_v):
            shift_a = a.offset + a.iterations * self.interval
            shift_b = b.offset + b.iterations * self.interval
            low_a, _ = terms.range_of(v, a.operation)
            low_b, _ = terms.range_of(u, b.operation)
            for m in self._shifts(low_b - shift_b + 1, shift_a - low_a - 1):
                self._require(
                    terms.negated(together),
                    *self._unless(a),
                    *self._unless(b),
                    self.at_least(v, a.operation, shift_a - m * self.interval),
                    self.at_least(u, b.operation, shift_b + m * self.interval),
                    self.at_least(u, a.operation, shift_a),
                    self.at_least(v, b.operation, shift_b),
                )

    # -- sums, stated where a solution violates them ------------------------------------------

    def _make_sums(self) -> list[Sum]:
        sums = []
        if "registers" in self.families and self.problem.registers is not None:
            sums.append(Sum("registers", "registers", register_occupants(self.problem), None))
        if "memory" in self.families:
            for memory, capacity in self.problem.memories.items():
                room = capacity - self.problem.fixed[memory]
                sums.append(Sum("memory", memory, memory_occupants(self.problem, memory), room))
        if "capacity" in self.families:
            for unit, capacity in self.problem.capacities.items():
                if capacity > 1:
                    sums.append(Sum("capacity", unit, unit_occupants(self.problem, unit), capacity))
        return [entry for entry in sums if entry.occupants]

    def _state_violated(self, assignment: Assignment) -> bool:
        """State the sums that `assignment` violates most; return whether there were any."""
        found = False
        for entry in self._sums:
            worst = excess(self.problem, self.interval, entry, assignment)
            for event in worst[:STATED_PER_ROUND]:
                key = (entry.family, entry.name, event)
                if key in self._stated:
                    raise AssertionError(f"{entry.name} at {event} was stated and is violated")
                self._stated.add(key)
                with self._checked.under(self._guards.get(entry.family)):
                    self._state(entry, event)
                found = True
        return found

    def _state(self, entry: Sum, event: int) -> None:
        """State that what is alive when occupant `event` starts fits."""
        terms = self._checked
        starting = entry.occupants[event]
        items: list[tuple[int, Literal]] = []
        for occupant in entry.occupants:
            items.extend(
                (occupant.weight, self._alive(occupant, starting, m))
                for m in self._alive_shifts(occupant, starting)
            )
        if entry.capacity is not None:
            terms.clause(terms.weighted_sum(items, entry.capacity))
            return
        for pinned in self.problem.pinned:
            users = [self.same(user, starting.start) for user in pinned.used_by]
            items.append((pinned.registers, self._any(users)))
        fits: dict[int, Literal] = {}
        for g, literal in self._on[starting.start].items():
            limit = self.groups[g].live_limit
            if limit not in fits:
                fits[limit] = terms.weighted_sum(items, limit)
            terms.clause(terms.negated(literal), fits[limit])

    def _alive_shifts(self, occupant: Occupant, starting: Occupant) -> Iterator[int]:
        terms = self._checked
        e = starting.start
        _, latest = terms.range_of(e, occupant.start)
        begins = latest + starting.delay - occupant.delay
        lows = []
        for end in occupant.ends:
            earliest, _ = terms.range_of(e, end.operation)
            lows.append(earliest + starting.delay - end.offset - end.iterations * self.interval + 1)
        yield from self._shifts(min(lows), begins)

    def _alive(self, occupant: Occupant, starting: Occupant, m: int) -> Literal:
        """Return a literal that is true if instance m of `occupant` is alive at the start."""
        terms = self._checked
        e, interval = starting.start, self.interval
        conditions = [
            self.at_least(e, occupant.start, m * interval + occupant.delay - starting.delay)
        ]
        if occupant.group_of is not None:
            conditions.append(self.same(occupant.group_of, e))
        if occupant.apart is not None:
            conditions.append(terms.negated(self.same(*occupant.apart)))
        cases = []
        for end in occupant.ends:
            after = self.at_least(
                end.operation, e, 1 + starting.delay - end.offset - (end.iterations + m) * interval
            )
            cases.append([*conditions, after, *(terms.negated(x) for x in self._unless(end))])
        cases = [case for case in cases if not any(x is False for x in case)]
        if not cases:
            return False
        if any(all(x is True for x in case) for case in cases):
            return True
        alive = terms.fresh()
        for case in cases:
            terms.clause(alive, *(terms.negated(x) for x in case))
        return alive

    # -- objective limits, as assumptions -----------------------------------------------------

    def _limit(self, kind: str, amount: int) -> int:
        """Return a term under which the limit holds."""
        key = (kind, amount)
        if key not in self._limits:
            guard = self._checked.fresh()
            self._limits[key] = guard
            state = {
                "length": self._limit_length,
                "transfers": self._limit_transfers,
                "slack": self._limit_slack,
            }[kind]
            with self._checked.under(guard):
                state(amount)
        return self._limits[key]

    def _limit_length(self, length: int) -> None:
        for operation in self.problem.operations:
            self._checked.clause(self._checked.at_most(operation.index, length - operation.cycles))

    def _limit_transfers(self, most: int) -> None:
        terms = self._checked
        crossing = [
            (1, terms.negated(self.same(e.producer, e.consumer)))
            for e in self.problem.edges
            if e.transferable
        ]
        terms.clause(terms.weighted_sum(crossing, most))

    def _limit_slack(self, least: int) -> None:
        terms = self._checked
        for edge in self.problem.edges:
            if edge.streaming:
                continue
            together = self.same(edge.producer, edge.consumer)
            shift = edge.distance * self.interval
            if edge.blocking:
                terms.clause(
                    terms.negated(together),
                    self.at_least(edge.consumer, edge.producer, edge.delay + least - shift),
                )
            terms.clause(
                together,
                self.at_least(edge.consumer, edge.producer, edge.cross_delay + least - shift),
            )

    # -- literals -----------------------------------------------------------------------------

    @property
    def _checked(self) -> Terms:
        assert self._terms is not None
        return self._terms

    def at_least(self, v: int, u: int, amount: int) -> Literal:
        """Return the literal M(v) - M(u) >= amount.

        Parameters
        ----------
        v, u : int
            Operations.
        amount : int
            Time units.
        """
        return self._checked.at_least(v, u, amount)

    def same(self, u: int, v: int) -> Literal:
        """Return the literal "u and v are on one group".

        Parameters
        ----------
        u, v : int
            Operations.
        """
        if u == v:
            return True
        key = (min(u, v), max(u, v))
        if key not in self._same:
            self._same[key] = self._define_same(*key)
        return self._same[key]

    def _define_same(self, u: int, v: int) -> Literal:
        terms = self._checked
        on_u, on_v = self._on[u], self._on[v]
        shared = on_u.keys() & on_v.keys()
        if not shared:
            return False
        if len(on_u) == len(on_v) == 1:
            return True
        literal = terms.fresh()
        with terms.under(None):
            for g in sorted(on_u.keys() | on_v.keys()):
                here_u, here_v = on_u.get(g, False), on_v.get(g, False)
                terms.clause(terms.negated(here_u), terms.negated(here_v), literal)
                terms.clause(terms.negated(literal), terms.negated(here_u), here_v)
                terms.clause(terms.negated(literal), terms.negated(here_v), here_u)
        return literal

    def _unless(self, end: Moment) -> list[Literal]:
        """Literals that excuse a constraint on a moment that does not count."""
        found: list[Literal] = []
        if end.same is not None:
            found.append(self._checked.negated(self.same(*end.same)))
        if end.apart is not None:
            found.append(self.same(*end.apart))
        return found

    def _require(self, *literals: Literal) -> None:
        self._checked.clause(*literals)

    def _read(self) -> Assignment:
        """Read the model of the last ``sat``."""
        open_literals = [
            (v, g, int(literal))
            for v, on in enumerate(self._on)
            for g, literal in on.items()
            if not isinstance(literal, bool)
        ]
        start, values = self._checked.model([literal for _, _, literal in open_literals])
        group = [next((g for g, literal in on.items() if literal is True), -1) for on in self._on]
        for (v, g, _), value in zip(open_literals, values, strict=True):
            if value:
                group[v] = g
        return Assignment(tuple(start), tuple(group), self.groups)

    def _core(self) -> tuple[str, ...]:
        if not self._guards:
            return ()
        needed = set(self._checked.core())
        return (
            "dependence",
            *(
                family
                for family, guard in self._guards.items()
                if guard in needed and family != "dependence"
            ),
        )

    def _statistics(self) -> dict[str, int]:
        atoms, clauses = self._checked.size
        return {
            "rounds": self._rounds,
            "atoms": atoms,
            "clauses": clauses,
            "sums": len(self._stated),
        }

    def _any(self, literals: list[Literal]) -> Literal:
        if any(x is True for x in literals):
            return True
        some = [x for x in literals if x is not False]
        if not some:
            return False
        literal = self._checked.fresh()
        for x in some:
            self._checked.clause(literal, self._checked.negated(x))
        return literal

    def _shifts(self, low: int, high: int) -> range:
        """Return every m with low <= m I <= high."""
        return range(-(-low // self.interval), high // self.interval + 1)
