"""Differences between two schedules, up to the names of their warp groups."""

from __future__ import annotations

import contextlib
import itertools
import textwrap
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from twill.artifacts.program import Barrier, Get, Instruction, Interleave, Put
from twill.artifacts.schedule import Schedule
from twill.base.console import WIDTH, say
from twill.base.errors import TwillError
from twill.base.formats import plural
from twill.problem.costs import static_costs
from twill.show import unit_of_time

MOST_TRIED = 7  # groups up to which all assignments are compared
MOST_PRINTED = 12  # differences of a topic that are printed; JSON has all
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
Facts = dict[tuple[str, ...], str]
Orders = dict[str, list[str]]
Entry = tuple[str, ...]  # what is compared, and how it is in each schedule


@dataclass(frozen=True)
class Difference:
    """A difference: a fact in each schedule, ``-`` where it is absent."""

    topic: str
    what: str
    first: str
    second: str


@dataclass(frozen=True)
class Comparison:
    """Differences in how two schedules run; names, descriptions and proofs do not count.

    Groups that match are called as in the first.
    """

    first: Schedule
    second: Schedule

    @property
    def equal(self) -> bool:
        """Whether they run alike."""
        return not self.differences

    @cached_property
    def groups(self) -> dict[str, str]:
        """For groups of the second one those of the first that do most of the same."""
        return matched_groups(self.first, self.second)

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Everything that differs, topic by topic."""
        called = {group.name: group.name for group in self.first.groups}
        second_called = {group.name: f"{group.name} (second)" for group in self.second.groups}
        both = (self.first, called), (self.second, second_called | self.groups)
        one, other = (_facts(*side, self._names) for side in both)
        orders = (_orders(*side) for side in both)
        more = {"loop": self._loop(), "order": self._cycles(*orders), "signals": self._programs()}
        return tuple(
            Difference(topic, *entry)
            for topic in TOPICS
            for entry in (*_aligned(one.get(topic, {}), other.get(topic, {})), *more.get(topic, ()))
            if entry[1] != entry[2]
        )

    @cached_property
    def _names(self) -> list[str]:
        """Operations that both have, in the order of the first one's loop."""
        theirs = {operation.name for operation in self.second.loop.operations}
        return [o.name for o in self.first.loop.operations if o.name in theirs]

    def _loop(self) -> Iterator[Entry]:
        a, b = self.first, self.second
        ours, theirs = ({o.name: o for o in side.loop.operations} for side in (a, b))
        for name in ours | theirs:
            own, its = ours.get(name), theirs.get(name)
            kinds = (NOTHING if o is None else o.kind for o in (own, its))
            same = own is None or its is None or own == its
            yield name, *(kinds if same else ("one definition", "another definition"))
        one, other = (sorted(map(str, side.loop.dependences)) for side in (a, b))
        if one != other:
            as_many = " other" if len(one) == len(other) else ""
            yield "dependences", f"{len(one)} edges", f"{len(other)}{as_many} edges"
        if a.machine.digest != b.machine.digest:
            same = a.machine.name == b.machine.name
            names = (m.digest[:15] if same else m.name for m in (a.machine, b.machine))
            yield "machine", *names

    def _cycles(self, ours: Orders, theirs: Orders) -> Iterator[Entry]:
        """Yield cyclic orders of what is in both, from the loop's first operation on."""
        for what in (what for what in ours if what in theirs):
            found = []
            for own, others in ((ours[what], theirs[what]), (theirs[what], ours[what])):
                names = [name for name in own if name in others]
                start = names.index(min(names, key=self._names.index)) if names else 0
                found.append(" ".join(names[start:] + names[:start]))
            yield what, *found

    def _programs(self) -> Iterator[Entry]:
        """Yield the first instructions that differ in programs of groups that match."""
        before, after = ({p.group: p.body for p in s.programs} for s in (self.first, self.second))
        for group, body in after.items():
            own = self.groups.get(group)
            bodies = before.get(own or "", ()), body
            pairs = enumerate(itertools.zip_longest(*bodies))
            place = next((n for n, (one, other) in pairs if one != other), None)
            if own is not None and place is not None:
                said = (_said(body[place]) if place < len(body) else "end" for body in bodies)
                yield f"program of {own}, instruction {place}", *said

    @cached_property
    def _shifts(self) -> dict[str, int]:
        """By how much each operation is later in the interval; empty if intervals differ."""
        interval, ours, theirs = self.first.initiation_interval, self.first.start, self.second.start
        if interval is None or interval != self.second.initiation_interval:
            return {}
        both = (name for name in self._names if name in ours and name in theirs)
        return {name: (theirs[name] - ours[name]) % interval for name in both}

    @property
    def turned(self) -> int:
        """By how much most operations are later in the second; 0 if so many are where they were."""
        counts = Counter(self._shifts.values())
        return max(counts, key=lambda shift: (counts[shift], -shift), default=0)

    @cached_property
    def moved(self) -> frozenset[str]:
        """Operations on another group, or elsewhere in the interval than those that are `turned`.

        Where intervals differ, or a schedule was not solved, those in another stage.
        """
        before, after, turned = self.first.assignment, self.second.assignment, self.turned
        ours, theirs = _stages(self.first), _stages(self.second)
        apart = {n for n in self._names if ours.get(n) != theirs.get(n)} - self._shifts.keys()
        apart |= {n for n, shift in self._shifts.items() if shift != turned}
        apart |= {n for n in self._names if self.groups.get(after[n]) != before[n]}
        return frozenset(apart)


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


