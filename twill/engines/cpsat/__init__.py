"""The second engine, and the prover: OR-Tools CP-SAT with the interval as a variable.

It answers the same questions as the first engine, with times and sums in formulas of its own, so
that each checks the other, and works without Yices. With I a variable one question refutes a whole
range of intervals, whether or not feasibility is monotone in I.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from twill.base.console import interruptible
from twill.engines import (
    FREELY,
    NO_LIMITS,
    Answer,
    Conditions,
    Hint,
    Limits,
    Objective,
    Question,
    Range,
    Refutation,
    Status,
)
from twill.engines.cpsat.system import CpSatSystem
from twill.engines.cpsat.times import import_ortools
from twill.problem.groups import UNLIMITED
from twill.problem.solution import Assignment, with_registers

# Of each of `WAYS`: whether what was in the latest conflicts comes first, whether backwards.
DECIDES = ((False, False), (True, True), (True, False), (False, True))

# Conflicts for which the best value is looked for by halves of what is left; where schedules are
# many, each only a cycle better than the last, they would be found one after the other.
HALVING_CONFLICTS = 100


class CpSatEngine:
    """The joint system at one interval (see `twill.engines.Engine`).

    It names no constraint families when it refutes.
    """

    def __init__(self, asked: Question) -> None:
        self._asked, self.name = asked, _solver_name()

    def dispose(self) -> None:
        """Keep nothing: every question builds its own model."""

    def solve(self, limits: Limits = NO_LIMITS) -> Answer:
        """Search for a schedule within these limits (see `twill.engines.Engine`)."""
        asked = self._asked
        length = asked.length if limits.length is None else min(limits.length, asked.length)
        system = CpSatSystem(replace(asked, length=length), limits, helped=False)
        system.take(asked.hints)
        run = Run(system, Conditions(seed=asked.seed))
        status = run.solve()
        assignment = run.found()[1] if status == "sat" else None
        return Answer(status, assignment, (), system.sums.hints, self.name)


class CpSatProver:
    """Refutes a range of intervals at once, or finds one that has a schedule."""

    def __init__(self) -> None:
        self.name = _solver_name()

    def __call__(self, asked: Range, under: Conditions = FREELY) -> Refutation:
        """Ask whether any interval of the range has a schedule; it need not be the least."""
        if asked.low > asked.high:
            return Refutation("unsat", asked.low)
        system = CpSatSystem(asked, under.limits)
        system.break_symmetry()
        run = Run(system, under)
        system.take(under.hints)
        status, learnt = run.solve(), system.sums.hints
        if status != "sat":
            bound = asked.high + 1 if status == "unsat" else asked.low
            return Refutation(status, bound, hints=learnt, work=run.work)
        return Refutation(status, asked.low, *run.found(), learnt, run.work)

    def least(
        self,
        asked: Range,
        found: Refutation,
        under: Conditions = FREELY,
        *,
        keep_groups: bool = False,
    ) -> Refutation:
        """Look for the least interval of a range that ends below that of a schedule.

        `keep_groups`: whether only schedules with the warp assignment of that one are looked for.
        That is far from a proof, but where operations go is most of what makes a schedule good.
        Returns: the best schedule known; proved to be of the least interval if that is the bound,
        which is as before if groups were kept.
        """
        assert found.assignment is not None
        assert found.interval is not None
        if asked.low > asked.high:
            return replace(found, bound=found.interval)
        system = CpSatSystem(asked, under.limits)
        system.minimize(system.times.interval)
        if keep_groups:
            system.places.keep(found.assignment.group)
        else:
            system.break_symmetry()
        run = _near(system, found.assignment, found.interval, under)
        proved = run.minimize()
        interval, assignment = run.best or (found.interval, found.assignment)
        bound = interval if proved else max(asked.low, run.least)
        bound = found.bound if keep_groups else bound
        return Refutation("sat", bound, interval, assignment, system.sums.hints, run.work)

    def best(
        self,
        asked: Question,
        found: Assignment,
        objective: Objective,
        under: Conditions = FREELY,
    ) -> Answer:
        """Look for the best length or slack at an interval, beginning with a schedule.

        Returns: the best schedule known; ``sat`` if none is better, ``unknown`` otherwise.
        """
        interval, length = asked.interval, asked.length
        if objective == "length":
            length = min(length, found.length(asked.problem)) - 1
        system = CpSatSystem(replace(asked, length=length), under.limits)
        system.break_symmetry()
        if objective == "length":
            system.minimize(system.length(length))
        else:
            farthest = max(edge.distance for edge in asked.problem.edges)
            system.minimize(-system.slack(length + interval * farthest))
            system.families.limit_slack((found.slack(asked.problem, interval) or 0) + 1)
        run = _near(system, found, interval, under)
        proved = run.minimize()
        assignment = found if run.best is None else run.best[1]
        status: Status = "sat" if proved else "unknown"
        return Answer(status, assignment, (), system.sums.hints, self.name, run.work)


def _near(system: CpSatSystem, found: Assignment, interval: int, under: Conditions) -> Run:
    """Return a search that begins with the times of a schedule."""
    system.take(under.hints)
    system.look_near(found, interval)
    return Run(system, under)


def _solver_name() -> str:
    """Return solver and version, for the proof; refuse to do without OR-Tools."""
    import_ortools()
    return f"OR-Tools {importlib.metadata.version('ortools')} (cpsat)"


class Run:
    """A search of one system."""

    def __init__(self, system: CpSatSystem, under: Conditions) -> None:
        cp = import_ortools()
        self._cp, self.system = cp, system
        self._solver = cp.CpSolver()
        parameters = self._solver.parameters
        one_core(parameters, under.seed)
        latest_first, backwards = DECIDES[under.way]
        parameters.use_erwa_heuristic = latest_first
        if backwards:
            parameters.preferred_variable_order = parameters.IN_REVERSE_ORDER
        self._effort, self._tell = under.effort, under.tell
        self.work = 0.0  # of all searches so far
        self.best: tuple[int, Assignment] | None = None  # of `minimize`
        self.least = -UNLIMITED  # what `minimize` proved of the objective
        self._accepted: tuple[list[int], int] | None = None
        self._exceeded: list[Hint] = []

    def solve(self) -> Status:
        """Search until a solution exceeds no memory, stating what it exceeds."""
        while True:
            status = self._status(self._search())
            exceeded = self._exceeds(*self._schedule(self._solver)) if status == "sat" else []
            if not exceeded:
                return status
            self.system.sums.take(exceeded)
            self._look_near(self._values(self._solver))

    def minimize(self) -> bool:
        """Search for the best solution that exceeds no memory; return whether all is decided.

        A search ends at the first solution that exceeds a memory: what it exceeds is stated, what
        was found and proved is kept, and the next search begins.
        """
        objective, model = self.system.objective, self.system.times.model
        self._solver.parameters.binary_search_num_conflicts = HALVING_CONFLICTS
        while True:
            self._accepted, self._exceeded = None, []
            status = self._search(_callback(self._cp, self._look))
            if self._status(status) == "unsat":
                return True
            self.least = max(self.least, round(self._solver.best_objective_bound))
            if self._accepted is not None:
                values, value = self._accepted
                self._look_near(values)
                model.add(objective <= value - 1)
            if not self._exceeded:
                return bool(status == self._cp.OPTIMAL)
            self.system.sums.take(self._exceeded)
            model.add(objective >= self.least)

    def _look(self, reader: Any) -> bool:
        """Keep a solution as the best so far, unless it exceeds a memory, which ends the search."""
        interval, found = self._schedule(reader)
        self._exceeded = self._exceeds(interval, found)
        if self._exceeded:
            return False
        self.best = interval, self._with_registers(interval, found)
        self._accepted = self._values(reader), round(reader.objective_value)
        self._tell(*self.best)
        return True

    def _exceeds(self, interval: int, found: Assignment) -> list[Hint]:
        memory = "memory" in self.system.stated
        return self.system.sums.exceeded(interval, found) if memory else []

    def _search(self, callback: Any = None) -> Any:
        """Call the solver; all calls together make no more than the effort allowed."""
        cp, solver, times = self._cp, self._solver, self.system.times
        if times.clauses.refuted:
            return cp.INFEASIBLE
        if self._effort is not None:
            left = max(0.0, self._effort - self.work)
            solver.parameters.max_deterministic_time = left
        status = interruptible(lambda: solver.solve(times.model, callback), solver.stop_search)
        self.work += solver.deterministic_time
        return status

    def _status(self, status: Any) -> Status:
        if status in (self._cp.OPTIMAL, self._cp.FEASIBLE):
            return "sat"
        return "unsat" if status == self._cp.INFEASIBLE else "unknown"

    def _decisions(self) -> list[Any]:
        times, places = self.system.times, self.system.places
        literals = [x for here in places.on for x in here.values() if x is not True]
        return [*times.rows, *times.stages, *literals]

    def _values(self, reader: Any) -> list[int]:
        return [int(reader.value(variable)) for variable in self._decisions()]

    def _look_near(self, values: Sequence[int]) -> None:
        """Begin the next search with a solution."""
        model = self.system.times.model
        model.clear_hints()
        for variable, value in zip(self._decisions(), values, strict=True):
            model.add_hint(variable, value)

    def found(self) -> tuple[int, Assignment]:
        """Return the last solution: its interval, issue times from the base on, and groups."""
        interval, found = self._schedule(self._solver)
        return interval, self._with_registers(interval, found)

    def _with_registers(self, interval: int, found: Assignment) -> Assignment:
        if "registers" not in self.system.stated:
            return found
        complete = with_registers(self.system.problem, interval, found)
        if complete is None:
            raise AssertionError("the register file was stated and is exceeded")
        return complete

    def _schedule(self, reader: Any) -> tuple[int, Assignment]:
        times, places = self.system.times, self.system.places
        interval = int(reader.value(times.interval))
        start = [
            int(reader.value(stage)) * interval + int(reader.value(row))
            for stage, row in zip(times.stages, times.rows, strict=True)
        ]
        group = places.read(reader.boolean_value)
        return interval, Assignment(tuple(t - start[-1] for t in start[:-1]), group, places.groups)


def _callback(cp: Any, look: Callable[[Any], bool]) -> Any:
    """Return a callback that stops a search once `look` does not want to see more of it."""

    class Callback(cp.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            if not look(self):
                self.stop_search()

    return Callback()


def one_core(parameters: Any, seed: int) -> None:
    """Set what every search of ours needs: one core, and nothing that takes longer than it spares.

    Answers take hundreds to thousands of conflicts, which probing, vivification and linear
    relaxations make no fewer; each of them would take longer than the search.
    """
    parameters.num_workers = 1
    parameters.catch_sigint_signal = False
    parameters.random_seed = seed
    parameters.cp_model_probing_level = 0
    parameters.use_sat_inprocessing = False
    parameters.max_presolve_iterations = 1
    parameters.linearization_level = 0
