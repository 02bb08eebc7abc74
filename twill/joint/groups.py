"""Which warp groups a program may have, and how many registers each of them gets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from twill.problem import Problem

UNLIMITED = 1 << 30


@dataclass(frozen=True)
class WarpGroup:
    """A warp group that operations may be assigned to.

    Attributes
    ----------
    warps : int
        Its width.
    variable_latency : bool
        Whether it is set aside for operations of variable latency.
    allocation : int
        Registers per thread allocated to it; 0 if the machine does not limit registers.
    live_limit : int
        Most registers per thread that values and working sets may take.
    """

    warps: int
    variable_latency: bool
    allocation: int
    live_limit: int


def configurations(
    problem: Problem, most_groups: int | None = None
) -> Iterator[tuple[WarpGroup, ...]]:
    """Yield the sets of warp groups to try, fewest groups first.

    Groups of equal width share what the register file holds equally. A width is used only if it
    is the least one that fits some operation.

    Parameters
    ----------
    problem : Problem
        The problem.
    most_groups : int, optional
        Most groups beside those for operations of variable latency.
    """
    loaders = _loader_widths(problem)
    pools = _pools(problem, loaders)
    choices = itertools.product(*(range(count + 1) for _, count in pools))
    for counts in sorted(choices, key=lambda c: (sum(c), c)):
        if not sum(counts) or (most_groups is not None and sum(counts) > most_groups):
            continue
        widths = [
            width for (width, _), count in zip(pools, counts, strict=True) for _ in range(count)
        ]
        needed = max((o.warps for o in problem.operations if not o.variable_latency), default=0)
        if widths and max(widths) < needed:
            continue
        if sum(widths) + sum(loaders) > problem.machine.warps.value:
            continue
        groups = _with_registers(problem, loaders, widths)
        if groups is not None:
            yield groups
    if not pools:
        groups = _with_registers(problem, loaders, [])
        if groups is not None:
            yield groups


def _loader_widths(problem: Problem) -> list[int]:
    """One group for the operations of variable latency, of the width that the widest needs."""
    needed = max((o.warps for o in problem.operations if o.variable_latency), default=0)
    if not needed:
        return []
    return [min(pool.warps for pool in problem.machine.groups if pool.warps >= needed)]


def _pools(problem: Problem, loaders: list[int]) -> list[tuple[int, int]]:
    available = {pool.warps: pool.count for pool in problem.machine.groups}
    for width in loaders:
        available[width] -= 1
    used = {
        min(width for width in available if width >= operation.warps)
        for operation in problem.operations
        if not operation.variable_latency
    }
    return sorted((width, available[width]) for width in used if available[width] > 0)


def _with_registers(
    problem: Problem, loaders: list[int], widths: list[int]
) -> tuple[WarpGroup, ...] | None:
    """Hand out the register file, or return None if it cannot hold these groups."""
    file = problem.registers
    if file is None:
        return tuple(
            WarpGroup(width, variable, 0, UNLIMITED)
            for variable, some in ((True, loaders), (False, widths))
            for width in some
        )
    small = [width for width in [*loaders, *widths] if width < file.warps]
    small_blocks = -(-sum(small) // file.warps)
    blocks = sum(width // file.warps for width in [*loaders, *widths] if width >= file.warps)
    budget = file.file // (32 * file.warps) - small_blocks * file.least
    share = file.most if not blocks else budget // blocks // file.step * file.step
    share = min(share, file.most)
    if share < file.least:
        return None

    def group(width: int, *, variable: bool) -> WarpGroup:
        allocation = file.least if width < file.warps else share
        live = min(allocation, file.limit) - file.reserve
        return WarpGroup(width, variable, allocation, live)

    return (
        *(group(width, variable=True) for width in loaders),
        *(group(width, variable=False) for width in widths),
    )
