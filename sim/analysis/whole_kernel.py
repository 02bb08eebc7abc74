"""The kernel around the loop: tiles, their beginnings and ends, and the time of all of them.

A block of the kernel computes one output tile (`tile_time`), and goes on to the next one or leaves
it to another block. Tiles are dealt out to the SMs; the last SM to finish determines the time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from twill.artifacts.base import Part
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError, short
from twill.sim.analysis.problems import Problem, is_product, product_tile, streamed_rows, tile_rows
from twill.sim.analysis.rates import clock_of, flop, flop_per_iteration
from twill.sim.analysis.tile_time import Ends, Pace, TileTime
from twill.sim.engine import Conditions

DEFAULT_TOKENS = 16384  # of FlashAttention's benchmarks, with 2048 columns in all heads
DEFAULT_HEADS = 16


class Shares(Part):
    """The time of all SMs by cause, in parts of 1.

    `products`: products of the problem, at the rate of the unit that computes them.
    `launch`: from the kernel before to this one.
    `fill`: loads before the loop, and the loop until it computes for the first time.
    `loop`: excess of the loop's steady pace over its products' work.
    `drain`: the rest of the loop.
    `epilogue`: reading, scaling, converting, staging and storing the results.
    `edges`: products beyond the problem: of tiles that it does not fill, or behind the diagonal.
    `last_wave`: SMs that have no tile left.
    """

    products: float
    launch: float
    fill: float
    loop: float
    drain: float
    epilogue: float
    edges: float
    last_wave: float


class Time(Part):
    """The time of a whole kernel for a problem.

    `sizes`: sizes of the problem, by name.
    `tiles`, `tiles_per_multiprocessor`: output tiles in all, and of the SM that has most.
    `iterations`: iterations of the loop for the tile that has most.
    `prologue_cycles`, `loop_cycles`, `epilogue_cycles`: cycles of that tile: loads before the loop,
    the loop from its first issue to its last result, and the work after it.
    `overlapped_cycles`: part of these that a persistent block hides behind its neighbours' loops;
    counted for all tiles but one.
    `microseconds`, `tflops`: time and rate of the kernel, at the clock, launch included.
    `shares`: the time of all SMs by cause.
    """

    sizes: dict[str, int]
    tiles: int
    tiles_per_multiprocessor: int
    iterations: int
    prologue_cycles: float
    loop_cycles: float
    epilogue_cycles: float
    overlapped_cycles: float
    microseconds: float
    tflops: float
    shares: Shares


class Kernel(Part):
    """Estimates for several problems, with their assumptions.

    `tile`: rows of an output tile, and rows of the other sequence in an iteration; of a product its
    rows, its columns, and the depth of an iteration.
    `persistent`: whether a block goes on to its next tile, and loads for it meanwhile.
    `not_costed`: work that the machine file has no rule or figure for; its cost counts as 0.
    """

    tile: tuple[int, ...]
    persistent: bool
    clock_mhz: float
    clock_source: str
    not_costed: tuple[str, ...]
    estimates: tuple[Time, ...]


def parse_sequences(text: str) -> tuple[int, ...]:
    """Return sequence lengths from text.

    Raises
    ------
    InputError
        If it is anything else.
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"whole numbers with commas between them (got {short(text)})", path="sequence"
        ) from None


def kernel(
    schedule: Schedule,
    problems: Iterable[Problem],
    conditions: Conditions | None = None,
    *,
    persistent: bool = True,
    splits: int = 1,
) -> Kernel:
    """Estimate a kernel whose blocks run a schedule.

    `conditions`: under which its loop runs, for as many iterations as each problem has.
    `splits`: into how many parts a product's depth is split; each adds its part to the result in
    global memory.
    """
    whole = WholeKernel(schedule, conditions, persistent=persistent, partial=splits > 1)
    times = tuple(whole.time(problem) for problem in problems)
    loop = schedule.loop
    return Kernel(
        tile=product_tile(loop) if is_product(loop) else (tile_rows(loop), streamed_rows(loop)),
        persistent=persistent,
        clock_mhz=whole.clock_mhz,
        clock_source=whole.clock_source,
        not_costed=tuple(whole.not_costed),
        estimates=times,
    )


