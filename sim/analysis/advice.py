"""Advice on changes, with the gain found by trying: deeper rings, a group more, a wait less."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from twill.artifacts.base import Part
from twill.artifacts.hardware import Synchronisation
from twill.artifacts.loop import Loop, Operation
from twill.artifacts.machine import Machine
from twill.artifacts.mechanisms import HandOvers
from twill.artifacts.program import (
    Arrive,
    Await,
    Instruction,
    Interleave,
    Program,
    Wait,
    references,
)
from twill.artifacts.schedule import Group, Schedule
from twill.base.errors import TwillError
from twill.sim.analysis.rings import Changed, deeper, rings

WORTH = 0.001  # relative gain below which a change is not worth a line
MOST_SLOTS = 4
# What names the operation without which an instruction is not needed, by what it does.
CONCERNS = {"issue": "operation", "await": "operation", "put": "value", "get": "reader"}

Costs = TypeVar("Costs", Synchronisation, HandOvers)
# Runs a changed schedule; its interval in cycles, None if it has none. Raises if it is wrong.
Measure = Callable[[Changed], float | None]


class Advice(Part):
    """A change that was tried.

    Attributes
    ----------
    kind : str
        ``ring`` (more slots), ``group`` (one more), ``wait`` (one less) or ``machine`` (not
        available: it shows the hardware's part in the loss).
    what : str
        The change in words.
    interval_cycles : float
        Interval that it achieved.
    gain : float
        Part of the interval that it saves; negative if it costs.
    needs : str
        Resources that it takes; empty if none.
    fits : bool
        Whether the machine has them.
    """

    kind: str
    what: str
    interval_cycles: float
    gain: float
    needs: str = ""
    fits: bool = True


def advise(
    schedule: Schedule, interval: float, measure: Measure, units: tuple[str, ...] = ()
) -> tuple[Advice, ...]:
    """Try changes of a schedule; those that go wrong are left out.

    `interval`: its measured interval, in cycles.
    `measure`: runs a changed schedule under the same conditions, with every check.
    """
    others = [
        *split(schedule),
        *without_each_wait(schedule),
        Changed(
            "machine", "if waits and arrives took no time", schedule, without=("synchronisation",)
        ),
        *(twice_as_fast(schedule, unit) for unit in units),
    ]
    tried = [
        *_deepened(schedule, interval, measure),
        *((changed, _try(measure, changed)) for changed in others),
    ]
    found = [
        Advice(
            kind=changed.kind,
            what=changed.what,
            interval_cycles=achieved,
            gain=1 - achieved / interval,
            needs=changed.needs,
            fits=changed.fits,
        )
        for changed, achieved in tried
        if achieved is not None
    ]
    return tuple(sorted(found, key=lambda advice: (-advice.gain, advice.kind, advice.what)))


def _deepened(
    schedule: Schedule, interval: float, measure: Measure
) -> Iterator[tuple[Changed, float | None]]:
    """Yield deeper rings, each for as long as a slot more is worth it, then all at once."""
    ringed = rings(schedule)
    for values in [*([value] for value in ringed), *([ringed] if len(ringed) > 1 else [])]:
        before = interval
        for by in range(1, MOST_SLOTS + 1):
            changed = deeper(schedule, values, by)
            achieved = _try(measure, changed)
            yield changed, achieved
            if achieved is None or achieved >= before * (1 - WORTH):
                break
            before = achieved


def _try(measure: Measure, changed: Changed) -> float | None:
    try:
        return measure(changed)
    except TwillError:
        return None


# -- groups -----------------------------------------------------------------------------------


def split(schedule: Schedule) -> Iterator[Changed]:
    """Yield schedules in which a group's independent operations have a group of their own.

    Both groups keep every wait, and both arrive at every barrier at which the one did, so that
    neither does anything earlier than the order of the one allowed.
    """
    taken = sum(group.warps for group in schedule.groups)
    for group in schedule.groups:
        mine = [p.operation for p in schedule.placements if p.group == group.name]
        parts = _components(schedule, mine)
        if len(parts) > 1:
            moved = set(parts[-1])
            warps = max(o.warps for o in schedule.loop.operations if o.name in moved)
            width = min(
                (pool.warps for pool in schedule.machine.groups if pool.warps >= warps),
                default=group.warps,
            )
            yield Changed(
                "group",
                f"one more group, for {', '.join(parts[-1])} of {group.name}",
                _split(schedule, group, moved, width),
                f"{width} warp{'s' if width > 1 else ''} and their registers",
                fits=taken + width <= schedule.machine.warps.value,
            )


def _components(schedule: Schedule, operations: Sequence[str]) -> list[list[str]]:
    leader = {name: name for name in operations}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for dependence in schedule.loop.dependences:
        if dependence.producer in leader and dependence.consumer in leader:
            leader[find(dependence.consumer)] = find(dependence.producer)
    parts: dict[str, list[str]] = {}
    for name in operations:
        parts.setdefault(find(name), []).append(name)
    return list(parts.values())


def _split(schedule: Schedule, group: Group, moved: set[str], width: int) -> Schedule:
    names = {other.name for other in schedule.groups}
    name = next(n for k in itertools.count(1) if (n := group.name + k * "'") not in names)
    program = schedule.program(group.name)
    kept = {p.operation for p in schedule.placements if p.group == group.name} - moved
    named = {b.name for b in schedule.barriers if b.kind == "named"}
    arrivals = {
        i.barrier
        for i in program.body
        if isinstance(i, Arrive) or (isinstance(i, Wait) and i.barrier in named)
    }
    new, there = group.model_copy(update={"name": name, "warps": width}), {"group": name}
    return schedule.model_copy(
        update={
            "groups": (*schedule.groups, new),
            "placements": tuple(
                p.model_copy(update=there) if p.operation in moved else p
                for p in schedule.placements
            ),
            "storage": tuple(
                s.model_copy(update=there) if s.value in moved and s.group == group.name else s
                for s in schedule.storage
            ),
            "barriers": tuple(
                b.model_copy(update={"arrivals": b.arrivals + (b.name in arrivals)})
                for b in schedule.barriers
            ),
            "programs": (
                *(_only(p, kept) if p.group == group.name else p for p in schedule.programs),
                _announcing_nothing(_only(program, moved)).model_copy(update=there),
            ),
        }
    )


def _only(program: Program, operations: set[str]) -> Program:
    """Keep what concerns some operations, and all signals."""
    body: list[Instruction] = []
    for instruction in program.body:
        if isinstance(instruction, Interleave):
            parts = tuple(part for part in instruction.parts if part.operation in operations)
            whole = instruction.model_copy(update={"parts": parts})
            body += (whole,) if len(parts) > 1 else parts
        elif instruction.do not in CONCERNS or (
            getattr(instruction, CONCERNS[instruction.do]) in operations
        ):
            body.append(instruction)
    return program.model_copy(update={"body": tuple(body)})


def _announcing_nothing(program: Program) -> Program:
    """Leave the bytes that a phase waits for to the group that announced them so far."""
    body = tuple(
        i.model_copy(update={"expect": None}) if isinstance(i, Arrive) else i for i in program.body
    )
    return program.model_copy(update={"body": body})


# -- waits ------------------------------------------------------------------------------------


def without_each_wait(schedule: Schedule) -> Iterator[Changed]:
    """Yield schedules that lack one wait; most of them are wrong."""
    for number, program in enumerate(schedule.programs):
        for index, instruction in enumerate(program.body):
            if not isinstance(instruction, Wait | Await):
                continue
            body = program.body[:index] + program.body[index + 1 :]
            programs = list(schedule.programs)
            programs[number] = program.model_copy(update={"body": body})
            _, subject, _ = next(references(instruction))
            what = f"{program.group} without its wait for {subject}"
            changed = schedule.model_copy(update={"programs": tuple(programs)})
            yield Changed("wait", what, changed)


# -- the machine ------------------------------------------------------------------------------


def twice_as_fast(schedule: Schedule, unit: str) -> Changed:
    """Halve the cycles that every operation takes of a unit."""
    faster_loop = faster(schedule.loop, schedule.machine, unit, 2)
    changed = schedule.model_copy(update={"loop": faster_loop})
    return Changed("machine", f"if {unit} were twice as fast", changed)


def scaled_signals(machine: Machine, factor: float) -> Machine:
    """Let every wait, arrive and hop of a machine cost so many times as much, in whole cycles."""
    costs = machine.synchronisation
    named = None if costs.named is None else _scaled(costs.named, factor)
    changed: dict[str, object] = {
        "synchronisation": _scaled(costs, factor).model_copy(update={"named": named})
    }
    if machine.mechanisms is not None and machine.mechanisms.hand_overs is not None:
        scaled = {"hand_overs": _scaled(machine.mechanisms.hand_overs, factor)}
        changed["mechanisms"] = machine.mechanisms.model_copy(update=scaled)
    return machine.model_copy(update=changed)


def _scaled(costs: Costs, factor: float) -> Costs:
    update = {
        key: cycles.model_copy(update={"value": round(cycles.value * factor)})
        for key in ("wait", "arrive", "hop", "group", "fence")
        if (cycles := getattr(costs, key, None)) is not None
    }
    return costs.model_copy(update=update)


def faster(loop: Loop, machine: Machine, unit: str, factor: float) -> Loop:
    """Divide the cycles that every operation takes of a unit, rounded up."""
    operations = tuple(_faster(machine, o, unit, factor) for o in loop.operations)
    return loop.model_copy(update={"operations": operations})


def _faster(machine: Machine, operation: Operation, unit: str, factor: float) -> Operation:
    cost = machine.cost(operation)
    if all(step.unit != unit for step in cost.steps):
        return operation
    steps = tuple(
        step.model_copy(update={"cycles": math.ceil(step.cycles / factor)})
        if step.unit == unit
        else step
        for step in cost.steps
    )
    total = max if cost.asynchronous else sum
    saved = total(s.cycles for s in cost.steps) - total(s.cycles for s in steps)
    changed = cost.model_copy(update={"steps": steps, "latency": max(0, cost.latency - saved)})
    return operation.model_copy(update={"cost": changed})
