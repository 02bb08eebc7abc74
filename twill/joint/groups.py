"""Which warp groups a program may have, and how many registers each of them gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from twill.problem import Problem, ProblemOperation, RegisterFile

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
        Registers per thread allocated to it; 0 before that is decided, or if the machine does not
        limit registers.
    live_limit : int
        Most registers per thread that values and working sets may take.
    """

    warps: int
    variable_latency: bool
    allocation: int
    live_limit: int

    def takes(self, operation: ProblemOperation) -> bool:
        """Return whether an operation may run on it.

        Parameters
        ----------
        operation : ProblemOperation
            The operation.
        """
        return self.warps >= operation.warps and self.variable_latency == operation.variable_latency


def available_groups(problem: Problem) -> tuple[WarpGroup, ...]:
    """Return all warp groups that a schedule may use; it need not use them all.

    Those for operations of variable latency come first. There are as many as could ever help: no
    more of a width than there are operations for it, and a second loading group only if some
    load waits for something.

    Parameters
    ----------
    problem : Problem
        The problem.
    """
    count = {pool.warps: pool.count for pool in problem.machine.groups}
    limit = _most_live(problem.registers)
    found = []
    loading = [o for o in problem.operations if o.variable_latency]
    others = [o for o in problem.operations if not o.variable_latency]
    if loading:
        width = min((w for w in count if w >= max(o.warps for o in loading)), default=0)
        waiting = [o for o in loading if any(e.consumer == o.index for e in problem.edges)]
        most = count.get(width, 0)
        if others and not any(count[w] for w in count if w != width and w >= _widest(others)):
            most = max(1, most - 1)
        loaders = min(count.get(width, 0), most, 1 + len(waiting), len(loading))
        found += [WarpGroup(width, variable_latency=True, allocation=0, live_limit=limit)] * loaders
        count[width] = count.get(width, 0) - loaders
    for width in sorted(count):
        fitting = sum(o.warps <= width for o in others)
        group = WarpGroup(width, variable_latency=False, allocation=0, live_limit=limit)
        found += [group] * min(max(count[width], 0), fitting)
    return tuple(found)


def _widest(operations: Sequence[ProblemOperation]) -> int:
    return max(operation.warps for operation in operations)


def opened_before(groups: Sequence[WarpGroup], problem: Problem) -> list[tuple[int, int]]:
    """Return pairs (first, second) of groups where the second is used only if the first is.

    Identical groups are opened in order; a wider group than any operation needs, only after all of
    the next narrower width: what it executes could as well move to one of those that is idle.

    Parameters
    ----------
    groups : sequence of WarpGroup
        The groups.
    problem : Problem
        The problem.
    """
    pairs = []
    for second, group in enumerate(groups):
        same = [g for g in range(second) if groups[g] == group]
        if same:
            pairs.append((same[-1], second))
            continue
        allowed = [o.warps for o in problem.operations if group.takes(o)]
        narrower = [
            g
            for g, other in enumerate(groups)
            if other.variable_latency == group.variable_latency
            and max(allowed, default=0) <= other.warps < group.warps
        ]
        if narrower:
            pairs.append((narrower[-1], second))
    return pairs


def groups_within(
    groups: Sequence[WarpGroup], problem: Problem, most: int | None
) -> frozenset[int]:
    """Return the positions of the groups that a schedule with at most `most` groups may use.

    A group is used only after those that are opened before it, and beside one for the operations
    that none of these take.

    Parameters
    ----------
    groups : sequence of WarpGroup
        The groups.
    problem : Problem
        The problem.
    most : int or None
        Groups; None is no limit.
    """
    if most is None:
        return frozenset(range(len(groups)))
    before = {second: first for first, second in opened_before(groups, problem)}
    kinds = {operation.variable_latency for operation in problem.operations}
    found = []
    for g in range(len(groups)):
        opened = [g]
        while opened[-1] in before:
            opened.append(before[opened[-1]])
        lacking = kinds - {groups[here].variable_latency for here in opened}
        if len(opened) + len(lacking) <= most:
            found.append(g)
    return frozenset(found)


