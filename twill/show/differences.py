"""Differences between two schedules, up to the names of their warp groups."""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from twill.artifacts.schedule import Barrier, Get, Group, Instruction, Interleave, Put, Schedule
from twill.console import WIDTH, say
from twill.errors import TwillError
from twill.formats import plural
from twill.problem.costs import static_costs
from twill.show.looks import unit_of_time

MOST_TRIED = 7
"""Groups up to which all assignments are compared."""
MOST_PRINTED = 12
"""Differences of a topic that are printed; JSON has all."""
NOTHING = "-"
TOPICS = {
    "loop": "what is scheduled, and where",
    "time": "interval, length, stages",
    "stages": "stage in which an operation begins",
    "groups": "warp groups and who is on them",
    "order": "order within an interval, from the loop's first operation on",
    "starts": "start within the iteration",
    "transfers": "register values that pass through shared memory",
    "buffers": "slots, sizes, addresses",
    "registers": "registers of a group",
    "signals": "barriers and programs",
}
Sides = Iterator[tuple[str, Sequence[str]]]
"""What is compared, and how it is in each schedule."""


@dataclass(frozen=True)
class Difference:
    """One thing that differs: how it is in each schedule, ``-`` where it is not at all."""

    topic: str
    what: str
    first: str
    second: str


@dataclass(frozen=True)
class Comparison:
    """What makes two schedules run differently; names, descriptions and proofs do not count.

    `groups` has for groups of the second one those of the first that do most of the same. `moved`
    are operations on another group or elsewhere in the interval than the others, which are `turned`
    units of time later in the second; where intervals differ, or nobody solved one, those in
    another stage.
    """

    first: Schedule
    second: Schedule
    groups: dict[str, str]
    differences: tuple[Difference, ...]
    moved: frozenset[str]
    turned: int = 0

    @property
    def equal(self) -> bool:
        """Whether they run alike."""
        return not self.differences


def compare(first: Schedule, second: Schedule) -> Comparison:
    """Compare two schedules."""
    case = _Comparison(first, second)
    found = tuple(
        Difference(topic, what, one, other)
        for topic in TOPICS
        for what, (one, other) in getattr(case, topic)()
        if one != other
    )
    return Comparison(first, second, case.partner, found, frozenset(case.moved()), case.turned)


def matched_groups(first: Schedule, second: Schedule) -> dict[str, str]:
    """Return for groups of the second schedule those of the first that do most of the same."""
    ours, theirs = ([group.name for group in side.groups] for side in (first, second))
    both = (name for name in second.assignment if name in first.assignment)
    shared: Counter[tuple[str, str]] = Counter(
        (first.assignment[name], second.assignment[name]) for name in both
    )
    if max(len(ours), len(theirs)) > MOST_TRIED:
        found: dict[str, str] = {}
        for (a, b), _ in shared.most_common():
            if b not in found and a not in found.values():
                found[b] = a
        return found
    none: list[str | None] = [None] * (len(theirs) - len(ours))
    best = max(
        itertools.permutations([*ours, *none], len(theirs)),
        key=lambda chosen: (
            sum(shared[a or "", b] for a, b in zip(chosen, theirs, strict=True)),
            sum(a == b for a, b in zip(chosen, theirs, strict=True)),
        ),
    )
    partners = dict(zip(best, theirs, strict=True))
    return {partners[name]: name for name in ours if name in partners}


