"""A run of the CP-SAT solver, and how its search goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twill.base.console import interruptible
from twill.engines import Status
from twill.engines.cpsat.system import CpSatSystem
from twill.engines.cpsat.times import import_ortools
from twill.engines.questions import Conditions, Hint
from twill.engines.tuning import TUNING
from twill.problem.groups import UNLIMITED
from twill.problem.solution import Assignment, with_registers

# Of each of `WAYS`: whether what was in the latest conflicts comes first, whether backwards.
DECIDES = ((False, False), (True, True), (True, False), (False, True))


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
        halving = TUNING.engines.halving_conflicts
        self._solver.parameters.binary_search_num_conflicts = halving
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

    class Callback(cp.CpSolverSolutionCallback):  # type: ignore[misc] # known at run time
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
