"""Who does what: each warp group's work, registers, and what it waits for and tells others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from twill.artifacts.schedule import (
    Arrive,
    Await,
    Get,
    Group,
    Instruction,
    Interleave,
    Issue,
    Program,
    Put,
    Schedule,
    Wait,
)

MEANINGS = {
    "full": "{0} is there",
    "done": "{0} is done",
    "issued": "{0} has been issued: it is the next one's turn",
    "empty": "{0} has been read: its slot is free",
    "freed": "{0} has been read: its addresses are free for another value",
    "heard": "who waits for {0} has gone on: it may be announced again",
    "sent": "{0} is in its staging",
    "taken": "{0} has been read from its staging",
}
"""What a barrier says, by the end of its name (`twill.lower.signals`, `twill.artifacts.derive`)."""


@dataclass(frozen=True)
class Task:
    """An operation that a group executes.

    Attributes
    ----------
    operation, kind : str
        Name and kind.
    stage : int
        In which it begins: of the schedule, or of the group's program where nobody solved it.
    """

    operation: str
    kind: str
    stage: int


@dataclass(frozen=True)
class Signal:
    """A barrier at which a group waits or arrives.

    Attributes
    ----------
    barrier : str
        Its name.
    meaning : str
        What it says, in words; empty where its name does not tell.
    groups : tuple of str
        Who arrives, for a wait; who waits, for an arrive.
    slots, arrivals : int
        Of the barrier.
    """

    barrier: str
    meaning: str
    groups: tuple[str, ...]
    slots: int
    arrivals: int


@dataclass(frozen=True)
class Role:
    """What a warp group does.

    Attributes
    ----------
    group : Group
        Its name, warps and registers.
    title : str
        In a few words.
    tasks : tuple of Task
        In the order of its program.
    waits, tells : tuple of Signal
        Barriers, in the order of its program.
    awaits : tuple of str
        Asynchronous operations of its own that it blocks for.
    puts, gets : tuple of str
        Register values that it stages for others, and takes from them.
    """

    group: Group
    title: str
    tasks: tuple[Task, ...]
    waits: tuple[Signal, ...]
    tells: tuple[Signal, ...]
    awaits: tuple[str, ...]
    puts: tuple[str, ...]
    gets: tuple[str, ...]


def roles(schedule: Schedule) -> list[Role]:
    """Return every group's role.

    `schedule`: the schedule; without programs nothing is known about signals and order.
    """
    return [_Roles(schedule).role(group) for group in schedule.groups]


class _Roles:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.barriers = {barrier.name: barrier for barrier in schedule.barriers}
        self.kinds = {o.name: o.kind for o in schedule.loop.operations}
        self.waiting: dict[str, dict[str, None]] = defaultdict(dict)
        self.arriving: dict[str, dict[str, None]] = defaultdict(dict)
        for program in schedule.programs:
            for instruction in program.body:
                if isinstance(instruction, Wait):
                    self.waiting[instruction.barrier][program.group] = None
                elif isinstance(instruction, Arrive):
                    self.arriving[instruction.barrier][program.group] = None
            for part in program.issues:
                for name in part.signals:
                    self.arriving[name][program.group] = None

    def role(self, group: Group) -> Role:
        programs = [p for p in self.schedule.programs if p.group == group.name]
        body = [i for program in programs for i in program.body]
        tasks = tuple(self._tasks(group, programs))
        told = dict.fromkeys(name for i in body for name in _told(i))
        waited = dict.fromkeys(i.barrier for i in body if isinstance(i, Wait))
        return Role(
            group,
            _title(group, tasks),
            tasks,
            tuple(self._signal(name, self.arriving) for name in waited),
            tuple(self._signal(name, self.waiting) for name in told),
            tuple(dict.fromkeys(i.operation for i in body if isinstance(i, Await))),
            tuple(dict.fromkeys(i.value for i in body if isinstance(i, Put))),
            tuple(dict.fromkeys(i.value for i in body if isinstance(i, Get))),
        )

    def _tasks(self, group: Group, programs: list[Program]) -> Iterator[Task]:
        first = {
            part.operation: part.stage
            for program in programs
            for part in reversed(list(program.issues))
            if part.first
        }
        begin, interval = self.schedule.start, self.schedule.initiation_interval
        listed = [p.operation for p in self.schedule.placements if p.group == group.name]
        order = list(dict.fromkeys(reversed(first)))
        for name in [*order, *(n for n in listed if n not in first)]:
            stage = first.get(name, 0)
            if interval is not None and name in begin:
                stage = begin[name] // interval
            yield Task(name, self.kinds[name], stage)

    def _signal(self, name: str, others: dict[str, dict[str, None]]) -> Signal:
        barrier = self.barriers[name]
        value, _, end = name.rpartition(".")
        meaning = MEANINGS[end].format(value) if value in self.kinds and end in MEANINGS else ""
        return Signal(name, meaning, tuple(others[name]), barrier.slots, barrier.arrivals)


def _told(instruction: Instruction) -> tuple[str, ...]:
    if isinstance(instruction, Arrive):
        return (instruction.barrier,)
    if isinstance(instruction, Issue):
        return instruction.signals
    if isinstance(instruction, Interleave):
        return tuple(name for part in instruction.parts for name in part.signals)
    return ()


def _title(group: Group, tasks: tuple[Task, ...]) -> str:
    """Name a group by the kinds that it executes most of."""
    if group.variable_latency:
        return "loads"
    counts: dict[str, int] = defaultdict(int)
    for task in tasks:
        counts[task.kind] += 1
    if not counts:
        return "nothing"
    ordered = sorted(counts, key=lambda kind: (kind != "mma", kind != "exp2", -counts[kind]))
    named = [f"{counts[kind]} {kind}" for kind in ordered]
    return ", ".join(named[:4]) + (", ..." if len(named) > 4 else "")


def registers_text(group: Group) -> str:
    """Return what a group has in registers, in words."""
    if group.registers is None and group.registers_live is None:
        return "registers as the kernel has them"
    live = "" if group.registers_live is None else f"{group.registers_live} live at most"
    if group.registers is None:
        return f"{group.registers_live} registers per thread live at most"
    return f"{group.registers} registers per thread" + (f", {live}" if live else "")
