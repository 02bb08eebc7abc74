"""A recorded execution as a trace for Perfetto (Chrome's trace event format, JSON).

A cycle is shown as one nanosecond. Each group of warps has a track of its instructions and one of
its waits, named by what they wait for; the tensor core has a track of products.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from twill.sim.machine_code.costs import Costs
from twill.sim.machine_code.launch import Kernel, launched
from twill.sim.machine_code.listing import read_listing
from twill.sim.machine_code.prediction import ITERATIONS, partition_of
from twill.sim.machine_code.sm import Scheduler
from twill.sim.machine_code.steps import Step

SHOWN = 4  # iterations at the end of the execution
_CYCLES_PER_MICROSECOND = 1000
_WARPS, _UNITS = 1, 2
Event = dict[str, Any]


@dataclass(frozen=True)
class Recording:
    """An execution, or a part of it.

    Attributes
    ----------
    steps : tuple of Step
        The instructions.
    begin, end : float
        The cycles that are recorded.
    groups : dict
        Names of the groups of warps, by their first warp.
    issued : list
        First warp, index of the instruction, cycle, and cycles until the next can follow.
    waited : list
        First warp, index of the instruction, reason, index of the cause, cycle of the end, and
        cycles.
    products : list
        First and last cycle of each product.
    """

    steps: tuple[Step, ...]
    begin: float
    end: float
    groups: dict[int, str]
    issued: list[tuple[int, int, float, float]]
    waited: list[tuple[int, int, str, int, float, float]]
    products: list[tuple[float, float]]

    def within(self, begin: float, end: float) -> Recording:
        """Return the part within some cycles; waits and products are cut at its ends."""
        issued = [one for one in self.issued if begin <= one[2] < end]
        waited = [
            (warp, index, why, cause, min(until, end), min(until, end) - max(until - cycles, begin))
            for warp, index, why, cause, until, cycles in self.waited
            if until > begin and until - cycles < end
        ]
        products = [(max(a, begin), min(b, end)) for a, b in self.products if b > begin and a < end]
        active = {one[0] for one in (*issued, *waited)}
        groups = {warp: name for warp, name in self.groups.items() if warp in active}
        return Recording(self.steps, begin, end, groups, issued, waited, products)


def recorded(kernel: Kernel, costs: Costs) -> Recording:
    """Execute a compiled kernel and return what happened.

    Raises
    ------
    InputError
        If an instruction is unknown, or the kernel does not end.
    """
    steps = tuple(Step(one, costs) for one in read_listing(kernel.listing))
    scheduler = Scheduler(steps, launched(kernel, ITERATIONS[1], last=True), costs)
    issued, waited = list[tuple[int, int, float, float]](), list[Any]()
    scheduler.issued, scheduler.waited = issued, waited
    end = scheduler.run().cycles
    groups = _groups(kernel.source, steps, issued)
    return Recording(steps, 0.0, end, groups, issued, waited, scheduler.core.products)


def traced(kernel: Kernel, costs: Costs) -> str:
    """Execute a compiled kernel and return the last iterations as a trace, as JSON text.

    Raises
    ------
    InputError
        If an instruction is unknown, or the kernel does not end.
    """
    every = recorded(kernel, costs)
    found = every.within(every.end * (1 - SHOWN / ITERATIONS[1]), every.end)
    events = [*_names(found), *_slices(found)]
    events += [
        slice_event(_UNITS, 0, "product", begin, end - begin) for begin, end in found.products
    ]
    return trace_text(events)


def trace_text(events: Iterable[Event]) -> str:
    """Return events as a trace, an event a line."""
    lines = ",\n".join(json.dumps(event, sort_keys=True) for event in events)
    return f'{{"displayTimeUnit": "ns",\n"traceEvents": [\n{lines}\n]}}\n'


def _groups(
    source: str, steps: tuple[Step, ...], issued: list[tuple[int, int, float, float]]
) -> dict[int, str]:
    """Name groups of warps after the functions of the kernel file that they alone execute."""
    functions: dict[int, Counter[str]] = defaultdict(Counter)
    for warp, index, *_ in issued:
        functions[warp][partition_of(source, steps[index].instruction.line[1])] += 1
    shared = set.intersection(*map(set, functions.values()))  # the entry
    found = {}
    for warp, counts in sorted(functions.items()):
        own = [name for name, _ in counts.most_common() if name not in shared]
        found[warp] = f"{(own or [*counts])[0]} (warp {warp})"
    return found


def _names(found: Recording) -> Iterator[Event]:
    for process, name in ((_WARPS, "groups of warps"), (_UNITS, "units")):
        yield name_event("process_name", process, 0, name)
    yield name_event("thread_name", _UNITS, 0, "tensor core")
    for warp, name in found.groups.items():
        yield name_event("thread_name", _WARPS, 2 * warp, f"{name}: instructions")
        yield name_event("thread_name", _WARPS, 2 * warp + 1, f"{name}: waits")


def _slices(found: Recording) -> Iterator[Event]:
    steps = found.steps
    for warp, index, cycle, stall in found.issued:
        one = steps[index].instruction
        about: dict[str, object] = {"line": one.line[1], "instruction": str(one)}
        yield slice_event(_WARPS, 2 * warp, one.operation, cycle, stall, **about)
    for warp, index, reason, cause, cycle, cycles in found.waited:
        about = {"line": steps[index].instruction.line[1]}
        name = reason or steps[cause].operation
        if cause >= 0:
            about["answered_at"] = steps[cause].instruction.line[1]
        yield slice_event(_WARPS, 2 * warp + 1, name, cycle - cycles, cycles, **about)


def slice_event(
    process: int, thread: int, name: str, begin: float, cycles: float, **about: object
) -> Event:
    """Return the event of some cycles of a track, with more that is known about them."""
    stamp = {"ts": begin / _CYCLES_PER_MICROSECOND, "dur": cycles / _CYCLES_PER_MICROSECOND}
    return {"ph": "X", "pid": process, "tid": thread, "name": name, **stamp, "args": about}


def name_event(kind: str, process: int, thread: int, name: str) -> Event:
    """Return the event that names a process or a thread, which are a track and its heading."""
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}
