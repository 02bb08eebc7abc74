"""The second engine, and the prover: OR-Tools CP-SAT with the interval as a variable.

It answers the same questions as the first engine from formulas of its own, so that each checks the
other, and works without Yices. With I a variable one question refutes a whole range of intervals,
whether or not feasibility is monotone in I.
"""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Iterable, Sequence
from typing import Any

from twill.console import interruptible
from twill.errors import MissingLibraryError
from twill.joint.answer import (
    FAMILIES,
    FREELY,
    NO_LIMITS,
    Answer,
    Assignment,
    Conditions,
    Hint,
    Limits,
    Objective,
    Refutation,
    Status,
)
from twill.joint.cpsat_system import CpSatSystem
from twill.joint.groups import UNLIMITED, WarpGroup, allocated
from twill.joint.sums import peaks
from twill.problem import Problem


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
        hints: Iterable[Hint] = (),
    ) -> None:
        self._cp = _import_ortools()
        self.problem, self.interval, self.length = problem, interval, length
        self.groups, self.families, self.seed = tuple(groups), tuple(families), seed
        self._hints = tuple(hints)

    @property
    def name(self) -> str:
        """Solver and version."""
        return solver_name()

    def dispose(self) -> None:
        """Keep nothing: every question builds its own model."""

    def solve(self, limits: Limits = NO_LIMITS, timeout: float | None = None) -> Answer:
        """Search for a schedule within these limits (see `twill.joint.answer.Engine`)."""
        length = self.length if limits.length is None else min(limits.length, self.length)
        system = CpSatSystem(
            self._cp,
            self.problem,
            self.interval,
            self.interval,
            (length, 0),
            self.groups,
            self.families,
        )
        _limit(system, limits)
        system.take(self._hints)
        run = _Run(self._cp, system, self.seed)
        status = run.solve(timeout)
        assignment = run.assignment() if status == "sat" else None
        return Answer(status, assignment, (), run.statistics, system.sums.hints)


def _limit(system: CpSatSystem, limits: Limits) -> None:
    for amount, state in (
        (limits.groups, system.limit_groups),
        (limits.transfers, system.limit_transfers),
        (limits.slack, system.limit_slack),
    ):
        if amount is not None:
            state(amount)


class CpSatProver:
    """Refutes ranges of intervals (see `twill.joint.answer.RangeProver`)."""

    def __init__(self) -> None:
        _import_ortools()

    @property
    def name(self) -> str:
        """Solver and version."""
        return solver_name()

    def __call__(
        self,
        problem: Problem,
        low: int,
        high: int,
        most_stages: int,
        groups: Sequence[WarpGroup],
        under: Conditions = FREELY,
    ) -> Refutation:
        """Ask whether any interval of the range has a schedule; it need not be the least."""
        return prove(problem, low, high, most_stages, groups, under=under, least=False)

    def improve(
        self,
        problem: Problem,
        low: int,
        most_stages: int,
        found: Refutation,
        under: Conditions = FREELY,
    ) -> Refutation:
        """Look for the least interval with the warp assignment of a schedule that was found.

        Far from a proof, but where operations go is most of what makes a schedule good.
        """
        assert found.assignment is not None
        assert found.interval is not None
        system = CpSatSystem(
            _import_ortools(),
            problem,
            low,
            found.interval,
            (0, most_stages),
            found.assignment.groups,
            FAMILIES,
        )
        system.minimize(system.times.interval)
        run = _near(system, found.assignment, found.interval, under)
        if run.solve(under.timeout) != "sat":
            return found
        interval, learnt = run.value(system.times.interval), system.sums.hints
        return Refutation("sat", found.bound, interval, run.assignment(), run.statistics, learnt)

    def polish(
        self,
        problem: Problem,
        interval: int,
        found: Assignment,
        objective: Objective,
        under: Conditions = FREELY,
    ) -> Assignment:
        """Look for the best length or slack with the warp assignment of a schedule."""
        length = under.limits.length or found.length(problem)
        system = CpSatSystem(
            _import_ortools(),
            problem,
            interval,
            interval,
            (length, 0),
            found.groups,
            FAMILIES,
        )
        if objective == "length":
            system.minimize(system.length(length))
        else:
            farthest = max(edge.distance for edge in problem.edges)
            system.minimize(-system.slack(length + interval * farthest))
        run = _near(system, found, interval, under)
        return run.assignment() if run.solve(under.timeout) == "sat" else found


def _near(system: CpSatSystem, found: Assignment, interval: int, under: Conditions) -> _Run:
    """Return a search that keeps a schedule's warp assignment and begins with its times."""
    _limit(system, under.limits)
    system.take(under.hints)
    system.places.keep(found.group)
    system.look_near(found, interval)
    return _Run(_import_ortools(), system, under.seed)


