"""Rows and stages as CP-SAT variables, for one interval or for a range of them.

M(v) = k(v) I + r(v) is never a variable: the product would have to be linearised. A constraint on
the difference of two issue times branches on the difference of their stages. In each branch it is
linear in rows and I, a constant or a variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from twill.base.errors import MissingLibraryError
from twill.bounds import NO_PATH, longest
from twill.engines.families import Literal

# (u, v, amount, iterations): M(v) + iterations * I >= M(u) + amount.
Arc = tuple[int, int, int, int]


class Clauses:
    """A CP-SAT model and what is stated of its literals (see `twill.engines.families.Logic`)."""

    def __init__(self) -> None:
        self.model: Any = import_ortools().CpModel()
        self.refuted = False

    def fresh(self, name: str = "") -> Literal:
        """Return a new Boolean variable."""
        return self.model.new_bool_var(name)

    def negated(self, literal: Literal) -> Literal:
        """Return the complement of a literal."""
        return (not literal) if isinstance(literal, bool) else ~literal

    def clause(self, *literals: Literal) -> None:
        """State that one of the literals is true."""
        if any(x is True for x in literals):
            return
        kept = [x for x in literals if x is not False]
        if not kept:
            self.refuted = True
        self.model.add_bool_or(kept)

    define = clause

    def either(self, literals: Iterable[Literal]) -> Literal:
        """Return a literal that is true if one of `literals` is."""
        some = list(literals)
        if any(x is True for x in some):
            return True
        some = [x for x in some if x is not False]
        if len(some) < 2:
            return some[0] if some else False
        result = self.fresh()
        for x in some:
            self.model.add_implication(x, result)
        return result

    def exactly_one(self, literals: Sequence[Literal]) -> None:
        """State that one of the literals is true, and no other."""
        self.refuted |= not literals
        self.model.add_exactly_one(literals)

    def at_most(
        self, items: Sequence[tuple[int, Literal]], most: int, *, unless: Literal = False
    ) -> None:
        """State that the weights of the true literals sum to at most `most`."""
        self.add(sum(weight * x for weight, x in items) <= most, [unless])

    def add(self, constraint: Any, unless: Iterable[Literal]) -> None:
        """State a linear constraint unless one of the literals is true."""
        excuses = [x for x in unless if x is not False]
        if any(x is True for x in excuses) or constraint is True:
            return
        if constraint is False:
            self.clause(*excuses)
        else:
            self.model.add(constraint).only_enforce_if([self.negated(x) for x in excuses])

    def reified(self, expression: Any, amount: int, name: str = "") -> Literal:
        """Return a new literal that is true if, and only if, an expression is at least `amount`."""
        literal = self.fresh(name)
        self.model.add(expression >= amount).only_enforce_if(literal)
        self.model.add(expression <= amount - 1).only_enforce_if(~literal)
        return literal


class Times:
    """I, the rows in [0, I) and the stages of all operations and of the base.

    The base is the time from which the length of an iteration counts; it is the last variable.

    `arcs`: what every schedule satisfies; bounds stages, and has to be stated elsewhere. Together
    they tie every operation to the base.
    """

    def __init__(
        self, names: Sequence[str], low: int, high: int, arcs: Sequence[Arc], anchor: int
    ) -> None:
        self.clauses = Clauses()
        self.model = self.clauses.model
        self.low, self.high, self.base, self.anchor = low, high, len(names), anchor
        self.interval = self.model.new_int_var(low, high, "I")
        self._differences = self._bound(len(names) + 1, arcs)
        self.rows, self.stages = [], []
        for v, name in enumerate([*names, "base"]):
            last = 0 if v == anchor else high - 1
            self.rows.append(self.model.new_int_var(0, last, f"row {name}"))
            first, latest = self._differences[self.base][v], -self._differences[v][self.base]
            self.stages.append(self.model.new_int_var(first, max(first, latest), f"stage {name}"))
            if v != anchor and low < high:
                self.model.add(self.rows[v] + 1 <= self.interval)
        self._literals: dict[tuple[str, int, int, int, int], Literal] = {}
        self._gaps: dict[tuple[int, int], tuple[int, int]] = {}

    def _bound(self, size: int, arcs: Sequence[Arc]) -> list[list[int]]:
        """Return S with k(v) - k(u) >= S[u][v] for every I of the range.

        Along a path of total amount d >= 0 the stages rise by at least ceil((d + 1) / I) - 1 less
        the iterations, which falls with I: the largest I bounds all. A path of negative amount
        would not, so that arcs of negative amount count at a fixed interval only.
        """
        paths = longest(
            size,
            (
                (u, v, amount - iterations * self.high)
                for u, v, amount, iterations in arcs
                if self.low == self.high or (amount >= 0 and iterations >= 0)
            ),
        )
        if paths is None:
            self.clauses.refuted = True
            return [[0] * size for _ in range(size)]
        stages = -((self.high - 1 - paths) // self.high)
        np.fill_diagonal(stages, 0)
        return [row.tolist() for row in stages]

    def later(self, v: int, u: int, iterations: int = 0) -> Any:
        """Return M(v) + iterations * I - M(u), where I is fixed."""
        if u == v:
            return iterations * self.low
        stages, rows = self.stages[v] - self.stages[u], self.rows[v] - self.rows[u]
        return (stages + iterations) * self.low + rows

    def later_stage(self, v: int, u: int, amount: int) -> Literal:
        """Return the literal k(v) - k(u) >= amount."""
        if u == v:
            return amount <= 0
        if self._differences[u][v] >= amount:
            return True
        if -self._differences[v][u] < amount:
            return False
        if v < u:
            return self.clauses.negated(self.later_stage(u, v, 1 - amount))
        key = ("stage", v, u, amount, 0)
        if key not in self._literals:
            self._literals[key] = self.clauses.reified(self.stages[v] - self.stages[u], amount)
        return self._literals[key]

    def apart(self, u: int, v: int, after_u: int, after_v: int) -> None:
        """Let rows of u and v exclude each other: v comes at least `after_u` later, or u `after_v`.

        Has to be stated before any literal of the two rows is asked for.
        """
        self.model.add(self.rows[v] + self.interval >= self.rows[u] + after_u)
        self.model.add(self.rows[u] + self.interval >= self.rows[v] + after_v)
        follows = self.model.new_bool_var("")
        self.model.add(self.rows[v] >= self.rows[u] + after_u).only_enforce_if(follows)
        self.model.add(self.rows[u] >= self.rows[v] + after_v).only_enforce_if(~follows)
        self._gaps[v, u] = (1 - after_v, after_u)
        self._gaps[u, v] = (1 - after_u, after_v)
        self._literals["gap", v, u, 0, 0] = follows
        self._literals["gap", u, v, 0, 0] = ~follows

    def row_after(self, v: int, u: int) -> Any:
        """Return v's row counted from u's on, in [0, I): a variable."""
        if u == self.anchor:
            return self.rows[v]
        row = self.model.new_int_var(0, self.high - 1, "")
        follows, apart = self.later_row(v, u, 0), self.rows[v] - self.rows[u]
        self.clauses.add(row == apart, [self.clauses.negated(follows)])
        self.clauses.add(row == apart + self.interval, [follows])
        return row

    def later_row(self, v: int, u: int, amount: int, intervals: int = 0) -> Literal:
        """Return the literal r(v) - r(u) >= amount + intervals * I."""
        known = self._known(v, u, amount, intervals)
        if known is not None:
            return known
        if v < u:
            return self.clauses.negated(self.later_row(u, v, 1 - amount, -intervals))
        key = ("row", v, u, amount, intervals)
        if key not in self._literals:
            rows = 0 if u == v else self.rows[v] - self.rows[u]
            self._literals[key] = self.clauses.reified(rows - intervals * self.interval, amount)
        return self._literals[key]

    def _known(self, v: int, u: int, amount: int, intervals: int) -> Literal | None:
        """Return the literal r(v) - r(u) >= amount + intervals * I if there is one already."""
        first, last = amount + intervals * self.low, amount + intervals * self.high
        least, most = (first, last) if first < last else (last, first)
        if u == v:
            if most <= 0:
                return True
            return False if least > 0 else None
        gap = self._gaps.get((v, u))
        # r(v) - r(u) is at least `after_u` - I, and `floor`; it is at most I - `after_v` and `top`.
        after_u, after_v = (gap[1], 1 - gap[0]) if gap else (1, 1)
        floor, top = 0 if u == self.anchor else NO_PATH, 0 if v == self.anchor else self.high
        if first <= max(after_u - self.low, floor) and last <= max(after_u - self.high, floor):
            return True
        if min(self.low - after_v, top) < first and min(self.high - after_v, top) < last:
            return False
        if gap and gap[0] <= least and most <= gap[1]:
            return self._literals["gap", v, u, 0, 0]
        return None

    # -- constraints ------------------------------------------------------------------------------

    def require(
        self, v: int, u: int, amount: int, iterations: int, unless: Sequence[Literal] = ()
    ) -> None:
        """State M(v) + iterations * I >= M(u) + amount unless one of the literals is true."""
        if any(x is True for x in unless):
            return
        # The least j for which j I + r(v) - r(u) may reach the amount.
        whole = amount // self.low - 1 if amount < 0 else 0
        while (whole + 1) * (self.high if whole >= 0 else self.low) - 1 < amount:
            whole += 1
        apart = self.stages[v] - self.stages[u] if u != v else 0
        self.clauses.add(apart + iterations >= whole, unless)
        # In some rows so many whole intervals are too few.
        while any((whole - 1) * i + 1 < amount for i in (self.low, self.high)):
            excuses = [*unless, self.later_stage(v, u, whole + 1 - iterations)]
            if u == v or self._known(v, u, amount, -whole) is not None:
                self.clauses.clause(*excuses, self.later_row(v, u, amount, -whole))
            else:
                shifted = self.rows[v] - self.rows[u] + whole * self.interval
                self.clauses.add(shifted >= amount, excuses)
            whole += 1

    def clear(
        self, u: int, v: int, after_u: int, after_v: int, unless: Sequence[Literal] = ()
    ) -> None:
        """State that v comes `after_u` later than u or u `after_v` later than v, modulo I."""
        if any(x is True for x in unless):
            return
        most = (max(abs(after_u), abs(after_v)) // self.low) + 2
        for m in range(-most, most + 1):
            later_v, later_u = self.later_row(v, u, after_u, -m), self.later_row(u, v, after_v, m)
            self.clauses.clause(*unless, later_v, later_u)

    def outside(self, v: int, u: int, span: int, unless: Sequence[Literal] = ()) -> None:
        """State that v is not issued within `span` from the issue of u on, modulo I."""
        self.clear(u, v, span, 1, unless)


def import_ortools() -> Any:
    """Return OR-Tools' module.

    Raises
    ------
    MissingLibraryError
        If it is not installed.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise MissingLibraryError(
            "OR-Tools is not installed; install it with: pip install ortools"
        ) from None
    return cp_model
