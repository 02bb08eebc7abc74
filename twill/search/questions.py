"""Questions to the engines, one after the other, and their answers.

The effort for a question is counted in work that does not depend on how fast the machine is, so
that the same search always takes the same path.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from twill.engines import (
    WAYS,
    Answer,
    Conditions,
    Engine,
    EngineFactory,
    Hint,
    Limits,
    Objective,
    Question,
    Range,
    Refutation,
    Status,
)
from twill.engines.cpsat import CpSatProver
from twill.engines.tuning import TUNING
from twill.problem import Problem
from twill.problem.groups import available_groups
from twill.problem.solution import Assignment
from twill.search.known import Known, measured
from twill.search.request import MOST_SEED, Options

Kind = Literal["any", "near", "least", "families"]
# What else is said of a question.
KINDS = {
    "any": "",
    "near": "; the least with the groups of the best so far",
    "least": "; the least",
    "families": "; what a refutation takes",
    "best": "; the best",
}
NONE = ", none better"
MOST = ("groups", "transfers", "length")
DEFAULTS = Options()
T = TypeVar("T", Answer, Refutation)


class OutOfWork(Exception):  # noqa: N818 - it ends a search, and is no error
    """All the work that a search may do is done."""


@dataclass(frozen=True)
class Query:
    """Whether an interval from `low` to `high` has a schedule of at most `stages` stages."""

    # Only a prover is asked about more than one interval.
    low: int
    high: int
    stages: int
    # What else a schedule may have.
    limits: Limits
    # ``any`` schedule will do; the ``least`` interval is wanted, or the one ``near``, with the warp
    # groups of the best schedule so far; or the ``families`` that a refutation takes, which the
    # finder names.
    kind: Kind = "any"
    # Work after which a prover gives up, in CP-SAT's deterministic time (a unit is five to ten
    # seconds). A finder has no such limit, and works to its end.
    effort: float = 1.0
    # Whether the prover is asked again, in other ways and with growing effort, until it knows.
    decide: bool = True
    # Whether nothing but what the user decided limits the schedule, so that no answer to it refutes
    # the interval.
    whole: bool = False
    # Which strategy or level asks.
    why: str = ""

    def __str__(self) -> str:
        """Return it in words."""
        limits = self.limits
        words = [f"I = {self.low}" + (f" .. {self.high}" if self.high > self.low else "")]
        most = {"stages": self.stages, **{n: getattr(limits, n) for n in MOST}}
        words += [f"{name} <= {value}" for name, value in most.items() if value is not None]
        words += [] if limits.slack is None else [f"slack >= {limits.slack}"]
        words += [] if self.decide else [f"effort {self.effort:g}"]
        return ", ".join(words) + KINDS[self.kind]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a question."""

    status: Status
    # Every smaller interval asked about is refuted.
    bound: int
    # Of the schedule found.
    interval: int | None = None
    assignment: Assignment | None = None
    # Who answered.
    solver: str = ""
    # Constraint families that the refutation takes, as far as they are named.
    families: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it in words."""
        if self.status == "unknown":
            return "not decided"
        if self.interval is None:
            return "none" + (f" ({', '.join(self.families)})" if self.families else "")
        return f"I = {self.interval}"


class Questions:
    """Asks engines about one problem, and keeps what is known from their answers.

    The finder looks for schedules at one interval, to the end, and names what a refutation takes.
    A prover, if there is one, is asked instead, about ranges too; the finder then is left the
    families and the last schedule.

    `work`: of the prover for all questions so far.
    """

    def __init__(
        self,
        problem: Problem,
        finder: EngineFactory,
        prover: CpSatProver | None = None,
        options: Options = DEFAULTS,
    ) -> None:
        self.groups = available_groups(problem)
        self.known = Known(problem, options.report)
        self.prover = prover
        self.work = 0.0
        self._problem, self._finder, self._options = problem, finder, options
        self._hints: dict[Hint, None] = {}
        self._kept: tuple[tuple[int, int, bool], Engine] | None = None
        self._refuted = dict[tuple[int, int, int, Limits], Outcome]()

    @property
    def answers(self) -> dict[str, Any]:
        """All answers of engines so far."""
        engines = {"hints": {**self._hints}, "refuted": {**self._refuted}, "work": self.work}
        return {"known": self.known.facts, **engines}

    def begin_with(self, answers: Mapping[str, Any]) -> None:
        """Take over the answers of engines in another search."""
        vars(self.known).update(answers["known"])
        self._hints.update(answers["hints"])
        self._refuted.update(answers["refuted"])
        self.work = answers["work"]

    def ask(self, query: Query) -> Outcome:
        """Ask a question, unless it is known that there is no such schedule.

        Raises
        ------
        OutOfWork
            If the search has done its work.
        """
        self._effort(None)
        key = (query.low, query.high, query.stages, query.limits)
        if query.kind == "any" and key in self._refuted:
            return self._refuted[key]
        prover = None if query.kind == "families" else self.prover
        words = f"{query.why}: {replace(query, decide=query.decide or prover is None)}"
        self.known.say(words)
        outcome = self._ask_prover(prover, query) if prover else self._ask_finder(query)
        least = query.kind == "least" and outcome.bound == outcome.interval
        self._log(words, outcome.solver, f"{outcome}{NONE * least}")
        if outcome.status == "unsat":
            self._refuted[key] = outcome
        return outcome

    def _note(self, query: Query, outcome: Outcome) -> None:
        """Take note of intervals that are refuted for good, with all below if that follows."""
        covers = self._problem.starts_at_issue or query.low <= self.known.low
        if query.whole and covers and outcome.bound > query.low:
            self.known.refuted(outcome.bound, outcome.solver, outcome.families)

    def _ask_finder(self, query: Query) -> Outcome:
        """Ask with the engine of the last question if it is the same one."""
        interval = query.low
        key = (interval, query.stages, query.whole or query.kind == "families")
        if self._kept is None or self._kept[0] != key:
            self.close()
            length = query.stages * interval
            self._kept = (key, self._engine(interval, length, explain=key[2]))
        # An engine that is stopped may still be running: it is neither asked again nor disposed of.
        (_, engine), self._kept = self._kept, None
        answer = engine.solve(query.limits)
        self._kept = (key, engine)
        if answer.status == "unknown":
            self.close()
        self._learn(interval, answer)
        found, bound = answer.assignment, interval + (answer.status == "unsat")
        at = None if found is None else interval
        outcome = Outcome(answer.status, bound, at, found, engine.name, answer.families)
        self._note(query, outcome)
        return outcome

    def _ask_prover(self, prover: CpSatProver, query: Query) -> Outcome:
        low = query.low
        for under in self._trials(query):
            answer = self._proved(prover, replace(query, low=low), under)
            self._learn(answer.interval, answer)
            low = max(low, answer.bound)
            found = Outcome(answer.status, low, answer.interval, answer.assignment, prover.name)
            self._note(query, found)
            decided = query.kind != "least" or low == answer.interval
            if answer.status != "unknown" and decided:
                break
        return found

    def _trials(self, query: Query) -> Iterator[Conditions]:
        """Yield one way to ask, or all ways with growing effort without end.

        Most ways take seconds or minutes for the same question, and which does is a matter of luck.
        """
        for trial in itertools.count():
            seed = (self._options.seed + trial) % (MOST_SEED + 1)
            rounds, way = divmod(trial, WAYS)
            effort = self._effort(query.effort * TUNING.interval.growth**rounds)
            yield Conditions(query.limits, seed, effort, tuple(self._hints), way, self.known.offer)
            if not query.decide:
                return

    def _effort(self, wanted: float | None) -> float | None:
        """Return the effort of a question: the effort wanted, as far as work is left for it."""
        if self._options.work is None:
            return wanted
        left = self._options.work - self.work
        if left <= 0:
            raise OutOfWork
        return left if wanted is None else min(wanted, left)

    def _proved(self, prover: CpSatProver, query: Query, under: Conditions) -> Refutation:
        asked = Range(self._problem, query.low, query.high, query.stages, self.groups)
        if query.kind == "any":
            return prover(asked, under)
        assert self.known.best is not None
        interval, _ = self.known.best
        best = Refutation("sat", query.low, *self.known.best)
        return prover.least(
            replace(asked, high=interval - 1), best, under, keep_groups=query.kind == "near"
        )

    def best(
        self,
        interval: int,
        limits: Limits,
        found: Assignment,
        objective: Objective,
        effort: float | None = None,
    ) -> Answer:
        """Let the prover look for the best schedule in some respect, with some effort at most."""
        assert self.prover is not None
        question = f"{objective}: I = {interval}{KINDS['best']}"
        self.known.say(question)
        seed, effort = self._options.seed, self._effort(effort)
        under = Conditions(limits, seed, effort, tuple(self._hints), 0, self.known.offer)
        length = limits.length or found.length(self._problem)
        asked = Question(self._problem, interval, length, self.groups)
        answer = self.prover.best(asked, found, objective, under)
        best = measured(self._problem, interval, answer.assignment or found).get(objective)
        self._log(question, answer.solver, f"{best}{NONE * (answer.status == 'sat')}")
        return self._learn(interval, answer)

    def settle(self, interval: int, limits: Limits, assignment: Assignment) -> Assignment:
        """Let the finder solve within all levels, so that the way there leaves no trace."""
        self.close()
        self._hints.clear()
        question = f"last schedule: I = {interval}, within all levels"
        self.known.say(question)
        engine = self._engine(interval, limits.length or assignment.length(self._problem))
        answer = engine.solve(limits)
        engine.dispose()
        self._log(question, engine.name, "found" if answer.assignment else "not decided")
        return answer.assignment or assignment

    def _log(self, question: str, solver: str, outcome: str) -> None:
        self._options.log(f"{question} - {solver}: {outcome}")

    def close(self) -> None:
        """Give the memory of the engine that is kept back."""
        if self._kept is not None:
            self._kept[1].dispose()
            self._kept = None

    def _engine(self, interval: int, length: int, *, explain: bool = False) -> Engine:
        asked = Question(self._problem, interval, length, self.groups, explain=explain)
        hints = tuple(self._hints)
        return self._finder(replace(asked, seed=self._options.seed, hints=hints))

    def _learn(self, interval: int | None, answer: T) -> T:
        """Keep what an engine had to look at, and a schedule if it is the best so far."""
        self._hints.update(dict.fromkeys(answer.hints))
        self.work += answer.work + TUNING.budget.asked
        if answer.assignment is not None and interval is not None:
            self.known.offer(interval, answer.assignment)
        return answer
