"""What no interval can make feasible, found before any solver starts."""

from __future__ import annotations

from collections.abc import Sequence

from twill.artifacts.loop import HALVES
from twill.errors import Refusal, RefusedError
from twill.joint.groups import WarpGroup
from twill.problem import Problem


def refuse_hopeless(problem: Problem, groups: Sequence[WarpGroup]) -> None:
    """Refuse a problem that no interval can make feasible.

    Parameters
    ----------
    problem : Problem
        The problem.
    groups : sequence of WarpGroup
        All groups that may be used.

    Raises
    ------
    RefusedError
        Names the value or the operation, what it needs and the limit.
    """
    _refuse_homeless(problem, groups)
    _refuse_registers(problem)
    _refuse_memory(problem)


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
    most = min(file.most, file.limit)
    for operation in problem.operations:
        needed = max(operation.registers, operation.working_set)
        if needed > most - file.reserve:
            raise RefusedError(
                f"{problem.loop.name}: the result of {operation.name} needs {needed} "
                f"registers per thread; {problem.machine.name} has {most} of which "
                f"{file.reserve} are reserved",
                Refusal(
                    families=("registers",),
                    value=operation.name,
                    needed=needed,
                    limit=most - file.reserve,
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

    Parameters
    ----------
    memory : str
        ``smem`` or ``tmem``.
    value : str or None
        What asks for too much; None if it is several things together.
    needed, limit : int
        Bytes, or columns of 64 lanes.
    """
    columns = memory == "tmem"
    return Refusal(
        families=("memory",),
        value=value,
        needed=needed / HALVES if columns else needed,
        limit=limit / HALVES if columns else limit,
        unit=f"{'columns' if columns else 'bytes'} of {memory}",
    )
