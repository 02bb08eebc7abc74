"""Knowledge of a search: the best schedule, refuted intervals, and proofs that are recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from twill.artifacts.proof import Family, Level, LevelProof, Limit, LowerBound, Proof, Weight
from twill.base.console import Report, silent
from twill.bounds import Bounds
from twill.problem import Problem
from twill.problem.solution import Assignment

FOUND = "found a schedule at I = {interval}"  # what is reported once an interval has a schedule


@dataclass(frozen=True)
class Reached:
    """The best value of a level that was found, with a schedule that has it."""

    value: int
    assignment: Assignment
    # Whether every better one was refuted.
    proved: bool
    # Who refuted the next better one; empty where a bound says that there is none.
    solver: str


class Known:
    """The best schedule so far and the bound below it, for when the search ends early.

    `report`: called with the current attempt, after the least interval or the two that enclose it.
    """

    def __init__(self, problem: Problem, report: Report = silent) -> None:
        self._problem, self._report = problem, report
        # Every smaller interval is refuted; by whom, and the constraint families that takes, where
        # no bound does.
        self.low, self.solver, self.families = 1, "", tuple[str, ...]()
        # An interval and a schedule at it, better in the order of levels than all others offered.
        self.best: tuple[int, Assignment] | None = None
        # The best value of each level, as far as that was looked for.
        self.reached: dict[Level, Reached] = {}

    @property
    def facts(self) -> dict[str, Any]:
        """Knowledge of the least interval, by attribute."""
        told = ("low", "solver", "families", "best")
        return {name: getattr(self, name) for name in told}

    @property
    def proved(self) -> bool:
        """Whether the best schedule is at the least interval."""
        return self.best is not None and self.best[0] == self.low

    def offer(self, interval: int, found: Assignment) -> None:
        """Keep a schedule if it is the best so far."""
        if self.best is not None and self._rank(interval, found) >= self._rank(*self.best):
            return
        better = self.best is None or interval < self.best[0]
        self.best = interval, found
        if better:
            self._report(FOUND.format(interval=interval))

    def _rank(self, interval: int, found: Assignment) -> tuple[int, ...]:
        levels = measured(self._problem, interval, found)
        slack = levels.pop("slack", 0)
        return (interval, *levels.values(), -slack)

    def refuted(self, low: int, solver: str = "", families: tuple[str, ...] = ()) -> None:
        """Take note that every interval below `low` is refuted; families may be named later."""
        if low > self.low or (low == self.low and families and not self.families):
            self.low, self.solver, self.families = low, solver, families

    def say(self, message: str) -> None:
        """Report the current attempt, with the bounds on the least interval."""
        most = f" .. {self.best[0]}" if self.best else " .."
        self._report(f"{self.low}{'' if self.proved else most}: {message}")

    def bound(self, lower: Bounds, most_stages: int) -> LowerBound:
        """Say why no smaller interval has a schedule, or what is known of that.

        `most_stages`: of the schedules that were refuted.
        """
        if not self.proved:
            return not_proved(lower, self.low, self.solver, most_stages)
        if self.low == lower.interval:
            return bound_reached(lower)
        return LowerBound(
            value=self.low,
            reason="no joint schedule",
            solver=self.solver,
            families=cast("tuple[Family, ...]", self.families),
            most_stages=most_stages,
        )


def bound_reached(lower: Bounds) -> LowerBound:
    """Return the bound of a schedule at the least interval that needs no solver."""
    value = lower.interval
    if value > lower.alone:
        return LowerBound(value=value, reason="configurations", **_weights(lower))
    if lower.issue > max(lower.resource, lower.recurrence):
        return LowerBound(value=value, reason="issue", cycle=(lower.issue_operation,))
    if lower.resource >= lower.recurrence:
        return LowerBound(value=value, reason="ResMII", unit=lower.resource_unit)
    return LowerBound(value=value, reason="RecMII", cycle=lower.recurrence_cycle)


def not_proved(lower: Bounds, value: int, solver: str, most_stages: int) -> LowerBound:
    """Return the bound of a schedule that is perhaps not at the least interval."""
    if value <= lower.alone:
        return LowerBound(value=value, reason="not proved")
    if value == lower.interval:
        return LowerBound(value=value, reason="not proved", **_weights(lower))
    return LowerBound(value=value, reason="not proved", solver=solver, most_stages=most_stages)


def _weights(lower: Bounds) -> dict[str, Any]:
    """Return the weights that prove the bound of all units together."""
    together = lower.configurations
    assert together is not None
    weights = tuple(
        Weight(operation=p.operation, start=p.start, length=p.length, weight=weight)
        for p, weight in together.weights
    )
    return {"weights": weights, "most": together.most}


def measured(problem: Problem, interval: int, assignment: Assignment) -> dict[Level, int]:
    """Return a schedule's value of each level but the interval; of slack if anything waits."""
    length = assignment.length(problem) - min(assignment.start)
    levels: dict[Level, int | None] = {
        "stages": -(-length // interval),
        "groups": assignment.used(),
        "transfers": assignment.transfers(problem),
        "length": length,
        "slack": assignment.slack(problem, interval),
    }
    return {level: value for level, value in levels.items() if value is not None}


def proofs(
    values: Mapping[Level, int], reached: Mapping[Level, Reached], *, proved: bool
) -> list[LevelProof]:
    """Return every level of a schedule, with what is proved about it.

    A level is proved if the schedule has its best value, and those of all levels above.

    `reached`: the best value of each level, as far as that was looked for.
    """
    found = []
    for level, value in values.items():
        best = reached.get(level)
        proved = proved and best is not None and best.proved and best.value == value
        solver = best.solver if best is not None and proved else ""
        found.append(LevelProof(level=level, value=value, proved=proved, solver=solver or None))
    return found


def proof_within(
    problem: Problem, interval: int, bound: LowerBound, levels: Iterable[LevelProof]
) -> Proof:
    """Return the proof, with the decisions of the user that it depends on."""
    wishes, names = problem.wishes, [o.name for o in problem.operations]
    proved = bound.reason != "not proved"
    return Proof(
        bound=bound,
        levels=(LevelProof(level="interval", value=interval, proved=proved), *levels),
        limits=cast("dict[Limit, int]", dict(wishes.limits)),
        pins={names[v]: group for v, group in wishes.pins},
        orders=tuple((names[u], names[v]) for u, v in wishes.orders),
    )