class _Comparison:
    """Two schedules; a method for each topic."""

    def __init__(self, first: Schedule, second: Schedule) -> None:
        self.a, self.b = first, second
        self.partner = matched_groups(first, second)
        self.names = [o.name for o in first.loop.operations]
        theirs = {o.name for o in second.loop.operations}
        self.shared = [name for name in self.names if name in theirs]

    def loop(self) -> Sides:
        a, b = self.a, self.b
        ours, theirs = ({o.name: o for o in side.loop.operations} for side in (a, b))
        for name in self.names:
            if name not in theirs:
                yield name, (ours[name].kind, NOTHING)
        for name, operation in theirs.items():
            if name not in ours:
                yield name, (NOTHING, operation.kind)
            elif operation != ours[name]:
                yield name, ("one definition", "another definition")
        one, other = (sorted(map(str, side.loop.dependences)) for side in (a, b))
        if one != other:
            as_many = " other" if len(one) == len(other) else ""
            yield "dependences", (f"{len(one)} edges", f"{len(other)}{as_many} edges")
        if a.machine.digest != b.machine.digest:
            same = a.machine.name == b.machine.name
            yield "machine", [m.digest[:15] if same else m.name for m in (a.machine, b.machine)]

    def time(self) -> Sides:
        a, b = self.a, self.b
        yield "rules", (a.rules, b.rules)
        yield "unit of time", (a.time.mode, b.time.mode)
        units = [f" {unit_of_time(side)}" for side in (a, b)]
        intervals, lengths = (a.initiation_interval, b.initiation_interval), (a.length, b.length)
        yield "initiation interval", list(map(_some, intervals, units))
        yield "length", list(map(_some, lengths, units))
        yield "stages", [_some(side.stages) for side in (a, b)]

    def stages(self) -> Sides:
        both = _stages(self.a), _stages(self.b)
        for name in self.shared:
            yield name, [f"stage {_some(stages.get(name))}" for stages in both]

    def groups(self) -> Sides:
        for group in self.b.groups:
            if group.name not in self.partner:
                yield group.name, (NOTHING, f"{group.warps} warps")
        for what, both in self._matched():
            yield what, [f"{group.warps} warps" for group in both]
            yield what, ["for loads" if g.variable_latency else "for all else" for g in both]
        for group in self.a.groups:
            if group.name not in self.partner.values():
                yield group.name, (f"{group.warps} warps", NOTHING)
        before, after = self.a.assignment, self.b.assignment
        for name in self.shared:
            if self._other(after[name]) != before[name]:
                yield name, (f"on {before[name]}", f"on {after[name]}")

    def order(self) -> Sides:
        ours, theirs = _on_units(self.a), _on_units(self.b)
        for unit in (unit for unit in ours if unit in theirs):
            yield f"unit {unit}", self._orders(ours[unit], theirs[unit])
        before, after = _issued(self.a), _issued(self.b)
        for what, (own, group) in self._matched():
            orders = before.get(own.name, []), after.get(group.name, [])
            yield f"group {what}", self._orders(*orders)

    def _orders(self, ours: list[str], theirs: list[str]) -> list[str]:
        """Return two cyclic orders of what is in both, from the loop's first operation on."""
        both = [n for n in ours if n in theirs], [n for n in theirs if n in ours]
        starts = (names.index(min(names, key=self.names.index)) if names else 0 for names in both)
        pairs = zip(both, starts, strict=True)
        return [" ".join(names[start:] + names[:start]) for names, start in pairs]

    def starts(self) -> Sides:
        both = [(side.start, f" {unit_of_time(side)}") for side in (self.a, self.b)]
        for name in self.shared:
            yield name, [_some(start.get(name), unit) for start, unit in both]

    def transfers(self) -> Sides:
        ours = {path: path for path in _transfers(self.a)}
        theirs = {
            (value, self._other(maker), self._other(taker)): (value, maker, taker)
            for value, maker, taker in _transfers(self.b)
        }
        for path in sorted(ours.keys() ^ theirs.keys()):
            paths = ours.get(path), theirs.get(path)
            yield path[0], [f"from {p[1]} to {p[2]}" if p else NOTHING for p in paths]

    def buffers(self) -> Sides:
        return _aligned(_buffers(self.a, str), _buffers(self.b, self._other))

    def registers(self) -> Sides:
        for what, both in self._matched():
            yield what, [_some(group.registers, " per thread allocated") for group in both]
            yield what, [_some(group.registers_live, " per thread live at most") for group in both]

    def signals(self) -> Sides:
        ours, theirs = ({b.name: _barrier(b) for b in side.barriers} for side in (self.a, self.b))
        yield from _aligned(ours, theirs)
        before, after = ({p.group: p.body for p in side.programs} for side in (self.a, self.b))
        for what, (own, group) in self._matched():
            bodies = before.get(own.name, ()), after.get(group.name, ())
            pairs = enumerate(itertools.zip_longest(*bodies))
            place = next((n for n, (one, other) in pairs if one != other), None)
            if place is not None and group.name in after:
                said = [_said(body[place]) if place < len(body) else "end" for body in bodies]
                yield f"program of {what}, instruction {place}", said

    def _matched(self) -> Iterator[tuple[str, tuple[Group, Group]]]:
        """Yield groups that match, in the second schedule's order, and what they are called."""
        ours = {group.name: group for group in self.a.groups}
        for group in self.b.groups:
            if group.name in self.partner:
                own = ours[self.partner[group.name]]
                same = own.name == group.name
                yield own.name if same else f"{own.name} = {group.name}", (own, group)

    @cached_property
    def shifts(self) -> dict[str, int]:
        """By how much each operation is later in the interval; empty if intervals differ."""
        interval, ours, theirs = self.a.initiation_interval, self.a.start, self.b.start
        if interval is None or interval != self.b.initiation_interval:
            return {}
        both = (name for name in self.shared if name in ours and name in theirs)
        return {name: (theirs[name] - ours[name]) % interval for name in both}

    @property
    def turned(self) -> int:
        """By how much most operations are later; 0 if so many are where they were."""
        counts = Counter(self.shifts.values())
        return max(counts, key=lambda shift: (counts[shift], -shift), default=0)

    def moved(self) -> Iterator[str]:
        before, after = self.a.assignment, self.b.assignment
        ours, theirs, shifts, turned = _stages(self.a), _stages(self.b), self.shifts, self.turned
        for name in self.shared:
            apart = ours.get(name) != theirs.get(name)
            if name in shifts:
                apart = shifts[name] != turned
            if apart or self._other(after[name]) != before[name]:
                yield name

    def _other(self, group: str) -> str:
        """Return what a group of the second schedule is in the first."""
        return self.partner.get(group, f"{group} (second)")


