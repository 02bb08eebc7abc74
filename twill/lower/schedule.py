"""A solution of a problem becomes the artifact."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from twill.artifacts.base import first_problem
from twill.artifacts.fences import with_fences
from twill.artifacts.proof import Proof
from twill.artifacts.schedule import Group, Placement, Schedule
from twill.lower.pipeline import pipeline
from twill.lower.pressure import within_registers
from twill.lower.programs import barriers, programs
from twill.lower.storage import lay_out, registers_live
from twill.problem.problem import Problem
from twill.problem.solution import Assignment


def realize(
    problem: Problem,
    interval: int,
    assignment: Assignment,
    proof: Proof | None = None,
    *,
    names: Mapping[int, str] | None = None,
    solver: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Schedule:
    """Turn a modulo schedule with warp assignment into the artifact.

    `names`: of groups, by their index in the assignment; without them they are called after what
    they do.
    `solver`: versions of what computed it.

    Raises
    ------
    RefusedError
        If a memory cannot hold its buffers.
    InputError
        If there are more slots or cycles than a schedule can say.
    """
    named = pipeline(problem, interval, assignment, names)
    signals, layout = lay_out(named)
    signals = within_registers(signals)
    live = registers_live(named)
    length = max(named.start[o.index] + o.cycles for o in problem.operations)
    groups = tuple(
        Group(
            name=name,
            warps=group.warps,
            variable_latency=group.variable_latency,
            registers=group.allocation or None,
            registers_live=live[name],
        )
        for name, group in named.groups.items()
    )
    document = {
        "name": problem.loop.name,
        "description": f"{problem.loop.name} on {problem.machine.name}",
        "rules": problem.rules,
        "time": problem.scale,
        "initiation_interval": interval,
        "length": length,
        "stages": -(-length // interval),
        "groups": groups,
        "placements": tuple(
            Placement(operation=o.name, group=named.place[o.index], start=named.start[o.index])
            for o in problem.operations
        ),
        "pipeline_depths": layout.depths,
        "hiding_depths": layout.hiding,
        "storage": layout.storage,
        "fixed": layout.fixed,
        "barriers": barriers(signals),
        "programs": programs(signals),
        "proof": proof,
        "solver": dict(solver or {}),
        "seed": seed,
        "loop": problem.loop,
        "machine": problem.machine,
        "machine_hash": problem.machine.digest,
    }
    try:
        return with_fences(Schedule.model_validate(document))
    except ValidationError as error:
        raise first_problem(error, problem.loop.file or problem.loop.name) from None
