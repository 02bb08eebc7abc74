"""Which warp groups a program may have, and how many registers each of them gets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twill.problem import Problem, ProblemOperation

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

    Wide groups share what the register file holds equally; wide groups that only load are tried
    with no more than their values need first. A wider group than an
    operation needs stands in for narrower ones once those are used up, or where they are too
    narrow to have registers allocated to them alone.

    Parameters
    ----------
    problem : Problem
        The problem.
    most_groups : int, optional
        Most groups beside those for operations of variable latency.
    """
    found = [
        (loaders, widths)
        for loaders in _loader_widths(problem)
        for widths in _other_widths(problem, loaders, most_groups)
        if sum(loaders) + sum(widths) <= problem.machine.warps.value
    ]
    for loaders, widths in sorted(found, key=lambda f: (len(f[0]) + len(f[1]), f)):
        few = _with_registers(problem, loaders, widths, loading=_needed_to_load(problem))
        equal = _with_registers(problem, loaders, widths)
        yield from (groups for groups in dict.fromkeys((few, equal)) if groups is not None)


def _needed_to_load(problem: Problem) -> int:
    """Return registers per thread that hold two instances of all that loads leave in them."""
    file = problem.registers
    if file is None:
        return 0
    held = 2 * sum(o.registers + o.working_set for o in problem.operations if o.variable_latency)
    return max(file.least, -(-(file.reserve + held) // file.step) * file.step)


def _loader_widths(problem: Problem) -> Iterator[list[int]]:
    """Yield widths of the groups for operations of variable latency.

    Operations that wait for nothing never keep each other from starting, so that one group of the
    width that the widest needs is enough for them.
    """
    variable = [o for o in problem.operations if o.variable_latency]
    if not variable:
        yield []
        return
    needed = max(o.warps for o in variable)
    width, available = min((p.warps, p.count) for p in problem.machine.groups if p.warps >= needed)
    waiting = [o for o in variable if any(e.consumer == o.index for e in problem.edges)]
    for count in range(1, min(available, 1 + len(waiting), len(variable)) + 1):
        yield [width] * count


def _other_widths(
    problem: Problem, loaders: list[int], most_groups: int | None
) -> Iterator[list[int]]:
    """Yield widths of the groups for all other operations."""
    others = [o for o in problem.operations if not o.variable_latency]
    if not others:
        yield []
        return
    available = {pool.warps: pool.count for pool in problem.machine.groups}
    for width in loaders:
        available[width] -= 1
    widest = max(o.warps for o in others)
    pools = sorted((width, count) for width, count in available.items() if count > 0)
    for counts in itertools.product(*(range(count + 1) for _, count in pools)):
        total = sum(counts)
        if not total or (most_groups is not None and total > most_groups):
            continue
        chosen = {width: n for (width, _), n in zip(pools, counts, strict=True) if n}
        spare = [width for width, count in pools if chosen.get(width, 0) < count]
        fits = max(chosen) >= widest and all(
            n <= sum(o.warps <= width for o in others) for width, n in chosen.items()
        )
        if fits and all(_is_needed(problem, others, width, spare) for width in chosen):
            yield [width for width, n in chosen.items() for _ in range(n)]


def _is_needed(
    problem: Problem, others: Sequence[ProblemOperation], width: int, spare: Sequence[int]
) -> bool:
    """Whether a group of this width can do what no narrower one that is left could."""
    if all(o.warps > width for o in others):
        return False
    narrower = max((w for w in spare if w < width), default=0)
    if any(narrower < o.warps <= width for o in others):
        return True
    shares_registers = problem.registers is not None and narrower < problem.registers.warps
    return shares_registers and any(o.registers or o.working_set for o in others)


def _with_registers(
    problem: Problem, loaders: list[int], widths: list[int], *, loading: int | None = None
) -> tuple[WarpGroup, ...] | None:
    """Hand out the register file, or return None if it cannot hold these groups.

    Wide groups that only load get `loading` registers per thread if that is less than an equal
    share.
    """
    file = problem.registers
    if file is None:
        return tuple(
            WarpGroup(width, variable, 0, UNLIMITED)
            for variable, some in ((True, loaders), (False, widths))
            for width in some
        )
    small = [width for width in [*loaders, *widths] if width < file.warps]
    small_blocks = -(-sum(small) // file.warps)
    blocks = sum(width // file.warps for width in widths if width >= file.warps)
    load_blocks = sum(width // file.warps for width in loaders if width >= file.warps)
    budget = file.file // (32 * file.warps) - small_blocks * file.least
    if loading is None or loading > file.most:
        blocks, load_blocks = blocks + load_blocks, 0
    else:
        budget -= load_blocks * loading
    share = file.most if not blocks else budget // blocks // file.step * file.step
    share = min(share, file.most)
    if share < file.least:
        return None

    def group(width: int, *, variable: bool) -> WarpGroup:
        allocation = file.least if width < file.warps else share
        if variable and width >= file.warps and load_blocks and loading is not None:
            allocation = loading
        live = min(allocation, file.limit) - file.reserve
        return WarpGroup(width, variable, allocation, live)

    return (
        *(group(width, variable=True) for width in loaders),
        *(group(width, variable=False) for width in widths),
    )
