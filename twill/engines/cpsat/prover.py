"""The second engine, and the prover: OR-Tools CP-SAT with the interval as a variable.

The engine answers the same questions as the first one, in formulas of its own, so that each checks
the other. Yices is not needed. With I a variable one question refutes a whole range of intervals,
whether or not feasibility is monotone in I.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace

from twill.engines import Status
from twill.engines.cpsat.run import Run
from twill.engines.cpsat.system import CpSatSystem
from twill.engines.cpsat.times import import_ortools
from twill.engines.questions import (
    FREELY,
    NO_LIMITS,
    Answer,
    Conditions,
    Limits,
    Objective,
    Question,
    Range,
    Refutation,
)
from twill.problem.solution import Assignment


class CpSatEngine:
    """The joint system at one interval (see `twill.engines.Engine`).

    Refutations name no constraint families.
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
