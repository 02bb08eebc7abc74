"""The judge of proofs: what follows from a schedule is computed anew, what engines say is named.

Shares no code with the search. A bound from resources, recurrences, issue or configurations is
checked; so is every level's value, and whether it is the least that dependences allow. What an
engine has refuted is not refuted again here: it is taken on trust (`twill.explain.reprove` asks
again).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from twill.artifacts.schedule import Level, Limit, LowerBound, Proof, Schedule
from twill.verification.configurations import check_configurations
from twill.verification.reading import Edge, Model

LEVELS: tuple[Level, ...] = get_args(Level)
FIELDS = ("unit", "cycle", "solver", "families", "most_stages", "weights", "most")
SAYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ResMII": (("unit",), ()),
    "configurations": (("weights", "most"), ()),
    "RecMII": (("cycle",), ()),
    "issue": (("cycle",), ()),
    "no modulo schedule": (("solver", "most_stages"), ()),
    "no joint schedule": (("solver", "most_stages"), ("families",)),
    "not proved": ((), ("solver", "most_stages", "weights", "most")),
}
"""What a bound says beside its value, by its reason: what it must, and what it may beside that."""
REFUTED = ("no modulo schedule", "no joint schedule")
"""Reasons that only an engine has shown."""


@dataclass(frozen=True)
class Trusted:
    """A claim that only an engine has shown.

    Attributes
    ----------
    level : str
        The level of the objective that it is about.
    claim : str
        What it says there is not.
    solver : str
        Who has shown it.
    """

    level: Level
    claim: str
    solver: str


class ProofJudge:
    """Checks the proof of a complete schedule."""

    def __init__(self, problem: Model, schedule: Schedule, proof: Proof) -> None:
        self.problem, self.schedule, self.proof = problem, schedule, proof
        self.bound = proof.bound
        self.interval = schedule.initiation_interval or 1
        self.place, self.start = schedule.assignment, schedule.start

    def check(self) -> Iterator[str]:
        """Yield what is wrong."""
        yield from self._asked_for()
        yield from self._said()
        yield from self._bound()
        yield from self._levels()

    # -- what was asked for -------------------------------------------------------------------

    def _asked_for(self) -> Iterator[str]:
        """The schedule keeps the limits, pins and orders within which it was proved."""
        for name, most in sorted(self.proof.limits.items()):
            for what, actual in self._limited(name):
                if actual > most:
                    yield f"the proof holds within {name} at most {most}, {what} {actual}"
        for operation, group in sorted(self.proof.pins.items()):
            home = self.place.get(operation)
            if home is None:
                yield f"the proof pins {operation}, which the loop does not have"
            elif home != group:
                yield f"the proof pins {operation} to {group}, it is on {home}"
        for first, second in self.proof.orders:
            unknown = [name for name in (first, second) if name not in self.start]
            if unknown:
                yield f"the proof orders {unknown[0]}, which the loop does not have"
            elif self.start[second] < self.start[first]:
                yield (
                    f"the proof orders {first} before {second}, they issue at "
                    f"{self.start[first]} and {self.start[second]}"
                )

    def _limited(self, name: Limit) -> Iterator[tuple[str, int]]:
        """Yield what a limit is about, and how much of it the schedule has."""
        file = self.problem.registers
        if name == "registers" and file is not None:
            for group in self.schedule.groups:
                live = group.registers_live or 0
                yield f"{group.name} with its reserve takes", live + file.reserve
        elif name != "registers":
            yield "the schedule has", self.value(name) or 0

    # -- the interval -------------------------------------------------------------------------

    def _said(self) -> Iterator[str]:
        """A bound says what its reason needs, and nothing that is not part of it."""
        reason = self.bound.reason
        must, may = SAYS[reason]
        for field in FIELDS:
            given = getattr(self.bound, field) not in (None, ())
            if field in must and not given:
                yield f"the proof says {reason} and not its {field}"
            if given and field not in (*must, *may):
                yield f"the proof says {reason}, of which {field} is no part"
        if len(set(self.bound.families)) < len(self.bound.families):
            yield "the proof names a family of constraints twice"
        most, limit = self.bound.most_stages, self.proof.limits.get("stages")
        if most is None:
            return
        if most < (self.schedule.stages or 0):
            yield f"the proof is about at most {most} stages, there are {self.schedule.stages}"
        if limit is not None and most != limit and reason == "no joint schedule":
            yield f"the proof is about at most {most} stages, {limit} were asked for"

    def _bound(self) -> Iterator[str]:
        """No smaller interval can be, for the reason that the proof gives."""
        bound, least = self.bound, self.least_interval
        if bound.value > self.interval:
            yield f"the proof says at least {bound.value}, the interval is {self.interval}"
        if bound.reason != "not proved" and bound.value < self.interval:
            yield (
                f"the proof says {bound.value} is the least interval, it is {self.interval} here"
            )
        if bound.value < least:
            yield f"the proof says at least {bound.value}, units and recurrences need {least}"
        checks: dict[str, Callable[[LowerBound], Iterator[str]]] = {
            "ResMII": self._resource,
            "configurations": partial(check_configurations, self.problem),
            "issue": self._issue,
            "RecMII": self._recurrence,
            "not proved": self._not_proved,
        }
        if bound.reason in REFUTED:
            if bound.value <= least:
                yield f"the proof says {bound.reason}, units and recurrences need {least} alone"
            return
        yield from checks[bound.reason](bound)

    def _not_proved(self, bound: LowerBound) -> Iterator[str]:
        """Somebody has shown that the least interval is not below what is said."""
        if bound.weights:
            yield from check_configurations(self.problem, bound)
        elif bound.solver is None and bound.value > self.least_interval:
            yield f"the proof says at least {bound.value}, and not who has shown it"

    def _resource(self, bound: LowerBound) -> Iterator[str]:
        if bound.unit not in self.problem.capacities:
            yield f"the proof names unit {bound.unit}, which the machine does not have"
            return
        busy = self._needed(bound.unit)
        if busy != bound.value:
            yield f"the proof says unit {bound.unit} needs {bound.value}, it needs {busy}"

    def _issue(self, bound: LowerBound) -> Iterator[str]:
        longest = max((self._issues.get(name, 0) for name in bound.cycle), default=0)
        if longest != bound.value or len(bound.cycle) != 1:
            yield f"the proof says issuing takes {bound.value}, it takes {longest}"

    @property
    def _issues(self) -> dict[str, int]:
        """How long it takes to issue each asynchronous operation, where that is in order."""
        if self.problem.rules != "issue":
            return {}
        return {o.name: o.issue for o in self.problem.operations if o.asynchronous}

    def _needed(self, unit: str) -> int:
        """The least time in which a unit can do one iteration's work.

        For every count up to half of the capacity: what takes more than all but that of the unit
        can share it with nothing that takes so much or more.
        """
        capacity = self.problem.capacities[unit]
        mine = [
            (r.length, r.count)
            for o in self.problem.operations
            for r in o.reservations
            if r.unit == unit and r.count <= capacity
        ]
        least = max((-(-length // (capacity // count)) for length, count in mine), default=0)
        for small in range((capacity + 1) // 2 + 1):
            alone = sum(length for length, count in mine if count > capacity - small)
            shared = sum(
                length * count for length, count in mine if small <= count <= capacity - small
            )
            least = max(least, alone + -(-shared // capacity))
        return least

    def _recurrence(self, bound: LowerBound) -> Iterator[str]:
        cycle, claimed = bound.cycle, bound.value
        names = [operation.name for operation in self.problem.operations]
        delay = distance = 0
        for producer, consumer in zip(cycle, (*cycle[1:], *cycle[:1]), strict=True):
            links = [
                (self.problem.least_delay(e), e.distance)
                for e in self.problem.edges
                if names[e.producer] == producer and names[e.consumer] == consumer
            ]
            if not links:
                yield f"the proof's recurrence has no dependence {producer} -> {consumer}"
                return
            best = max(links, key=lambda link: link[0] - link[1] * (claimed - 1))
            delay, distance = delay + best[0], distance + best[1]
        actual = -(-delay // distance) if distance else 0
        if actual != claimed:
            yield f"the proof says the recurrence takes {claimed}, it takes {actual}"

    # -- the levels ---------------------------------------------------------------------------

    def _levels(self) -> Iterator[str]:
        """Every level is there, has the schedule's value, and is proved only if those above are."""
        actual = {level: self.value(level) for level in LEVELS}
        expected = [level for level in LEVELS if actual[level] is not None]
        given = [entry.level for entry in self.proof.levels]
        if given != expected:
            yield f"the proof has the levels {', '.join(given)}; there are {', '.join(expected)}"
        proved = self.bound.reason != "not proved"
        for entry in self.proof.levels:
            level = entry.level
            if entry.value != actual[level]:
                yield (f"the proof says {level} {entry.value}, the schedule has {actual[level]}")
            if entry.proved and not proved:
                yield f"the proof says {level} proved, of which something above is not proved"
            if level == "interval" and proved and not entry.proved:
                yield "the proof says interval not proved, and why there is no smaller one"
            shown = level == "interval" or entry.value == self.least(level)
            if entry.proved and not shown and not entry.solver:
                yield f"the proof says {level} proved, and not who has shown it"
            if entry.solver is not None and (shown or not entry.proved):
                yield f"the proof says {entry.solver} has shown {level}, for no need"
            proved = proved and entry.proved

    def value(self, level: Level) -> int | None:
        """Return what the schedule has of a level, None of slack where nothing is waited for."""
        if level == "slack":
            return min(self._margins(), default=None)
        return {
            "interval": self.interval,
            "stages": self.schedule.stages or 0,
            "groups": len(set(self.place.values())),
            "transfers": sum(e.transferable and self._crosses(e) for e in self.problem.edges),
            "length": self.schedule.length or 0,
        }[level]

    def least(self, level: Level) -> int | None:
        """Return what none at this interval can have less of, None where only a search can say."""
        return {
            "stages": -(-self._shortest // self.interval),
            "groups": len({operation.variable_latency for operation in self.problem.operations}),
            "transfers": 0,
            "length": self._shortest,
        }.get(level)

    @cached_property
    def least_interval(self) -> int:
        """What units, recurrences and issuing one operation need, each by itself."""
        units = [self._needed(unit) for unit in self.problem.capacities]
        return max(*units, *self._issues.values(), self._recurrences, 1)

    def _margins(self) -> Iterator[int]:
        """Yield by how much each wait comes later than what it waits for, loads in rings aside."""
        names = [operation.name for operation in self.problem.operations]
        for edge in self.problem.edges:
            crosses = self._crosses(edge)
            if not edge.streaming and (edge.blocking or crosses):
                after = self.start[names[edge.consumer]] - self.start[names[edge.producer]]
                needed = edge.cross_delay if crosses else edge.delay
                yield after + edge.distance * self.interval - needed

    def _crosses(self, edge: Edge) -> bool:
        ends = (self.problem.operations[v].name for v in (edge.producer, edge.consumer))
        return len({self.place[name] for name in ends}) > 1

    @cached_property
    def _recurrences(self) -> int:
        """The least interval at which no recurrence takes longer than its iterations."""
        low, high = 0, sum(max(0, e.cross_delay, e.delay) for e in self.problem.edges) + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._earliest(middle) is None else (low, middle)
        return low

    @cached_property
    def _shortest(self) -> int:
        """The least time that an iteration takes at this interval whatever the resources."""
        earliest = self._earliest(self.interval)
        cycles = np.array([o.cycles for o in self.problem.operations])
        return int(((0 if earliest is None else earliest) + cycles).max())

    def _earliest(self, interval: int) -> NDArray[np.int64] | None:
        """When operations issue at the earliest if the first does at 0; None if never."""
        edges = self.problem.edges
        time = np.zeros(len(self.problem.operations), dtype=np.int64)
        producers = np.array([e.producer for e in edges], dtype=np.int64)
        consumers = np.array([e.consumer for e in edges], dtype=np.int64)
        after = [self.problem.least_delay(e) - e.distance * interval for e in edges]
        for _ in range(len(time) + 1):
            before = time.copy()
            np.maximum.at(time, consumers, before[producers] + np.array(after, dtype=np.int64))
            if (time == before).all():
                return time
        return None

    # -- what is not shown here ---------------------------------------------------------------

    def trusted(self) -> Iterator[Trusted]:
        """Yield what only engines have shown."""
        bound, value = self.bound, self.value
        if bound.solver is not None:
            kind = "modulo schedule" if bound.reason == "no modulo schedule" else "schedule"
            because = f" (because of {', '.join(bound.families)})" if bound.families else ""
            yield Trusted(
                "interval",
                f"no {kind} of at most {bound.most_stages} stages at an interval below "
                f"{bound.value}{because}",
                bound.solver,
            )
        better = {
            "stages": f"fewer than {value('stages')} stages at an interval of {self.interval}",
            "groups": f"fewer than {value('groups')} groups with {value('stages')} stages",
            "transfers": f"fewer than {value('transfers')} transfers with {value('groups')} groups",
            "length": f"a length below {value('length')} with {value('transfers')} transfers",
            "slack": f"a slack above {value('slack')} with a length of {value('length')}",
        }
        for entry in self.proof.levels:
            if entry.solver is not None and entry.level in better:
                yield Trusted(entry.level, f"no schedule of {better[entry.level]}", entry.solver)


def conditions(proof: Proof) -> list[str]:
    """Return what had been decided beforehand, and the proof is about schedules that keep."""
    return [
        *(f"{name} at most {most}" for name, most in proof.limits.items()),
        *(f"{operation} on {group}" for operation, group in proof.pins.items()),
        *(f"{first} before {second}" for first, second in proof.orders),
    ]
