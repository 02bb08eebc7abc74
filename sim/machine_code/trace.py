"""A recorded execution as a trace for Perfetto (Chrome's trace event format, JSON).

A cycle is shown as one nanosecond. Each group of warps has a track of its instructions and one of
its waits, named by what they wait for; the tensor core has a track of products.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
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


@dataclass
class Recording:
    """Instructions and waits of an execution.

    Attributes
    ----------
    issued : list
        First warp, index of the instruction, cycle, and cycles until the next can follow.
    waited : list
        First warp, index of the instruction, reason, index of the cause, cycle, and cycles.
    """

    issued: list[tuple[int, int, float, float]] = field(default_factory=list)
    waited: list[tuple[int, int, str, int, float, float]] = field(default_factory=list)


def traced(kernel: Kernel, costs: Costs) -> str:
    """Execute a compiled kernel and return the last iterations as a trace, as JSON text.

    Raises
    ------
    InputError
        If an instruction is unknown, or the kernel does not end.
    """
    steps = tuple(Step(one, costs) for one in read_listing(kernel.listing))
    iterations, recording = ITERATIONS[1], Recording()
    scheduler = Scheduler(steps, launched(kernel, iterations, last=True), costs)
    scheduler.issued, scheduler.waited = recording.issued, recording.waited
    ended = scheduler.run()
    since = ended.cycles * (1 - SHOWN / iterations)
    recording.issued = [one for one in recording.issued if one[2] >= since]
    recording.waited = [one for one in recording.waited if one[4] - one[5] >= since]
    events = [*_names(kernel.source, steps, recording), *_slices(steps, recording)]
    events += [
        _slice(_UNITS, 0, "product", begin, end - begin)
        for begin, end in scheduler.core.products
        if begin >= since
    ]
    lines = ",\n".join(json.dumps(event, sort_keys=True) for event in events)
    return f'{{"displayTimeUnit": "ns",\n"traceEvents": [\n{lines}\n]}}\n'


def _names(source: str, steps: tuple[Step, ...], recording: Recording) -> Iterator[Event]:
    for process, name in ((_WARPS, "groups of warps"), (_UNITS, "units")):
        yield _name("process_name", process, 0, name)
    yield _name("thread_name", _UNITS, 0, "tensor core")
    functions: dict[int, Counter[str]] = defaultdict(Counter)
    for warp, index, *_ in recording.issued:
        functions[warp][partition_of(source, steps[index].instruction.line[1])] += 1
    shared = set.intersection(*map(set, functions.values()))  # the entry
    for warp, counts in sorted(functions.items()):
        own = [name for name, _ in counts.most_common() if name not in shared]
        name = f"{(own or [*counts])[0]} (warp {warp})"
        yield _name("thread_name", _WARPS, 2 * warp, f"{name}: instructions")
        yield _name("thread_name", _WARPS, 2 * warp + 1, f"{name}: waits")


def _slices(steps: tuple[Step, ...], recording: Recording) -> Iterator[Event]:
    for warp, index, cycle, stall in recording.issued:
        one = steps[index].instruction
        about: dict[str, object] = {"line": one.line[1], "instruction": str(one)}
        yield _slice(_WARPS, 2 * warp, one.operation, cycle, stall, **about)
    for warp, index, reason, cause, cycle, cycles in recording.waited:
        about = {"line": steps[index].instruction.line[1]}
        name = reason or steps[cause].operation
        if cause >= 0:
            about["answered_at"] = steps[cause].instruction.line[1]
        yield _slice(_WARPS, 2 * warp + 1, name, cycle - cycles, cycles, **about)


def _slice(
    process: int, thread: int, name: str, begin: float, cycles: float, **about: object
) -> Event:
    stamp = {"ts": begin / _CYCLES_PER_MICROSECOND, "dur": cycles / _CYCLES_PER_MICROSECOND}
    return {"ph": "X", "pid": process, "tid": thread, "name": name, **stamp, "args": about}


def _name(kind: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}
