"""Calls of CP-SAT on one core: for a solution that exceeds no memory, or for the best one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twill.console import interruptible
from twill.engines.cpsat.system import CpSatSystem
from twill.engines.cpsat.time import import_ortools
from twill.engines.protocol import FREELY, Conditions, Status
from twill.problem.groups import UNLIMITED, allocated
from twill.problem.solution import Assignment, peaks

DECIDES = ((False, False), (True, True), (True, False), (False, True))
"""Of each of `WAYS`: whether what was in the latest conflicts comes first, whether backwards."""

HALVING_CONFLICTS = 100
"""Conflicts for which the best value is looked for by halves of what is left; where schedules are
many, each only a cycle better than the last, they would be found one after the other."""

Found = tuple[int, Assignment]
"""An interval, and a schedule at it."""


class Run:
    """A search of one system.

    Attributes
    ----------
    best : (int, Assignment) or None
        The best schedule that `minimize` found.
    least : int
        What `minimize` proved of the objective's least value.
    statistics : dict
        Counts for people.
    """

    def __init__(self, system: CpSatSystem, under: Conditions = FREELY) -> None:
        cp = import_ortools()
        self._cp, self.system = cp, system
        self._solver = cp.CpSolver()
        parameters = self._solver.parameters
        one_core(parameters, under.seed)
        latest_first, backwards = DECIDES[under.way]
        parameters.use_erwa_heuristic = latest_first
        if backwards:
            parameters.preferred_variable_order = parameters.IN_REVERSE_ORDER
        self._left, self._tell = under.effort, under.tell
        self.statistics: dict[str, int] = {}
        self.best: Found | None = None
        self.least = -UNLIMITED

    def solve(self) -> Status:
        """Search until a solution exceeds no memory, stating what it exceeds."""
        while True:
            status = self._status(self._search())
            if status != "sat" or "memory" not in self.system.families:
                return status
            if not self.system.sums.memory(*self._schedule(self._solver)[::-1]):
                return status
            self._look_near(self._values(self._solver))

    def minimize(self) -> bool:
        """Search for the best solution that exceeds no memory; return whether all is decided.

        A search ends at the first solution that exceeds a memory: what it exceeds is stated, what
        was found and proved is kept, and the next search begins.
        """
        objective, model = self.system.objective, self.system.times.model
        self._solver.parameters.binary_search_num_conflicts = HALVING_CONFLICTS
        while True:
            watch = _Watch(self._refuses, self._values)
            status = self._search(watch)
            if self._status(status) == "unsat":
                return True
            self.least = max(self.least, round(self._solver.best_objective_bound))
            if watch.accepted is not None:
                values, value = watch.accepted
                self._look_near(values)
                model.add(objective <= value - 1)
            if watch.refused is None:
                return bool(status == self._cp.OPTIMAL)
            self.system.sums.memory(*watch.refused[::-1])
            model.add(objective >= self.least)

    def _refuses(self, reader: Any) -> Found | None:
        """Return a solution that exceeds a memory; keep one that does not, as the best so far."""
        interval, found = self._schedule(reader)
        if "memory" in self.system.families and not self.system.sums.holds(found, interval):
            return interval, found
        self.best = interval, self._with_registers(interval, found)
        self._tell(*self.best)
        return None

    def _search(self, watch: Any = None) -> Any:
        """Call the solver; all calls together make no more than the effort allowed."""
        cp, solver, times = self._cp, self._solver, self.system.times
        if times.refuted:
            return cp.INFEASIBLE
        if self._left is not None:
            solver.parameters.max_deterministic_time = self._left
        callback = None if watch is None else _callback(cp, watch)
        status = interruptible(lambda: solver.solve(times.model, callback), solver.stop_search)
        if self._left is not None:
            self._left = max(0.0, self._left - solver.deterministic_time)
        for name, count in (
            ("rounds", 1),
            ("branches", int(solver.num_branches)),
            ("conflicts", int(solver.num_conflicts)),
        ):
            self.statistics[name] = self.statistics.get(name, 0) + count
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

    def value(self, expression: Any) -> int:
        """Return a value of the last solution."""
        return int(self._solver.value(expression))

    def assignment(self) -> Assignment:
        """Return the last solution: issue times from the base on, groups, their registers."""
        return self._with_registers(*self._schedule(self._solver))

    def _with_registers(self, interval: int, found: Assignment) -> Assignment:
        problem = self.system.problem
        if (
            "registers" not in self.system.families
            or problem.registers is None
            or all(group.allocation for group in found.groups)
        ):
            return found
        groups = allocated(problem, found.groups, peaks(problem, interval, found))
        if groups is None:
            raise AssertionError("the register file was stated and is exceeded")
        return Assignment(found.start, found.group, groups)

    def _schedule(self, reader: Any) -> Found:
        times, places = self.system.times, self.system.places
        interval = int(reader.value(times.interval))
        start = [
            int(reader.value(stage)) * interval + int(reader.value(row))
            for stage, row in zip(times.stages, times.rows, strict=True)
        ]
        group = tuple(
            next(g for g, x in here.items() if x is True or reader.boolean_value(x))
            for here in places.on
        )
        return interval, Assignment(tuple(t - start[-1] for t in start[:-1]), group, places.groups)


class _Watch:
    """Looks at every solution of a search for the best one.

    Attributes
    ----------
    refused : (int, Assignment) or None
        The solution at which the search was ended.
    accepted : (list of int, int) or None
        Of the best solution before it the decisions, and the objective.
    """

    def __init__(
        self, refuses: Callable[[Any], Found | None], values: Callable[[Any], list[int]]
    ) -> None:
        self._refuses, self._values = refuses, values
        self.refused: Found | None = None
        self.accepted: tuple[list[int], int] | None = None

    def look(self, reader: Any) -> bool:
        """Return whether the search shall go on."""
        self.refused = self._refuses(reader)
        if self.refused is None:
            self.accepted = self._values(reader), round(reader.objective_value)
        return self.refused is None


def _callback(cp: Any, watch: _Watch) -> Any:
    class Callback(cp.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            if not watch.look(self):
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
