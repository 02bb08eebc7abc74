"""Issue times as rows and stages: M(v) = k(v) I + r(v).

Resources see rows only, whatever the number of stages; dependences branch on the difference of
stages. A last variable, the base, is the time from which the length of an iteration counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from twill.bounds.least import NO_PATH, closure
from twill.engines.yices.clauses import Clauses, Differences, Literal


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
        self._paths = [[int(x) for x in row] for row in paths]
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
        if closed is None:
            self._clauses.contradiction = True
            closed = np.full((size, size), NO_PATH, dtype=np.int64)
        self.rows.bounded(closed)

    def _bound_stages(self) -> None:
        size = self.base + 1
        least = np.zeros((size, size), dtype=np.int64)
        for u, v in itertools.permutations(range(size), 2):
            _, most = self.rows.range_of(v, u)
            least[u, v] = -((most - self._paths[u][v]) // self.interval)
        self.stages.bounded(least)
        for v in range(self.base):
            self.stages.bound(v, *self.stages.range_of(v, self.base))
        self.stages.bound(self.base, 0, 0)

    def range_of(self, v: int, u: int) -> tuple[int, int]:
        """Return bounds on M(v) - M(u)."""
        return self._paths[u][v], -self._paths[v][u]

    def require(self, v: int, u: int, amount: int, *unless: Literal) -> None:
        """Assert M(v) - M(u) >= amount unless one of the literals is true."""
        stage, row = self.stages.stated, self.rows.at_least
        whole, rest = divmod(amount, self.interval)
        self._clauses.clause(*unless, stage(v, u, whole))
        self._clauses.clause(*unless, stage(v, u, whole + 1), row(v, u, rest))
        self._clauses.clause(*unless, stage(v, u, whole + 2), row(v, u, rest - self.interval))

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
        if v == u or low >= amount or high < amount:
            return low >= amount if v != u else amount <= 0
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
            self.require(v, u, amount, clauses.negated(literal))
        return literal

    def times(self, rows: Sequence[int], stages: Sequence[int]) -> tuple[int, ...]:
        """Return issue times from the base on, given the values of a model."""
        absolute = [k * self.interval + r for k, r in zip(stages, rows, strict=True)]
        return tuple(time - absolute[self.base] for time in absolute[: self.base])
