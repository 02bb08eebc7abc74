"""Proofs of static schedules: why no smaller interval exists, and refutations made again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from twill.artifacts.proof import Level, LowerBound
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.deadline import Deadline
from twill.base.errors import InputError
from twill.bounds import ResourceArgument, bounds, every_bound, resource_argument, resource_bound
from twill.bounds.analysis import Recurrence, recurrences
from twill.bounds.configurations import ConfigurationBound
from twill.engines import FAMILIES, MEANING, Answer, EngineFactory, Limits, Question, Status
from twill.problem import Problem
from twill.problem.groups import available_groups
from twill.problem.operations import ProblemOperation
from twill.search.request import Request, engine_factory
from twill.verification import Trusted, verify

SECONDS = 20.0
BUSIEST = 2
WIDEST = 6


@dataclass(frozen=True)
class Part:
    """An operation that takes part in a family of constraints, by an amount in the family's unit.

    `needed`: whether the interval below would be feasible were it not for this operation here; None
    where that was not asked, or is not known in time.
    """

    operation: str
    amount: int
    needed: bool | None = None


@dataclass(frozen=True)
class Role:
    """The part of a family of constraints in a refutation."""

    family: str
    # True: without it the interval below is feasible. False: the others refute that as well. None:
    # not known in time.
    needed: bool | None = None
    what: str = ""  # the meaning of the parts' amounts, with unit, sum and limit
    parts: tuple[Part, ...] = ()  # the operations that can take part, largest amount first

    @property
    def meaning(self) -> str:
        """The meaning of the family."""
        return MEANING[self.family]


@dataclass(frozen=True)
class Explanation:
    """Why the interval below a schedule's own fails, by the bound that its proof records."""

    bound: LowerBound
    interval: int  # the schedule's, in its units of time
    unit: str  # ``cycles`` or ``units``
    resource: ResourceArgument | None = None
    configurations: ConfigurationBound | None = None
    recurrence: Recurrence | None = None
    roles: tuple[Role, ...] = ()  # the families of a refutation by an engine


def problem_of(schedule: Schedule) -> Problem:
    """Return the problem that a schedule solves, with what was asked for.

    Raises
    ------
    InputError
        If it was not solved.
    """
    proof = schedule.proof
    if proof is None or schedule.initiation_interval is None:
        raise InputError("it has no proof: nobody solved it", path="proof", file=schedule.file)
    request = Request(
        schedule.loop,
        schedule.machine,
        rules=schedule.rules,
        limits=dict[str, int](proof.limits.items()),
        pins=proof.pins,
        orders=proof.orders,
    )
    return request.problem(schedule.time)


def explain(
    schedule: Schedule, engine: EngineFactory, seconds: float = SECONDS, report: Report = silent
) -> Explanation:
    """Explain why the interval below a schedule's own has no schedule.

    The families of an engine's refutation are dropped one at a time, and within a family that is
    needed one operation at a time. An engine says each time whether there is a schedule. Both
    together take at most `seconds`; what is not asked by then is not claimed.

    Raises
    ------
    InputError
        If it was not solved.
    """
    problem = problem_of(schedule)
    assert schedule.proof is not None
    bound, interval = schedule.proof.bound, schedule.initiation_interval or 1
    unit = "units" if schedule.time.mode == "normalized" else "cycles"
    found = Explanation(bound, interval, unit)
    if bound.reason == "ResMII" and bound.unit in problem.capacities:
        return replace(found, resource=resource_argument(problem, bound.unit or ""))
    if bound.reason == "configurations":
        return replace(found, configurations=every_bound(problem).configurations)
    if bound.reason == "RecMII":
        setting = [r for r in recurrences(problem) if r.bound == bound.value]
        return replace(found, recurrence=setting[0] if setting else None)
    if bound.reason in ("no joint schedule", "no modulo schedule"):
        families = bound.families
        if bound.reason == "no modulo schedule":
            families = ("dependence", "capacity")
        asker = _Asker(problem, bound, engine, Deadline(seconds), report)
        roles = [asker.role(family) for family in families or FAMILIES]
        return replace(found, roles=tuple(r for r in roles if families or r.needed))
    return found


@dataclass(frozen=True)
class _Asker:
    """Asks about the interval below with something left out."""

    problem: Problem
    bound: LowerBound
    engine: EngineFactory
    deadline: Deadline
    report: Report

    def role(self, family: str) -> Role:
        self.report(f"without {family}")
        rest = tuple(f for f in FAMILIES if f != family)
        needed = self._feasible(self.problem, rest)
        told = PARTS.get(family)
        what, parts = told(self.problem, self.bound.value - 1) if told else ("", [])
        if needed and family in WITHOUT:
            parts = [replace(p, needed=self._needed(family, p.operation)) for p in parts]
        return Role(family, needed, what, tuple(parts))

    def _needed(self, family: str, operation: str) -> bool | None:
        """Ask whether there is a schedule once an operation has nothing to do with a family."""
        self.report(f"without {family} of {operation}")
        without = (
            WITHOUT[family](o) if o.name == operation else o for o in self.problem.operations
        )
        return self._feasible(replace(self.problem, operations=tuple(without)), FAMILIES)

    def _feasible(self, problem: Problem, families: Sequence[str]) -> bool | None:
        if self.deadline.late:
            return None
        interval, wishes = self.bound.value - 1, problem.wishes
        length = (self.bound.most_stages or 1) * interval
        groups = available_groups(problem)
        engine = self.engine(Question(problem, interval, length, groups, families=families))
        limits = Limits(groups=wishes.limit("groups"), transfers=wishes.limit("transfers"))
        status: Status = "unknown"
        try:
            with self.deadline:
                status = engine.solve(limits).status
        finally:
            engine.dispose()
        return None if status == "unknown" else status == "sat"


