"""Whether a loop has a schedule at a given interval and number of stages, and if not, why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import TimeScale
from twill.deadline import Deadline
from twill.engines import Limits
from twill.problem import Problem
from twill.search.questions import Outcome, Query, Questions
from twill.search.request import Options, Request, engine_factory, range_prover
from twill.search.search import least_interval

CORE_SECONDS = 10.0
"""Seconds for the families of an unsatisfiable core, once a question is answered with no."""


@dataclass(frozen=True)
class Asked:
    """One answer at a fixed interval and number of stages.

    Attributes
    ----------
    feasible : bool or None
        None if it was not decided in time.
    core : tuple of str
        Constraint families in the unsatisfiable core, as far as an engine named them in time.
    seconds : float
        Wall-clock time.
    """

    feasible: bool | None
    core: tuple[str, ...]
    seconds: float

    @property
    def said(self) -> str:
        """The answer in words."""
        if self.feasible is None:
            return f"not decided in {self.seconds:.0f} s"
        if self.feasible:
            return "feasible"
        return "infeasible" + (f" ({', '.join(self.core)})" if self.core else "")


def wished(loop: Loop, machine: Machine, /, **limits: int) -> Problem:
    """Return the problem in clock cycles, within some limits."""
    return Request(loop, machine, limits=limits).problem(TimeScale())


def ask(problem: Problem, interval: int, stages: int, seconds: float) -> Asked:
    """Ask both engines about one interval, and for the core if there is no schedule."""
    return next(ask_in_turn(problem, interval, stages, [None], seconds))


def ask_in_turn(
    problem: Problem, interval: int, stages: int, groups: Iterable[int | None], seconds: float
) -> Iterator[Asked]:
    """Ask about one interval with several numbers of warp groups.

    Each question begins with what those before it learnt.

    `interval`: I in cycles.
    `groups`: most warp groups; None leaves the wish, or the machine's own limit.
    """
    questions = Questions(problem, engine_factory("difference"), range_prover())
    try:
        for most in groups:
            limits = Limits(
                groups=problem.wishes.limit("groups") if most is None else most,
                transfers=problem.wishes.limit("transfers"),
            )
            query = Query(interval, interval, stages, limits, why="feasible")
            outcome, deadline = Outcome("unknown", interval), Deadline(seconds)
            with deadline:
                outcome = questions.ask(query)
            core: tuple[str, ...] = ()
            if outcome.status == "unsat":
                core = outcome.families or _core(questions, query)
            feasible = None if outcome.status == "unknown" else outcome.status == "sat"
            yield Asked(feasible, core, deadline.spent)
    finally:
        questions.close()


def _core(questions: Questions, query: Query) -> tuple[str, ...]:
    with Deadline(CORE_SECONDS):
        return questions.ask(replace(query, kind="families")).families
    return ()


def least(problem: Problem, seconds: float) -> tuple[int, bool]:
    """Return the least interval in cycles, and whether it was proved to be that.

    Raises
    ------
    RefusedError
        If there is no schedule, or none was found in time.
    """
    finder, options = engine_factory("difference"), Options(timeout=seconds)
    return least_interval(problem, finder, options, range_prover())