def _aligned(ours: dict[str, str], theirs: dict[str, str]) -> Sides:
    for what in dict.fromkeys([*ours, *theirs]):
        yield what, (ours.get(what, NOTHING), theirs.get(what, NOTHING))


def _some(number: int | None, unit: str = "") -> str:
    return NOTHING if number is None else f"{number}{unit}"


def _barrier(barrier: Barrier) -> str:
    bytes_too = "counts bytes" if barrier.transactions else ""
    counts = plural(barrier.slots, "slot"), plural(barrier.arrivals, "arrival")
    return ", ".join(filter(None, (*counts, barrier.kind, bytes_too)))


def _size(memory: str, size: int) -> str:
    unit = {"registers": "registers per thread", "tmem": "columns"}.get(memory, "bytes")
    return f"{size} {unit}"


def _buffers(schedule: Schedule, name: Callable[[str], str]) -> dict[str, str]:
    """Return what lies where, groups called by `name`."""
    found: dict[str, str] = {}
    for s in schedule.storage:
        where = s.memory if s.group is None else f"{s.memory} of {name(s.group)}"
        what = f"staging of {s.value}" if s.transfer else s.value
        later = f" {s.distance} later" if s.distance else ""
        what = f"copy of {s.value} for {s.reader}{later}" if s.reader else what
        at = f" at {', '.join(map(str, s.addresses))}" if s.addresses else ""
        halves = f" halves {', '.join(map(str, s.halves))}" if s.halves else ""
        slots = f"{plural(s.slots, 'slot')} of {_size(s.memory, s.size)}"
        found[f"{what} in {where}"] = f"{slots}{at}{halves}"
    for fixed in schedule.fixed:
        place = NOTHING if fixed.address is None else f"at {fixed.address}"
        half = "" if fixed.half is None else f" half {fixed.half}"
        found[f"invariant {fixed.name}"] = f"{_size(fixed.memory, fixed.size)} {place}{half}"
    return found


