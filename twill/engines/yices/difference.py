"""The finder: integer differences at a fixed interval, solved by Yices.

Issue times are integers of which only differences matter, never time-indexed Booleans, so that one
clock cycle as the unit costs no more than a coarse grid.
"""

from __future__ import annotations

from twill.bounds import bounds
from twill.engines.questions import NO_LIMITS, Answer, Limits, Question
from twill.engines.yices.sums import Sums
from twill.engines.yices.system import System, longest_paths
from twill.problem.solution import Assignment


class DifferenceEngine:
    """The joint system at one interval (see `twill.engines.Engine`)."""

    def __init__(self, asked: Question) -> None:
        self.problem, self.interval, self.length = asked.problem, asked.interval, asked.length
        self._guards: dict[tuple[str, int], int] = {}
        paths = longest_paths(asked)
        busy = "capacity" in asked.families and bounds(asked.problem).resource > asked.interval
        self._refuted_by = "dependence" if paths is None else "capacity" if busy else ""
        if paths is not None and not busy:
            self._system = System(asked, paths)
            self._sums = Sums(self._system, asked.hints)

    @property
    def name(self) -> str:
        """Solver and version."""
        if self._refuted_by:
            return "longest paths"
        return f"Yices {self._system.clauses.version} (difference)"

    def dispose(self) -> None:
        """Give the solver's memory back."""
        if not self._refuted_by:
            self._system.clauses.dispose()

    def solve(self, limits: Limits = NO_LIMITS) -> Answer:
        """Search for a schedule within these limits (see `twill.engines.Engine`)."""
        if self._refuted_by:
            return Answer("unsat", families=(self._refuted_by,), solver=self.name)
        assumptions = [*self._system.guards.values(), *self._assumed(limits)]
        while (status := self._system.clauses.check(assumptions)) == "sat":
            complete = self._sums.completed(self._read())
            if complete is not None:
                return Answer("sat", complete, hints=self._sums.hints)
        families = self._core() if status == "unsat" else ()
        return Answer(status, None, families, self._sums.hints, self.name)

    # -- limits, as assumptions -----------------------------------------------------------------

    def _assumed(self, limits: Limits) -> list[int]:
        found = []
        for kind, amount, state in (
            ("length", limits.length, self._limit_length),
            ("groups", limits.groups, self._system.families.limit_groups),
            ("transfers", limits.transfers, self._system.families.limit_transfers),
            ("slack", limits.slack, self._system.families.limit_slack),
        ):
            if amount is None or (kind == "length" and amount >= self.length):
                continue
            if (kind, amount) not in self._guards:
                guard = self._system.clauses.fresh()
                self._guards[kind, amount] = guard
                with self._system.clauses.under(guard):
                    state(amount)
            found.append(self._guards[kind, amount])
        return found

    def _limit_length(self, length: int) -> None:
        clock = self._system.clock
        for operation in self.problem.operations:
            clock.require(clock.base, operation.index, operation.cycles - length, 0)

    # -- answers ----------------------------------------------------------------------------------

    def _read(self) -> Assignment:
        """Read the model of the last ``sat``."""
        clock, places = self._system.clock, self._system.places
        literals = [int(x) for on in places.on for x in on.values() if not isinstance(x, bool)]
        truths, integers = self._system.clauses.values(
            literals, [*clock.rows.variables, *clock.stages.variables]
        )
        rows, stages = integers[: clock.base + 1], integers[clock.base + 1 :]
        group = places.read(dict(zip(literals, truths, strict=True)).__getitem__)
        return Assignment(clock.times(rows, stages), group, places.groups)

    def _core(self) -> tuple[str, ...]:
        guards = self._system.guards
        if not guards:
            return ()
        needed = set(self._system.clauses.core())
        return (
            "dependence",
            *(f for f, guard in guards.items() if guard in needed and f != "dependence"),
        )
