"""What no interval can make feasible, found before any solver starts."""

from __future__ import annotations

from collections.abc import Sequence

from twill.errors import RefusedError
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
                f"warps of its own kind; {problem.machine.name} has none left for it"
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
                f"{file.reserve} are reserved"
            )


def _refuse_memory(problem: Problem) -> None:
    name = problem.machine.name
    for memory, capacity in problem.memories.items():
        room = capacity - problem.fixed[memory]
        unit = problem.machine.memories[memory].unit  # type: ignore[index]
        if room < 0:
            raise RefusedError(
                f"{problem.loop.name}: values that live through the whole loop "
                f"need {problem.fixed[memory]} {unit} of {memory}; {name} has "
                f"{capacity}"
            )
        for operation in problem.operations:
            if operation.memory == memory and operation.footprint > room:
                raise RefusedError(
                    f"{problem.loop.name}: the result of {operation.name} needs "
                    f"{operation.footprint} {unit} of {memory}; {name} has {room} left beside "
                    "what lives through the whole loop"
                )
