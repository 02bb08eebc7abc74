"""Roles of warp groups: work, registers, waits and signals."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from twill.artifacts.program import Await, Get, Put, Wait, arrivals_of
from twill.artifacts.schedule import Group, Schedule
from twill.base.console import WIDTH
from twill.base.formats import plural
from twill.base.names import elided
from twill.show import looks

# What a barrier says, by the end of its name (`twill.lower.pipeline.Signal`).
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
MOST_KINDS = 4  # kinds of operations that a title names
NARROWEST = 24
INDENT = "   "
Barriers = dict[str, dict[str, None]]  # names of barriers, in order, by group


@dataclass(frozen=True)
class Task:
    """An operation that a group executes, and the stage in which it begins."""

    operation: str
    kind: str
    stage: int


@dataclass(frozen=True)
class Signal:
    """A barrier at which a group waits or arrives.

    `groups` arrive, for a wait, or wait, for an arrive; `meaning` is empty where the name does not
    tell.
    """

    barrier: str
    meaning: str
    groups: tuple[str, ...]
    slots: int
    arrivals: int


@dataclass(frozen=True)
class Role:
    """Work of a warp group, in the order of its program.

    The group `awaits` asynchronous operations of its own, `puts` register values into staging for
    others, and `gets` theirs.
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
    """Return every group's role; without programs nothing is known about signals and order."""
    bodies = {program.group: program.body for program in schedule.programs}
    waits: Barriers = {}
    tells: Barriers = {}
    for group, body in bodies.items():
        waits[group] = dict.fromkeys(i.barrier for i in body if isinstance(i, Wait))
        tells[group] = dict.fromkeys(name for i in body for name in arrivals_of(i))
    barriers = {barrier.name: barrier for barrier in schedule.barriers}
    values = {operation.name for operation in schedule.loop.operations}

    def signal(name: str, others: Barriers) -> Signal:
        value, _, end = name.rpartition(".")
        meaning = MEANINGS[end].format(value) if value in values and end in MEANINGS else ""
        groups = tuple(group for group, names in others.items() if name in names)
        return Signal(name, meaning, groups, barriers[name].slots, barriers[name].arrivals)

    def role(group: Group) -> Role:
        body, tasks = bodies.get(group.name, ()), tuple(_tasks(schedule, group))
        return Role(
            group,
            _title(group, tasks),
            tasks,
            waits=tuple(signal(name, tells) for name in waits.get(group.name, ())),
            tells=tuple(signal(name, waits) for name in tells.get(group.name, ())),
            awaits=tuple(dict.fromkeys(i.operation for i in body if isinstance(i, Await))),
            puts=tuple(dict.fromkeys(i.value for i in body if isinstance(i, Put))),
            gets=tuple(dict.fromkeys(i.value for i in body if isinstance(i, Get))),
        )

    return [role(group) for group in schedule.groups]


def roles_data(schedule: Schedule) -> list[dict[str, Any]]:
    """Return the roles as plain data."""
    return [{**asdict(r), "group": r.group.model_dump(mode="json")} for r in roles(schedule)]


def _tasks(schedule: Schedule, group: Group) -> Iterator[Task]:
    """Yield what a group executes, with stages of the schedule, or else of its program."""
    first: dict[str, int] = {}
    for program in (program for program in schedule.programs if program.group == group.name):
        for part in (part for part in program.issues if part.first):
            first.setdefault(part.operation, part.stage)
    begin, interval = schedule.start, schedule.initiation_interval
    listed = (p.operation for p in schedule.placements if p.group == group.name)
    for name in dict.fromkeys([*first, *listed]):
        stage = first.get(name, 0)
        if interval is not None and name in begin:
            stage = begin[name] // interval
        yield Task(name, schedule.loop.operation(name).kind, stage)


def _title(group: Group, tasks: tuple[Task, ...]) -> str:
    """Name a group by the kinds that it executes most of."""
    if group.variable_latency:
        return "loads"
    counts = Counter(task.kind for task in tasks)
    ordered = sorted(counts, key=lambda kind: (kind != "mma", kind != "exp2", -counts[kind]))
    named = [f"{counts[kind]} {kind}" for kind in ordered]
    more = ["..."] if len(named) > MOST_KINDS else []
    return ", ".join([*named[:MOST_KINDS], *more]) or "nothing"


def registers_text(group: Group) -> str:
    """Return what a group has in registers, in words."""
    allocated, live = group.registers, group.registers_live
    if allocated is None:
        as_live = f"{live} registers per thread live at most"
        return "registers as the kernel has them" if live is None else as_live
    return f"{allocated} registers per thread{'' if live is None else f', {live} live at most'}"


def roles_text(schedule: Schedule, width: int = WIDTH) -> str:
    """Return the roles as text."""
    styles = looks(schedule)
    found: list[str] = []
    for role in roles(schedule):
        found.append(f"{styles[role.group.name].letter}  {role.group.name}: {role.title}")
        found += [*_lines(role, width), ""]
    return "\n".join(found)


def entries(role: Role) -> Iterator[tuple[str, str]]:
    """Yield the lines of a role: a heading and a text."""
    yield "has", f"{plural(role.group.warps, 'warp')}; {registers_text(role.group)}"
    for stage in sorted({task.stage for task in role.tasks}):
        done = [f"{t.operation} ({t.kind})" for t in role.tasks if t.stage == stage]
        yield f"stage {stage}", ", ".join(done)
    for heading, names in (
        ("awaits its own", role.awaits),
        ("stages for others", role.puts),
        ("takes from others", role.gets),
    ):
        if names:
            yield heading, ", ".join(names)
    for heading, word, signals in (("waits", "from", role.waits), ("tells", "to", role.tells)):
        for signal in signals:
            meaning = f"{signal.meaning}; " if signal.meaning else ""
            counts = f"{plural(signal.slots, 'slot')}, {plural(signal.arrivals, 'arrival')}"
            others = ", ".join(signal.groups) or "nobody"
            yield f"{heading}: {signal.barrier}", f"{meaning}{word} {others} ({counts})"


def _lines(role: Role, width: int) -> list[str]:
    said = [(elided(heading), elided(text)) for heading, text in entries(role)]
    column = max(len(heading) for heading, _ in said) + 2
    room = max(NARROWEST, width - column - len(INDENT))
    found: list[str] = []
    for heading, text in said:
        for n, line in enumerate(textwrap.wrap(text, room, break_on_hyphens=False) or [""]):
            found.append(f"{INDENT}{heading if n == 0 else '':{column}}{line}".rstrip())
    return found
