"""Questions and answers of every engine."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from twill.problem import Problem
from twill.problem.groups import WarpGroup
from twill.problem.solution import Assignment
from twill.solvers import Status

Objective = Literal["length", "slack"]

# What each family of constraints says; `twill.artifacts.proof.Family` has their names too.
MEANING = {
    "dependence": "a consumer issues no earlier than its producer's delay after it",
    "capacity": "reservations fit every functional unit, in every slot modulo the interval",
    "turns": "groups take turns on an in-order unit, a signal apart",
    "memory": "values fit shared and tensor memory, each with addresses of its own while it lives",
    "registers": "live values and working sets fit the registers per thread of their group",
    "transfers": "what crosses groups takes a signal, a register value its way through SMEM too",
    "concurrency": "nothing of a group is being issued when an operation of it that waits starts",
    "wishes": "what was asked for: pins, orders, limits",
}
FAMILIES = tuple(MEANING)

# What an engine had to look at: a sum's name with one of its starts, or `ADDRESSES` with a
# conflict. Hints are true of a problem at every interval; they may save time elsewhere.
Hint = tuple[str, Hashable]
ADDRESSES = "addresses"

# Ways in which a prover can search: in an order forwards or backwards, and first what was in most
# conflicts or in the latest.
WAYS = 4


@dataclass(frozen=True)
class Question:
    """The joint system of a problem at one interval."""

    problem: Problem
    interval: int
    length: int  # from first issue to last completion, at most
    groups: Sequence[WarpGroup]  # that a schedule may use
    families: Sequence[str] = FAMILIES  # that are stated
    explain: bool = False  # whether a refutation shall name the families that it needs
    seed: int = 0  # of the solver
    hints: tuple[Hint, ...] = ()  # what engines for similar questions reported


@dataclass(frozen=True)
class Range:
    """The joint systems of a problem at all intervals of a range."""

    problem: Problem
    low: int
    high: int
    most_stages: int  # so many intervals is the length of an iteration at most
    groups: Sequence[WarpGroup]
    families: Sequence[str] = FAMILIES


@dataclass(frozen=True)
class Limits:
    """Limits of a solution: the most of each, of slack the least; None is no limit."""

    length: int | None = None  # from first issue to last completion; None: the question's own
    groups: int | None = None  # used
    transfers: int | None = None  # dependences that move a register value to another group
    slack: int | None = None  # between a producer's completion and its blocking consumer's issue


NO_LIMITS = Limits()


@dataclass(frozen=True)
class Answer:
    """Outcome of a question to an engine."""

    status: Status
    assignment: Assignment | None = None
    families: tuple[str, ...] = ()  # of the unsatisfiable core, if it was asked for
    hints: tuple[Hint, ...] = ()  # for engines that are asked similar questions
    solver: str = ""
    work: float = 0.0  # as `Conditions.effort` counts it; a finder's is not counted


class Engine(Protocol):
    """A joint system, asked again and again under further limits."""

    def solve(self, limits: Limits = NO_LIMITS) -> Answer:
        """Search for a schedule within these limits."""

    def dispose(self) -> None:
        """Give the solver's memory back."""

    @property
    def name(self) -> str:
        """Solver and version, for the proof."""


EngineFactory = Callable[[Question], Engine]


@dataclass(frozen=True)
class Refutation:
    """Outcome of a question about a range of intervals."""

    status: Status  # ``unsat``: no interval of the range has a schedule
    bound: int  # every smaller interval of the range is refuted
    interval: int | None = None
    assignment: Assignment | None = None
    hints: tuple[Hint, ...] = ()  # for engines that are asked similar questions
    work: float = 0.0  # as `Conditions.effort` counts it


@dataclass(frozen=True)
class Conditions:
    """Under which a prover is asked."""

    limits: Limits = NO_LIMITS
    seed: int = 0
    # Work after which the answer is ``unknown``, in CP-SAT's deterministic time, which does not
    # depend on how fast the machine is (a unit is about ten seconds); None: there is no end.
    effort: float | None = None
    hints: tuple[Hint, ...] = ()  # what engines for similar questions reported
    way: int = 0  # of `WAYS`; any of them may get stuck where another does not
    # Told the interval and the schedule whenever the search for a best one finds a better one.
    tell: Callable[[int, Assignment], None] = lambda _interval, _found: None


FREELY = Conditions()
