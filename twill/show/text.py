"""Schedules as text for people and as short JSON."""

from __future__ import annotations

from typing import Any

from twill.artifacts.schedule import LowerBound, Schedule
from twill.console import say, table
from twill.verification.proof import conditions


def summary(schedule: Schedule) -> dict[str, Any]:
    """Return the main figures of a schedule as plain data."""
    proof = schedule.proof
    interval = schedule.initiation_interval
    return {
        "name": schedule.name,
        "machine": schedule.machine.name,
        "rules": schedule.rules,
        "time": schedule.time.mode,
        "interval_units": interval,
        "interval_bounds": None if proof is None else [proof.bound.value, interval],
        "interval_cycles": None if interval is None else interval * schedule.time.cycles_per_unit,
        "length": schedule.length,
        "stages": schedule.stages,
        "groups": [
            {
                "name": g.name,
                "warps": g.warps,
                "registers": g.registers,
                "registers_live": g.registers_live,
            }
            for g in schedule.groups
        ],
        "pipeline_depths": schedule.pipeline_depths,
        "hiding_depths": schedule.hiding_depths,
        "start": schedule.start,
        "assignment": schedule.assignment,
        "proved": {} if proof is None else {entry.level: entry.proved for entry in proof.levels},
        "levels": {} if proof is None else {entry.level: entry.value for entry in proof.levels},
        "bound": None if proof is None else proof.bound.model_dump(exclude_none=True),
    }


def print_schedule(schedule: Schedule) -> None:
    """Print the placement of every operation and what was proved."""
    interval = schedule.initiation_interval or 1
    order = {group.name: index for index, group in enumerate(schedule.groups)}
    rows = []
    for placement in sorted(
        schedule.placements, key=lambda p: (order[p.group], (p.start or 0) % interval)
    ):
        operation = schedule.loop.operation(placement.operation)
        start = placement.start or 0
        rows.append(
            [
                placement.group,
                placement.operation,
                operation.kind,
                str(start),
                str(start % interval),
                str(start // interval),
            ]
        )
    table(
        ["group", "operation", "kind", "start", "slot", "stage"],
        rows,
        right={"start", "slot", "stage"},
    )
    for group in schedule.groups:
        registers = (
            ""
            if group.registers is None
            else f", {group.registers} registers per thread ({group.registers_live} live)"
        )
        say(f"{group.name}: {group.warps} warp{'s' if group.warps > 1 else ''}{registers}")
    for load, depth in schedule.pipeline_depths.items():
        wanted = schedule.hiding_depths.get(load, depth)
        shallow = f" (warning: hiding its latency takes {wanted})" if wanted > depth else ""
        say(f"{load}: ring of {depth} slots{shallow}")
    say()
    unit = (
        "cycles"
        if schedule.time.mode != "normalized"
        else f"units of {schedule.time.cycles_per_unit:.3g} cycles"
    )
    say(
        f"initiation interval {schedule.initiation_interval} {unit}, length {schedule.length}, "
        f"{schedule.stages} stages ({schedule.rules} rules)"
    )
    if schedule.time.mode != "exact":
        say(
            f"normalization changed ratios of costs by a factor of up to "
            f"{schedule.time.distortion:.3g}"
        )
    if schedule.proof is not None:
        proved = schedule.proof.bound.reason != "not proved"
        low = schedule.proof.bound.value
        say(
            f"optimal: {why(schedule.proof.bound)}"
            if proved
            else f"not proved optimal: the least interval is between {low} and {interval}"
        )
        decided = conditions(schedule.proof)
        if decided:
            say(f"within what was asked for: {', '.join(decided)}")
        say(
            "levels: "
            + ", ".join(
                f"{entry.level} {entry.value}{'' if entry.proved else ' (not proved)'}"
                for entry in schedule.proof.levels
            )
        )


def why(bound: LowerBound) -> str:
    """Say in words why no smaller interval exists."""
    below = bound.value - 1
    if bound.reason == "no joint schedule":
        within = f"with at most {bound.most_stages} stages"
        because = f", because of {', '.join(bound.families)}" if bound.families else ""
        return f"there is no joint schedule at {below} {within}{because} ({bound.solver})"
    who = f"unit {bound.unit} needs all" if bound.unit else "all units together need"
    needed = f"{who} {bound.value} for one iteration's work"
    around = " -> ".join((*bound.cycle, *bound.cycle[:1]))
    reasons = {
        "ResMII": needed,
        "configurations": needed,
        "issue": f"issuing {''.join(bound.cycle[:1])} takes its warps {bound.value} of an interval",
        "RecMII": f"the recurrence {around} takes {bound.value}",
        "no modulo schedule": f"there is no modulo schedule at {below} ({bound.solver})",
        "not proved": f"the least interval is {bound.value} or more",
    }
    return reasons[bound.reason]
