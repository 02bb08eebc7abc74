"""Depths of rings of loads: as many slots as loads from DRAM ask for, and shared memory has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from twill.artifacts.schedule import Schedule
from twill.base.errors import TwillError
from twill.emit import epilogue_parts
from twill.polish import promised
from twill.sim.analysis.rings import streaming, with_more_slots
from twill.sim.engine import Conditions
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import steady_state_of
from twill.verification import verify

MOST = 4  # slots more for each ring
ENOUGH = 0.01  # part of the interval for which no ring is deepened
ITERATIONS = 64


def deepened(schedule: Schedule, conditions: Sequence[Conditions]) -> Schedule:
    """Return a program whose rings hide latencies of loads from DRAM, as far as memory allows.

    A search chooses depths for nominal latencies, those of L2. Shared memory that is left goes to
    the rings of loads here. Slots are added for as long as they shorten an iteration whose loads
    come from DRAM with all SMs at work. Code after the loop keeps its memory.

    Parameters
    ----------
    schedule : Schedule
        A program with its promise, of a loop with a kernel; others are returned as they are.
    conditions : sequence of Conditions
        Conditions of the promise, which is measured again.
    """
    latency = schedule.machine.cold_loads
    if latency is None or schedule.loop.source is None or not streaming(schedule):
        return schedule
    chosen, cold = schedule, _interval(schedule, latency)
    for program in _deeper(schedule):
        interval = _interval(program, latency)
        if interval >= cold * (1 - ENOUGH):
            break
        chosen, cold = program, interval
    found = None if chosen is schedule else promised(chosen, conditions, like=schedule)
    if found is None or found.promise is None or schedule.promise is None:
        return schedule
    slower = found.promise.interval_cycles > schedule.promise.interval_cycles
    return schedule if slower else found


def _deeper(schedule: Schedule) -> Iterator[Schedule]:
    """Yield the program with more and more slots, while it has a kernel that is as good."""
    try:
        parts = epilogue_parts(schedule)
        for by in range(1, MOST + 1):
            changed = with_more_slots(schedule, by)
            program = changed.schedule.model_copy(update={"promise": None, "proof": None})
            if not changed.fits or verify(program).violations:
                return
            if epilogue_parts(program) > parts:
                return
            yield program
    except TwillError:  # a ring whose depth is more than a number, or too little memory
        return


def _interval(schedule: Schedule, latency: str) -> float:
    """Return about the cycles of an iteration whose loads come from DRAM."""
    conditions = Conditions(iterations=ITERATIONS, latency=(f"trace:{latency}",), seed=1)
    sm = StreamingMultiprocessor(schedule, conditions, estimate=True)
    sm.run()
    steady = steady_state_of(sm)
    return max(sm.finished_at) / ITERATIONS if steady is None else float(steady.interval)