@dataclass(frozen=True)
class Share:
    """Warp groups that share one allocation of registers.

    Attributes
    ----------
    members : tuple of int
        Positions of the groups.
    blocks : int
        Allocations of `RegisterFile.warps` warps that they take.
    """

    members: tuple[int, ...]
    blocks: int


def shares(file: RegisterFile, groups: Sequence[WarpGroup]) -> list[Share]:
    """Return which groups are allocated registers together.

    A wide group has blocks of its own; narrow ones share a block, in the order of their positions.

    Parameters
    ----------
    file : RegisterFile
        The limits.
    groups : sequence of WarpGroup
        The groups.
    """
    found, narrow, filled = [], list[int](), 0
    for g, group in enumerate(groups):
        if group.warps >= file.warps:
            found.append(Share((g,), group.warps // file.warps))
            continue
        if filled + group.warps > file.warps:
            found.append(Share(tuple(narrow), 1))
            narrow, filled = [], 0
        narrow.append(g)
        filled += group.warps
    return [*found, *([Share(tuple(narrow), 1)] if narrow else [])]


def likely_groups(problem: Problem) -> int:
    """Return how many groups are enough for most loops: one more than there are kinds of warps.

    Parameters
    ----------
    problem : Problem
        The problem.
    """
    return len({0 if o.variable_latency else o.warps for o in problem.operations}) + 1


def allocated(
    problem: Problem, groups: Sequence[WarpGroup], needed: Sequence[int | None]
) -> tuple[WarpGroup, ...] | None:
    """Return the groups with registers allocated, or None if the file cannot hold them.

    Every used group gets the least step that holds what is live on it; what is left goes to the
    wide ones that hold most, equally.

    Parameters
    ----------
    problem : Problem
        The problem.
    groups : sequence of WarpGroup
        The groups.
    needed : sequence of int or None
        Most registers per thread live on each; None for a group that is not used.
    """
    file = problem.registers
    if file is None:
        return tuple(groups)
    allocation: dict[Share, int] = {}
    for share in shares(file, groups):
        live = [needed[g] for g in share.members if needed[g] is not None]
        if live:
            allocation[share] = least_allocation(file, max(x or 0 for x in live))
    pool = file.pool(sum(share.blocks for share in allocation))
    room = pool - sum(share.blocks * a for share, a in allocation.items())
    if room < 0 or any(a > file.most for a in allocation.values()):
        return None
    _hand_out(file, groups, needed, allocation, room)
    result = list(groups)
    for share, amount in allocation.items():
        for g in share.members:
            live_limit = min(amount, file.limit) - file.reserve
            result[g] = replace(groups[g], allocation=amount, live_limit=live_limit)
    return tuple(result)


def least_allocation(file: RegisterFile, live: int) -> int:
    """Return the least allocation that holds so many live registers per thread.

    Parameters
    ----------
    file : RegisterFile
        The limits.
    live : int
        Registers per thread of values and working sets.
    """
    wanted = -(-(live + file.reserve) // file.step) * file.step
    return max(file.least, wanted)


def _hand_out(
    file: RegisterFile,
    groups: Sequence[WarpGroup],
    needed: Sequence[int | None],
    allocation: dict[Share, int],
    room: int,
) -> None:
    """Give what is left to wide computing groups, a step at a time to all that have least."""
    wide = [
        share
        for share in allocation
        if groups[share.members[0]].warps >= file.warps
        and not groups[share.members[0]].variable_latency
        and (needed[share.members[0]] or 0) > 0
    ]
    while wide:
        least = min(allocation[share] for share in wide)
        poorest = [share for share in wide if allocation[share] == least]
        cost = sum(share.blocks for share in poorest) * file.step
        if cost > room or least + file.step > file.most:
            return
        for share in poorest:
            allocation[share] += file.step
        room -= cost


def _most_live(file: RegisterFile | None) -> int:
    return UNLIMITED if file is None else min(file.most, file.limit) - file.reserve
