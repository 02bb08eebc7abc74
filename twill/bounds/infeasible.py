"""Loops that no interval makes feasible, found before any solver starts, and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from twill.artifacts.hardware import HALVES
from twill.base.errors import Refusal, RefusedError
from twill.problem import Problem, rules
from twill.problem.groups import WarpGroup
from twill.problem.lifetimes import updates
from twill.problem.operations import ProblemOperation


def refuse_infeasible(problem: Problem, groups: Sequence[WarpGroup]) -> None:
    """Refuse a problem that no interval can make feasible.

    Raises
    ------
    RefusedError
        Names the value or the operation, what it needs and the limit.
    """
    _refuse_updates(problem)
    _refuse_homeless(problem, groups)
    _refuse_registers(problem)
    _refuse_memory(problem)


def _refuse_updates(problem: Problem) -> None:
    """Refuse updates in place that cannot be: their operand would be free while they read it."""
    if problem.rules != "issue":
        return
    here = updates(problem)
    for edge, dependence in zip(problem.edges, problem.loop.dependences, strict=True):
        pair = (edge.producer, edge.consumer)
        in_memory = edge.carries and problem.operations[edge.producer].memory in problem.memories
        if dependence.in_place and in_memory and pair[0] != pair[1] and pair not in here:
            raise RefusedError(
                f"{problem.loop.name}: {dependence.consumer} updates {dependence.producer} in "
                "place and cannot: that takes two tiles of one size in one memory, no other "
                "update of the first, and a dependence from each other reader of it",
                Refusal(families=("memory",), value=dependence.producer),
            )


def _refuse_homeless(problem: Problem, groups: Sequence[WarpGroup]) -> None:
    for operation in problem.operations:
        if not any(group.takes(operation) for group in groups):
            raise RefusedError(
                f"{problem.loop.name}: {operation.name} needs a warp group of {operation.warps} "
                f"warps of its own kind; {problem.machine.name} has none left for it",
                Refusal(value=operation.name, needed=operation.warps, limit=0, unit="warps"),
            )


def _refuse_registers(problem: Problem) -> None:
    file = problem.registers
    if file is None:
        return
    most, room = min(file.most, file.limit), rules.room(file, file.most)
    for operation in problem.operations:
        needed = max(operation.registers, operation.working_set)
        if needed > room:
            raise RefusedError(
                f"{problem.loop.name}: the result of {operation.name} needs {needed} "
                f"registers per thread; {problem.machine.name} has {most} of which "
                f"{file.reserve} are reserved",
                Refusal(
                    families=("registers",),
                    value=operation.name,
                    needed=needed,
                    limit=room,
                    unit="registers per thread",
                ),
            )


def _refuse_memory(problem: Problem) -> None:
    name = problem.machine.name
    for memory, capacity in problem.memories.items():
        room = capacity - problem.fixed[memory]
        if room < 0:
            raise RefusedError(
                f"{problem.loop.name}: values that live through the whole loop "
                f"need {problem.amount(memory, problem.fixed[memory])} of {memory}; {name} has "
                f"{problem.amount(memory, capacity)}",
                lack(memory, None, problem.fixed[memory], capacity),
            )
        for operation in problem.operations:
            if operation.memory == memory and operation.footprint > room:
                raise RefusedError(
                    f"{problem.loop.name}: the result of {operation.name} needs "
                    f"{problem.amount(memory, operation.footprint)} of {memory}; {name} has "
                    f"{problem.amount(memory, room)} left beside what lives through the whole loop",
                    lack(memory, operation.name, operation.footprint, room),
                )


def lack(memory: str, value: str | None, needed: int, limit: int) -> Refusal:
    """Say in data what does not fit a memory, in the unit of the machine file.

    `value`: what asks for too much; None if it is several things together.
    `needed`, `limit`: bytes, or half columns.
    """
    columns = memory == "tmem"
    return Refusal(
        families=("memory",),
        value=value,
        needed=needed / HALVES if columns else needed,
        limit=limit / HALVES if columns else limit,
        unit=f"{'columns' if columns else 'bytes'} of {memory}",
    )


def infeasible_interval(problem: Problem) -> int:
    """Return an interval at which a whole iteration fits before the next one starts."""
    every = range(len(problem.operations))
    turns = sum(max((problem.turn(u, v) for v in every), default=0) for u in every)
    work = sum(o.cycles + o.latency + o.transfer for o in problem.operations)
    return work + turns + sum(e.cross_delay for e in problem.edges)


def as_written(problem: Problem) -> tuple[Problem, int]:
    """Return a problem that is soon solved: operations one after the other as they are written.

    Returns: with orders between neighbours, streaming loads left out; an interval that this needs.
    """
    names = [o.index for o in problem.operations if not o.streaming]
    orders = (*problem.wishes.orders, *pairwise(names))
    written = replace(problem, wishes=replace(problem.wishes, orders=orders))
    return written, sum(max(o.cycles, o.latency) for o in problem.operations)


def no_schedule(
    problem: Problem,
    groups: Sequence[WarpGroup],
    interval: int,
    stages: int,
    families: tuple[str, ...],
) -> RefusedError:
    """Return the refusal of a loop that no interval helps."""
    lacking, advice = None, ""
    if "registers" in families and any(o.registers for o in problem.operations):
        lacking = _widest_values(problem, groups)
        advice = (
            f"; the widest values are {lacking.value} {lacking.unit}, a group has at most "
            f"{lacking.limit:g} for values"
        )
    elif "memory" in families and any(o.footprint for o in problem.operations):
        lacking = _largest_values(problem)
        advice = (
            f"; the largest values are {lacking.value} {lacking.unit}, of {lacking.limit:g} there"
        )
    return RefusedError(
        f"{problem.loop.name}: no schedule of at most {stages} stages even at an interval of "
        f"{interval}, whatever the order; in the way are "
        f"{', '.join(families) or 'constraints that the engine does not name'}{advice}",
        replace(lacking or Refusal(), families=families, interval=interval, stages=stages),
    )


def undecided(problem: Problem, least: int, seconds: float | None) -> RefusedError:
    """Return the refusal where nothing was found, which is no proof that there is nothing."""
    time_over = "" if seconds is None else f" within {seconds:g} s"
    unit = "units" if problem.scale.mode == "normalized" else "cycles"
    return RefusedError(
        f"{problem.loop.name}: no schedule was found{time_over}, which does not mean that "
        f"there is none; its interval would be {least} {unit} or more",
        Refusal(least_interval=least, seconds=seconds),
    )


def _largest_values(problem: Problem) -> Refusal:
    """Return what the two values need that take most of a memory, of all memories.

    A value that another one updates in place is part of that.
    """
    updated = {d.producer for d in problem.loop.dependences if d.in_place and not d.distance}

    def largest(memory: str) -> list[ProblemOperation]:
        inside = [o for o in problem.operations if o.memory == memory and o.name not in updated]
        return sorted(inside, key=lambda o: -o.footprint)[:2]

    def share(memory: str) -> float:
        return sum(o.footprint for o in largest(memory)) / problem.memories[memory]

    memory = max(problem.memories, key=share)
    found, part = largest(memory), HALVES if memory == "tmem" else 1
    room = problem.memories[memory] - problem.fixed[memory]
    values = " and ".join(f"{o.name} ({o.footprint / part:g})" for o in found)
    return lack(memory, values, sum(o.footprint for o in found), room)


def _widest_values(problem: Problem, groups: Sequence[WarpGroup]) -> Refusal:
    """Return what the values that take most registers need, and what there is."""
    widest = sorted(problem.operations, key=lambda o: -o.registers)[:2]
    return Refusal(
        value=" and ".join(f"{o.name} ({o.registers})" for o in widest if o.registers),
        needed=sum(o.registers for o in widest),
        limit=max(group.live_limit for group in groups),
        unit="registers per thread",
    )
