"""What no program is below on the simulated SM, argued anew: docs/bounds.md.

A bound names its reason; what that reason gives is computed from loop and machine alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.proof import ProgramBound
from twill.artifacts.schedule import Schedule
from twill.verification.argued import ROUNDING, Argued
from twill.verification.sharing import SharedGroups
from twill.verification.times import Placed, timed

NOMINAL = "nominal"  # latencies of loads that are those of the machine file


def unchecked(schedule: Schedule) -> Iterator[str]:
    """Say what a schedule states of how it was found, which nothing in it shows."""
    promise = schedule.promise
    if promise is not None and promise.static_interval is not None and not timed(schedule):
        yield f"found from a static interval of {promise.static_interval}"
    if promise is not None and promise.simulations:
        yield f"found among {promise.simulations} simulated programs, with seed {promise.seed}"
    if schedule.hiding_depths and not timed(schedule):
        slots = (f"{slots} of {load}" for load, slots in schedule.hiding_depths.items())
        yield f"slots that hide the latency of loads: {', '.join(slots)}"


def promise(placed: Placed) -> Iterator[str]:
    """Check a promise's static interval, and its bound; loads may take any time if drawn."""
    schedule = placed.schedule
    if schedule.promise is None:
        return
    static, given = schedule.initiation_interval, schedule.promise.static_interval
    if placed.timed and given not in (None, static):
        yield f"the promise says a static interval of {given}, it is {static}"
    if (bound := schedule.promise.bound) is None:
        return
    latency = None if schedule.promise.conditions[0].latency == NOMINAL else 0
    yield from check_program_bound(schedule.loop, schedule.machine, bound, latency=latency)
    interval = schedule.promise.interval_cycles
    if interval < bound.cycles * (1 - ROUNDING):
        yield (
            f"{interval:.10g} cycles an iteration are promised, and that no program takes less "
            f"than {bound.cycles:.10g}"
        )


def check_program_bound(
    loop: Loop, machine: Machine, bound: ProgramBound, *, latency: int | None = None
) -> Iterator[str]:
    """Say why a bound is more than its reason gives.

    `latency`: cycles that every load of variable latency takes at least; nominal without it.
    """
    least = bound.cycles * (1 - ROUNDING)
    argued = Argued(loop, machine, latency)
    match bound.reason, bound.of:
        case "work", (unit,) if unit in machine.units:
            holds = argued.by_work(unit) >= least
        case "issue slots", (unit,) if unit == machine.issue_unit:
            holds = argued.by_issue_slots() >= least
        case "commands", (name,) if name in argued.operations:
            holds = argued.by_commands(name) >= least
        case "recurrence", names:
            holds = argued.by_recurrence(names) >= least
        case "memory", (memory,) if memory in machine.memories.by_name:
            # A sum that grows more slowly than there is room for is too much at all below as well.
            room, before = (argued.room(memory, least * part) for part in (1, 1 - ROUNDING))
            holds = room < 0 and (before < room or room == -math.inf)
        case "registers", ("registers",):
            holds = argued.by_registers() >= least
        case "registers of groups", names:
            shared = SharedGroups(argued, names)
            # Whatever excludes an interval excludes shorter ones, down to those of recurrences.
            holds = shared.known and not shared.allow(least * (1 - ROUNDING))
        case _:
            yield f"a bound by {bound.reason} of {', '.join(bound.of) or 'nothing'} is none"
            return
    if not holds:
        yield (
            f"no program is said to take less than {bound.cycles:.10g} cycles by {bound.reason} "
            f"of {', '.join(bound.of)}, which that does not give"
        )
