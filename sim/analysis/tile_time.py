"""The time of an output tile of a kernel: before, in and after its loop.

A block loads the values that live throughout the loop, runs the loop, and stores its accumulators.
The loop is simulated. The work before and after it is costed by the machine's rules, one operation
after the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from twill.artifacts.loop import Cost, Loop, Operation, Tile
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError
from twill.base.graphs import reached
from twill.sim.analysis.problems import accumulators
from twill.sim.analysis.steady_state import steady_state
from twill.sim.engine import Conditions
from twill.sim.engine.record import Recording
from twill.sim.engine.sm import StreamingMultiprocessor

# Iterations that are simulated: each number up to the first, and these. Other loops are continued
# from the next lower one at the pace of the steady state.
SIMULATED = (16, 32, 64)


@dataclass(frozen=True)
class TileTime:
    """Cycles of one output tile."""

    iterations: int
    prologue: float
    waiting: float  # of the loop, until anything but loads starts
    loop: float
    epilogue: float
    overlappable: float  # of the epilogue, for which the next tile need not wait
    stores: float
    hidden: float  # of prologue, waiting, overlappable and stores, behind neighbours' loops

    @property
    def cycles(self) -> float:
        """Cycles of the SM that the tile takes between two others."""
        return self.prologue + self.loop + self.epilogue + self.stores - self.hidden

    @property
    def hidden_by_cause(self) -> dict[str, float]:
        """The hidden cycles, divided in proportion to the cycles of each cause."""
        fill = self.prologue + self.waiting
        around = fill + self.overlappable + self.stores
        part = self.hidden / around if around else 0.0
        return {"fill": fill * part, "epilogue": (self.overlappable + self.stores) * part}

    def spent(self, work: float, interval: float) -> dict[str, float]:
        """Return the same cycles by cause.

        `work`: cycles of an iteration's products.
        `interval`: the steady pace, in cycles.
        """
        hidden = self.hidden_by_cause
        beyond = self.loop - self.iterations * interval - self.waiting
        return {
            "products": self.iterations * work,
            "fill": self.prologue + self.waiting - hidden["fill"],
            "loop": self.iterations * (interval - work) + min(0.0, beyond),
            "drain": max(0.0, beyond),
            "epilogue": self.epilogue + self.stores - hidden["epilogue"],
        }


class Pace:
    """Cycles of the loop for any trip count; `interval` is its steady pace."""

    def __init__(
        self, schedule: Schedule, conditions: Conditions, interval: float | None = None
    ) -> None:
        self.schedule, self.conditions = schedule, conditions
        self._simulated = cache(self._run)
        self._touching = _updating(schedule.loop)
        self.interval = self._steady() if interval is None else interval

    def cycles(self, iterations: int) -> tuple[float, float, float]:
        """Return the cycles of the loop, and two parts of them that neighbours can hide.

        The first part lasts until anything but loads starts. The second lasts from then until
        accumulators in tensor memory are touched, since others may read them until then. Together
        they are at most the loop's time beyond its steady pace: a busy unit does nothing ahead.
        """
        least, *longer = SIMULATED
        known = max([min(iterations, least), *(n for n in longer if n <= iterations)])
        finished, _, waiting, untouched = self._simulated(known)
        total = max(finished) + (iterations - known) * self.interval
        beyond = max(0.0, total - iterations * self.interval)
        waiting = min(waiting, beyond)
        return total, waiting, min(untouched, beyond - waiting)

    def _steady(self) -> float:
        finished, in_flight, *_ = self._simulated(SIMULATED[-1])
        slots = max((storage.slots for storage in self.schedule.storage), default=0)
        steady = steady_state(finished, self.schedule.stages or in_flight, fill=slots)
        assert steady is not None  # 64 iterations are enough to see one
        return float(steady.interval)

    def _run(self, iterations: int) -> tuple[list[float], int, float, float]:
        schedule = self.schedule
        loads = {o.name for o in schedule.loop.operations if o.kind == "load"}
        recording = Recording()
        conditions = replace(self.conditions, iterations=iterations)
        sm = StreamingMultiprocessor(schedule, conditions, (recording,))
        sm.run()
        computing = [start for (name, _), start in recording.starts.items() if name not in loads]
        waiting = min([*computing, max(sm.finished_at)])
        touched = min((recording.starts[name, 0] for name in self._touching), default=waiting)
        return sm.finished_at, sm.in_flight, waiting, touched - waiting


def _updating(loop: Loop) -> set[str]:
    """Return the products and updates of accumulators in tensor memory."""
    found = {o.name for o in accumulators(loop) if o.result and o.result.memory == "tmem"}
    in_place = [d for d in loop.dependences if d.in_place]
    return reached(found, lambda name: [d.producer for d in in_place if d.consumer == name])


class Ends:
    """The time of a tile before and after its loop, by the machine's rules.

    `assignment`: group by operation; without it each accumulator has a group of its own.
    `partial`: whether results stay as they are accumulated, and are added up where they are stored.

    `prologue`, `epilogue`, `stores`: cycles of the loads before, of the longest group's work
    behind, of its stores.
    `not_costed`: operations that the machine has no rule for.
    """

    def __init__(
        self,
        loop: Loop,
        machine: Machine,
        assignment: Mapping[str, str] | None = None,
        *,
        partial: bool = False,
    ) -> None:
        self._machine, self._partial = machine, partial
        self.not_costed: list[str] = []
        summed = accumulators(loop)
        loaded = [i for i in loop.invariants if i.tile.memory in ("smem", "tmem")]
        self.prologue = sum(self._transfer("load", i.name, result=i.tile) for i in loaded)
        ends: dict[str, float] = defaultdict(float)
        for o in summed:
            ends[o.name if assignment is None else assignment[o.name]] += self._chain(o)
        self.epilogue = max(ends.values(), default=0.0)
        self.stores = sum(
            self._transfer("store", o.name, operands=(self._stored(o, "smem"),)) for o in summed
        )

    def _chain(self, accumulator: Operation) -> float:
        """Cycles from the last product to a tile in SMEM: read, scale, convert, write."""
        tile, name = accumulator.result, accumulator.name
        assert tile is not None
        half = self._stored(accumulator, "registers")
        held = half.model_copy(update={"dtype": tile.dtype})
        chain = [
            ("read", "tmem_load", tile, held),
            ("scaling", "mul", held, held),
            ("conversion", "cast", held, half),
            ("staging", "local_store", half, self._stored(accumulator, "smem")),
        ]
        if self._partial:
            chain = [chain[0], chain[-1]]
        costs = [
            self._cost(
                Operation(name=f"{verb} of {name}", kind=kind, operands=(source,), result=result)
            )
            for verb, kind, source, result in chain
            if verb != "read" or tile.memory == "tmem"
        ]
        return float(sum(cost.latency for cost in costs if cost is not None))

    def _stored(self, accumulator: Operation, memory: str) -> Tile:
        """Return an accumulator's tile as it is stored, in a memory: in halves, unless partial."""
        tile = accumulator.result
        assert tile is not None
        dtype = tile.dtype if self._partial else "f16"
        update = {"memory": memory, "dtype": dtype, "elements_per_thread": None}
        return tile.model_copy(update=update)

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
