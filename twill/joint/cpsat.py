"""The joint system for OR-Tools CP-SAT: rows and stages, at a fixed interval.

The issue time M(v) is never a variable: a row r(v) in [0, I) and a stage k(v) are, with
M = k I + r. Dependences branch on the difference of stages, resources look at rows only. It works
without Yices and answers the same questions, so that each engine checks the other.
"""

from __future__ import annotations

import importlib.metadata
import itertools
from collections.abc import Sequence
from typing import Any

from twill.bounds import bounds, longest_paths
from twill.console import interruptible
from twill.errors import MissingLibraryError
from twill.joint.answer import FAMILIES, Answer, Assignment
from twill.joint.groups import WarpGroup
from twill.joint.lifetimes import (
    Moment,
    Occupant,
    memory_occupants,
    register_occupants,
    unit_occupants,
)
from twill.problem import Problem

Point = tuple[Any, Any]
"""A stage and a row: two CP-SAT variables that stand for one point of time."""


class CpSatEngine:
    """The joint system at one interval (see `twill.joint.answer.EngineFactory`).

    It names no constraint families when it refutes.
    """

    def __init__(
        self,
        problem: Problem,
        interval: int,
        length: int,
        groups: Sequence[WarpGroup],
        *,
        families: Sequence[str] = FAMILIES,
        explain: bool = False,  # noqa: ARG002 - it names no families
        seed: int = 0,
    ) -> None:
        try:
            from ortools.sat.python import cp_model
        except ImportError:
            raise MissingLibraryError(
                "OR-Tools is not installed; install it with: pip install ortools"
            ) from None
        self._cp = cp_model
        self.problem, self.interval, self.length = problem, interval, length
        self.groups, self.families, self.seed = tuple(groups), tuple(families), seed
        cyclic = "dependence" in families and longest_paths(problem, interval) is None
        self._refuted = cyclic or ("capacity" in families and bounds(problem).resource > interval)

    @property
    def name(self) -> str:
        """Solver and version."""
        return f"OR-Tools {importlib.metadata.version('ortools')} (cpsat)"

    def dispose(self) -> None:
        """Keep nothing: every question builds its own model."""

    def solve(
        self,
        *,
        length: int | None = None,
        transfers: int | None = None,
        slack: int | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Search for a schedule within these limits (see `twill.joint.answer.Engine`)."""
        if self._refuted:
            return Answer("unsat")
        system = _System(self, self.length if length is None else length)
        if transfers is not None:
            system.limit_transfers(transfers)
        if slack is not None and slack > 0:
            system.limit_slack(slack)
        return system.solve(timeout)


class _System:
    def __init__(self, engine: CpSatEngine, length: int) -> None:
        self.engine, self.problem = engine, engine.problem
        self.interval, self.length = engine.interval, length
        self.model: Any = engine._cp.CpModel()  # noqa: SLF001 - one class in two parts
        self.stages = -(-length // self.interval) + 1
        self.horizon = self.stages + self._longest_wait() + 2
        self.points: list[Point] = [self._point(o.name) for o in self.problem.operations]
        self._before: dict[tuple[int, int], Any] = {}
        self._same: dict[tuple[int, int], Any] = {}
        self._window()
        self._groups()
        for family, state in (
            ("dependence", self._dependences),
            ("capacity", self._capacity),
            ("turns", self._turns),
            ("concurrency", self._concurrency),
            ("registers", self._registers),
            ("memory", self._memory),
        ):
            if family in engine.families:
                state()

    # -- time ---------------------------------------------------------------------------------

    def _longest_wait(self) -> int:
        """Return the most intervals by which anything can outlive the operation that ends it."""
        problem = self.problem
        occupants = [
            *register_occupants(problem),
            *(o for memory in problem.memories for o in memory_occupants(problem, memory)),
            *(o for unit in problem.capacities for o in unit_occupants(problem, unit)),
        ]
        waits = [
            moment.iterations + -(-max(moment.offset, 0) // self.interval)
            for occupant in occupants
            for moment in occupant.ends
        ]
        delays = [-(-occupant.delay // self.interval) for occupant in occupants]
        return max(waits, default=0) + max(delays, default=0)

    def _point(self, name: str) -> Point:
        return (
            self.model.new_int_var(0, self.horizon, f"stage {name}"),
            self.model.new_int_var(0, self.interval - 1, f"row {name}"),
        )

    def _window(self) -> None:
        """Fix the row of one operation, and keep all within `length` of the earliest."""
        anchor = max(self.problem.operations, key=lambda o: o.cycles).index
        self.model.add(self.points[anchor][1] == 0)
        earliest = self.model.new_int_var(0, self.interval - 1, "earliest")
        for operation in self.problem.operations:
            stage, row = self.points[operation.index]
            time = stage * self.interval + row
            self.model.add(time >= earliest)
            self.model.add(time + operation.cycles <= earliest + self.length)

    def _after(self, later: Point, earlier: Point, amount: int, unless: Sequence[Any] = ()) -> None:
        """State that `later` is at least `amount` after `earlier`, unless a literal holds."""
        whole, rest = divmod(amount, self.interval)
        stages = later[0] - earlier[0]
        condition = [~literal for literal in unless]
        self.model.add(stages >= whole).only_enforce_if(condition)
        far = self._reified(stages >= whole + 1, stages <= whole)
        self.model.add(later[1] >= earlier[1] + rest).only_enforce_if([*condition, ~far])
        farther = self._reified(stages >= whole + 2, stages <= whole + 1)
        self.model.add(later[1] + self.interval >= earlier[1] + rest).only_enforce_if(
            [*condition, ~farther]
        )

    def _reified(self, true: Any, false: Any) -> Any:
        literal = self.model.new_bool_var("")
        self.model.add(true).only_enforce_if(literal)
        self.model.add(false).only_enforce_if(~literal)
        return literal

    def before(self, first: Point, second: Point) -> Any:
        """Return the literal row(first) < row(second)."""
        key = (first[1].index, second[1].index)
        if key not in self._before:
            self._before[key] = self._reified(first[1] + 1 <= second[1], first[1] >= second[1])
        return self._before[key]

    # -- groups -------------------------------------------------------------------------------

    def _groups(self) -> None:
        self.on: list[dict[int, Any]] = []
        for operation in self.problem.operations:
            allowed = [
                g
                for g, group in enumerate(self.engine.groups)
                if group.warps >= operation.warps
                and group.variable_latency == operation.variable_latency
            ]
            literals = {g: self.model.new_bool_var(f"{operation.name} on {g}") for g in allowed}
            self.on.append(literals)
            self.model.add_exactly_one(literals.values())

    def same(self, u: int, v: int) -> Any:
        """Return the literal "u and v are on one group"."""
        key = (min(u, v), max(u, v))
        if key not in self._same:
            literal = self.model.new_bool_var("")
            for g in self.on[u].keys() | self.on[v].keys():
                here_u, here_v = self.on[u].get(g), self.on[v].get(g)
                if here_u is None or here_v is None:
                    self.model.add_implication(here_v if here_u is None else here_u, ~literal)
                    continue
                self.model.add_bool_or([~here_u, ~here_v, literal])
                self.model.add_bool_or([~literal, ~here_u, here_v])
                self.model.add_bool_or([~literal, ~here_v, here_u])
            if u == v:
                self.model.add(literal == 1)
            self._same[key] = literal
        return self._same[key]

    # -- families -----------------------------------------------------------------------------

    def _dependences(self) -> None:
        spills = "transfers" in self.engine.families
        for position, edge in enumerate(self.problem.edges):
            u, v = self.points[edge.producer], self.points[edge.consumer]
            shift = edge.distance * self.interval
            if edge.producer != edge.consumer:
                self._after(v, u, self.problem.least_delay(position) - shift)
            if spills and edge.cross_delay > self.problem.least_delay(position):
                self._after(
                    v, u, edge.cross_delay - shift, [self.same(edge.producer, edge.consumer)]
                )

    def _capacity(self) -> None:
        for unit, capacity in self.problem.capacities.items():
            mine = unit_occupants(self.problem, unit)
            for a, b in itertools.combinations(mine, 2):
                if a.weight + b.weight > capacity and a.start != b.start:
                    self._exclude(a, b)
            if capacity > 1:
                self._fits(mine, capacity)

    def _exclude(self, a: Occupant, b: Occupant) -> None:
        first, second = self._beginning(a), self._beginning(b)
        length_a, length_b = a.ends[0].offset - a.delay, b.ends[0].offset - b.delay
        self._apart(first, second, length_a, length_b, [])

    def _turns(self) -> None:
        for u, v in itertools.combinations(self.problem.operations, 2):
            after_u = self.problem.turn(u.index, v.index)
            after_v = self.problem.turn(v.index, u.index)
            if self.problem.separated(u.index, v.index):
                continue
            condition = [~self.same(u.index, v.index)]
            first, second = self.points[u.index], self.points[v.index]
            self._apart(first, second, after_u, after_v, condition)

    def _apart(
        self, first: Point, second: Point, after_first: int, after_second: int, when: list[Any]
    ) -> None:
        """State that each of two points follows the other, modulo I, after its time."""
        earlier = self.before(first, second)
        for here, there, after, back, literal in (
            (first, second, after_first, after_second, earlier),
            (second, first, after_second, after_first, ~earlier),
        ):
            condition = [*when, literal]
            self.model.add(there[1] >= here[1] + after).only_enforce_if(condition)
            self.model.add(here[1] + self.interval >= there[1] + back).only_enforce_if(condition)

    def _concurrency(self) -> None:
        for v, operation in enumerate(self.problem.operations):
            always, sometimes = False, []
            for position, edge in enumerate(self.problem.edges):
                if edge.consumer != v:
                    continue
                always |= edge.blocking or self.problem.forced_cross[position]
                sometimes.append(self.same(edge.producer, v))
            for other in self.problem.operations:
                if other.index == v or not other.blocked_span:
                    continue
                together = self.same(v, other.index)
                for apart in [None] if always else sometimes:
                    condition = [together] if apart is None else [together, ~apart]
                    self._keep_clear(
                        self.points[operation.index],
                        self.points[other.index],
                        other.blocked_span,
                        condition,
                    )

    def _keep_clear(self, v: Point, o: Point, span: int, condition: list[Any]) -> None:
        below = self.before(v, o)
        self.model.add(v[1] >= o[1] + span).only_enforce_if([*condition, ~below])
        self.model.add(v[1] + self.interval >= o[1] + span).only_enforce_if([*condition, below])

    def _registers(self) -> None:
        if self.problem.registers is not None:
            self._fits(register_occupants(self.problem), None)

    def _memory(self) -> None:
        for memory, capacity in self.problem.memories.items():
            self._fits(
                memory_occupants(self.problem, memory), capacity - self.problem.fixed[memory]
            )

    # -- sums at starts -----------------------------------------------------------------------

    def _fits(self, occupants: Sequence[Occupant], capacity: int | None) -> None:
        """State that what is alive at each start fits; None is the limit of the start's group."""
        spans = [(o, self._beginning(o), self._end(o)) for o in occupants]
        for starting, time, _ in spans:
            terms = [
                o.weight * self._alive(o, begin, end, starting, time) for o, begin, end in spans
            ]
            if capacity is not None:
                self.model.add(sum(terms) <= capacity)
                continue
            for pinned in self.problem.pinned:
                here = self.model.new_bool_var("")
                for user in pinned.used_by:
                    self.model.add_implication(self.same(user, starting.start), here)
                terms.append(pinned.registers * here)
            for g, literal in self.on[starting.start].items():
                self.model.add(sum(terms) <= self.engine.groups[g].live_limit).only_enforce_if(
                    literal
                )

    def _beginning(self, occupant: Occupant) -> Point:
        point = self.points[occupant.start]
        return point if not occupant.delay else self._shifted(point, occupant.delay)

    def _shifted(self, point: Point, amount: int) -> Point:
        moved = self._point("shifted")
        self.model.add(
            moved[0] * self.interval + moved[1] == point[0] * self.interval + point[1] + amount
        )
        return moved

    def _end(self, occupant: Occupant) -> Point:
        """Return a point no earlier than any end that counts, and than the beginning."""
        end = self._point(f"end of {occupant.name}")
        self._after(end, self._beginning(occupant), 0)
        for moment in occupant.ends:
            self._after(
                end,
                self.points[moment.operation],
                moment.offset + moment.iterations * self.interval,
                self._excuses(moment),
            )
        return end

    def _excuses(self, moment: Moment) -> list[Any]:
        found = []
        if moment.same is not None:
            found.append(~self.same(*moment.same))
        if moment.apart is not None:
            found.append(self.same(*moment.apart))
        return found

    def _alive(
        self, occupant: Occupant, begin: Point, end: Point, starting: Occupant, time: Point
    ) -> Any:
        """Return at least the number of instances of `occupant` alive at `time`."""
        count = self.model.new_int_var(0, self.horizon + 1, "")
        condition = []
        if occupant.group_of is not None:
            condition.append(self.same(occupant.group_of, starting.start))
        if occupant.apart is not None:
            condition.append(~self.same(*occupant.apart))
        self.model.add(
            count >= end[0] - begin[0] + self.before(time, end) - self.before(time, begin)
        ).only_enforce_if(condition)
        return count

    # -- limits -------------------------------------------------------------------------------

    def limit_transfers(self, most: int) -> None:
        """Allow at most so many dependences that move a register value to another group."""
        crossing = [
            1 - self.same(e.producer, e.consumer) for e in self.problem.edges if e.transferable
        ]
        self.model.add(sum(crossing) <= most)

    def limit_slack(self, least: int) -> None:
        """Demand so much time between a completion and its blocking consumer."""
        for edge in self.problem.edges:
            if edge.streaming:
                continue
            u, v = self.points[edge.producer], self.points[edge.consumer]
            together = self.same(edge.producer, edge.consumer)
            shift = edge.distance * self.interval
            if edge.blocking:
                self._after(v, u, edge.delay + least - shift, [~together])
            self._after(v, u, edge.cross_delay + least - shift, [together])

    # -- solving ------------------------------------------------------------------------------

    def solve(self, timeout: float | None) -> Answer:
        """Run CP-SAT on one core."""
        cp = self.engine._cp  # noqa: SLF001 - one class in two parts
        solver = cp.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.catch_sigint_signal = False
        solver.parameters.random_seed = self.engine.seed
        if timeout is not None:
            solver.parameters.max_time_in_seconds = timeout
        status = interruptible(lambda: solver.solve(self.model), solver.stop_search)
        statistics = {"branches": int(solver.num_branches), "conflicts": int(solver.num_conflicts)}
        if status in (cp.OPTIMAL, cp.FEASIBLE):
            return Answer("sat", self._assignment(solver), statistics=statistics)
        return Answer("unsat" if status == cp.INFEASIBLE else "unknown", statistics=statistics)

    def _assignment(self, solver: Any) -> Assignment:
        start = [
            solver.value(stage) * self.interval + solver.value(row) for stage, row in self.points
        ]
        group = [next(g for g, literal in on.items() if solver.value(literal)) for on in self.on]
        earliest = min(start)
        return Assignment(
            tuple(time - earliest for time in start), tuple(group), self.engine.groups
        )
