"""The second engine, and the prover: OR-Tools CP-SAT with the interval as a variable.

It answers the same questions as the first engine from formulas of its own, so that each checks the
other, and works without Yices. With I a variable one question refutes a whole range of intervals,
whether or not feasibility is monotone in I.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace

from twill.engines.cpsat.run import Run
from twill.engines.cpsat.system import CpSatSystem
from twill.engines.cpsat.time import import_ortools
from twill.engines.protocol import (
    FREELY,
    NO_LIMITS,
    Answer,
    Conditions,
    Limits,
    Objective,
    Question,
    Range,
    Refutation,
    Status,
)
from twill.problem.solution import Assignment


class CpSatEngine:
    """The joint system at one interval (see `twill.engines.protocol.Engine`).

    It names no constraint families when it refutes.
    """

    def __init__(self, asked: Question) -> None:
        import_ortools()
        self._asked = asked

    @property
    def name(self) -> str:
        """Solver and version."""
        return solver_name()

    def dispose(self) -> None:
        """Keep nothing: every question builds its own model."""

    def solve(self, limits: Limits = NO_LIMITS) -> Answer:
        """Search for a schedule within these limits (see `twill.engines.protocol.Engine`)."""
        asked = self._asked
        length = asked.length if limits.length is None else min(limits.length, asked.length)
        system = CpSatSystem(replace(asked, length=length), limits, helped=False)
        system.take(asked.hints)
        run = Run(system, Conditions(seed=asked.seed))
        status = run.solve()
        assignment = run.assignment() if status == "sat" else None
        return Answer(status, assignment, (), run.statistics, system.sums.hints, self.name)


class CpSatProver:
    """Refutes ranges of intervals (see `twill.engines.protocol.RangeProver`)."""

    def __init__(self) -> None:
        import_ortools()

    @property
    def name(self) -> str:
        """Solver and version."""
        return solver_name()

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
            return Refutation(status, bound, statistics=run.statistics, hints=learnt)
        interval = run.value(system.times.interval)
        return Refutation(status, asked.low, interval, run.assignment(), run.statistics, learnt)

    def least(
        self,
        asked: Range,
        found: Refutation,
        under: Conditions = FREELY,
        *,
        keep_groups: bool = False,
    ) -> Refutation:
        """Look for the least interval of a range that ends below that of a schedule.

        With its warp assignment that is far from a proof, but where operations go is most of what
        makes a schedule good.
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
        if keep_groups:
            bound = found.bound
        return Refutation("sat", bound, interval, assignment, run.statistics, system.sums.hints)

    def best(
        self,
        asked: Question,
        found: Assignment,
        objective: Objective,
        under: Conditions = FREELY,
    ) -> Answer:
        """Look for the best length or slack, beginning with a schedule."""
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
            system.limit_slack((found.slack(asked.problem, interval) or 0) + 1)
        run = _near(system, found, interval, under)
        proved = run.minimize()
        assignment = found if run.best is None else run.best[1]
        status: Status = "sat" if proved else "unknown"
        return Answer(status, assignment, (), run.statistics, system.sums.hints, self.name)


def _near(system: CpSatSystem, found: Assignment, interval: int, under: Conditions) -> Run:
    """Return a search that begins with the times of a schedule."""
    system.take(under.hints)
    system.look_near(found, interval)
    return Run(system, under)


def solver_name() -> str:
    """Return solver and version, for the proof."""
    return f"OR-Tools {importlib.metadata.version('ortools')} (cpsat)"
