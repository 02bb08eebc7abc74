"""What every engine takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from twill.problem import Problem
from twill.problem.groups import WarpGroup
from twill.problem.solution import Assignment
from twill.solvers import Status as Status

Objective = Literal["length", "slack"]

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
"""What each family of constraints says; `twill.artifacts.proof.Family` has their names too."""
FAMILIES = tuple(MEANING)

Hint = tuple[str, Hashable]
"""What an engine had to look at: a sum's name with one of its starts, or `ADDRESSES` with a
conflict. Hints are true of a problem at every interval; they may save time elsewhere."""
ADDRESSES = "addresses"

FEW_ROWS = 128
"""Intervals up to which units are stated row by row, where they bound it only together."""
WAYS = 4
"""Ways in which a prover can search: in an order forwards or backwards, and first what was in most
conflicts or in the latest."""


@dataclass(frozen=True)
class Question:
    """The joint system of a problem at one interval.

    Attributes
    ----------
    interval, length : int
        I, and the time from first issue to last completion at most.
    groups : sequence of WarpGroup
        The warp groups that a schedule may use.
    families : sequence of str
        The constraint families that are stated.
    explain : bool
        Whether a refutation shall name the families that it needs.
    seed : int
        The solver's random seed.
    hints : tuple of Hint
        What engines for similar questions reported.
    """

    problem: Problem
    interval: int
    length: int
    groups: Sequence[WarpGroup]
    families: Sequence[str] = FAMILIES
    explain: bool = False
    seed: int = 0
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class Range:
    """The joint systems of a problem at all intervals of a range.

    Attributes
    ----------
    low, high : int
        The least and the largest I.
    most_stages : int
        The length of an iteration is at most so many intervals.
    groups, families
        As of a `Question`.
    """

    problem: Problem
    low: int
    high: int
    most_stages: int
    groups: Sequence[WarpGroup]
    families: Sequence[str] = FAMILIES


@dataclass(frozen=True)
class Limits:
    """What a solution may have at most, or of slack at least; None is no limit.

    Attributes
    ----------
    length : int, optional
        Time from first issue to last completion (the system's own length without it).
    groups : int, optional
        Warp groups used.
    transfers : int, optional
        Dependences that move a register value to another group.
    slack : int, optional
        Least time between a producer's completion and its blocking consumer's issue.
    """

    length: int | None = None
    groups: int | None = None
    transfers: int | None = None
    slack: int | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True)
class Answer:
    """Outcome of a question to an engine.

    Attributes
    ----------
    families : tuple of str
        Constraint families of the unsatisfiable core, if it was asked for.
    hints : tuple of Hint
        For engines that are asked similar questions.
    solver : str
        Who answered.
    """

    status: Status
    assignment: Assignment | None = None
    families: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()
    solver: str = ""


class Engine(Protocol):
    """One joint system, asked again and again under further limits."""

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
    """Outcome of a question about a range of intervals.

    Attributes
    ----------
    status : str
        ``unsat``: no interval of the range has a schedule.
    bound : int
        Every smaller interval of the range is refuted.
    interval, assignment : int and Assignment, or None
        The interval found, and its schedule.
    hints : tuple of Hint
        For engines that are asked similar questions.
    """

    status: Status
    bound: int
    interval: int | None = None
    assignment: Assignment | None = None
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class Conditions:
    """Under which a prover is asked.

    Attributes
    ----------
    limits : Limits
        What the schedule may have.
    seed : int
        The solver's random seed.
    effort : float, optional
        Work after which the answer is ``unknown``, in CP-SAT's deterministic time, which does not
        depend on how fast the machine is (a unit is about ten seconds); without it there is no end.
    hints : tuple of Hint
        What engines for similar questions reported.
    way : int
        In which of `WAYS` ways to search. Any of them may get stuck where another does not.
    tell : callable
        Told the interval and the schedule whenever the search for a best one finds a better one.
    """

    limits: Limits = NO_LIMITS
    seed: int = 0
    effort: float | None = None
    hints: tuple[Hint, ...] = ()
    way: int = 0
    tell: Callable[[int, Assignment], None] = lambda _interval, _found: None


FREELY = Conditions()
