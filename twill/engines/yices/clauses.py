"""Clauses over Booleans, weighted sums, integer differences and issue times, in Yices.

A literal is `True`, `False` or a Yices term. Atoms that bounds already decide never become terms;
an atom and its complement share one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from twill.bounds import closure
from twill.solvers import Context, Status

Literal = bool | int


class Clauses(Context):
    """A context for integer differences, with clauses added for good."""

    def __init__(self, seed: int) -> None:
        super().__init__("QF_IDL", seed)
        self._clauses: set[frozenset[int]] = set()
        self.contradiction = False

    def negated(self, literal: Literal) -> Literal:
        """Return the complement of `literal`."""
        return (not literal) if isinstance(literal, bool) else int(self.terms.ynot(literal))

    def clause(self, *literals: Literal) -> None:
        """Assert that one of the literals is true."""
        if any(x is True for x in literals):
            return
        kept = {int(x) for x in literals if x is not False}
        if self._guard is not None:
            kept.add(int(self.terms.ynot(self._guard)))
        self.contradiction |= not kept
        if kept and frozenset(kept) not in self._clauses:
            self._clauses.add(frozenset(kept))
            self.assert_term(self.terms.yor(sorted(kept)) if len(kept) > 1 else min(kept))

    def define(self, *literals: Literal) -> None:
        """Assert a clause of what defines a new variable, whatever the guard."""
        with self.under(None):
            self.clause(*literals)

    def exactly_one(self, literals: Sequence[Literal]) -> None:
        """Assert that one of the literals is true, and no other."""
        self.clause(*literals)
        for a, b in itertools.combinations(literals, 2):
            self.clause(self.negated(a), self.negated(b))

    def at_most(
        self, items: Sequence[tuple[int, Literal]], most: int, *, unless: Literal = False
    ) -> None:
        """Assert that the weights of the true literals sum to at most `most`."""
        self.clause(unless, Diagram(self, items).at_most(most))

    def either(self, literals: Iterable[Literal]) -> Literal:
        """Return a literal that is true if one of `literals` is."""
        some = list(dict.fromkeys(x for x in literals if x is not False))
        if any(x is True for x in some):
            return True
        if len(some) < 2:
            return some[0] if some else False
        result = self.fresh()
        for x in some:
            self.define(result, self.negated(x))
        return result

    def check(self, assumptions: Sequence[int] = ()) -> Status:
        """Search for a model."""
        return "unsat" if self.contradiction else super().check(assumptions)

    def core(self) -> list[int]:
        """Return the assumptions that the last ``unsat`` needed."""
        return [] if self.contradiction else super().core()


class Differences:
    """Integer variables of which only differences matter, within known bounds."""

    def __init__(self, clauses: Clauses, names: Sequence[str]) -> None:
        self._clauses, self._terms = clauses, clauses.terms
        self.variables = [clauses.integer(name) for name in names]
        self._atoms: dict[tuple[int, int, int], int] = {}
        self._paths: list[list[int]] = []

    def decide_by(self, paths: NDArray[np.int64]) -> None:
        """Let longest paths decide atoms; what they follow from has to be asserted elsewhere."""
        self._paths = paths.tolist()

    def at_least(self, v: int, u: int, amount: int) -> Literal:
        """Return the literal x(v) - x(u) >= amount."""
        low, high = self.range_of(v, u)
        decided = low >= amount or high < amount
        return low >= amount if decided else self.stated(v, u, amount)

    def stated(self, v: int, u: int, amount: int) -> Literal:
        """Return x(v) - x(u) >= amount as a term even where bounds decide it."""
        if v == u:
            return amount <= 0
        if v < u:
            return self._clauses.negated(self._atom(u, v, 1 - amount))
        return self._atom(v, u, amount)

    def range_of(self, v: int, u: int) -> tuple[int, int]:
        """Return bounds on x(v) - x(u)."""
        return self._paths[u][v], -self._paths[v][u]

    def bound(self, v: int, low: int, high: int) -> None:
        """Assert low <= x(v) <= high."""
        variable, integer = self.variables[v], self._terms.integer
        self._clauses.assert_term(self._terms.arith_geq_atom(variable, integer(low)))
        self._clauses.assert_term(self._terms.arith_leq_atom(variable, integer(high)))

    def _atom(self, v: int, u: int, amount: int) -> int:
        key = (v, u, amount)
        if key not in self._atoms:
            difference = self._terms.sub(self.variables[v], self.variables[u])
            self._atoms[key] = int(
                self._terms.arith_geq_atom(difference, self._terms.integer(amount))
            )
        return self._atoms[key]


class Diagram:
    """Clauses that bound the weights of the true ones among some literals.

    Two amounts of room that no subset of the rest distinguishes are one node. Weights of equal
    sizes, such as tiles, give small diagrams whatever the bound.

    `items`: positive weights and their literals; those of large weight come first.
    """

    def __init__(self, clauses: Clauses, items: Sequence[tuple[int, Literal]]) -> None:
        self._clauses = clauses
        self._constant = sum(weight for weight, literal in items if literal is True)
        kept = [(w, int(x)) for w, x in items if not isinstance(x, bool) and w > 0]
        self._items = sorted(kept, key=lambda item: -item[0])
        # Of the items from each position on, a bit for every sum of some of them.
        self._reachable = [1]
        for weight, _ in reversed(self._items):
            self._reachable.insert(0, self._reachable[0] | (self._reachable[0] << weight))
        self._nodes: dict[tuple[int, int], Literal] = {}

    def at_most(self, limit: int) -> Literal:
        """Return a literal that implies: the weights of the true items sum to at most `limit`."""
        with self._clauses.under(None):
            return self._node(limit - self._constant)

    def _node(self, room: int) -> Literal:
        """Build the nodes below (0, room), deepest first."""
        layers, rooms = list[list[int]](), {room}
        for position, (weight, _) in enumerate(self._items):
            unknown = {r for r in rooms if self._constant_node(position, r) is None}
            canonical = {self._canonical(position, r) for r in unknown}
            layers.append(sorted(r for r in canonical if (position, r) not in self._nodes))
            rooms = {r for here in layers[-1] for r in (here, here - weight)}
        for position in reversed(range(len(layers))):
            for here in layers[position]:
                self._nodes[position, here] = self._defined(position, here)
        return self._value(0, room)

    def _defined(self, position: int, room: int) -> Literal:
        """Return a literal that implies: the items from a position on fit the room."""
        clauses, (weight, literal) = self._clauses, self._items[position]
        without = self._value(position + 1, room)
        with_it = self._value(position + 1, room - weight)
        if without == with_it:
            return without
        here = clauses.fresh()
        clauses.clause(clauses.negated(here), without)
        clauses.clause(clauses.negated(here), clauses.negated(literal), with_it)
        return here

    def _value(self, position: int, room: int) -> Literal:
        known = self._constant_node(position, room)
        return self._nodes[position, self._canonical(position, room)] if known is None else known

    def _constant_node(self, position: int, room: int) -> bool | None:
        if room < 0:
            return False
        return True if self._reachable[position].bit_length() - 1 <= room else None

    def _canonical(self, position: int, room: int) -> int:
        """Return the largest sum of what follows that is at most `room`."""
        return (self._reachable[position] & ((1 << (room + 1)) - 1)).bit_length() - 1


class Clock:
    """Rows in [0, I) and stages of all operations and of the base.

    `paths`: D with M(v) - M(u) >= D[u, v], the base included.
    `separations`: (u, v, c): r(v) - r(u) >= c in every schedule.
    """

    def __init__(
        self,
        clauses: Clauses,
        names: Sequence[str],
        interval: int,
        paths: NDArray[np.int64],
        anchor: int,
        separations: Sequence[tuple[int, int, int]],
    ) -> None:
        self._clauses, self.interval, self.base = clauses, interval, len(names)
        self._paths: list[list[int]] = paths.tolist()
        every = [*names, "base"]
        self.rows = Differences(clauses, [f"row {name}" for name in every])
        self.stages = Differences(clauses, [f"stage {name}" for name in every])
        self._literals: dict[tuple[int, int, int], Literal] = {}
        self._bound_rows(anchor, separations)
        self._bound_stages()

    def _bound_rows(self, anchor: int, separations: Sequence[tuple[int, int, int]]) -> None:
        size = self.base + 1
        rows = np.full((size, size), 1 - self.interval, dtype=np.int64)
        np.fill_diagonal(rows, 0)
        rows[anchor, :] = 0
        for u, v, amount in separations:
            rows[u, v] = max(rows[u, v], amount)
            self._clauses.clause(self.rows.stated(v, u, amount))
        for v in range(size):
            self.rows.bound(v, 0, 0 if v == anchor else self.interval - 1)
        closed = closure(rows)
        self._clauses.contradiction |= closed is None
        self.rows.decide_by(rows if closed is None else closed)

    def _bound_stages(self) -> None:
        size = self.base + 1
        least = np.zeros((size, size), dtype=np.int64)
        for u, v in itertools.permutations(range(size), 2):
            _, most = self.rows.range_of(v, u)
            least[u, v] = -((most - self._paths[u][v]) // self.interval)
        self.stages.decide_by(least)
        for v in range(self.base):
            self.stages.bound(v, *self.stages.range_of(v, self.base))
        self.stages.bound(self.base, 0, 0)

    def range_of(self, v: int, u: int) -> tuple[int, int]:
        """Return bounds on M(v) - M(u)."""
        return self._paths[u][v], -self._paths[v][u]

    def require(
        self, v: int, u: int, amount: int, iterations: int, unless: Sequence[Literal] = ()
    ) -> None:
        """Assert M(v) + iterations * I >= M(u) + amount unless one of the literals is true."""
        least = amount - iterations * self.interval
        if any(x is True for x in unless) or u == v:
            self._clauses.clause(*unless, least <= 0)
            return
        stage, row = self.stages.stated, self.rows.at_least
        whole, rest = divmod(least, self.interval)
        self._clauses.clause(*unless, stage(v, u, whole))
        self._clauses.clause(*unless, stage(v, u, whole + 1), row(v, u, rest))
        self._clauses.clause(*unless, stage(v, u, whole + 2), row(v, u, rest - self.interval))

    def clear(
        self, u: int, v: int, after_u: int, after_v: int, unless: Sequence[Literal] = ()
    ) -> None:
        """Assert that v comes `after_u` later than u or u `after_v` later than v, modulo I."""
        if any(x is True for x in unless):
            return
        low, high = self.rows.range_of(v, u)
        for m in self.shifts(-after_v - high, after_u - low):
            self._clauses.clause(
                *unless,
                self.rows.at_least(v, u, after_u - m * self.interval),
                self.rows.at_least(u, v, after_v + m * self.interval),
            )

    def outside(self, v: int, u: int, span: int, unless: Sequence[Literal] = ()) -> None:
        """Assert that v is not issued within `span` from the issue of u on, modulo I."""
        if any(x is True for x in unless):
            return
        low, high = self.rows.range_of(v, u)
        for m in self.shifts(low - span + 1, high):
            self._clauses.clause(
                *unless,
                self.rows.at_least(v, u, span + m * self.interval),
                self.rows.at_least(u, v, 1 - m * self.interval),
            )

    def shifts(self, low: int, high: int) -> range:
        """Return every m with low <= m I <= high."""
        return range(-(-low // self.interval), high // self.interval + 1)

    def cases(self, v: int, u: int, w: int, amount: int) -> Iterator[list[Literal]]:
        """Yield conjunctions, one of which is true iff (k(v) - k(u)) I + r(v) - r(w) >= amount."""
        whole, rest = divmod(amount, self.interval)
        stage, row = self.stages.at_least, self.rows.at_least
        parts = [
            (stage(v, u, whole), False),
            (stage(v, u, whole + 1), row(v, w, rest)),
            (stage(v, u, whole + 2), row(v, w, rest - self.interval)),
        ]
        open_parts = [part for part in parts if not any(x is True for x in part)]
        for chosen in itertools.product(*open_parts):
            if not any(x is False for x in chosen):
                yield list(dict.fromkeys(chosen))

    def at_least(self, v: int, u: int, amount: int) -> Literal:
        """Return the literal M(v) - M(u) >= amount."""
        low, high = self.range_of(v, u)
        if low >= amount or high < amount:
            return low >= amount
        if v < u:
            return self._clauses.negated(self.at_least(u, v, 1 - amount))
        key = (v, u, amount)
        if key not in self._literals:
            self._literals[key] = self._define(v, u, amount)
        return self._literals[key]

    def _define(self, v: int, u: int, amount: int) -> Literal:
        clauses = self._clauses
        cases = list(self.cases(v, u, u, amount))
        if not cases:
            return False
        if any(not case for case in cases):
            return True
        if len(cases) == 1 and len(cases[0]) == 1:
            return cases[0][0]
        literal = clauses.fresh()
        with clauses.under(None):
            for case in cases:
                clauses.clause(literal, *(clauses.negated(x) for x in case))
            self.require(v, u, amount, 0, [clauses.negated(literal)])
        return literal

    def times(self, rows: Sequence[int], stages: Sequence[int]) -> tuple[int, ...]:
        """Return issue times from the base on, given the values of a model."""
        absolute = [k * self.interval + r for k, r in zip(stages, rows, strict=True)]
        return tuple(time - absolute[self.base] for time in absolute[: self.base])
