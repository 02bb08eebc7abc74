"""Levers that reduce the interval: changed problems, each solved for its least interval."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from twill.artifacts.hardware import Synchronisation
from twill.artifacts.loop import Cost, Loop, Step
from twill.artifacts.machine import Machine
from twill.artifacts.mechanisms import HandOvers
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.errors import RefusedError
from twill.engines import EngineFactory
from twill.explain.proofs import SECONDS, busiest_units, problem_of
from twill.problem import Problem, build_problem
from twill.problem.costs import normalize
from twill.problem.groups import available_groups
from twill.search.request import Options
from twill.search.search import least_interval

Costs = TypeVar("Costs", Synchronisation, HandOvers)


@dataclass(frozen=True)
class Lever:
    """A changed problem.

    `name`: the change in words.
    `interval_cycles`: its least interval, or one that was found; None if none was in time.
    `proved`: whether it was proved to be least.
    `gain`: further iterations per cycle, as a share of the schedule's own: 0.5 is half as many
    again.
    `seconds`: the time that it had.
    """

    name: str
    interval_cycles: float | None
    proved: bool
    gain: float | None
    seconds: float


def levers(
    schedule: Schedule, engine: EngineFactory, seconds: float = SECONDS, report: Report = silent
) -> list[Lever]:
    """Solve every changed problem for its least interval.

    Raises
    ------
    InputError
        If the schedule was not solved.
    """
    found = []
    most = schedule.proof.bound.most_stages if schedule.proof else None
    options = Options(most_stages=most, seed=schedule.seed, timeout=seconds)
    own = (schedule.initiation_interval or 1) * schedule.time.cycles_per_unit
    for name, problem in _changed(problem_of(schedule)):
        report(name)
        try:
            interval, proved = least_interval(problem, engine, options)
        except RefusedError:
            found.append(Lever(name, None, proved=False, gain=None, seconds=seconds))
        else:
            cycles = interval * problem.scale.cycles_per_unit
            found.append(Lever(name, cycles, proved, own / cycles - 1, seconds))
    return found


def _changed(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """Yield what there is to change, and the problem with that changed."""
    if problem.registers is not None:
        yield "no limit of registers", replace(problem, registers=None)
    yield "one more warp group", with_a_group(problem)
    if problem.hop or any(o.transfer for o in problem.operations):
        yield "signals and transfers that take no time", without_transfers(problem)
    for unit in busiest_units(problem):
        yield f"{unit} twice as fast", on_faster_unit(problem, unit)
    if problem.memories:
        yield "no limit of memory", replace(problem, memories={})


def with_a_group(problem: Problem) -> Problem:
    """Return the problem with one more group of the widest width in use, and warps for it.

    A limit that was asked for is raised by one as well.
    """
    larger = machine_with_a_group(
        problem.machine, max(group.warps for group in available_groups(problem))
    )
    limits = tuple(
        (name, most + 1 if name == "groups" else most) for name, most in problem.wishes.limits
    )
    return replace(problem, machine=larger, wishes=replace(problem.wishes, limits=limits))


def machine_with_a_group(machine: Machine, width: int) -> Machine:
    """Return the machine with one more group of that many warps, and warps for it."""
    groups = tuple(
        pool.model_copy(update={"count": pool.count + (pool.warps == width)})
        for pool in machine.groups
    )
    warps = machine.warps.model_copy(update={"value": machine.warps.value + width})
    return machine.model_copy(update={"groups": groups, "warps": warps})


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


def without_transfers(problem: Problem) -> Problem:
    """Return the problem with signals and transfers between groups that take no time."""
    edges = []
    for edge in problem.edges:
        transfer = problem.operations[edge.producer].transfer if edge.transferable else 0
        cross = edge.cross_delay - transfer
        if cross - edge.delay >= problem.hop:  # a load's own completion is a signal without a hop
            cross -= problem.hop
        edges.append(replace(edge, cross_delay=cross))
    operations = tuple(replace(o, transfer=0) for o in problem.operations)
    return replace(problem, hop=0, operations=operations, edges=tuple(edges))


def on_faster_unit(problem: Problem, unit: str) -> Problem:
    """Return the problem on a machine on which one unit does its work in half the time.

    Steps on the unit take half their cycles, rounded up, and latencies are shorter by what is
    saved. The instructions stay: what was half the issue slots is all of them then. For the issue
    unit itself it is the instructions that are halved. Normalized costs are chosen again.
    """
    machine = problem.machine
    faster = with_unit_faster(problem.loop, machine, unit)
    scale = problem.scale
    if scale.mode == "normalized":
        scale = normalize(faster, machine, scale.budget or 1)
    changed = build_problem(faster, machine, rules=problem.rules, scale=scale)
    return replace(changed, wishes=problem.wishes, registers=problem.registers)


def with_unit_faster(loop: Loop, machine: Machine, unit: str, factor: float = 2) -> Loop:
    """Return the loop with the costs of a machine on which a unit is so many times as fast."""
    operations = tuple(
        o.model_copy(update={"cost": _faster(machine.cost(o), machine, unit, factor)})
        for o in loop.operations
    )
    return loop.model_copy(update={"operations": operations})


def _faster(cost: Cost, machine: Machine, unit: str, factor: float) -> Cost:
    steps = tuple(_step(step, machine, unit, factor) for step in cost.steps)
    span = max if cost.asynchronous else sum
    saved = span(s.cycles for s in cost.steps) - span(s.cycles for s in steps)
    return cost.model_copy(update={"steps": steps, "latency": max(0, cost.latency - saved)})


def _step(step: Step, machine: Machine, unit: str, factor: float) -> Step:
    update = {}
    if step.unit == unit:
        update["cycles"] = math.ceil(step.cycles / factor)
    if unit == machine.issue_unit:
        update["instructions"] = math.ceil(step.instructions / factor)
    return step.model_copy(update=update)
