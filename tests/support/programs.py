"""Schedules that nobody solved: programs of groups, written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import twill
from tests.support.small import edge, op, small_loop, small_machine
from twill.artifacts.program import Arrive, Barrier, Instruction, Issue, Program, Storage, Wait
from twill.artifacts.schedule import Group, Placement, Schedule


def unsolved(
    loop: twill.Loop,
    machine: twill.Machine,
    programs: Mapping[str, Sequence[Instruction]],
    barriers: tuple[Barrier, ...] = (),
    warps: int = 4,
) -> Schedule:
    """Return a schedule that nobody solved: programs and nothing else."""
    place = {
        part.operation: group
        for group, body in programs.items()
        for part in Program(group=group, body=tuple(body)).issues
    }
    return Schedule(
        name="by hand",
        groups=tuple(Group(name=name, warps=warps) for name in programs),
        placements=tuple(Placement(operation=o, group=g) for o, g in place.items()),
        programs=tuple(Program(group=g, body=tuple(body)) for g, body in programs.items()),
        loop=loop,
        machine=machine,
        barriers=barriers,
    )


def through_slots(loop: twill.Loop, machine: twill.Machine, slots: int) -> Schedule:
    """Return a schedule whose one group makes values in slots that the other one reads."""
    maker, reader = loop.operations
    full, empty = f"{maker.name}.full", f"{maker.name}.empty"
    alone = machine.cost(maker).asynchronous
    making: list[Instruction] = [Wait(barrier=empty, distance=slots)]
    making += [Issue(operation=maker.name, signals=(full,) * alone)]
    making += [Arrive(barrier=full)] * (not alone)
    using: list[Instruction] = [
        Wait(barrier=full),
        Issue(operation=reader.name),
        Arrive(barrier=empty),
    ]
    barriers = tuple(Barrier(name=name, slots=slots) for name in (full, empty))
    schedule = unsolved(loop, machine, {"left": making, "right": using}, barriers)
    storage = Storage(value=maker.name, memory="smem", slots=slots, size=1024)
    groups = tuple(group.model_copy(update={"warps": maker.warps}) for group in schedule.groups)
    return schedule.model_copy(update={"storage": (storage,), "groups": groups})


def ring(slots: int, latency: int, work: int) -> Schedule:
    """Return a load of `latency` cycles into a ring and an operation of `work` cycles on it."""
    load = op("load", "TMA", 2, latency=latency, asynchronous=True, issue=1, memory="smem",
              variable_latency=True, warps=1)  # fmt: skip
    loop = small_loop([load, op("use", "ALU", work, warps=1)], [edge("load", "use")])
    machine = small_machine({"TMA": 1, "ALU": 1}, groups=((1, 2),), smem=1 << 20, hop=3)
    return through_slots(loop, machine, slots)
