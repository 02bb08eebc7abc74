"""Registers that values take over time, at least."""

from __future__ import annotations

from collections.abc import Sequence

from twill.bounds.paths import longest_paths
from twill.problem import Problem, rules
from twill.problem.groups import WarpGroup, shares
from twill.problem.lifetimes import register_ends

RELAXED = ("dependence", "registers")


def lacks_registers(problem: Problem, interval: int, groups: Sequence[WarpGroup]) -> bool:
    """Return whether values take more registers for longer than all wide groups have together.

    In every interval each value lives at least as long as the longest path to its readers. Its
    registers times that time are taken. The register file offers the registers of groups, less the
    reserve of each, times the interval.
    """
    file = problem.registers
    if file is None:
        return False
    wide = [group for group in groups if group.warps >= file.warps]
    blocks = sum(share.blocks for share in shares(file, groups))
    most = max(rules.pool(file, count) for count in range(1, blocks + 1))
    offered = max(
        (
            min(count * wide[0].live_limit, most - count * file.reserve)
            for count in range(1, len(wide) + 1)
        ),
        default=0,
    )
    least = least_lifetimes(problem, interval)
    taken = sum(o.registers * least[o.index] for o in problem.operations if o.warps >= file.warps)
    return taken > offered * interval


def average_registers(problem: Problem, interval: int) -> list[int]:
    """Return how many registers per thread each result takes on average, at least."""
    least = least_lifetimes(problem, interval)
    return [o.registers * least[o.index] // interval for o in problem.operations]


def least_lifetimes(problem: Problem, interval: int) -> list[int]:
    """Return for how long each result is in registers at least, wherever its readers are."""
    paths = longest_paths(problem, interval)
    return [
        0
        if paths is None or not o.registers
        else _least_lifetime(problem, interval, o.index, paths[o.index].tolist())
        for o in problem.operations
    ]


def _least_lifetime(problem: Problem, interval: int, v: int, after: Sequence[int]) -> int:
    """Return a bound below the time for which v's registers are taken, wherever readers are.

    `after`: the least time from v's issue to each other one, if any.
    """
    pairs: dict[tuple[int, int] | None, list[int]] = {}
    least = 0
    for end in register_ends(problem, v):
        reached = max(0, after[end.operation] + end.offset + end.iterations * interval)
        pair = end.same or end.apart
        if pair is None or pair[0] == pair[1]:
            least = max(least, reached if end.apart is None else 0)
        else:
            pairs.setdefault(pair, []).append(reached)
    return max([least, *(min(ends) for ends in pairs.values())])