def _facts(schedule: Schedule, called: dict[str, str], names: list[str]) -> dict[str, Facts]:
    """Return what is so in a schedule, topic by topic; keys begin with what it is about.

    `called`: what its groups are called; `names`: operations that both schedules have.
    """
    unit = f" {unit_of_time(schedule)}"
    stages, groups, on = _stages(schedule), schedule.groups, schedule.assignment
    widths: Facts = {
        (called[g.name],): f"{plural(g.warps, 'warp')}{', for loads' if g.variable_latency else ''}"
        for g in groups
    }
    registers: Facts = {}
    for group in groups:
        name, allocated, live = called[group.name], group.registers, group.registers_live
        registers[name, "allocated"] = _some(allocated, " per thread allocated")
        registers[name, "live"] = _some(live, " per thread live at most")
    return {
        "time": {
            ("rules",): schedule.rules,
            ("unit of time",): schedule.time.mode,
            ("initiation interval",): _some(schedule.initiation_interval, unit),
            ("length",): _some(schedule.length, unit),
            ("stages",): _some(schedule.stages),
        },
        "stages": {(name,): f"stage {_some(stages.get(name))}" for name in names},
        "groups": widths | {(name, "on"): f"on {called[on[name]]}" for name in names},
        "starts": {(name,): _some(schedule.start.get(name), unit) for name in names},
        "transfers": dict(_transfers(schedule, called)),
        "buffers": dict(_buffers(schedule, called)),
        "registers": registers,
        "signals": {(barrier.name,): _barrier(barrier) for barrier in schedule.barriers},
    }


def _aligned(ours: Facts, theirs: Facts) -> Iterator[Entry]:
    for key in dict.fromkeys([*ours, *theirs]):
        yield key[0], ours.get(key, NOTHING), theirs.get(key, NOTHING)


def _some(number: int | None, unit: str = "") -> str:
    return NOTHING if number is None else f"{number}{unit}"


def _barrier(barrier: Barrier) -> str:
    bytes_too = "counts bytes" if barrier.transactions else ""
    counts = plural(barrier.slots, "slot"), plural(barrier.arrivals, "arrival")
    return ", ".join(filter(None, (*counts, barrier.kind, bytes_too)))


def _size(memory: str, size: int) -> str:
    unit = {"registers": "registers per thread", "tmem": "columns"}.get(memory, "bytes")
    return f"{size} {unit}"


def _buffers(schedule: Schedule, called: dict[str, str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what lies where."""
    for s in schedule.storage:
        where = s.memory if s.group is None else f"{s.memory} of {called[s.group]}"
        what = f"staging of {s.value}" if s.transfer else s.value
        later = f" {s.distance} later" if s.distance else ""
        what = f"copy of {s.value} for {s.reader}{later}" if s.reader else what
        at = f" at {', '.join(map(str, s.addresses))}" if s.addresses else ""
        halves = f" halves {', '.join(map(str, s.halves))}" if s.halves else ""
        slots = f"{plural(s.slots, 'slot')} of {_size(s.memory, s.size)}"
        yield (f"{what} in {where}",), f"{slots}{at}{halves}"
    for fixed in schedule.fixed:
        place = NOTHING if fixed.address is None else f"at {fixed.address}"
        half = "" if fixed.half is None else f" half {fixed.half}"
        yield (f"invariant {fixed.name}",), f"{_size(fixed.memory, fixed.size)} {place}{half}"


def _stages(schedule: Schedule) -> dict[str, int]:
    """Return the stage of each operation: by its start, or in its group's program."""
    interval = schedule.initiation_interval
    if interval is not None and schedule.start:
        return {name: begin // interval for name, begin in schedule.start.items()}
    parts = (part for program in schedule.programs for part in program.issues)
    return {part.operation: part.stage for part in parts if part.first}


def _orders(schedule: Schedule, called: dict[str, str]) -> Orders:
    """Return operations in the order of the interval: of units of which there is one, of groups."""
    interval, start = schedule.initiation_interval, schedule.start
    found = {}
    if interval is not None and start:
        with contextlib.suppress(TwillError):
            costs = static_costs(schedule.loop, schedule.machine)
            names = sorted(start, key=lambda name: (start[name] % interval, name))
            for unit in (u for u, one in schedule.machine.units.items() if one.capacity == 1):
                found[f"unit {unit}"] = [
                    name for name in names if unit in {r.unit for r in costs[name].reservations}
                ]
    for program in schedule.programs:
        begun = dict.fromkeys(part.operation for part in program.issues if part.first)
        found[f"group {called[program.group]}"] = list(begun)
    return found


def _transfers(schedule: Schedule, called: dict[str, str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield register values that cross groups, and from which to which."""
    body = [(called[program.group], i) for program in schedule.programs for i in program.body]
    makers = {i.value: group for group, i in body if isinstance(i, Put)}
    for group, i in body:
        if isinstance(i, Get):
            maker = makers.get(i.value, NOTHING)
            yield (i.value, maker, group), f"from {maker} to {group}"


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


def print_differences(found: Comparison, without: Collection[str] = ()) -> None:
    """Print what differs, topic by topic, but for some."""
    if found.equal:
        say("equal: they run alike")
    for topic, meaning in TOPICS.items():
        if topic in without:
            continue
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
        lead, more = f"    {mark}  ", " " * 12
        lines = textwrap.wrap(
            text, WIDTH, break_on_hyphens=False, initial_indent=lead, subsequent_indent=more
        )
        say("\n".join(lines) or lead)
