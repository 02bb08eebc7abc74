"""Differences between two schedules, topic by topic, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from twill.artifacts.schedule import Barrier, Get, Instruction, Program, Put, Schedule
from twill.errors import TwillError
from twill.problem.costs import static_costs
from twill.show.differences.match import matched_groups

NOTHING = "-"


@dataclass(frozen=True)
class Difference:
    """One thing that differs.

    Attributes
    ----------
    topic : str
        ``loop``, ``time``, ``stages``, ``groups``, ``order``, ``starts``, ``transfers``,
        ``buffers``, ``registers`` or ``signals``.
    what : str
        An operation, a group, a unit, a value.
    first, second : str
        How it is in each schedule, with units; ``-`` where it is not at all.
    """

    topic: str
    what: str
    first: str
    second: str


@dataclass(frozen=True)
class Comparison:
    """What differs between two schedules.

    Attributes
    ----------
    first, second : Schedule
        The schedules.
    groups : dict
        For groups of the second one those of the first that do most of the same.
    differences : tuple of Difference
        All that makes them run differently; names, descriptions and proofs do not count.
    moved : frozenset of str
        Operations on another group or elsewhere in the interval than the others: `turned` apart,
        they have not moved. Where intervals differ, or nobody solved one: in another stage.
    turned : int
        How much later in the interval, in the second schedule's units of time, most operations are.
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
    found = tuple(difference for topic in case.topics for difference in topic())
    return Comparison(first, second, case.partner, found, frozenset(case.moved()), case.turned)