def prove(
    problem: Problem,
    low: int,
    high: int,
    most_stages: int,
    groups: Sequence[WarpGroup],
    *,
    families: Sequence[str] = FAMILIES,
    under: Conditions = FREELY,
    least: bool = True,
) -> Refutation:
    """Find the least interval of a range that has a schedule, or refute the whole range.

    The interval is a variable: a refutation covers each I of the range by itself, and does not
    rest on feasibility being monotone.

    Parameters
    ----------
    problem : Problem
        The problem.
    low, high : int
        The range, both ends included.
    most_stages : int
        The length of an iteration is at most so many intervals.
    groups : sequence of WarpGroup
        Groups that may be used.
    families : sequence of str
        Constraint families that are switched on.
    under : Conditions, optional
        Limits (of the length none), seed, time, hints.
    least : bool
        Whether the least interval of the range is wanted, or any.
    """
    cp = _import_ortools()
    if low > high:
        return Refutation("unsat", low)
    system = CpSatSystem(cp, problem, low, high, (0, most_stages), groups, families)
    run = _Run(cp, system, under.seed)
    _limit(system, under.limits)
    system.take(under.hints)
    if least and low < high:
        system.minimize(system.times.interval)
    status = run.solve(under.timeout)
    learnt = system.sums.hints
    if status == "unsat":
        return Refutation(status, high + 1, statistics=run.statistics, hints=learnt)
    bound = max(low, run.bound()) if least and low < high else low
    if status == "unknown":
        return Refutation(status, bound, statistics=run.statistics, hints=learnt)
    found = run.value(system.times.interval)
    return Refutation(status, bound, found, run.assignment(), run.statistics, learnt)


def solver_name() -> str:
    """Return solver and version, for the proof."""
    return f"OR-Tools {importlib.metadata.version('ortools')} (cpsat)"


class _Run:
    """One call of CP-SAT on one core."""

    def __init__(self, cp: Any, system: CpSatSystem, seed: int) -> None:
        self._cp, self._system = cp, system
        self._solver = cp.CpSolver()
        parameters = self._solver.parameters
        parameters.num_workers = 1
        parameters.catch_sigint_signal = False
        parameters.random_seed = seed
        # Refutations take hundreds to thousands of conflicts, which probing and linear relaxations
        # make no fewer; each of them would take longer than the search.
        parameters.cp_model_probing_level = 0
        parameters.inprocessing_probing_dtime = 0.0
        parameters.max_presolve_iterations = 1
        parameters.linearization_level = 0
        self.statistics: dict[str, int] = {}
        self._least = -UNLIMITED

    def solve(self, timeout: float | None) -> Status:
        """Search until a solution exceeds no memory, stating what it exceeds."""
        ends = None if timeout is None else time.monotonic() + timeout
        while True:
            status = self._solve(None if ends is None else max(0.0, ends - time.monotonic()))
            if status != "sat" or "memory" not in self._system.families:
                return status
            interval = self.value(self._system.times.interval)
            if not self._system.sums.memory(self._schedule(interval), interval):
                return status
            self._start_from_here()

    def _start_from_here(self) -> None:
        """Keep what the last search proved of I, and look near its solution first."""
        times, places = self._system.times, self._system.places
        if self._system.objective is not None:
            self._least = max(self._least, self.bound())
            times.model.add(self._system.objective >= self._least)
        times.model.clear_hints()
        for variable in (*times.rows, *times.stages):
            times.model.add_hint(variable, self.value(variable))
        for literal in (x for here in places.on for x in here.values() if x is not True):
            times.model.add_hint(literal, self.value(literal))

    def _solve(self, timeout: float | None) -> Status:
        cp, solver, times = self._cp, self._solver, self._system.times
        if times.refuted:
            return "unsat"
        if timeout is not None:
            solver.parameters.max_time_in_seconds = timeout
        status = interruptible(lambda: solver.solve(times.model), solver.stop_search)
        for name, count in (
            ("rounds", 1),
            ("branches", int(solver.num_branches)),
            ("conflicts", int(solver.num_conflicts)),
        ):
            self.statistics[name] = self.statistics.get(name, 0) + count
        if status in (cp.OPTIMAL, cp.FEASIBLE):
            return "sat"
        return "unsat" if status == cp.INFEASIBLE else "unknown"

    def bound(self) -> int:
        bound: float = self._solver.best_objective_bound
        return max(self._least, round(bound))

    def value(self, expression: Any) -> int:
        return int(self._solver.value(expression))

    def assignment(self) -> Assignment:
        """Return issue times from the base on, groups, and registers allocated to them."""
        problem, interval = self._system.problem, self.value(self._system.times.interval)
        found = self._schedule(interval)
        if (
            "registers" not in self._system.families
            or problem.registers is None
            or all(group.allocation for group in found.groups)
        ):
            return found
        groups = allocated(problem, found.groups, peaks(problem, interval, found))
        if groups is None:
            raise AssertionError("the register file was stated and is exceeded")
        return Assignment(found.start, found.group, groups)

    def _schedule(self, interval: int) -> Assignment:
        times, places = self._system.times, self._system.places
        start = [
            self.value(stage) * interval + self.value(row)
            for stage, row in zip(times.stages, times.rows, strict=True)
        ]
        group = tuple(
            next(g for g, x in here.items() if x is True or self._solver.boolean_value(x))
            for here in places.on
        )
        return Assignment(tuple(t - start[-1] for t in start[:-1]), group, places.groups)


def _import_ortools() -> Any:
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise MissingLibraryError(
            "OR-Tools is not installed; install it with: pip install ortools"
        ) from None
    return cp_model