class WholeKernel:
    """A kernel whose blocks run a schedule.

    `interval`: cycles in which long loops go on, if a longer run than `Pace`'s has shown them.
    `partial`: whether a tile's result is added to others in global memory, unconverted.

    `clock_mhz`, `clock_source`: clock and where it comes from.
    `not_costed`: work that the machine file has no rule or figure for.
    """

    def __init__(
        self,
        schedule: Schedule,
        conditions: Conditions | None = None,
        *,
        persistent: bool = True,
        interval: float | None = None,
        partial: bool = False,
    ) -> None:
        conditions = conditions or Conditions()
        machine = schedule.machine
        self.clock_mhz, self.clock_source = clock_of(machine, conditions.clock)
        self._ends = Ends(schedule.loop, machine, schedule.assignment, partial=partial)
        self.not_costed = self._ends.not_costed + (["launch"] if machine.launch is None else [])
        self._pace = Pace(schedule, conditions, interval)
        self._persistent = persistent
        self._multiprocessors = machine.multiprocessors.value
        self._launch = _launch(machine, self.clock_mhz)
        self._work, self._flop = _products(schedule.loop, machine)

    def time(self, problem: Problem) -> Time:
        """Return the time of a problem."""
        every = self._multiprocessors
        tiles = [(self._tile(iterations), number) for iterations, number in problem.trips]
        busy, most = _dealt([(tile.cycles, number) for tile, number in tiles], every)
        # The first tile has nobody to hide behind.
        longest = tiles[0][0]
        alone = longest.hidden * min(every, problem.tiles)
        cycles = max(busy) + longest.hidden + self._launch
        found: dict[str, float] = defaultdict(float)
        for tile, number in tiles:
            for cause, spent in tile.spent(self._work, self._pace.interval).items():
                found[cause] += spent * number
        for cause, part in longest.hidden_by_cause.items():
            found[cause] += part * min(every, problem.tiles)
        needed = problem.flop / self._flop * self._work
        found["edges"] = found.pop("products") - needed
        found["launch"] = self._launch * every
        found["last_wave"] = every * (max(busy) + longest.hidden) - sum(busy) - alone
        shares = {cause: spent / (cycles * every) for cause, spent in found.items()}
        return Time(
            sizes=problem.sizes,
            tiles=problem.tiles,
            tiles_per_multiprocessor=most,
            iterations=problem.iterations,
            prologue_cycles=longest.prologue,
            loop_cycles=longest.loop,
            epilogue_cycles=longest.epilogue + longest.stores,
            overlapped_cycles=longest.hidden,
            microseconds=cycles / self.clock_mhz,
            tflops=problem.flop * self.clock_mhz / cycles / 1e6,
            shares=Shares(products=needed / (cycles * every), **shares),
        )

    def _tile(self, iterations: int) -> TileTime:
        loop, waiting, untouched = self._pace.cycles(iterations)
        ends = self._ends
        overlappable = min(ends.epilogue, untouched)
        around = ends.prologue + waiting + overlappable + ends.stores
        return TileTime(
            iterations=iterations,
            prologue=ends.prologue,
            waiting=waiting,
            loop=loop,
            epilogue=ends.epilogue,
            overlappable=overlappable,
            stores=ends.stores,
            hidden=min(around, loop) if self._persistent else 0.0,
        )


def _dealt(tiles: Sequence[tuple[float, int]], every: int) -> tuple[list[float], int]:
    """Deal tiles out to SMs, the longest first, each to one that has least to do.

    `tiles`: cycles of a tile, and how many there are; the longest first.
    `every`: SMs.
    Returns: Cycles of each SM, and tiles of the one that has most of them.
    """
    have = [(0.0, 0)] * every
    for cycles, number in tiles:
        rounds, more = divmod(number, every)
        have = sorted((busy + rounds * cycles, count + rounds) for busy, count in have)
        have[:more] = [(busy + cycles, count + 1) for busy, count in have[:more]]
    return [busy for busy, _ in have], max(count for _, count in have)


def _launch(machine: Machine, clock: float) -> float:
    """Return cycles from one kernel to the next, at a clock in MHz."""
    return 0.0 if machine.launch is None else machine.launch.value * clock


def _products(loop: Loop, machine: Machine) -> tuple[float, float]:
    """Return cycles of an iteration's products on the unit that computes them, and their FLOP."""
    work: dict[str, int] = defaultdict(int)
    for o in loop.operations:
        if flop(o):
            step = (o.cost or machine.cost(o)).steps[0]
            work[step.unit] += step.cycles
    return float(max(work.values(), default=0)), float(flop_per_iteration(loop))


def least_microseconds(
    loop: Loop,
    machine: Machine,
    problem: Problem,
    interval: float,
    *,
    clock: float | str | None = None,
    persistent: bool = True,
) -> float:
    """Return a lower bound on the time of `WholeKernel` for kernels whose loop takes an interval.

    `interval`: cycles that an iteration takes at least in every run, however short.
    """
    ends, (mhz, _) = Ends(loop, machine), clock_of(machine, clock)
    every = machine.multiprocessors.value
    most = -(-problem.tiles // every)
    iterations = sum(each * tiles for each, tiles in problem.trips)
    # Of uniform tiles the SM that has most; of others at least the mean.
    turns = most * problem.iterations if len(problem.trips) == 1 else iterations / every
    around = (ends.prologue + ends.stores) * (1 if persistent else most)
    cycles = turns * interval + most * ends.epilogue + around
    return (cycles + _launch(machine, mhz)) / mhz
