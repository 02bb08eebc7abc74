"""The kernel around the loop: tiles, their beginnings and ends, and the time of all of them.

A block of the kernel computes one output tile: it loads what lives throughout the loop, runs the
loop over the other sequence, and stores its accumulators. The loop is simulated; what stands before
and after it is costed by the machine's rules, one thing after the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from twill.artifacts.base import Part
from twill.artifacts.loop import Cost, Operation, Tile
from twill.artifacts.schedule import Schedule
from twill.errors import InputError, short
from twill.sim.analysis import clock_of, flop_per_iteration, steady_state
from twill.sim.engine import Conditions
from twill.sim.engine.record import Recording
from twill.sim.engine.sm import StreamingMultiprocessor

MOST_SIMULATED = 64  # iterations; longer loops are continued at the pace of the steady state
DEFAULT_TOKENS = 16384
DEFAULT_HEADS = 16
MOST = 1 << 24


class Estimate(Part):
    """What a whole kernel takes at one sequence length.

    Attributes
    ----------
    sequence : int
        Rows of either sequence.
    batch, heads : int
        Independent problems are batch times heads.
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

    sequence: int
    batch: int
    heads: int
    tiles: int
    tiles_per_multiprocessor: int
    iterations: int
    prologue_cycles: float
    loop_cycles: float
    epilogue_cycles: float
    overlapped_cycles: float
    microseconds: float
    tflops: float


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
    sequences = tuple(sequences)
    for path, numbers in (("sequence", sequences), ("tokens", (tokens,)), ("heads", (heads,))):
        for number in numbers:
            if not isinstance(number, int) or not 1 <= number <= MOST:
                raise InputError(
                    f"a whole number from 1 to {MOST} (got {short(number)})", path=path
                )
    conditions = conditions or Conditions()
    clock_mhz, clock_source = clock_of(schedule.machine, conditions.clock)
    ends = _Ends(schedule)
    rows, step = ends.rows(), ends.step()
    pace = _Pace(schedule, conditions)
    estimates = []
    for sequence in sequences:
        batch = max(1, tokens // sequence)
        tiles = -(-sequence // rows) * batch * heads
        most = -(-tiles // schedule.machine.multiprocessors.value)
        iterations = -(-sequence // step)
        loop, waiting = pace.cycles(iterations)
        prologue, epilogue, stores = ends.prologue, ends.epilogue, ends.stores
        hidden = min(prologue + waiting + stores, loop) if persistent else 0.0
        cycles = most * (prologue + loop + epilogue + stores) - (most - 1) * hidden
        flop = flop_per_iteration(schedule.loop) * sequence / step * sequence / rows
        estimates.append(
            Estimate(
                sequence=sequence,
                batch=batch,
                heads=heads,
                tiles=tiles,
                tiles_per_multiprocessor=most,
                iterations=iterations,
                prologue_cycles=prologue,
                loop_cycles=loop,
                epilogue_cycles=epilogue + stores,
                overlapped_cycles=hidden,
                microseconds=cycles / clock_mhz,
                tflops=flop * batch * heads * clock_mhz / cycles / 1e6,
            )
        )
    return Kernel(
        rows=rows,
        step=step,
        persistent=persistent,
        clock_mhz=clock_mhz,
        clock_source=clock_source,
        not_costed=tuple(ends.not_costed),
        estimates=tuple(estimates),
    )


class _Pace:
    """Cycles of the loop for any trip count."""

    def __init__(self, schedule: Schedule, conditions: Conditions) -> None:
        self.schedule, self.conditions = schedule, conditions
        self._simulated = cache(self._run)

    def cycles(self, iterations: int) -> tuple[float, float]:
        """Return the cycles of the loop, and those before anything but loads starts."""
        simulated = min(iterations, MOST_SIMULATED)
        finished, in_flight, waiting = self._simulated(simulated)
        total = max(finished)
        if iterations > simulated:
            slots = max((storage.slots for storage in self.schedule.storage), default=0)
            steady = steady_state(finished, self.schedule.stages or in_flight, fill=slots)
            assert steady is not None  # 64 iterations are enough to see one
            total += (iterations - simulated) * float(steady.interval)
        return total, waiting

    def _run(self, iterations: int) -> tuple[list[float], int, float]:
        schedule = self.schedule
        loads = {o.name for o in schedule.loop.operations if o.kind == "load"}
        recording = Recording()
        conditions = replace(self.conditions, iterations=iterations)
        sm = StreamingMultiprocessor(schedule, conditions, (recording,))
        sm.run()
        computing = [start for (name, _), start in recording.starts.items() if name not in loads]
        return sm.finished_at, sm.in_flight, min([*computing, max(sm.finished_at)])


class _Ends:
    """What a tile takes before and after its loop, by the machine's rules."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule, self.loop = schedule, schedule.loop
        self.not_costed: list[str] = []
        self.accumulators = self._accumulators()
        loaded = [i for i in self.loop.invariants if i.tile.memory in ("smem", "tmem")]
        self.prologue = sum(self._transfer("load", i.name, result=i.tile) for i in loaded)
        ends: dict[str, float] = defaultdict(float)
        for o in self.accumulators:
            ends[schedule.assignment[o.name]] += self._chain(o)
        self.epilogue = max(ends.values(), default=0.0)
        self.stores = sum(
            self._transfer("store", o.name, operands=(_half(o, "smem"),)) for o in self.accumulators
        )

    # -- geometry -----------------------------------------------------------------------------

    def rows(self) -> int:
        """Rows of an output tile: those of all accumulators that share a streaming load."""
        loads = {o.name for o in self.loop.operations if o.kind == "load"}
        sharing: dict[str, int] = dict.fromkeys(loads, 0)
        for o in self.accumulators:
            assert o.result is not None
            for load in loads & {d.producer for d in self.loop.dependences if d.consumer == o.name}:
                sharing[load] += o.result.shape[0]
        if not any(sharing.values()):
            raise InputError("no accumulator tells the rows of an output tile", path="rows")
        return max(sharing.values())

    def step(self) -> int:
        """Rows of the other sequence in an iteration: those of the largest streaming load."""
        fed = {d.consumer for d in self.loop.dependences if d.kind == "data"}
        shapes = [
            o.result.shape
            for o in self.loop.operations
            if o.kind == "load" and o.name not in fed and o.result is not None
        ]
        rows = [shape[0] for shape in shapes if len(shape) > 1]
        if not rows:
            raise InputError("no streaming load tells the rows of an iteration", path="step")
        return max(rows)

    def _accumulators(self) -> list[Operation]:
        """Products that update in place, and whose result goes on to the next iteration."""
        updating = {d.consumer for d in self.loop.dependences if d.in_place}
        carried = {d.producer for d in self.loop.dependences if d.distance > 0}
        return [o for o in self.loop.operations if o.kind == "mma" and o.name in updating & carried]

    # -- costs --------------------------------------------------------------------------------

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
            return self.schedule.machine.cost(operation)
        except InputError:
            self.not_costed.append(operation.name)
            return None


def _half(accumulator: Operation, memory: str) -> Tile:
    """Return an accumulator's tile in halves, in another memory."""
    assert accumulator.result is not None
    update = {"memory": memory, "dtype": "f16", "elements_per_thread": None}
    return accumulator.result.model_copy(update=update)
