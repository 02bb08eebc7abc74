"""The second engine, and the prover: OR-Tools CP-SAT with the interval as a variable.

It answers the same questions as the first engine from formulas of its own, so that each checks the
other, and works without Yices. With I a variable one question refutes a whole range of intervals,
whether or not feasibility is monotone in I.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from twill.engines.cpsat.run import Run, import_ortools
from twill.engines.cpsat.system import CpSatSystem
from twill.problem.groups import WarpGroup
from twill.problem.problem import Problem
from twill.problem.solution import (
    FAMILIES,
    FREELY,
    NO_LIMITS,
    Answer,
    Assignment,
    Conditions,
    Hint,
    Improvement,
    Limits,
    Objective,
    Refutation,
    Status,
)


class CpSatEngine:
    """The joint system at one interval (see `twill.problem.solution.EngineFactory`).

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
        self._cp = import_ortools()
        self.problem, self.interval, self.length = problem, interval, length
        self.groups, self.families, self.seed = tuple(groups), tuple(families), seed
        self._hints = tuple(hints)

    @property
    def name(self) -> str:
        """Solver and version."""
        return solver_name()

    def dispose(self) -> None:
        """Keep nothing: every question builds its own model."""

    def solve(self, limits: Limits = NO_LIMITS) -> Answer:
        """Search for a schedule within these limits (see `twill.problem.solution.Engine`)."""
        length = self.length if limits.length is None else min(limits.length, self.length)
        system = CpSatSystem(
            self._cp,
            self.problem,
            self.interval,
            self.interval,
            (length, 0),
            self.groups,
            self.families,
            limits,
            helped=False,
        )
        system.take(self._hints)
        run = Run(self._cp, system, Conditions(seed=self.seed))
        status = run.solve()
        assignment = run.assignment() if status == "sat" else None
        return Answer(status, assignment, (), run.statistics, system.sums.hints, self.name)


class CpSatProver:
    """Refutes ranges of intervals (see `twill.problem.solution.RangeProver`)."""

    def __init__(self) -> None:
        import_ortools()

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

    def least(
        self,
        problem: Problem,
        low: int,
        most_stages: int,
        groups: Sequence[WarpGroup],
        found: Refutation,
        under: Conditions = FREELY,
    ) -> Refutation:
        """Look for the least interval below that of a schedule, and refute all smaller ones."""
        return self._below(problem, low, most_stages, groups, found, under, kept=False)

    def near(
        self,
        problem: Problem,
        low: int,
        most_stages: int,
        found: Refutation,
        under: Conditions = FREELY,
    ) -> Refutation:
        """Look for the least interval with the warp assignment of a schedule.

        Far from a proof, but where operations go is most of what makes a schedule good.
        """
        assert found.assignment is not None
        groups = found.assignment.groups
        answer = self._below(problem, low, most_stages, groups, found, under, kept=True)
        return replace(answer, bound=found.bound)

    def _below(
        self,
        problem: Problem,
        low: int,
        most_stages: int,
        groups: Sequence[WarpGroup],
        found: Refutation,
        under: Conditions,
        *,
        kept: bool,
    ) -> Refutation:
        assert found.assignment is not None
        assert found.interval is not None
        high = found.interval - 1
        if low > high:
            return replace(found, bound=found.interval)
        length = (0, most_stages)
        system = CpSatSystem(
            import_ortools(), problem, low, high, length, groups, FAMILIES, under.limits
        )
        system.minimize(system.times.interval)
        if kept:
            system.places.keep(found.assignment.group)
        else:
            system.break_symmetry()
        run = _near(system, found.assignment, found.interval, under)
        proved = run.minimize()
        interval, assignment = run.best or (found.interval, found.assignment)
        bound = interval if proved else max(low, run.least)
        return Refutation("sat", bound, interval, assignment, run.statistics, system.sums.hints)

    def best(
        self,
        problem: Problem,
        interval: int,
        groups: Sequence[WarpGroup],
        found: Assignment,
        objective: Objective,
        under: Conditions = FREELY,
    ) -> Improvement:
        """Look for the best length or slack, beginning with a schedule."""
        length = under.limits.length or found.length(problem)
        if objective == "length":
            length = min(length, found.length(problem)) - 1
        system = CpSatSystem(
            import_ortools(),
            problem,
            interval,
            interval,
            (length, 0),
            groups,
            FAMILIES,
            under.limits,
        )
        system.break_symmetry()
        if objective == "length":
            system.minimize(system.length(length))
        else:
            farthest = max(edge.distance for edge in problem.edges)
            system.minimize(-system.slack(length + interval * farthest))
            system.limit_slack((found.slack(problem, interval) or 0) + 1)
        run = _near(system, found, interval, under)
        proved = run.minimize()
        assignment = found if run.best is None else run.best[1]
        status: Status = "sat" if proved else "unknown"
        return Improvement(status, assignment, system.sums.hints, self.name)


def _near(system: CpSatSystem, found: Assignment, interval: int, under: Conditions) -> Run:
    """Return a search that begins with the times of a schedule."""
    system.take(under.hints)
    system.look_near(found, interval)
    return Run(import_ortools(), system, under)


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

    `most_stages`: the length of an iteration is at most so many intervals.
    `least`: whether the least interval of the range is wanted, or any.
    """
    cp = import_ortools()
    if low > high:
        return Refutation("unsat", low)
    system = CpSatSystem(cp, problem, low, high, (0, most_stages), groups, families, under.limits)
    system.break_symmetry()
    run = Run(cp, system, under)
    system.take(under.hints)
    if least and low < high:
        return _minimized(run, low, high)
    status, learnt = run.solve(), system.sums.hints
    if status == "unsat":
        return Refutation(status, high + 1, statistics=run.statistics, hints=learnt)
    if status == "unknown":
        return Refutation(status, low, statistics=run.statistics, hints=learnt)
    found = run.value(system.times.interval)
    return Refutation(status, low, found, run.assignment(), run.statistics, learnt)


def _minimized(run: Run, low: int, high: int) -> Refutation:
    """Return the least interval with what is known of it, or the refutation of all."""
    system = run.system
    system.minimize(system.times.interval)
    proved, learnt = run.minimize(), system.sums.hints
    if run.best is None:
        status: Status = "unsat" if proved else "unknown"
        bound = high + 1 if proved else max(low, run.least)
        return Refutation(status, bound, statistics=run.statistics, hints=learnt)
    interval, assignment = run.best
    bound = interval if proved else max(low, run.least)
    return Refutation("sat", bound, interval, assignment, run.statistics, learnt)


def solver_name() -> str:
    """Return solver and version, for the proof."""
    return f"OR-Tools {importlib.metadata.version('ortools')} (cpsat)"