class _Comparison:
    def __init__(self, first: Schedule, second: Schedule) -> None:
        self.a, self.b = first, second
        self.partner = matched_groups(first, second)
        self.names = [o.name for o in first.loop.operations]
        theirs = {o.name for o in second.loop.operations}
        self.shared = [name for name in self.names if name in theirs]
        self.topics: tuple[Callable[[], Iterator[Difference]], ...] = (
            self.loop, self.time, self.stages, self.groups, self.order, self.starts,
            self.transfers, self.buffers, self.registers, self.signals,
        )  # fmt: skip

    # -- topics -------------------------------------------------------------------------------

    def loop(self) -> Iterator[Difference]:
        a, b = self.a, self.b
        ours, theirs = set(self.names), {o.name for o in b.loop.operations}
        for name in self.names:
            if name not in theirs:
                yield Difference("loop", name, a.loop.operation(name).kind, NOTHING)
        for operation in b.loop.operations:
            if operation.name not in ours:
                yield Difference("loop", operation.name, NOTHING, operation.kind)
            elif operation != a.loop.operation(operation.name):
                yield Difference("loop", operation.name, "one definition", "another definition")
        if sorted(map(str, a.loop.dependences)) != sorted(map(str, b.loop.dependences)):
            count = f"{len(a.loop.dependences)} edges", f"{len(b.loop.dependences)} edges"
            yield Difference("loop", "dependences", *count)
        if a.machine.digest != b.machine.digest:
            names = (a.machine.name, b.machine.name)
            if names[0] == names[1]:
                names = (a.machine.digest[:15], b.machine.digest[:15])
            yield Difference("loop", "machine", *names)

    def time(self) -> Iterator[Difference]:
        a, b = self.a, self.b
        if a.rules != b.rules:
            yield Difference("time", "rules", a.rules, b.rules)
        if a.time.mode != b.time.mode:
            yield Difference("time", "unit of time", a.time.mode, b.time.mode)
        for key, what in (("initiation_interval", "initiation interval"), ("length", "length")):
            yield from _differing(
                "time", what, _time(a, getattr(a, key)), _time(b, getattr(b, key))
            )
        yield from _differing("time", "stages", _some(a.stages), _some(b.stages))

    def stages(self) -> Iterator[Difference]:
        ours, theirs = _stages(self.a), _stages(self.b)
        for name in self.shared:
            yield from _differing("stages", name, f"stage {_some(ours.get(name))}",
                                  f"stage {_some(theirs.get(name))}")  # fmt: skip

    def groups(self) -> Iterator[Difference]:
        a, b = self.a, self.b
        for group in b.groups:
            partner = self.partner.get(group.name)
            if partner is None:
                yield Difference("groups", group.name, NOTHING, f"{group.warps} warps")
                continue
            own = next(g for g in a.groups if g.name == partner)
            yield from _differing("groups", _both(partner, group.name), f"{own.warps} warps",
                                  f"{group.warps} warps")  # fmt: skip
            if own.variable_latency != group.variable_latency:
                said = ("for loads", "for all else")
                order = said if own.variable_latency else said[::-1]
                yield Difference("groups", _both(partner, group.name), *order)
        for group in a.groups:
            if group.name not in self.partner.values():
                yield Difference("groups", group.name, f"{group.warps} warps", NOTHING)
        ours, theirs = a.assignment, b.assignment
        for name in self.shared:
            if self._other(theirs[name]) != ours[name]:
                yield Difference("groups", name, f"on {ours[name]}", f"on {theirs[name]}")

    def order(self) -> Iterator[Difference]:
        for unit, ours, theirs in self._on_units():
            yield from _differing("order", f"unit {unit}", " ".join(ours), " ".join(theirs))
        ours_in, theirs_in = _issued(self.a), _issued(self.b)
        for group in self.b.groups:
            partner = self.partner.get(group.name)
            if partner is not None:
                one, other = ours_in.get(partner, []), theirs_in.get(group.name, [])
                both = [n for n in one if n in other], [n for n in other if n in one]
                yield from _differing("order", f"group {_both(partner, group.name)}",
                                      *(" ".join(self._from_first(n)) for n in both))  # fmt: skip

    def starts(self) -> Iterator[Difference]:
        ours, theirs = self.a.start, self.b.start
        for name in self.shared:
            yield from _differing("starts", name, _time(self.a, ours.get(name)),
                                  _time(self.b, theirs.get(name)))  # fmt: skip

    def transfers(self) -> Iterator[Difference]:
        ours = _transfers(self.a)
        theirs = {
            (value, self._other(maker), self._other(taker)): said
            for (value, maker, taker), said in _transfers(self.b).items()
        }
        for key in sorted({*ours, *theirs}):
            if (key in ours) != (key in theirs):
                said = ours.get(key, NOTHING), theirs.get(key, NOTHING)
                yield Difference("transfers", key[0], *said)

    def buffers(self) -> Iterator[Difference]:
        sides: list[dict[str, str]] = []
        for schedule, name in ((self.a, str), (self.b, self._other)):
            found: dict[str, str] = {}
            for s in schedule.storage:
                where = s.memory if s.group is None else f"{s.memory} of {name(s.group)}"
                what = f"staging of {s.value}" if s.transfer else s.value
                later = f" {s.distance} later" if s.distance else ""
                what = f"copy of {s.value} for {s.reader}{later}" if s.reader else what
                slots = f"{s.slots} slot{'s' if s.slots > 1 else ''} of {_size(s.memory, s.size)}"
                at = f" at {', '.join(map(str, s.addresses))}" if s.addresses else ""
                halves = f" halves {', '.join(map(str, s.halves))}" if s.halves else ""
                found[f"{what} in {where}"] = f"{slots}{at}{halves}"
            for fixed in schedule.fixed:
                place = NOTHING if fixed.address is None else f"at {fixed.address}"
                half = "" if fixed.half is None else f" half {fixed.half}"
                size = _size(fixed.memory, fixed.size)
                found[f"invariant {fixed.name}"] = f"{size} {place}{half}"
            sides.append(found)
        for what in dict.fromkeys([*sides[0], *sides[1]]):
            yield from _differing("buffers", what, sides[0].get(what, NOTHING),
                                  sides[1].get(what, NOTHING))  # fmt: skip

    def registers(self) -> Iterator[Difference]:
        ours = {group.name: group for group in self.a.groups}
        for group in self.b.groups:
            partner = self.partner.get(group.name)
            if partner is None:
                continue
            own, what = ours[partner], _both(partner, group.name)
            for key, said in (("registers", "allocated"), ("registers_live", "live at most")):
                counts = [getattr(g, key) for g in (own, group)]
                texts = [NOTHING if n is None else f"{n} per thread {said}" for n in counts]
                yield from _differing("registers", what, *texts)

    def signals(self) -> Iterator[Difference]:
        ours = {b.name: b for b in self.a.barriers}
        theirs = {b.name: b for b in self.b.barriers}
        for name in dict.fromkeys([*ours, *theirs]):
            texts = [_barrier(b) for b in (ours.get(name), theirs.get(name))]
            yield from _differing("signals", name, *texts)
        bodies = {program.group: program.body for program in self.a.programs}
        for program in self.b.programs:
            partner = self.partner.get(program.group)
            if partner is not None and bodies.get(partner, ()) != program.body:
                yield from self._program(_both(partner, program.group), bodies.get(partner, ()),
                                         program.body)  # fmt: skip

    @staticmethod
    def _program(
        what: str, ours: Sequence[Instruction], theirs: Sequence[Instruction]
    ) -> Iterator[Difference]:
        place = next(
            (n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
            min(len(ours), len(theirs)),
        )
        texts = [_said(body[place]) if place < len(body) else "end" for body in (ours, theirs)]
        yield Difference("signals", f"program of {what}, instruction {place}", *texts)

    # -- parts --------------------------------------------------------------------------------

    @cached_property
    def shifts(self) -> dict[str, int]:
        """By how much each operation is later in the interval; empty if intervals differ."""
        interval = self.a.initiation_interval
        ours, theirs = self.a.start, self.b.start
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
        ours, theirs = self.a.assignment, self.b.assignment
        stages, shifts, turned = (_stages(self.a), _stages(self.b)), self.shifts, self.turned
        for name in self.shared:
            if self._other(theirs[name]) != ours[name]:
                yield name
            elif name in shifts:
                if shifts[name] != turned:
                    yield name
            elif stages[0].get(name) != stages[1].get(name):
                yield name

    def _other(self, group: str) -> str:
        """Return what a group of the second schedule is in the first."""
        return self.partner.get(group, f"{group} (second)")

    def _on_units(self) -> Iterator[tuple[str, list[str], list[str]]]:
        """Yield units of which there is one, with the order in which they serve operations."""
        sides = [_on_units(schedule) for schedule in (self.a, self.b)]
        for unit in sides[0]:
            if unit in sides[1]:
                both = [
                    [n for n in sides[k][unit] if n in sides[1 - k][unit]] for k in (0, 1)
                ]  # fmt: skip
                yield unit, self._from_first(both[0]), self._from_first(both[1])

    def _from_first(self, names: list[str]) -> list[str]:
        """Turn a cyclic order so that it begins with the operation that is first in the loop."""
        if not names:
            return names
        first = names.index(min(names, key=self.names.index))
        return names[first:] + names[:first]


def _differing(topic: str, what: str, first: str, second: str) -> Iterator[Difference]:
    if first != second:
        yield Difference(topic, what, first, second)


def _both(first: str, second: str) -> str:
    return first if first == second else f"{first} = {second}"


def _some(number: int | None) -> str:
    return NOTHING if number is None else str(number)


def _time(schedule: Schedule, units: int | None) -> str:
    if units is None:
        return NOTHING
    if schedule.time.mode != "normalized":
        return f"{units} cycles"
    return f"{units} units of {schedule.time.cycles_per_unit:.3g} cycles"


def _barrier(barrier: Barrier | None) -> str:
    if barrier is None:
        return NOTHING
    counts = ((barrier.slots, "slot"), (barrier.arrivals, "arrival"))
    parts = [f"{count} {noun}{'s' if count > 1 else ''}" for count, noun in counts]
    parts += [barrier.kind] if barrier.kind else []
    parts += ["counts bytes"] if barrier.transactions else []
    return ", ".join(parts)


def _size(memory: str, size: int) -> str:
    unit = {"registers": "registers per thread", "tmem": "columns"}.get(memory, "bytes")
    return f"{size} {unit}"


def _stages(schedule: Schedule) -> dict[str, int]:
    """Return the stage of each operation: by its start, or in its group's program."""
    interval = schedule.initiation_interval
    if interval is not None and schedule.start:
        return {name: begin // interval for name, begin in schedule.start.items()}
    return {
        part.operation: part.stage for program in schedule.programs
        for part in program.issues if part.first
    }  # fmt: skip


def _issued(schedule: Schedule) -> dict[str, list[str]]:
    """Return the operations of each group in the order in which a round begins them."""
    return {program.group: _begun(program) for program in schedule.programs}


def _begun(program: Program) -> list[str]:
    return list(dict.fromkeys(part.operation for part in program.issues if part.first))


def _on_units(schedule: Schedule) -> dict[str, list[str]]:
    """Return for each unit of which there is one its operations by slot."""
    interval, start = schedule.initiation_interval, schedule.start
    if interval is None or not start:
        return {}
    try:
        costs = static_costs(schedule.loop, schedule.machine)
    except TwillError:
        return {}
    found: dict[str, list[str]] = {}
    for name, begin in sorted(start.items(), key=lambda e: (e[1] % interval, e[0])):
        del begin
        for unit in {r.unit for r in costs[name].reservations}:
            if schedule.machine.units[unit].capacity == 1:
                found.setdefault(unit, []).append(name)
    return {unit: found[unit] for unit in schedule.machine.units if unit in found}


def _transfers(schedule: Schedule) -> dict[tuple[str, str, str], str]:
    """Return register values that cross groups: value, from, to."""
    makers = {
        i.value: p.group for p in schedule.programs for i in p.body if isinstance(i, Put)
    }  # fmt: skip
    return {
        (i.value, makers.get(i.value, NOTHING), program.group):
            f"from {makers.get(i.value, NOTHING)} to {program.group}"
        for program in schedule.programs for i in program.body if isinstance(i, Get)
    }  # fmt: skip


def _said(instruction: Instruction) -> str:
    data = instruction.model_dump(exclude_defaults=True, exclude_none=True)
    if "parts" in data:
        data["parts"] = "+".join(str(part["operation"]) for part in data["parts"])
    words = [f"{key} {value}" for key, value in data.items() if key != "do"]
    return f"{instruction.do} {', '.join(words)}"
