"""Predictions: the cycles of an iteration of a compiled kernel, and what its warps wait for."""

from __future__ import annotations

import ast
import functools
import statistics
from dataclasses import dataclass, replace

from twill.base.errors import InputError
from twill.sim.machine_code.costs import MECHANISMS, Costs
from twill.sim.machine_code.groups import Waits
from twill.sim.machine_code.launch import Kernel, Launch, launched
from twill.sim.machine_code.listing import read_listing
from twill.sim.machine_code.sm import Executed, Scheduler
from twill.sim.machine_code.steps import Step
from twill.sim.machine_code.transfers import Latency

ITERATIONS = 8, 20, 32
"""Iterations of the three executions that are compared, equally far apart."""
LONG = 8, 80, 152
"""The same where latencies are given, which may be random."""
SHIFTS = 0.0, 97.0, 211.0
"""Cycles by which partitions begin apart, in each of several executions."""
BLOCKS = False, True  # whether it is the last one of the grid, of which the longer is taken
REPEATS = 0.01
"""Part by which two intervals of one execution may differ and still be called the same."""
MOST_WAITS = 20


@dataclass(frozen=True)
class Waiting:
    """Cycles of an iteration that a group's instruction waits for one thing.

    Attributes
    ----------
    partition : str
        Function of the kernel file, or the warps if that is not known.
    warp : int
        First warp of the group.
    address : int
        Place of the instruction in the code.
    instruction : str
        The instruction that waits.
    line : int
        Its line of the kernel file.
    waits_for : str
        A pipe, queue or barrier, or the instruction that has to answer.
    answered_at : int
        Line of the instruction that has to answer; 0 if none has to.
    cycles : float
        Cycles of an iteration, on average.
    """

    partition: str
    warp: int
    address: int
    instruction: str
    line: int
    waits_for: str
    answered_at: int
    cycles: float


@dataclass(frozen=True)
class Prediction:
    """The cycles of an iteration of a kernel.

    Attributes
    ----------
    interval_cycles : float, optional
        Median over the starting phases; None if no execution repeated its interval.
    lowest_cycles, highest_cycles : float
        The least and greatest interval of all executions, those included that did not repeat.
    phases : tuple of float
        The interval of each starting phase.
    repeated : tuple of bool
        Whether each of these was seen twice.
    block : tuple of int
        The block that was executed: the first or last of the grid, which takes longer.
    instructions : float
        Instructions of one scheduler in an iteration.
    product_cycles, delayed_cycles : float
        Cycles of the tensor core in an iteration, and those that warps add to them.
    mechanisms : dict
        Cycles that an iteration takes less without each mechanism of `MECHANISMS`, where that was
        asked for; below zero where the groups then meet in a worse phase.
    waits : tuple of Waiting
        Waits of groups, the longest first.
    origin : str
        Origin of the costs.
    """

    interval_cycles: float | None
    lowest_cycles: float
    highest_cycles: float
    phases: tuple[float, ...]
    repeated: tuple[bool, ...]
    block: tuple[int, int, int]
    instructions: float
    product_cycles: float
    delayed_cycles: float
    mechanisms: dict[str, float]
    waits: tuple[Waiting, ...]
    origin: str


def predicted(
    kernel: Kernel, costs: Costs, *, mechanisms: bool = False, latency: Latency | None = None
) -> Prediction:
    """Predict the cycles of a further iteration of a compiled kernel.

    The kernel is executed with the numbers of iterations in `ITERATIONS`, or in `LONG`; the cycles
    that as many more iterations take, twice, are compared. Partitions begin at once, or some cycles
    apart.

    Parameters
    ----------
    kernel : Kernel
        The listing, its branch targets, and the kernel file.
    costs : Costs
        Costs of instructions, as `twill.sim.machine_code.costs_of` makes them.
    mechanisms : bool
        Whether to execute the kernel also with each mechanism switched off.
    latency : callable, optional
        Latency of bulk loads in cycles, where it is not that of the costs; see `Latency`.

    Raises
    ------
    InputError
        If an instruction is unknown, the kernel does not end, or more iterations take no longer.
    """
    steps = tuple(Step(one, costs) for one in read_listing(kernel.listing))
    least, more, most = several = ITERATIONS if latency is None else LONG

    def launch(iterations: int, *, last: bool) -> Launch:
        return replace(launched(kernel, iterations, last=last), latency=latency)

    ends = {last: Scheduler(steps, launch(least, last=last), costs).run() for last in BLOCKS}
    last = ends[True].cycles >= ends[False].cycles
    launches = [launch(n, last=last) for n in several]
    runs = [
        [Scheduler(steps, replace(one, shift=shift), costs).run() for one in launches]
        for shift in SHIFTS
    ]
    firsts = [(b.cycles - a.cycles) / (more - least) for a, b, _ in runs]
    seconds = [(c.cycles - b.cycles) / (most - more) for _, b, c in runs]
    repeated = [_same(a, b) for a, b in zip(firsts, seconds, strict=True)]
    seen = [interval for interval, twice in zip(seconds, repeated, strict=True) if twice]
    first, end, iterations = runs[0][0], runs[0][-1], most - least
    if end.cycles <= first.cycles:
        raise InputError(
            "no loop of the block that was executed has more rounds for more iterations"
        )

    def without(mechanism: str) -> float:
        idle = costs.without(mechanism)
        few, many = (Scheduler(steps, one, idle).run().cycles for one in launches[:2])
        return firsts[0] - (many - few) / (more - least)

    asked = [name for name in MECHANISMS if mechanisms and costs.without(name) != costs]
    return Prediction(
        interval_cycles=statistics.median(seen) if seen else None,
        lowest_cycles=min(*firsts, *seconds) if not all(repeated) else min(seconds),
        highest_cycles=max(*firsts, *seconds) if not all(repeated) else max(seconds),
        phases=tuple(seconds),
        repeated=tuple(repeated),
        block=launches[0].block,
        instructions=(end.instructions - first.instructions) / iterations,
        product_cycles=(end.products - first.products) / iterations,
        delayed_cycles=(end.delayed - first.delayed) / iterations,
        mechanisms={name: without(name) for name in asked},
        waits=_longest(kernel.source, steps, _between(first, end, iterations)),
        origin=costs.origin,
    )


def _same(first: float, second: float) -> bool:
    return abs(first - second) <= REPEATS * second


def _between(first: Executed, end: Executed, iterations: int) -> Waits:
    """Return the waits of an iteration, from two executions so many iterations apart."""
    before = first.waits
    return {key: (n - before.get(key, 0.0)) / iterations for key, n in end.waits.items()}


@functools.cache
def _functions(source: str) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


def partition_of(source: str, line: int) -> str:
    """Return the function of a kernel file that a line lies in, empty if it lies in none."""
    return next((f.name for f in _functions(source) if f.lineno <= line <= (f.end_lineno or 0)), "")


def _longest(source: str, steps: tuple[Step, ...], waits: Waits) -> tuple[Waiting, ...]:
    found = []
    for (warp, position, reason, cause), cycles in sorted(waits.items(), key=lambda w: -w[1]):
        one = steps[position].instruction
        line = one.line[1]
        answer = steps[cause].instruction if cause >= 0 else None
        found.append(
            Waiting(
                partition=partition_of(source, line) or f"warp {warp}",
                warp=warp,
                address=one.address,
                instruction=str(one),
                line=line,
                waits_for=reason or str(answer),
                answered_at=answer.line[1] if answer else 0,
                cycles=cycles,
            )
        )
    return tuple(found[:MOST_WAITS])
