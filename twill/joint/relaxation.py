"""What refutes a set of warp groups without a search: too few registers for too long."""

from __future__ import annotations

from collections.abc import Sequence

from twill.bounds import NO_PATH, longest_paths
from twill.joint.groups import WarpGroup
from twill.joint.lifetimes import Moment, register_ends
from twill.problem import Problem

FAMILIES = ("dependence", "registers")


def lacks_registers(problem: Problem, interval: int, groups: Sequence[WarpGroup]) -> bool:
    """Return whether values take more registers for longer than these groups can have together.

    In every interval each value lives at least as long as the longest path to its readers, so that
    its registers times that time are taken; all groups offer their registers times the interval.

    Parameters
    ----------
    problem : Problem
        The problem.
    interval : int
        I.
    groups : sequence of WarpGroup
        The groups.
    """
    paths = longest_paths(problem, interval)
    if problem.registers is None or paths is None:
        return False
    for variable in (False, True):
        offered = sum(g.live_limit for g in groups if g.variable_latency == variable)
        taken = 0
        for operation in problem.operations:
            if operation.variable_latency == variable and operation.registers:
                v = operation.index
                after = [int(d) for d in paths[v]]
                after[v] = 0
                taken += operation.registers * _least_lifetime(problem, interval, v, after)
        if taken > offered * interval:
            return True
    return False


def _least_lifetime(problem: Problem, interval: int, v: int, after: Sequence[int]) -> int:
    """Return a bound below the time for which v's registers are taken, wherever readers are."""
    pairs: dict[tuple[int, int] | None, list[int]] = {}
    least = 0
    for end in register_ends(problem, v):
        reached = _earliest(end, interval, after)
        pair = end.same or end.apart
        if pair is None or pair[0] == pair[1]:
            least = max(least, reached if end.apart is None else 0)
        else:
            pairs.setdefault(pair, []).append(reached)
    return max([least, *(min(ends) for ends in pairs.values())])


def _earliest(end: Moment, interval: int, after: Sequence[int]) -> int:
    """Return a bound below the time from v's issue to a moment; 0 where no path leads to it."""
    ahead = after[end.operation]
    return max(0, ahead + end.offset + end.iterations * interval) if ahead > NO_PATH // 2 else 0
