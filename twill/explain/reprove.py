"""What engines refuted, refuted again by the engine that did not do it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from twill.artifacts.proof import Level
from twill.artifacts.schedule import Schedule
from twill.bounds.least import bounds
from twill.console import Report, silent
from twill.deadline import Deadline
from twill.engines.protocol import Answer, Limits, Question
from twill.explain.explain import problem_of
from twill.problem.groups import available_groups
from twill.search.request import engine_factory
from twill.verification import Trusted, verify

Outcome = Literal["refuted", "false", "open"]


@dataclass(frozen=True)
class Reproof:
    """What became of a claim that had been taken on trust.

    Attributes
    ----------
    claim : Trusted
        The claim, and who had shown it.
    solver : str
        Who was asked now.
    outcome : str
        ``refuted`` again; ``false``: there is a schedule that the claim says there is not; or
        ``open``, where time was over.
    """

    claim: Trusted
    solver: str
    outcome: Outcome


@dataclass(frozen=True)
class _Question:
    """Whether there is a schedule at an interval, of at most a length, within limits."""

    interval: int
    length: int
    limits: Limits


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
    groups = available_groups(problem)
    for claim in verify(schedule).trusted:
        report(f"refuting again: {claim.claim}")
        factory = engine_factory("cpsat" if "Yices" in claim.solver else "difference")
        outcome: Outcome = "refuted"
        name = ""
        for question in _questions(schedule, claim.level):
            engine = factory(
                Question(problem, question.interval, question.length, groups, seed=schedule.seed)
            )
            name = engine.name
            answer = Answer("unknown")
            with Deadline(seconds):
                answer = engine.solve(question.limits)
                engine.dispose()
            if answer.status != "unsat":
                outcome = "open" if answer.assignment is None else "false"
                break
        yield Reproof(claim, name, outcome)


def _questions(schedule: Schedule, level: Level) -> Iterator[_Question]:
    """Yield what has to be refuted for a level's value to be the best."""
    proof, problem = schedule.proof, problem_of(schedule)
    assert proof is not None
    value = {entry.level: entry.value for entry in proof.levels}
    interval, stages = value["interval"], value["stages"]
    limits = Limits(groups=proof.limits.get("groups"), transfers=proof.limits.get("transfers"))
    if level == "interval":
        last = proof.bound.value - 1
        first = last if problem.starts_at_issue else bounds(problem).interval
        for below in range(first, last + 1):
            yield _Question(below, (proof.bound.most_stages or stages) * below, limits)
    elif level == "stages":
        yield _Question(interval, (stages - 1) * interval, limits)
    else:
        for name in ("groups", "transfers", "length"):
            better = value[name] - 1 if name == level else value[name]
            limits = replace(limits, **{name: better})
            if name == level:
                break
        if level == "slack":
            limits = replace(limits, slack=value["slack"] + 1)
        yield _Question(interval, stages * interval, limits)
