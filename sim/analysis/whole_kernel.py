"""The kernel around the loop: tiles, their beginnings and ends, and the time of all of them.

A block of the kernel computes one output tile: it loads what lives throughout the loop, runs the
loop over the other sequence, and stores its accumulators. The loop is simulated; what stands before
and after it is costed by the machine's rules, one thing after the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from twill.artifacts.base import Part
from twill.artifacts.loop import Cost, Loop, Operation, Tile
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.errors import InputError, short
from twill.sim.analysis import clock_of, steady_state
from twill.sim.analysis.problems import (
    Problem,
    accumulators,
    attention,
    streamed_rows,
    tile_rows,
)
from twill.sim.engine import Conditions
from twill.sim.engine.record import Recording
from twill.sim.engine.sm import StreamingMultiprocessor

MOST_SIMULATED = 64  # iterations; longer loops are continued at the pace of the steady state
DEFAULT_TOKENS = 16384
DEFAULT_HEADS = 16


class Time(Part):
    """What a whole kernel takes for a problem.

    Attributes
    ----------
    tiles, tiles_per_multiprocessor : int
        Output tiles in all, and of the SM that has most.
    iterations : int
        Of the loop for one tile.
    prologue_cycles, loop_cycles, epilogue_cycles : float
        Loads before the loop, the loop from its first issue to its last result, what follows.
    overlapped_cycles : float
        Of these, what a persistent block hides behind its neighbours' loops; counted for all tiles
        but one.
    microseconds, tflops : float
        Of the kernel, at the clock.
    """

    tiles: int
    tiles_per_multiprocessor: int
    iterations: int
    prologue_cycles: float
    loop_cycles: float
    epilogue_cycles: float
    overlapped_cycles: float
    microseconds: float
    tflops: float


class Estimate(Time):
    """What a whole kernel takes at one sequence length.

    Attributes
    ----------
    sequence : int
        Rows of either sequence.
    batch, heads : int
        Independent problems are batch times heads.
    """

    sequence: int
    batch: int
    heads: int


class Kernel(Part):
    """Estimates over sequence lengths, with what they rest on.

    Attributes
    ----------
    rows, step : int
        Rows of an output tile, and rows of the other sequence in an iteration.
    persistent : bool
        Whether a block goes on to its next tile, and loads for it meanwhile.
    clock_mhz : float
        Clock.
    clock_source : str
        Where it comes from.
    not_costed : tuple of str
        Parts of beginning and end that the machine has no rule for; they count as nothing, as the
        launch does.
    estimates : tuple of Estimate
        One for each length.
    """

    rows: int
    step: int
    persistent: bool
    clock_mhz: float
    clock_source: str
    not_costed: tuple[str, ...]
    estimates: tuple[Estimate, ...]


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
    sequences: Iterable[int],
    conditions: Conditions | None = None,
    *,
    tokens: int = DEFAULT_TOKENS,
    heads: int = DEFAULT_HEADS,
    persistent: bool = True,
) -> Kernel:
    """Estimate a kernel whose blocks run a schedule.

    `conditions`: under which its loop runs, for as many iterations as each length has.
    `tokens`, `heads`: the batch is tokens over length, at least 1; FlashAttention's benchmarks have
    16,384 tokens and 2048 columns in all heads together.

    Raises
    ------
    InputError
        If a number is out of range, or the rows of a tile or of an iteration do not follow from the
        loop.
    """
    whole = WholeKernel(schedule, conditions, persistent=persistent)
    estimates = []
    for sequence in sequences:
        problem = attention(schedule.loop, sequence, tokens, heads)
        time = whole.time(problem)
        estimates.append(Estimate(**problem.sizes, **time.model_dump()))
    return Kernel(
        rows=tile_rows(schedule.loop),
        step=streamed_rows(schedule.loop),
        persistent=persistent,
        clock_mhz=whole.clock_mhz,
        clock_source=whole.clock_source,
        not_costed=tuple(whole.ends.not_costed),
        estimates=tuple(estimates),
    )


class WholeKernel:
    """A kernel whose blocks run a schedule.

    `interval`: cycles in which long loops go on, if a longer run than that of `MOST_SIMULATED`
    iterations has shown them.

    Attributes
    ----------
    clock_mhz, clock_source : float, str
        Clock and where it comes from.
    ends : Ends
        What a tile takes before and after its loop.
    """

    def __init__(
        self,
        schedule: Schedule,
        conditions: Conditions | None = None,
        *,
        persistent: bool = True,
        interval: float | None = None,
    ) -> None:
        conditions = conditions or Conditions()
        self.clock_mhz, self.clock_source = clock_of(schedule.machine, conditions.clock)
        self.ends = Ends(schedule.loop, schedule.machine, schedule.assignment)
        self._pace = _Pace(schedule, conditions, interval)
        self._persistent = persistent
        self._multiprocessors = schedule.machine.multiprocessors.value

    def time(self, problem: Problem) -> Time:
        """Return what it takes for a problem."""
        most = -(-problem.tiles // self._multiprocessors)
        loop, waiting = self._pace.cycles(problem.iterations)
        prologue, epilogue, stores = self.ends.prologue, self.ends.epilogue, self.ends.stores
        hidden = min(prologue + waiting + stores, loop) if self._persistent else 0.0
        cycles = most * (prologue + loop + epilogue + stores) - (most - 1) * hidden
        return Time(
            tiles=problem.tiles,
            tiles_per_multiprocessor=most,
            iterations=problem.iterations,
            prologue_cycles=prologue,
            loop_cycles=loop,
            epilogue_cycles=epilogue + stores,
            overlapped_cycles=hidden,
            microseconds=cycles / self.clock_mhz,
            tflops=problem.flop * self.clock_mhz / cycles / 1e6,
        )


def least_microseconds(
    loop: Loop,
    machine: Machine,
    problem: Problem,
    interval: float,
    *,
    clock: float | None = None,
    persistent: bool = True,
) -> float:
    """Return what no kernel takes less than, by `WholeKernel`, whose loop takes an interval.

    `interval`: cycles that an iteration takes at least in every run, however short.
    """
    ends = Ends(loop, machine)
    most = -(-problem.tiles // machine.multiprocessors.value)
    each = problem.iterations * interval + ends.epilogue
    around = (ends.prologue + ends.stores) * (1 if persistent else most)
    return (most * each + around) / clock_of(machine, clock)[0]


class _Pace:
    """Cycles of the loop for any trip count."""

    def __init__(
        self, schedule: Schedule, conditions: Conditions, interval: float | None = None
    ) -> None:
        self.schedule, self.conditions = schedule, conditions
        self._simulated = cache(self._run)
        self._interval = self._steady() if interval is None else interval

    def cycles(self, iterations: int) -> tuple[float, float]:
        """Return the cycles of the loop, and those of them that neighbours can hide.

        That is until anything but loads starts, but no more than the loop takes beyond its steady
        pace: what is busy all the time does nothing ahead.
        """
        finished, _, waiting = self._simulated(min(iterations, MOST_SIMULATED))
        total = max(finished) + max(0, iterations - MOST_SIMULATED) * self._interval
        return total, max(0.0, min(waiting, total - iterations * self._interval))

    def _steady(self) -> float:
        finished, in_flight, _ = self._simulated(MOST_SIMULATED)
        slots = max((storage.slots for storage in self.schedule.storage), default=0)
        steady = steady_state(finished, self.schedule.stages or in_flight, fill=slots)
        assert steady is not None  # 64 iterations are enough to see one
        return float(steady.interval)

    def _run(self, iterations: int) -> tuple[list[float], int, float]:
        schedule = self.schedule
        loads = {o.name for o in schedule.loop.operations if o.kind == "load"}
        recording = Recording()
        conditions = replace(self.conditions, iterations=iterations)
        sm = StreamingMultiprocessor(schedule, conditions, (recording,))
        sm.run()
        computing = [start for (name, _), start in recording.starts.items() if name not in loads]
        return sm.finished_at, sm.in_flight, min([*computing, max(sm.finished_at)])


class Ends:
    """What a tile takes before and after its loop, by the machine's rules.

    `assignment`: group by operation; without it each accumulator is on one of its own.

    Attributes
    ----------
    prologue, epilogue, stores : float
        Cycles of the loads before, of the longest group's work behind, of its stores.
    not_costed : list of str
        What the machine has no rule for.
    """

    def __init__(
        self, loop: Loop, machine: Machine, assignment: Mapping[str, str] | None = None
    ) -> None:
        self._machine = machine
        self.not_costed: list[str] = []
        summed = accumulators(loop)
        loaded = [i for i in loop.invariants if i.tile.memory in ("smem", "tmem")]
        self.prologue = sum(self._transfer("load", i.name, result=i.tile) for i in loaded)
        ends: dict[str, float] = defaultdict(float)
        for o in summed:
            ends[o.name if assignment is None else assignment[o.name]] += self._chain(o)
        self.epilogue = max(ends.values(), default=0.0)
        self.stores = sum(
            self._transfer("store", o.name, operands=(_half(o, "smem"),)) for o in summed
        )

    def _chain(self, accumulator: Operation) -> float:
        """Cycles from the last product to a tile in SMEM: read, scale, convert, write."""
        tile, name = accumulator.result, accumulator.name
        assert tile is not None
        half = _half(accumulator, "registers")
        held = half.model_copy(update={"dtype": tile.dtype})
        chain = [
            ("read", "tmem_load", tile, held),
            ("scaling", "mul", held, held),
            ("conversion", "cast", held, half),
            ("staging", "local_store", half, _half(accumulator, "smem")),
        ]
        costs = [
            self._cost(
                Operation(name=f"{verb} of {name}", kind=kind, operands=(source,), result=result)
            )
            for verb, kind, source, result in chain
            if verb != "read" or tile.memory == "tmem"
        ]
        return float(sum(cost.latency for cost in costs if cost is not None))

    def _transfer(self, kind: str, name: str, **tiles: Any) -> float:
        """Cycles for which a transfer by TMA keeps the next one waiting."""
        what, by = f"{kind} of {name}", {"engine": "tma"}
        cost = self._cost(Operation(name=what, kind=kind, warps=1, attributes={**by}, **tiles))
        return float(max(cost.issue, *(s.cycles for s in cost.steps))) if cost is not None else 0.0

    def _cost(self, operation: Operation) -> Cost | None:
        try:
            return self._machine.cost(operation)
        except InputError:
            self.not_costed.append(operation.name)
            return None


def _half(accumulator: Operation, memory: str) -> Tile:
    """Return an accumulator's tile in halves, in another memory."""
    assert accumulator.result is not None
    update = {"memory": memory, "dtype": "f16", "elements_per_thread": None}
    return accumulator.result.model_copy(update=update)
