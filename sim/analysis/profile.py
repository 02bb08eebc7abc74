"""Where the cycles of the steady state go: units, issue slots, groups, and what sets the pace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from twill.artifacts.base import Part
from twill.artifacts.schedule import Schedule
from twill.sim.analysis.critical import BindingEvents, Cycle, Step, critical_cycle, together
from twill.sim.analysis.steady_state import SteadyState
from twill.sim.engine.record import Recording, Span, Warp, in_time
from twill.sim.engine.work import Work

ISSUE, IDLE = "issue", "idle"
MOST_PARTS = 6


class Spent(Part):
    """Cycles that the first warp of a group spends on one thing in an iteration.

    `cause`: ``issue``; or why it stalls: ``barrier``, ``completion``, ``scoreboard``, ``pipe``,
    ``issue slot``, ``queue``, ``synchronisation`` (a wait or an arrive itself); or ``idle``.
    `subject`: the unit that it issues to; the barrier, operation, value or unit that it waits for.
    `value`: the operation whose result it waits for, or waits to overwrite; empty if there is none.
    `cycles`: cycles of each iteration.
    `share`: of the interval.
    """

    group: str
    cause: str
    subject: str = ""
    value: str = ""
    cycles: float
    share: float


class CriticalStep(Part):
    """A link of the chain that sets the pace.

    `kind`: ``unit``, ``issue``, ``latency``, ``signal``, ``synchronisation``, ``pipe``, ``issue
    slot``, ``queue`` or ``scoreboard``.
    `place`: the unit or the group.
    `subject`: the operation or the barrier.
    `iteration`: of the subject; the earliest on the chain is 0.
    `cycles`: how long it takes.
    """

    kind: str
    place: str
    subject: str
    iteration: int
    cycles: float


class Critical(Part):
    """The chain of waits, issues and unit times that sets the pace.

    `iterations`: by how many iterations it leads on before it repeats.
    `cycles`: its length; over `iterations` that is the interval.
    `closed`: whether it repeats exactly. If not, it is the chain through all measured iterations.
    `shares`: part of its length by kind of step and place, for example ``unit tc``; largest first.
    `steps`: in the order of time; empty where the chain does not repeat.
    `words`: the chain in a sentence.
    """

    iterations: int
    cycles: float
    closed: bool
    shares: dict[str, float]
    steps: tuple[CriticalStep, ...]
    words: str


class Profile(Part):
    """Where the cycles of the steady state go.

    `first`, `last`: the iterations between whose completions it was taken.
    `issue_slots`: share of the issue slots of each context that take an instruction; none where the
    machine has no limit.
    `groups`: cycles of the first warp of every group, by cause; each group's shares add up to 1.
    `critical`: the chain that sets the pace; absent where the recording is too short.
    """

    first: int
    last: int
    issue_slots: tuple[float, ...] = ()
    groups: tuple[Spent, ...]
    critical: Critical | None = None


def profile(
    schedule: Schedule,
    recording: Recording,
    steady: SteadyState,
    finished: Sequence[float],
    works: Mapping[str, Work],
    contexts: Mapping[Warp, int],
) -> Profile:
    """Analyse the steady state of a recorded run.

    `finished`: completion time of each iteration, in cycles.
    """
    interval = float(steady.interval)
    first, last = _window(recording, steady, finished)
    count = max(contexts.values(), default=-1) + 1
    variable = {name for name, work in works.items() if work.variable_latency}
    shared = {name for name, unit in schedule.machine.units.items() if unit.scope == "sm"}
    events = BindingEvents(recording, variable, contexts, shared)
    chain = critical_cycle(events, last, first, interval if steady.period else None)
    return Profile(
        first=first,
        last=last,
        issue_slots=tuple(_issue_slots(schedule, works, contexts, count, interval)),
        groups=tuple(_groups(schedule, recording, finished, first, last)),
        critical=_critical(chain) if chain is not None else None,
    )


def _window(
    recording: Recording, steady: SteadyState, finished: Sequence[float]
) -> tuple[int, int]:
    """Return whole periods of the steady state that the recording reaches back to."""
    begun = max((spans[0].begin for spans in recording.spans.values() if spans), default=0.0)
    first = steady.first
    while first < steady.last - 1 and finished[first] < begun:
        first += 1
    if steady.period:
        first += (steady.last - first) % steady.period
    return min(first, steady.last - 1), steady.last


def _issue_slots(
    schedule: Schedule,
    works: Mapping[str, Work],
    contexts: Mapping[Warp, int],
    count: int,
    interval: float,
) -> list[float]:
    if schedule.machine.issue_unit is None:
        return []
    taken = [0.0] * count
    for operation, group in schedule.assignment.items():
        for warp in range(works[operation].warps):
            taken[contexts.get((group, warp), 0)] += works[operation].slots(warp)
    return [instructions / interval for instructions in taken]


# -- groups -----------------------------------------------------------------------------------


def _groups(
    schedule: Schedule, recording: Recording, finished: Sequence[float], first: int, last: int
) -> Iterable[Spent]:
    begin, end = finished[first], finished[last]
    values = values_of(schedule)
    for group in schedule.groups:
        spans = recording.spans.get((group.name, 0))
        if not spans:
            continue
        spent = _within(spans, begin, end)
        for cause, subject in sorted(spent, key=lambda key: (-spent[key], key)):
            yield Spent(
                group=group.name,
                cause=cause,
                subject=subject,
                value=values.get(subject, "") if cause not in (ISSUE, IDLE) else "",
                cycles=spent[cause, subject] / (last - first),
                share=spent[cause, subject] / (end - begin),
            )


def _within(spans: Iterable[Span], begin: float, end: float) -> dict[tuple[str, str], float]:
    """Return the cycles between two points by cause and subject.

    Instructions that alternate overlap: each lasts until the next begins.
    """
    found: dict[tuple[str, str], float] = defaultdict(float)
    at = until = begin
    doing = (IDLE, "")
    for span in [*in_time(spans), Span(end, end, IDLE, "", 0)]:
        if span.begin > at:
            worked = max(at, min(span.begin, until, end))
            found[doing] += worked - at
            found[IDLE, ""] += max(0.0, min(span.begin, end) - worked)
            at = max(at, min(span.begin, end))
        doing = (span.kind, span.unit if span.kind == ISSUE else span.subject)
        until = max(span.end, until) if span.kind == ISSUE else span.end
        if at >= end:
            break
    return {key: cycles for key, cycles in found.items() if cycles > 0}


def values_of(schedule: Schedule) -> dict[str, str]:
    """Return, for every barrier and operation, the value that its waiters need.

    A barrier called ``VALUE.something`` is about that value; any other about the operation whose
    completion arrives there by itself, if there is one.
    """
    operations = {operation.name for operation in schedule.loop.operations}
    signalled = {
        barrier: issue.operation
        for program in schedule.programs
        for issue in program.issues
        for barrier in issue.signals
    }
    values = {name: name for name in operations}
    for barrier in schedule.barriers:
        about = barrier.name.rpartition(".")[0]
        values[barrier.name] = about if about in operations else signalled.get(barrier.name, "")
    return values


# -- what sets the pace -----------------------------------------------------------------------


def _critical(chain: Cycle) -> Critical:
    steps = together(chain.steps)
    shares: dict[str, float] = defaultdict(float)
    for step in steps:
        shares[f"{step.kind} {step.place}"] += step.cycles / chain.cycles
    base = min(step.iteration for step in steps)
    return Critical(
        iterations=chain.iterations,
        cycles=chain.cycles,
        closed=chain.closed,
        shares=dict(sorted(shares.items(), key=lambda item: (-item[1], item[0]))),
        steps=tuple(
            CriticalStep(
                kind=step.kind,
                place=step.place,
                subject=step.subject,
                iteration=step.iteration - base,
                cycles=step.cycles,
            )
            for step in (steps if chain.closed else ())
        ),
        words=in_words(steps, chain),
    )


# Kinds of steps in which nobody works: results and signals travel.
BETWEEN = ("latency", "signal", "synchronisation", "queue")


class Link(Part):
    """Steps of a chain that follow each other at one place."""

    place: str
    working: bool
    subjects: tuple[str, ...]
    cycles: float


def links(steps: Iterable[Step | CriticalStep]) -> list[Link]:
    """Join steps at one place: work of a unit, of a warp group, or what passes between them."""
    joined = []
    for (place, between), found in groupby(steps, key=lambda s: (s.place, s.kind in BETWEEN)):
        there = list(found)
        subjects = tuple(dict.fromkeys(step.subject for step in there))
        cycles = sum(step.cycles for step in there)
        joined.append(Link(place=place, working=not between, subjects=subjects, cycles=cycles))
    return joined


def in_words(steps: Sequence[Step], chain: Cycle) -> str:
    """Return in a sentence what sets the pace."""
    by_place: dict[str, float] = defaultdict(float)
    for step in steps:
        by_place[_doing(step)] += step.cycles
    parts = sorted(by_place.items(), key=lambda item: (-item[1], item[0]))
    every = "iteration" if chain.iterations == 1 else f"{chain.iterations} iterations"
    place = steps[0].place
    if all((step.kind, step.place) == ("unit", place) for step in steps):
        return (
            f"{place} is never idle: {chain.cycles:.6g} cycles of work every {every}. "
            f"Only less work for {place} is faster."
        )
    told = "; ".join(f"{doing} {cycles / chain.cycles:.1%}" for doing, cycles in parts[:MOST_PARTS])
    if not chain.closed:
        return f"The chain through {every} never repeats exactly: {told}."
    return (
        f"A chain leads from one iteration to the next, {chain.cycles:.6g} cycles every {every}: "
        f"{told}. Whatever shortens it makes the loop faster."
    )


def _doing(step: Step) -> str:
    """Say in two words whose time a step is."""
    return {
        "unit": f"{step.place} works",
        "latency": f"latency of {step.place}",
        "queue": f"queue of {step.place}",
        "signal": f"signals at {step.place}",
        "synchronisation": f"signals at {step.place}",
    }.get(step.kind, f"{step.place} computes")
