"""Exhaustive search over every schedule of a small loop, judged by the verifier's rules."""

from __future__ import annotations

import itertools

from tests.support.judged import as_read
from twill.artifacts.schedule import Group, Placement, Schedule
from twill.problem import Problem, build_problem
from twill.problem.groups import WarpGroup, available_groups
from twill.verification import RULES
from twill.verification.registers import live_registers
from twill.verification.times import Placed

JUDGED = (
    "dependence",
    "capacity",
    "turns",
    "concurrency",
    "registers",
    "memory",
)


def least_length(problem: Problem, interval: int, most: int) -> int | None:
    """Return the least length of any valid schedule at `interval`, None if above `most`."""
    return _least_length(problem, interval, most, available_groups(problem))


def _least_length(
    problem: Problem, interval: int, most: int, groups: tuple[WarpGroup, ...]
) -> int | None:
    case = _case(problem, groups)
    names = [operation.name for operation in problem.operations]
    labels = [f"g{index}" for index in range(len(groups))]
    best: int | None = None
    ranges = [range(most - operation.cycles + 1) for operation in problem.operations]
    for start in itertools.product(*ranges):
        length = max(s + o.cycles for s, o in zip(start, problem.operations, strict=True))
        if (best is not None and length >= best) or min(start) > 0:
            continue
        if _breaks_least_delay(problem, interval, start):
            continue
        case.interval = interval
        case.start = dict(zip(names, start, strict=True))
        for place in itertools.product(labels, repeat=len(names)):
            case.place = dict(zip(names, place, strict=True))
            if not _fits_kinds(problem, groups, place):
                continue
            if not any(next(RULES[rule](case), None) for rule in JUDGED) and _fits_file(
                problem, groups, case
            ):
                best = length
                break
    return best


def _fits_kinds(problem: Problem, groups: tuple[WarpGroup, ...], place: tuple[str, ...]) -> bool:
    """Whether every group is wide enough for its operations and of their kind."""
    return all(
        groups[int(name[1:])].warps >= operation.warps
        and groups[int(name[1:])].variable_latency == operation.variable_latency
        for name, operation in zip(place, problem.operations, strict=True)
    )


def _fits_file(problem: Problem, groups: tuple[WarpGroup, ...], case: Placed) -> bool:
    """Whether registers can be allocated: each group's peak, rounded up, within the file."""
    file = problem.registers
    if file is None:
        return True
    total, narrow = 0, [0]
    for index, group in enumerate(groups):
        if f"g{index}" not in case.place.values():
            continue
        peak = int(live_registers(case, f"g{index}").max())
        needed = max(file.least, -(-(peak + file.reserve) // file.step) * file.step)
        if group.warps < file.warps:
            narrow.append(needed)
        else:
            total += needed * (group.warps // file.warps)
    return (total + max(narrow)) * file.threads <= file.file


def _breaks_least_delay(problem: Problem, interval: int, start: tuple[int, ...]) -> bool:
    return any(
        start[e.consumer] + e.distance * interval - start[e.producer] < problem.least_delay(i)
        for i, e in enumerate(problem.edges)
    )


def _case(problem: Problem, groups: tuple[WarpGroup, ...]) -> Placed:
    schedule = Schedule(
        name="candidate",
        initiation_interval=1,
        length=1,
        stages=1,
        rules=problem.rules,
        groups=tuple(
            Group(name=f"g{i}", warps=g.warps, registers=g.allocation or None)
            for i, g in enumerate(groups)
        ),
        placements=tuple(
            Placement(operation=o.name, group="g0", start=0) for o in problem.operations
        ),
        loop=problem.loop,
        machine=problem.machine,
    )
    return Placed(as_read(problem), schedule)


__all__ = ["build_problem", "least_length"]
