"""What every engine takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from twill.problem.groups import WarpGroup
from twill.problem.problem import Problem

Status = Literal["sat", "unsat", "unknown"]
Objective = Literal["length", "slack"]

FAMILIES = (
    "dependence",
    "capacity",
    "turns",
    "memory",
    "registers",
    "transfers",
    "concurrency",
    "wishes",
)


@dataclass(frozen=True)
class Assignment:
    """A modulo schedule with its warp assignment.

    Attributes
    ----------
    start : tuple of int
        M(v), the issue time within an iteration.
    group : tuple of int
        A(v), an index into `groups`.
    groups : tuple of WarpGroup
        The warp groups that were available.
    """

    start: tuple[int, ...]
    group: tuple[int, ...]
    groups: tuple[WarpGroup, ...]

    def length(self, problem: Problem) -> int:
        """Return L: time from the first issue to the last completion."""
        return max(self.start[o.index] + o.cycles for o in problem.operations)

    def transfers(self, problem: Problem) -> int:
        """Return how many dependences move a register value to another group."""
        return sum(
            edge.transferable and self.group[edge.producer] != self.group[edge.consumer]
            for edge in problem.edges
        )

    def used(self) -> int:
        """Return how many groups have operations."""
        return len(set(self.group))

    def slack(self, problem: Problem, interval: int) -> int | None:
        """Return the least time between a completion and its blocking consumer's issue.

        Streaming loads do not count: their latency is hidden by the ring's depth. None if nothing
        blocks.
        """
        margins = []
        for edge in problem.edges:
            crosses = self.group[edge.producer] != self.group[edge.consumer]
            if edge.streaming or not (edge.blocking or crosses):
                continue
            distance = (
                self.start[edge.consumer] + edge.distance * interval - self.start[edge.producer]
            )
            margins.append(distance - (edge.cross_delay if crosses else edge.delay))
        return min(margins, default=None)


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


Hint = tuple[str, Hashable]
"""What an engine had to look at: a sum's name with one of its starts, or `ADDRESSES` with a
conflict. Hints are true of a problem at every interval; they may save time elsewhere."""
ADDRESSES = "addresses"


@dataclass(frozen=True)
class Answer:
    """Outcome of one question to an engine.

    Attributes
    ----------
    status : str
        ``sat``, ``unsat`` or ``unknown`` (a limit was reached).
    assignment : Assignment or None
        Present if ``sat``.
    families : tuple of str
        Constraint families of the unsatisfiable core, if it was asked for.
    statistics : dict
        Counts for people: rounds, atoms, clauses.
    hints : tuple of Hint
        For engines that are asked similar questions.
    solver : str
        Who answered.
    """

    status: Status
    assignment: Assignment | None = None
    families: tuple[str, ...] = ()
    statistics: dict[str, int] = field(default_factory=dict)
    hints: tuple[Hint, ...] = ()
    solver: str = ""


NO_LIMITS = Limits()


class Engine(Protocol):
    """One joint system at a fixed interval, asked again and again under further limits."""

    def solve(self, limits: Limits = NO_LIMITS) -> Answer:
        """Search for a schedule within these limits."""

    def dispose(self) -> None:
        """Give the solver's memory back."""

    @property
    def name(self) -> str:
        """Solver and version, for the proof."""


class EngineFactory(Protocol):
    """Makes an engine for one interval, length and set of groups."""

    def __call__(
        self,
        problem: Problem,
        interval: int,
        length: int,
        groups: Sequence[WarpGroup],
        *,
        families: Sequence[str] = FAMILIES,
        explain: bool = False,
        seed: int = 0,
        hints: Iterable[Hint] = (),
    ) -> Engine:
        """Build the system."""


@dataclass(frozen=True)
class Refutation:
    """Outcome of a question about a range of intervals.

    Attributes
    ----------
    status : str
        ``unsat`` (no interval of the range has a schedule), ``sat`` or ``unknown``.
    bound : int
        Every smaller interval of the range is refuted.
    interval : int or None
        The interval found.
    assignment : Assignment or None
        Its schedule.
    statistics : dict
        Counts for people.
    hints : tuple of Hint
        For engines that are asked similar questions.
    """

    status: Status
    bound: int
    interval: int | None = None
    assignment: Assignment | None = None
    statistics: dict[str, int] = field(default_factory=dict)
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class Improvement:
    """The best schedule that is known in some respect.

    Attributes
    ----------
    status : str
        ``sat`` if none is better, ``unknown`` otherwise.
    assignment : Assignment
        The schedule.
    hints : tuple of Hint
        For engines that are asked similar questions.
    solver : str
        Who says so.
    """

    status: Status
    assignment: Assignment
    hints: tuple[Hint, ...] = ()
    solver: str = ""


FEW_ROWS = 128
"""Intervals up to which units are stated row by row, where they bound it only together."""
WAYS = 4
"""Ways in which a prover can search: in an order forwards or backwards, and first what was in most
conflicts or in the latest."""


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


class RangeProver(Protocol):
    """Refutes a range of intervals at once, or finds one that has a schedule."""

    @property
    def name(self) -> str:
        """Solver and version, for the proof."""

    def __call__(
        self,
        problem: Problem,
        low: int,
        high: int,
        most_stages: int,
        groups: Sequence[WarpGroup],
        under: Conditions = FREELY,
    ) -> Refutation:
        """Ask whether any interval from `low` to `high` has a schedule.

        `most_stages`: the length of an iteration is at most so many intervals.
        """

    def least(
        self,
        problem: Problem,
        low: int,
        most_stages: int,
        groups: Sequence[WarpGroup],
        found: Refutation,
        under: Conditions = FREELY,
    ) -> Refutation:
        """Look for the least interval below that of a schedule, and refute all smaller ones.

        `most_stages`: the length of an iteration is at most so many intervals.
        Returns: the best schedule known; proved to be of the least interval if that is the bound.
        """

    def near(
        self,
        problem: Problem,
        low: int,
        most_stages: int,
        found: Refutation,
        under: Conditions = FREELY,
    ) -> Refutation:
        """Look for the least interval with the warp assignment of a schedule.

        `most_stages`: the length of an iteration is at most so many intervals.
        Returns: the best schedule known; its bound is that of `found`.
        """

    def best(
        self,
        problem: Problem,
        interval: int,
        groups: Sequence[WarpGroup],
        found: Assignment,
        objective: Objective,
        under: Conditions = FREELY,
    ) -> Improvement:
        """Look for the best length or slack at an interval."""
