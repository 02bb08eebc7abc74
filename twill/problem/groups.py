"""Which warp groups a program may have, and how many registers each of them gets."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from twill.problem import rules
from twill.problem.operations import ProblemOperation, RegisterFile
from twill.problem.problem import Problem

UNLIMITED = 1 << 30


@dataclass(frozen=True)
class WarpGroup:
    """A warp group that operations may be assigned to."""

    warps: int
    # Whether it is set aside for operations of variable latency.
    variable_latency: bool
    # Registers per thread; 0 before that is decided, or if the machine does not limit registers.
    allocation: int
    # Most registers per thread that values and working sets may take.
    live_limit: int
    # How many groups of its width may be used together.
    most: int = UNLIMITED

    def takes(self, operation: ProblemOperation) -> bool:
        """Return whether an operation may run on it."""
        return rules.takes(self.warps, operation, variable_latency=self.variable_latency)


def available_groups(problem: Problem) -> tuple[WarpGroup, ...]:
    """Return all warp groups that a schedule may use; it need not use them all.

    Groups for operations of variable latency come first. There are as many as could ever help. Both
    kinds may ask for more groups of a width than the machine has. Each is given what it asks for,
    and `pools` says how many of them may be used together.
    """
    file, counts, helpful = problem.registers, _counts(problem), _helpful(problem)
    limit = UNLIMITED if file is None else rules.room(file, file.most)
    return tuple(
        WarpGroup(width, variable_latency=kind, allocation=0, live_limit=limit, most=counts[width])
        for kind in (True, False)
        for width in counts
        for _ in range(helpful[kind, width])
    )


def _counts(problem: Problem) -> dict[int, int]:
    """Return how many groups of each width the machine has, the narrowest first."""
    return dict(sorted((pool.warps, pool.count) for pool in problem.machine.groups if pool.count))


def _helpful(problem: Problem) -> dict[tuple[bool, int], int]:
    """Return how many groups of each kind and width a schedule could use.

    Operations that an idle narrower group could execute as well move there. A wider group is used
    for operations that need it, or that are too many for all narrower ones.
    """
    counts, widths = _counts(problem), _narrowest_widths(problem)
    cascades = narrower_is_as_good(problem)
    most = {True: _most_loading(problem), False: widths[False].total()}
    found: dict[tuple[bool, int], int] = {}
    wanted = {True: 0, False: 0}
    for width, count in counts.items():
        for kind, left in wanted.items():
            wanted[kind] = min(most[kind], left + widths[kind][width])
            room = count - _needs(width, widths[not kind], counts)
            found[kind, width] = min(wanted[kind], room)
        if cascades:
            over = max(0, sum(wanted.values()) - count)
            wanted = {kind: min(amount, over) for kind, amount in wanted.items()}
    return found


def _narrowest_widths(problem: Problem) -> dict[bool, Counter[int]]:
    """Return of each kind how many operations have a width as the narrowest that takes them."""
    counts = _counts(problem)
    found: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
    for o in problem.operations:
        width = min((w for w in counts if w >= o.warps), default=None)
        if width is not None:
            found[o.variable_latency][width] += 1
    return found


def _needs(width: int, widths: Counter[int], counts: Mapping[int, int]) -> int:
    """Return how many groups of a width are needed in any case for operations of such widths."""
    widest = max(widths, default=None)
    return int(widest is not None and all(w == width for w in counts if w >= widest))


def _most_loading(problem: Problem) -> int:
    """Return how many groups loads could make use of.

    All that wait for nothing, keep nothing in registers and are pinned nowhere are as well on one
    group.
    """
    waiting = {edge.consumer for edge in problem.edges}
    pinned = {v for v, _ in problem.wishes.pins}
    kept = {v for invariant in problem.pinned for v in invariant.used_by}
    loads = [o for o in problem.operations if o.variable_latency]
    apart = [o for o in loads if o.index in waiting | pinned | kept or o.registers or o.working_set]
    return len(apart) + (len(apart) < len(loads))


def narrower_is_as_good(problem: Problem) -> bool:
    """Return whether a group's work may as well be done by an idle narrower one that takes it.

    A move may not cost registers. Narrow groups share an allocation, the largest in each of their
    blocks, and a launch of fewer blocks may have fewer registers.
    """
    file = problem.registers
    if file is None:
        return True
    counts = _counts(problem)
    if sum(w * count for w, count in counts.items() if w < file.warps) > file.warps:
        return False
    blocks = 1 + sum(w // file.warps * count for w, count in counts.items())
    return all(
        rules.pool(file, few)
        >= min(few * file.most, rules.pool(file, many) - (many - few) * file.least)
        for few, many in itertools.combinations(range(1, blocks + 1), 2)
    )


@dataclass(frozen=True)
class Pool:
    """Groups of one width by position, more than the machine has: at most `most` may be used."""

    members: tuple[int, ...]
    most: int


def pools(groups: Sequence[WarpGroup]) -> list[Pool]:
    """Return which groups there are not enough warp groups for to use them all."""
    widths = dict.fromkeys(group.warps for group in groups)
    found = []
    for width in widths:
        members = tuple(g for g, group in enumerate(groups) if group.warps == width)
        most = min(groups[g].most for g in members)
        if len(members) > most:
            found.append(Pool(members, most))
    return found


def most_used(groups: Sequence[WarpGroup]) -> int:
    """Return how many groups a schedule can use at most."""
    return len(groups) - sum(len(pool.members) - pool.most for pool in pools(groups))


def opened_before(groups: Sequence[WarpGroup], problem: Problem) -> list[tuple[int, int]]:
    """Return pairs (first, second) of groups where the second is used only if the first is.

    Identical groups are opened in order. A wider group than any operation needs is opened only
    after all of the next narrower width: its operations could as well move to an idle one of these.
    """
    pairs = []
    scarce = {g for pool in pools(groups) for g in pool.members}
    for second, group in enumerate(groups):
        same = [g for g in range(second) if groups[g] == group]
        if same:
            pairs.append((same[-1], second))
            continue
        narrower = _next_narrower(groups, problem, second)
        if narrower is not None and narrower not in scarce:
            pairs.append((narrower, second))
    return pairs


def filled_before(groups: Sequence[WarpGroup], problem: Problem) -> list[tuple[Pool, int]]:
    """Return pools, each with a wider group that is used only if no group of the pool is idle."""
    found = []
    for pool in pools(groups):
        for second, group in enumerate(groups):
            first = group not in groups[:second]
            if first and _next_narrower(groups, problem, second) in pool.members:
                found.append((pool, second))
    return found


def _next_narrower(groups: Sequence[WarpGroup], problem: Problem, position: int) -> int | None:
    """Return the last group of the next narrower width that takes all that one takes."""
    group = groups[position]
    allowed = [o.warps for o in problem.operations if group.takes(o)]
    narrower = [
        g
        for g, other in enumerate(groups)
        if other.variable_latency == group.variable_latency
        and max(allowed, default=0) <= other.warps < group.warps
    ]
    return narrower[-1] if narrower and narrower_is_as_good(problem) else None


def groups_within(
    groups: Sequence[WarpGroup], problem: Problem, most: int | None
) -> frozenset[int]:
    """Return the positions of the groups that a schedule with at most `most` groups may use.

    A group is used only after those that are opened before it, and together with one for the
    operations that none of these take.
    """
    if most is None:
        return frozenset(range(len(groups)))
    before = {second: first for first, second in opened_before(groups, problem)}
    filled = {second: pool.most for pool, second in filled_before(groups, problem)}
    kinds = {operation.variable_latency for operation in problem.operations}
    found = []
    for g in range(len(groups)):
        opened = [g]
        while opened[-1] in before:
            opened.append(before[opened[-1]])
        lacking = kinds - {groups[here].variable_latency for here in opened}
        if len(opened) + max(len(lacking), filled.get(opened[-1], 0)) <= most:
            found.append(g)
    return frozenset(found)


@dataclass(frozen=True)
class Share:
    """Warp groups, by position, that share one allocation of registers."""

    members: tuple[int, ...]
    # Blocks of `RegisterFile.warps` warps that they take, each with that allocation; of narrow
    # groups the most, one for so many warps that are used.
    blocks: int


def shares(file: RegisterFile, groups: Sequence[WarpGroup]) -> list[Share]:
    """Return which groups are allocated registers together.

    A wide group has blocks of its own; all narrow ones have one allocation.
    """
    wide = [g for g, group in enumerate(groups) if group.warps >= file.warps]
    narrow = tuple(g for g, group in enumerate(groups) if group.warps < file.warps)
    found = [Share((g,), rules.blocks(file, groups[g].warps)) for g in wide]
    if narrow:
        found.append(Share(narrow, narrow_blocks(file, [groups[g] for g in narrow])))
    return found


def narrow_blocks(file: RegisterFile, groups: Sequence[WarpGroup]) -> int:
    """Return how many blocks the warps of narrow groups take, were as many used as there may be."""
    warps = sum(group.warps for group in groups)
    warps -= sum(
        groups[pool.members[0]].warps * (len(pool.members) - pool.most) for pool in pools(groups)
    )
    return rules.blocks(file, warps)


def likely_groups(problem: Problem) -> int:
    """Return how many groups are enough for most loops: one more than there are kinds of warps."""
    return len({0 if o.variable_latency else o.warps for o in problem.operations}) + 1


def allocated(
    problem: Problem, groups: Sequence[WarpGroup], needed: Sequence[int | None]
) -> tuple[WarpGroup, ...] | None:
    """Return the groups with registers allocated, or None if the file cannot hold them.

    Every used group gets the least step that holds its live registers. The rest goes to the wide
    computing groups, in equal parts.

    `needed`: most registers per thread live on each; None for a group that is not used.
    """
    file = problem.registers
    if file is None:
        return tuple(groups)
    allocation = _least_allocation(file, groups, needed)
    room = _room(file, allocation)
    if room < 0 or any(a > file.most for a in allocation.values()):
        return None
    _hand_out(file, groups, needed, allocation, room)
    result = list(groups)
    for share, amount in allocation.items():
        live_limit = rules.room(file, amount)
        for g in share.members:
            result[g] = replace(groups[g], allocation=amount, live_limit=live_limit)
    return tuple(result)


# What a group has over the most that a thread may have counts for one step and that part of it: the
# least change that brings it below is often one value.
SLIGHT = 0.1


def lack_of_registers(
    problem: Problem, groups: Sequence[WarpGroup], needed: Sequence[int | None]
) -> float:
    """Return the part of the register file that `allocated` lacks."""
    file = problem.registers
    if file is None:
        return 0.0
    allocation = _least_allocation(file, groups, needed)
    most = rules.room(file, file.most)
    over = 0.0
    for share in allocation:
        beyond = max(needed[g] or 0 for g in share.members) - most
        over += share.blocks * (file.step + SLIGHT * beyond) if beyond > 0 else 0.0
    return max(over, -_room(file, allocation)) * file.threads / file.file


def _least_allocation(
    file: RegisterFile, groups: Sequence[WarpGroup], needed: Sequence[int | None]
) -> dict[Share, int]:
    """Return the smallest allocation that holds the live registers, for each share of groups."""
    allocation: dict[Share, int] = {}
    for share in shares(file, groups):
        used = tuple(g for g in share.members if needed[g] is not None)
        if used:
            narrow = all(groups[g].warps < file.warps for g in used)
            blocks = narrow_blocks(file, [groups[g] for g in used]) if narrow else share.blocks
            live = max(needed[g] or 0 for g in used)
            allocation[Share(used, blocks)] = rules.allocation(file, live)
    return allocation


def _room(file: RegisterFile, allocation: Mapping[Share, int]) -> int:
    """Return the registers per thread that are left; below 0 if there are not enough."""
    pool = rules.pool(file, sum(share.blocks for share in allocation))
    return pool - sum(share.blocks * a for share, a in allocation.items())


def _hand_out(
    file: RegisterFile,
    groups: Sequence[WarpGroup],
    needed: Sequence[int | None],
    allocation: dict[Share, int],
    room: int,
) -> None:
    """Give what is left to wide computing groups, a step at a time where least is beyond values.

    A compiler's own registers do not grow with the values. Groups that are alike get the same.
    """
    beyond: dict[Share, int] = {}
    for share, amount in allocation.items():
        first = share.members[0]
        computing = groups[first].warps >= file.warps and not groups[first].variable_latency
        live = needed[first] or 0
        if computing and live > 0:
            beyond[share] = amount - live
    while True:
        alike: dict[tuple[int, int], list[Share]] = defaultdict(list)
        for share, more in beyond.items():
            if allocation[share] + file.step <= file.most:
                alike[more, -allocation[share]].append(share)
        costs = {key: sum(s.blocks for s in found) * file.step for key, found in alike.items()}
        poorest = min((key for key, cost in costs.items() if cost <= room), default=None)
        if poorest is None:
            return
        for share in alike[poorest]:
            allocation[share] += file.step
            beyond[share] += file.step
        room -= costs[poorest]