# How an operation is made to have nothing to do with a family.
WITHOUT: dict[str, Callable[[ProblemOperation], ProblemOperation]] = {
    "capacity": lambda o: replace(o, reservations=()),
    "turns": lambda o: replace(o, in_order_unit=None),
    "memory": lambda o: replace(o, memory=None, footprint=0),
    "registers": lambda o: replace(o, registers=0, working_set=0),
    "concurrency": lambda o: replace(o, blocked_span=0),
}

Parts = tuple[str, list[Part]]


def _ranked(amounts: dict[str, int]) -> list[Part]:
    return [Part(name, n) for name, n in sorted(amounts.items(), key=lambda x: -x[1]) if n > 0]


def _dependence(problem: Problem, interval: int) -> Parts:
    tight = recurrences(problem)[:1]
    steps = [(s.consumer, s.delay) for r in tight for s in r.steps]
    bound = tight[0].bound if tight else 0
    what = f"delays of the tightest recurrence, which allows an interval of {bound}"
    return (what if steps else f"no recurrence needs {interval}"), [Part(*s) for s in steps]


def busiest_units(problem: Problem) -> list[str]:
    """Return the units that an iteration keeps busy longest, at most two."""
    least = {unit: resource_bound(problem, unit) for unit in problem.capacities}
    return [u for u in sorted(least, key=lambda unit: -least[unit])[:BUSIEST] if least[u]]


def _capacity(problem: Problem, interval: int) -> Parts:
    busiest = busiest_units(problem)
    amounts = {
        o.name: max((r.length for r in o.reservations if r.unit in busiest), default=0)
        for o in problem.operations
    }
    named = " and ".join(f"{u} ({resource_bound(problem, u)} of {interval})" for u in busiest)
    return f"time on the busiest units, {named}", _ranked(amounts)


def _turns(problem: Problem, _interval: int) -> Parts:
    amounts = {o.name: o.issue + problem.hop for o in problem.operations if o.in_order_unit}
    return "issue and signal time on in-order units", _ranked(amounts)


def _memory(problem: Problem, _interval: int) -> Parts:
    amounts = {o.name: o.footprint for o in problem.operations if o.memory}
    sums = [
        f"{problem.amount(m, sum(o.footprint for o in problem.operations if o.memory == m))} of "
        f"{m} once each, of {problem.amount(m, capacity - problem.fixed[m])}"
        for m, capacity in problem.memories.items()
    ]
    counted = "bytes, or columns of 64 lanes in tensor memory"
    return f"{counted}; {'; '.join(sums)}", _ranked(amounts)


def _registers(problem: Problem, _interval: int) -> Parts:
    widest = _ranked({o.name: o.registers + o.working_set for o in problem.operations})[:WIDEST]
    most = max((group.live_limit for group in available_groups(problem)), default=0)
    total = sum(part.amount for part in widest)
    return f"registers per thread, {total} together; a group has at most {most} for values", widest


def _transfers(problem: Problem, _interval: int) -> Parts:
    amounts: dict[str, int] = {}
    for e in problem.edges:
        name = problem.operations[e.producer].name
        amounts[name] = max(amounts.get(name, 0), e.cross_delay - e.delay)
    return "further delay of its result if a consumer is on another group", _ranked(amounts)


def _concurrency(problem: Problem, _interval: int) -> Parts:
    waits = {
        problem.operations[e.consumer].name
        for i, e in enumerate(problem.edges)
        if e.blocking or problem.forced_cross[i]
    }
    amounts = {o.name: o.blocked_span for o in problem.operations}
    names = ", ".join(sorted(waits)) or "whatever reads from another group"
    return f"time for which it keeps operations of its group that wait ({names})", _ranked(amounts)


def _wishes(problem: Problem, _interval: int) -> Parts:
    wishes, names = problem.wishes, [o.name for o in problem.operations]
    told = [f"{name} at most {most}" for name, most in wishes.limits]
    told += [f"{names[v]} on {group}" for v, group in wishes.pins]
    told += [f"{names[u]} before {names[v]}" for u, v in wishes.orders]
    return ", ".join(told), []


# The operations that can take part in each family, and in what amounts.
PARTS: dict[str, Callable[[Problem, int], Parts]] = {
    "dependence": _dependence,
    "capacity": _capacity,
    "turns": _turns,
    "memory": _memory,
    "registers": _registers,
    "transfers": _transfers,
    "concurrency": _concurrency,
    "wishes": _wishes,
}


# Of which each is decided within the best values of those before it.
LEVELS: tuple[Level, ...] = ("groups", "transfers", "length")
Outcome = Literal["refuted", "false", "open"]


@dataclass(frozen=True)
class Reproof:
    """The outcome of a claim that had been taken on trust, and the solver that was asked now.

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
        If the schedule was not solved.
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