def _stages(schedule: Schedule) -> dict[str, int]:
    """Return the stage of each operation: by its start, or in its group's program."""
    interval = schedule.initiation_interval
    if interval is not None and schedule.start:
        return {name: begin // interval for name, begin in schedule.start.items()}
    parts = (part for program in schedule.programs for part in program.issues)
    return {part.operation: part.stage for part in parts if part.first}


def _issued(schedule: Schedule) -> dict[str, list[str]]:
    """Return the operations of each group in the order in which a round begins them."""
    return {
        program.group: list(dict.fromkeys(p.operation for p in program.issues if p.first))
        for program in schedule.programs
    }


def _on_units(schedule: Schedule) -> dict[str, list[str]]:
    """Return for each unit of which there is one its operations in the order of the interval."""
    interval, start = schedule.initiation_interval, schedule.start
    if interval is None or not start:
        return {}
    try:
        costs = static_costs(schedule.loop, schedule.machine)
    except TwillError:
        return {}
    names = sorted(start, key=lambda name: (start[name] % interval, name))
    users = {
        unit: [name for name in names if unit in {r.unit for r in costs[name].reservations}]
        for unit, described in schedule.machine.units.items()
        if described.capacity == 1
    }
    return {unit: found for unit, found in users.items() if found}


def _transfers(schedule: Schedule) -> Iterator[tuple[str, str, str]]:
    """Yield register values that cross groups: value, from, to."""
    body = [(program.group, i) for program in schedule.programs for i in program.body]
    makers = {i.value: group for group, i in body if isinstance(i, Put)}
    for group, i in body:
        if isinstance(i, Get):
            yield i.value, makers.get(i.value, NOTHING), group


def _said(instruction: Instruction) -> str:
    data = instruction.model_dump(exclude_defaults=True, exclude_none=True, exclude={"do"})
    if isinstance(instruction, Interleave):
        data["parts"] = " + ".join(_said(part) for part in instruction.parts)
    return f"{instruction.do} {', '.join(f'{key} {value}' for key, value in data.items())}"


def differences_data(found: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data."""
    return {
        "equal": found.equal,
        "first": found.first.name,
        "second": found.second.name,
        "groups": {first: second for second, first in found.groups.items()},
        "turned": found.turned,
        "moved": sorted(found.moved),
        "differences": [asdict(difference) for difference in found.differences],
    }


def print_differences(found: Comparison) -> None:
    """Print what differs, topic by topic."""
    if found.equal:
        say("equal: they run alike")
    for topic, meaning in TOPICS.items():
        own = [d for d in found.differences if d.topic == topic]
        if own:
            say(f"{topic}: {meaning}")
        for difference in own[:MOST_PRINTED]:
            _print_difference(difference)
        if len(own) > MOST_PRINTED:
            say(f"  and {len(own) - MOST_PRINTED} more (--json lists all)")
    if found.turned:
        say(f"most operations are {found.turned} slots later in the second's interval")
    renamed = {b: a for b, a in found.groups.items() if a != b}
    if renamed:
        pairs = ", ".join(f"{a} is {b}" for b, a in renamed.items())
        say(f"warp groups of the first in the second: {pairs}")
    if not found.equal:
        say(f"different: {plural(len(found.differences), 'difference')}")


def _print_difference(difference: Difference) -> None:
    one = f"  {difference.what}: {difference.first} -> {difference.second}"
    if len(one) <= WIDTH:
        say(one)
        return
    say(f"  {difference.what}")
    for mark, text in (("first ", difference.first), ("second", difference.second)):
        lead = f"    {mark}  "
        wrapped = textwrap.fill(
            text,
            WIDTH,
            break_on_hyphens=False,
            initial_indent=lead,
            subsequent_indent=" " * len(lead),
        )
        say(wrapped or lead)
