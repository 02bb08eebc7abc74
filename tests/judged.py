"""What the verifier says against an assignment that has not become a schedule yet."""

from __future__ import annotations

from twill.artifacts.schedule import Group, Placement, Schedule
from twill.problem.problem import Problem
from twill.problem.solution import Assignment
from twill.verification.verifier import _Case

JUDGED = (
    "groups",
    "variable latency",
    "dependence",
    "capacity",
    "turns",
    "completion",
    "concurrency",
    "registers",
    "register file",
    "memory",
)


def violations(problem: Problem, interval: int, found: Assignment) -> list[str]:
    """Return what the verifier says against an assignment."""
    length = found.length(problem)
    schedule = Schedule(
        name="candidate",
        initiation_interval=interval,
        length=length,
        stages=-(-length // interval),
        rules=problem.rules,
        groups=tuple(
            Group(
                name=f"g{g}",
                warps=found.groups[g].warps,
                registers=found.groups[g].allocation or None,
                variable_latency=found.groups[g].variable_latency,
            )
            for g in sorted(set(found.group))
        ),
        placements=tuple(
            Placement(operation=o.name, group=f"g{found.group[o.index]}", start=start)
            for o, start in zip(problem.operations, found.start, strict=True)
        ),
        loop=problem.loop,
        machine=problem.machine,
    )
    case = _Case(problem, schedule)
    return [message for rule in JUDGED for message in case.rules[rule]()]
