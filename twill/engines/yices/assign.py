"""Which operation is on which warp group, as literals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from twill.engines.yices.diagram import Diagram
from twill.engines.yices.terms import Clauses, Literal
from twill.problem.groups import WarpGroup, filled_before, opened_before, pools
from twill.problem.lifetimes import Moment
from twill.problem.problem import Problem


class Placing:
    """Warp uniqueness and variable latency: every operation is on exactly one group of its kind."""

    def __init__(self, clauses: Clauses, problem: Problem, groups: Sequence[WarpGroup]) -> None:
        self._clauses, self._problem, self.groups = clauses, problem, tuple(groups)
        self._same: dict[tuple[int, int], Literal] = {}
        self.on: list[dict[int, Literal]] = []
        for operation in problem.operations:
            allowed = [g for g, group in enumerate(groups) if group.takes(operation)]
            literals: dict[int, Literal] = (
                {g: clauses.fresh() for g in allowed}
                if len(allowed) > 1
                else dict.fromkeys(allowed, True)
            )
            self.on.append(literals)
            clauses.clause(*literals.values())
            for a, b in itertools.combinations(literals.values(), 2):
                clauses.clause(clauses.negated(a), clauses.negated(b))
        self.used = [self._used(g) for g in range(len(self.groups))]
        self._break_symmetry()
        self._limit_warps()

    def _used(self, g: int) -> Literal:
        """Return a literal that is true if, and only if, group g has an operation."""
        members = [on[g] for on in self.on if g in on]
        used = self._clauses.either(members)
        if not isinstance(used, bool):
            self._clauses.clause(self._clauses.negated(used), *members)
        return used

    def _break_symmetry(self) -> None:
        """Open groups that could stand in for each other in a fixed order."""
        clauses = self._clauses
        order = sorted(self._problem.operations, key=lambda o: (-o.cycles, o.index))
        for before, after in opened_before(self.groups, self._problem):
            clauses.clause(clauses.negated(self.used[after]), self.used[before])
            if self.groups[before] != self.groups[after]:
                continue
            earlier: list[Literal] = []
            for operation in order:
                here = self.on[operation.index]
                if after in here:
                    clauses.clause(clauses.negated(here[after]), *earlier)
                if before in here:
                    earlier.append(here[before])

        for pool, after in filled_before(self.groups, self._problem):
            idle = Diagram(clauses, [(1, clauses.negated(self.used[g])) for g in pool.members])
            full = idle.at_most(len(pool.members) - pool.most)
            clauses.clause(clauses.negated(self.used[after]), full)

    def _limit_warps(self) -> None:
        """Keep used groups within those of the machine, and their warps within what an SM holds."""
        for pool in pools(self.groups):
            used = [(1, self.used[g]) for g in pool.members]
            self._clauses.clause(Diagram(self._clauses, used).at_most(pool.most))
        most = self._problem.machine.warps.value
        if sum(group.warps for group in self.groups) > most:
            items = [(g.warps, used) for g, used in zip(self.groups, self.used, strict=True)]
            self._clauses.clause(Diagram(self._clauses, items).at_most(most))

    def same(self, u: int, v: int) -> Literal:
        """Return the literal "u and v are on one group"."""
        if u == v:
            return True
        key = (min(u, v), max(u, v))
        if key not in self._same:
            self._same[key] = self._define(*key)
        return self._same[key]

    def _define(self, u: int, v: int) -> Literal:
        clauses = self._clauses
        on_u, on_v = self.on[u], self.on[v]
        if not on_u.keys() & on_v.keys():
            return False
        if len(on_u) == len(on_v) == 1:
            return True
        literal = clauses.fresh()
        with clauses.under(None):
            for g in sorted(on_u.keys() | on_v.keys()):
                here_u, here_v = on_u.get(g, False), on_v.get(g, False)
                clauses.clause(clauses.negated(here_u), clauses.negated(here_v), literal)
                clauses.clause(clauses.negated(literal), clauses.negated(here_u), here_v)
                clauses.clause(clauses.negated(literal), clauses.negated(here_v), here_u)
        return literal

    def unless(self, end: Moment) -> list[Literal]:
        """Return literals that excuse a constraint on a moment that does not count."""
        found: list[Literal] = []
        if end.same is not None:
            found.append(self._clauses.negated(self.same(*end.same)))
        if end.apart is not None:
            found.append(self.same(*end.apart))
        return found

    def read(self, values: dict[int, bool]) -> tuple[int, ...]:
        """Return the group of each operation."""
        return tuple(
            next(g for g, x in on.items() if x is True or (x is not False and values[int(x)]))
            for on in self.on
        )
