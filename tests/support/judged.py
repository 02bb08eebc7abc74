"""What the verifier says against an assignment that has not become a schedule yet."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from twill.artifacts.schedule import Group, Placement, Schedule
from twill.problem import Problem
from twill.problem.solution import Assignment
from twill.verification import RULES
from twill.verification.reading import Edge, Model, Pinned, RegisterFile, Work
from twill.verification.times import Placed

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


def as_read(problem: Problem) -> Model:
    """Return a problem, made up perhaps, as if the judge had read it."""
    file = problem.registers
    return Model(
        rules=problem.rules,
        operations=tuple(Work(**_facts(o, Work)) for o in problem.operations),
        edges=tuple(Edge(**_facts(e, Edge)) for e in problem.edges),
        capacities=problem.capacities,
        memories=problem.memories,
        fixed=problem.fixed,
        pinned=tuple(Pinned(**_facts(p, Pinned)) for p in problem.pinned),
        registers=None if file is None else RegisterFile(**_facts(file, RegisterFile)),
        hop=problem.hop,
    )


def _facts(of: object, like: type) -> dict[str, Any]:
    """Return what both know; what only the judge does has no part in these rules."""
    names = [field.name for field in fields(like) if field.default is MISSING]
    return {name: getattr(of, name) for name in names}


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
    placed = Placed(as_read(problem), schedule)
    return [message for rule in JUDGED for message in RULES[rule](placed)]
