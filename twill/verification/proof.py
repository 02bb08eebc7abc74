"""The judge of proofs: claims that follow from a schedule are computed, those of engines named.

A bound from units, recurrences, issue or configurations is checked; so is every level's value, and
whether it is the least that dependences allow. Refutations of engines are not repeated here but
taken on trust (`twill.explain` asks again).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from twill.artifacts.proof import Level, Limit, LowerBound, Proof
from twill.verification.bounds import (
    check_configurations,
    issue_times,
    least_interval,
    shortest,
    unit_needs,
)
from twill.verification.times import Placed

LEVELS: tuple[Level, ...] = get_args(Level)
FIELDS = ("unit", "cycle", "solver", "families", "most_stages", "weights", "most")
# What a bound says beside its value, by its reason: what it must, and what it may beside that.
SAYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ResMII": (("unit",), ()),
    "configurations": (("weights", "most"), ()),
    "RecMII": (("cycle",), ()),
    "issue": (("cycle",), ()),
    "no modulo schedule": (("solver", "most_stages"), ()),
    "no joint schedule": (("solver", "most_stages"), ("families",)),
    "not proved": ((), ("solver", "most_stages", "weights", "most")),
}


@dataclass(frozen=True)
class Trusted:
    """A claim that only an engine has shown.

    `level`: the level of the objective that it is about.
    `claim`: schedules that do not exist, as the engine says.
    """

    level: Level
    claim: str
    solver: str


def check_proof(placed: Placed) -> Iterator[str]:
    """Claims of a proof follow from the schedule, or name the engine that has shown them."""
    given = placed.schedule.proof
    if given is not None:
        yield from _limits(placed, given)
        yield from _pins(placed, given)
        yield from _said(placed, given)
        yield from _bound(placed, given.bound)
        yield from _levels(placed, given)


def trusted(placed: Placed) -> Iterator[Trusted]:
    """Yield what only engines have shown."""
    given = placed.schedule.proof
    if given is None:
        return
    bound = given.bound
    if bound.solver is not None:
        kind = "modulo schedule" if bound.reason == "no modulo schedule" else "schedule"
        because = f" (because of {', '.join(bound.families)})" if bound.families else ""
        yield Trusted(
            "interval",
            f"no {kind} of at most {bound.most_stages} stages at an interval below "
            f"{bound.value}{because}",
            bound.solver,
        )
    has = {level: value(placed, level) for level in LEVELS}
    better = {
        "stages": f"fewer than {has['stages']} stages at an interval of {placed.interval}",
        "groups": f"fewer than {has['groups']} groups with {has['stages']} stages",
        "transfers": f"fewer than {has['transfers']} transfers with {has['groups']} groups",
        "length": f"a length below {has['length']} with {has['transfers']} transfers",
        "slack": f"a slack above {has['slack']} with a length of {has['length']}",
    }
    for entry in given.levels:
        if entry.solver is not None and entry.level in better:
            yield Trusted(entry.level, f"no schedule of {better[entry.level]}", entry.solver)


def conditions(given: Proof) -> list[str]:
    """Return what had been decided beforehand, and the proof is about schedules that keep."""
    return [
        *(f"{name} at most {most}" for name, most in given.limits.items()),
        *(f"{operation} on {group}" for operation, group in given.pins.items()),
        *(f"{first} before {second}" for first, second in given.orders),
    ]


# -- what was asked for ---------------------------------------------------------------------------


def _limits(placed: Placed, given: Proof) -> Iterator[str]:
    """Report limits that the schedule does not keep."""
    for name, most in sorted(given.limits.items()):
        for what, actual in _limited(placed, name):
            if actual > most:
                yield f"the proof holds within {name} at most {most}, {what} {actual}"


def _limited(placed: Placed, name: Limit) -> Iterator[tuple[str, int]]:
    """Yield what a limit is about, and how much of it the schedule has."""
    file = placed.model.registers
    if name != "registers":
        yield "the schedule has", value(placed, name) or 0
    elif file is not None:
        for group in placed.schedule.groups:
            yield f"{group.name} with its reserve takes", (group.registers_live or 0) + file.reserve


def _pins(placed: Placed, given: Proof) -> Iterator[str]:
    """Report pins and orders that the schedule does not keep."""
    for operation, group in sorted(given.pins.items()):
        home = placed.place.get(operation)
        if home is None:
            yield f"the proof pins {operation}, which the loop does not have"
        elif home != group:
            yield f"the proof pins {operation} to {group}, it is on {home}"
    for first, second in given.orders:
        unknown = [name for name in (first, second) if name not in placed.start]
        if unknown:
            yield f"the proof orders {unknown[0]}, which the loop does not have"
        elif placed.start[second] < placed.start[first]:
            yield (
                f"the proof orders {first} before {second}, they issue at "
                f"{placed.start[first]} and {placed.start[second]}"
            )


# -- the interval ---------------------------------------------------------------------------------


def _said(placed: Placed, given: Proof) -> Iterator[str]:
    """A bound says what its reason needs, and nothing that is not part of it."""
    bound, stages = given.bound, placed.schedule.stages or 0
    must, may = SAYS[bound.reason]
    for field in FIELDS:
        said = getattr(bound, field) not in (None, ())
        if field in must and not said:
            yield f"the proof says {bound.reason} and not its {field}"
        if said and field not in (*must, *may):
            yield f"the proof says {bound.reason}, of which {field} is no part"
    if len(set(bound.families)) < len(bound.families):
        yield "the proof names a family of constraints twice"
    most, limit = bound.most_stages, given.limits.get("stages")
    if most is not None and most < stages:
        yield f"the proof is about at most {most} stages, there are {stages}"
    if None not in (most, limit) and most != limit and bound.reason == "no joint schedule":
        yield f"the proof is about at most {most} stages, {limit} were asked for"


def _bound(placed: Placed, bound: LowerBound) -> Iterator[str]:
    """No smaller interval can be, for the reason that the proof gives."""
    interval, least = placed.interval, least_interval(placed.model)
    if bound.value > interval:
        yield f"the proof says at least {bound.value}, the interval is {interval}"
    if bound.reason != "not proved" and bound.value < interval:
        yield f"the proof says {bound.value} is the least interval, it is {interval} here"
    if bound.value < least:
        yield f"the proof says at least {bound.value}, units and recurrences need {least}"
    yield from _reason(placed, bound, least)


def _reason(placed: Placed, bound: LowerBound, least: int) -> Iterator[str]:
    """The reason of a proof is right."""
    match bound.reason:
        case "ResMII":
            yield from _resource(placed, bound)
        case "issue":
            yield from _issue(placed, bound)
        case "RecMII":
            yield from _recurrence(placed, bound)
        case "no modulo schedule" | "no joint schedule":
            if bound.value <= least:
                yield f"the proof says {bound.reason}, units and recurrences need {least} alone"
        case "not proved" if not bound.weights:
            if bound.solver is None and bound.value > least:
                yield f"the proof says at least {bound.value}, and not who has shown it"
        case "configurations" | "not proved":
            yield from check_configurations(placed.model, bound)


def _resource(placed: Placed, bound: LowerBound) -> Iterator[str]:
    if bound.unit not in placed.model.capacities:
        yield f"the proof names unit {bound.unit}, which the machine does not have"
        return
    busy = unit_needs(placed.model, bound.unit)
    if busy != bound.value:
        yield f"the proof says unit {bound.unit} needs {bound.value}, it needs {busy}"


def _issue(placed: Placed, bound: LowerBound) -> Iterator[str]:
    times = issue_times(placed.model)
    longest = max((times.get(name, 0) for name in bound.cycle), default=0)
    if longest != bound.value or len(bound.cycle) != 1:
        yield f"the proof says issuing takes {bound.value}, it takes {longest}"


def _recurrence(placed: Placed, bound: LowerBound) -> Iterator[str]:
    cycle, claimed = bound.cycle, bound.value
    delay = distance = 0
    for producer, consumer in zip(cycle, (*cycle[1:], *cycle[:1]), strict=True):
        links = [
            (placed.model.least_delay(e), e.distance)
            for e in placed.model.edges
            if (placed.name(e.producer), placed.name(e.consumer)) == (producer, consumer)
        ]
        if not links:
            yield f"the proof's recurrence has no dependence {producer} -> {consumer}"
            return
        best = max(links, key=lambda link: link[0] - link[1] * (claimed - 1))
        delay, distance = delay + best[0], distance + best[1]
    actual = -(-delay // distance) if distance else 0
    if actual != claimed:
        yield f"the proof says the recurrence takes {claimed}, it takes {actual}"


# -- the levels -----------------------------------------------------------------------------------


def _levels(placed: Placed, given: Proof) -> Iterator[str]:
    """Every level is there, has the schedule's value, and is proved only if those above are."""
    actual = {level: value(placed, level) for level in LEVELS}
    expected = [level for level in LEVELS if actual[level] is not None]
    said = [entry.level for entry in given.levels]
    if said != expected:
        yield f"the proof has the levels {', '.join(said)}; there are {', '.join(expected)}"
    proved = given.bound.reason != "not proved"
    for entry in given.levels:
        level = entry.level
        if entry.value != actual[level]:
            yield f"the proof says {level} {entry.value}, the schedule has {actual[level]}"
        if entry.proved and not proved:
            yield f"the proof says {level} proved, of which something above is not proved"
        if level == "interval" and proved and not entry.proved:
            yield "the proof says interval not proved, and why there is no smaller one"
        shown = level == "interval" or entry.value == _least(placed, level)
        if entry.proved and not shown and not entry.solver:
            yield f"the proof says {level} proved, and not who has shown it"
        if entry.solver is not None and (shown or not entry.proved):
            yield f"the proof says {entry.solver} has shown {level}, for no need"
        proved = proved and entry.proved


def value(placed: Placed, level: Level) -> int | None:
    """Return what the schedule has of a level, None of slack where nothing is waited for."""
    if level == "slack":
        return min(_margins(placed), default=None)
    return {
        "interval": placed.interval,
        "stages": placed.schedule.stages or 0,
        "groups": len(set(placed.place.values())),
        "transfers": len(placed.moved()),
        "length": placed.schedule.length or 0,
    }[level]


def _margins(placed: Placed) -> Iterator[int]:
    """Yield by how much each wait comes later than what it waits for, loads in rings aside."""
    for edge in placed.model.edges:
        crosses = placed.crosses(edge)
        if not edge.streaming and (edge.blocking or crosses):
            needed = edge.cross_delay if crosses else edge.delay
            yield placed.read_at(edge) - placed.at(edge.producer) - needed


def _least(placed: Placed, level: Level) -> int | None:
    """Return what none at this interval can have less of, None where only a search can say."""
    length = shortest(placed.model, placed.interval)
    return {
        "stages": -(-length // placed.interval),
        "groups": len({operation.variable_latency for operation in placed.model.operations}),
        "transfers": 0,
        "length": length,
    }.get(level)
