"""The naive loop ``swp``: a modulo schedule, loads on one warp, no joint assignment.

The loop is pipelined as if there were no warps, in normalized time: by Rau's heuristic, and at the
lower bound, where that fails, by CBC. Then streaming loads go to a warp of their own and each
independent sub-tile, whole, to a compute group, which issue in the order of the modulo schedule.
What warps cost (issue slots, waits, the way between groups) they find out when they run.
"""

from __future__ import annotations

from collections.abc import Sequence

from twill.artifacts.derive import RING
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Await, Issue, Schedule
from twill.bounds.least import bounds
from twill.console import Report, silent
from twill.engines.cbc.modulo import ModuloSchedule, modulo_schedule
from twill.errors import RefusedError
from twill.lower.baselines import LOADS, components, in_order, is_streaming
from twill.problem.build import build_problem
from twill.problem.normalize import BUDGET, normalize
from twill.problem.problem import Problem
from twill.studies.comparison.iterative import iterative_modulo_schedule

MOST_NODES = 100
"""Of CBC's search tree; a limit of time would make the loop depend on how fast the host is."""


def software_pipelined(
    loop: Loop, machine: Machine, *, budget: int = BUDGET, report: Report = silent
) -> Schedule:
    """Return the loop in the order of a modulo schedule that knows nothing of warps.

    Neither registers nor memories are limited; `excess` tells where they do not suffice.

    Raises
    ------
    RefusedError
        If no modulo schedule was found up to the interval of the loop as written.
    """
    problem = build_problem(loop, machine, scale=normalize(loop, machine, budget))
    least = bounds(problem).interval
    last = sum(max(operation.cycles, operation.latency) for operation in problem.operations)
    for interval in range(least, max(last, least) + 1):
        report(f"modulo schedule at I = {interval}")
        found = iterative_modulo_schedule(problem, interval)
        if found is None and interval == least:
            _, found = modulo_schedule(problem, interval, nodes=MOST_NODES)
        if found is not None:
            return _in_order(problem, interval, found)
    raise RefusedError(f"{loop.name}: no modulo schedule was found up to I = {last}")


def _in_order(problem: Problem, interval: int, found: ModuloSchedule) -> Schedule:
    loop, machine = problem.loop, problem.machine
    streaming = [o.name for o in loop.operations if is_streaming(o, loop, machine)]
    tiles = components(loop, [o for o in loop.operations if o.name not in streaming])
    groups = {LOADS: streaming} if streaming else {}
    groups |= {f"tile{i}": [o.name for o in tile] for i, tile in enumerate(tiles)}
    bodies = {name: _body(problem, interval, found, members) for name, members in groups.items()}
    rings = {name: _depth(problem, interval, found, name) for name in streaming}
    return in_order("swp", loop, machine, bodies, rings)


def _body(
    problem: Problem, interval: int, found: ModuloSchedule, members: Sequence[str]
) -> tuple[Issue | Await, ...]:
    indices = [problem.index[name] for name in members]
    first = min(found.start[v] // interval for v in indices)
    indices.sort(key=lambda v: (found.start[v] % interval, found.start[v], v))
    stage = {v: found.start[v] // interval - first for v in indices}
    names = {v: problem.operations[v].name for v in indices}
    issues = [Issue(operation=names[v], stage=stage[v]) for v in indices]
    # Loads into registers are sent to others behind all loads of the round.
    operations = problem.operations
    sent = [v for v in indices if operations[v].variable_latency and operations[v].registers]
    return (*issues, *(Await(operation=names[v], stage=stage[v]) for v in sent))


def _depth(problem: Problem, interval: int, found: ModuloSchedule, name: str) -> int:
    """Slots for a load from its issue until its last reader is through, one more for the next."""
    u = problem.index[name]
    spans = [
        found.start[e.consumer] + e.distance * interval + e.reads - found.start[u]
        for e in problem.consumers[u]
    ]
    return max(RING, 1 + -(-max(spans, default=0) // interval))


def excess(schedule: Schedule) -> str:
    """Say which memories the buffers of a schedule overfill; empty if none.

    `schedule`: its values share no addresses, but what is updated in place has one buffer.
    """
    updated = {d.producer for d in schedule.loop.dependences if d.in_place}
    found = []
    for name, memory in schedule.machine.memories.items():
        needed = sum(
            s.slots * s.size
            for s in schedule.storage
            if s.memory == name
            and (s.transfer or not _is_updated_later(schedule, s.value, updated))
        )
        needed += sum(f.size for f in schedule.fixed if f.memory == name)
        if needed > memory.capacity:
            found.append(f"{needed} {memory.unit} of {name}, of {memory.capacity}")
    return f"buffers take {', '.join(found)}: it does not fit" if found else ""


def _is_updated_later(schedule: Schedule, value: str, updated: set[str]) -> bool:
    """Whether a value's buffer is that of the operation which updates it in the same iteration."""
    return value in updated and any(
        d.producer == value and d.in_place and not d.distance for d in schedule.loop.dependences
    )
