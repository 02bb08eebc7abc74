"""Refutations of a proof, made again by the other engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from twill.artifacts.proof import Level
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.deadline import Deadline
from twill.bounds import bounds
from twill.engines import Answer, Limits, Question
from twill.explain.explanation import problem_of
from twill.problem import Problem
from twill.problem.groups import available_groups
from twill.search.request import engine_factory
from twill.verification import Trusted, verify

# Of which each is decided within the best values of those before it.
LEVELS: tuple[Level, ...] = ("groups", "transfers", "length")
Outcome = Literal["refuted", "false", "open"]


@dataclass(frozen=True)
class Reproof:
    """What became of a claim that had been taken on trust, and who was asked now.

    `outcome`: ``refuted`` again; ``false``, where there is a schedule that the claim says there is
    not; or ``open``, where time was over.
    """

    claim: Trusted
    solver: str
    outcome: Outcome


def reprove(
    schedule: Schedule, seconds: float | None = None, report: Report = silent
) -> Iterator[Reproof]:
    """Refute again what a schedule's proof says only an engine has shown.

    OR-Tools is asked about what Yices refuted, Yices about everything else: they have statements
    of the model of their own.

    Raises
    ------
    InputError
        If nobody solved the schedule.
    """
    problem = problem_of(schedule)
    for claim in verify(schedule).trusted:
        report(f"refuting again: {claim.claim}")
        factory = engine_factory("cpsat" if "Yices" in claim.solver else "difference")
        outcome: Outcome = "refuted"
        name = ""
        for question, limits in _refuted(problem, schedule, claim.level):
            engine, answer = factory(question), Answer("unknown")
            name = engine.name
            with Deadline(seconds):
                answer = engine.solve(limits)
                engine.dispose()
            if answer.status != "unsat":
                outcome = "open" if answer.assignment is None else "false"
                break
        yield Reproof(claim, name, outcome)


def _refuted(
    problem: Problem, schedule: Schedule, level: Level
) -> Iterator[tuple[Question, Limits]]:
    """Yield what has to be refuted for a level's value to be the best."""
    proof = schedule.proof
    assert proof is not None
    value = {entry.level: entry.value for entry in proof.levels}
    interval, stages = value["interval"], value["stages"]
    limits = Limits(groups=proof.limits.get("groups"), transfers=proof.limits.get("transfers"))
    asked = Question(problem, interval, stages * interval, available_groups(problem))
    asked = replace(asked, seed=schedule.seed)
    if level == "interval":
        last, most = proof.bound.value - 1, proof.bound.most_stages or stages
        first = last if problem.starts_at_issue else bounds(problem).interval
        for below in range(first, last + 1):
            yield replace(asked, interval=below, length=most * below), limits
    elif level == "stages":
        yield replace(asked, length=(stages - 1) * interval), limits
    elif level == "slack":
        best: dict[str, int] = {name: value[name] for name in LEVELS}
        yield asked, replace(limits, **best, slack=value["slack"] + 1)
    else:
        best = {name: value[name] for name in LEVELS[: LEVELS.index(level)]}
        yield asked, replace(limits, **best, **{level: value[level] - 1})
