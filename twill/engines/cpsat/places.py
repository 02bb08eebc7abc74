"""Which operation is on which warp group, as CP-SAT literals."""

from __future__ import annotations

from collections.abc import Sequence, Set

from twill.engines.cpsat.time import Literal, Times, negated
from twill.problem.groups import WarpGroup, filled_before, opened_before, pools
from twill.problem.lifetimes import Moment
from twill.problem.problem import Problem


class Places:
    """Every operation is on exactly one group of its kind; equal groups are opened in order."""

    def __init__(
        self, times: Times, problem: Problem, groups: Sequence[WarpGroup], within: Set[int]
    ) -> None:
        self._times, self._problem, self.groups = times, problem, tuple(groups)
        self._same: dict[tuple[int, int], Literal] = {}
        self.on: list[dict[int, Literal]] = []
        for operation in problem.operations:
            allowed = [g for g in sorted(within) if self.groups[g].takes(operation)]
            times.refuted |= not allowed
            if len(allowed) == 1:
                self.on.append({allowed[0]: True})
                continue
            here = {g: times.model.new_bool_var(f"{operation.name} on {g}") for g in allowed}
            times.model.add_exactly_one(here.values())
            self.on.append(here)
        self.used = [self._is_used(g) for g in range(len(self.groups))]
        self._open_in_order()
        for pool in pools(self.groups):
            times.model.add(sum(self.used[g] for g in pool.members) <= pool.most)
        most = problem.machine.warps.value
        if sum(group.warps for group in self.groups) > most:
            warps = [g.warps * used for g, used in zip(self.groups, self.used, strict=True)]
            times.model.add(sum(warps) <= most)

    def _is_used(self, g: int) -> Literal:
        members = [here[g] for here in self.on if g in here]
        used = self._times.either(members)
        self._times.clause(negated(used), *members)
        return used

    def _open_in_order(self) -> None:
        """Remove what only renames groups: of equal groups the first takes the first operation."""
        first = sorted(self._problem.operations, key=lambda o: (-o.cycles, o.index))
        for before, after in opened_before(self.groups, self._problem):
            self._times.clause(negated(self.used[after]), self.used[before])
            if self.groups[before] != self.groups[after]:
                continue
            seen: list[Literal] = []
            for operation in first:
                here = self.on[operation.index]
                if after in here:
                    self._times.clause(negated(here[after]), *seen)
                if before in here:
                    seen.append(here[before])

        for pool, after in filled_before(self.groups, self._problem):
            used = sum(self.used[g] for g in pool.members)
            self._times.model.add(used >= pool.most * self.used[after])

    def keep(self, group: Sequence[int]) -> None:
        """State that every operation is where it was."""
        for here, mine in zip(self.on, group, strict=True):
            self._times.clause(here.get(mine, False))

    def same(self, u: int, v: int) -> Literal:
        """Return the literal "u and v are on one group"."""
        if u == v:
            return True
        key = (min(u, v), max(u, v))
        if key not in self._same:
            self._same[key] = self._are_same(*key)
        return self._same[key]

    def _are_same(self, u: int, v: int) -> Literal:
        on_u, on_v = self.on[u], self.on[v]
        if not on_u.keys() & on_v.keys():
            return False
        if len(on_u) == len(on_v) == 1:
            return True
        literal = self._times.model.new_bool_var("")
        for g in sorted(on_u.keys() | on_v.keys()):
            here_u, here_v = on_u.get(g, False), on_v.get(g, False)
            self._times.clause(negated(here_u), negated(here_v), literal)
            self._times.clause(~literal, negated(here_u), here_v)
            self._times.clause(~literal, negated(here_v), here_u)
        return literal

    def conditions(self, end: Moment) -> list[Literal]:
        """Return the literals under which a moment counts."""
        found = []
        if end.same is not None:
            found.append(self.same(*end.same))
        if end.apart is not None:
            found.append(negated(self.same(*end.apart)))
        return found
