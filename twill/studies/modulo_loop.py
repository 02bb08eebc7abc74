"""The naive loop ``swp``: a modulo schedule, loads on one warp, no joint assignment.

The loop is pipelined as if there were no warps, in normalized time: by Rau's heuristic, and at the
lower bound, where that fails, by CBC. Then streaming loads go to a warp of their own and each
independent sub-tile, whole, to a compute group, which issue in the order of the modulo schedule.
What warps cost (issue slots, waits, the way between groups) they find out when they run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.program import Await, Issue
from twill.artifacts.schedule import Schedule
from twill.bounds import NO_PATH, bounds, longest_paths
from twill.console import Report, silent
from twill.engines.cbc import ModuloSchedule, modulo_schedule
from twill.errors import RefusedError
from twill.lower.baselines import LOADS, components, in_order, is_streaming
from twill.lower.orders import RING
from twill.problem import Problem, build_problem
from twill.problem.costs import BUDGET, normalize

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
    for name, memory in schedule.machine.memories.by_name.items():
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


TRIES = 6
"""Placements for each operation, on average, before an interval is given up."""


def iterative_modulo_schedule(problem: Problem, interval: int) -> ModuloSchedule | None:
    """Return a modulo schedule, None where none was found; there may be one."""
    if longest_paths(problem, interval) is None:
        return None
    start = _Iterative(problem, interval).run()
    if start is None:
        return None
    earliest = min(start)
    start = [time - earliest for time in start]
    return ModuloSchedule(tuple(start), max(start[o.index] + o.cycles for o in problem.operations))


class _Iterative:
    def __init__(self, problem: Problem, interval: int) -> None:
        self.problem, self.interval = problem, interval
        size = len(problem.operations)
        self.start: list[int | None] = [None] * size
        self.never: list[int] = [0] * size
        """Earliest time at which an operation that was evicted may come back."""
        self.used: dict[str, NDArray[np.int64]] = {
            unit: np.zeros(interval, dtype=np.int64) for unit in problem.capacities
        }
        paths = longest_paths(problem, interval)
        assert paths is not None
        ends = np.where(paths > NO_PATH // 2, paths, 0)
        self.height = [int(ends[v].max()) for v in range(size)]
        self.table = [self._rows(v) for v in range(size)]

    def run(self) -> list[int] | None:
        waiting = set(range(len(self.start)))
        for _ in range(TRIES * len(self.start)):
            if not waiting:
                break
            v = max(waiting, key=lambda v: (self.height[v], -v))
            waiting.discard(v)
            earliest = max(self._earliest(v), 0)
            time = next(
                (t for t in range(earliest, earliest + self.interval) if self._fits(v, t)), None
            )
            if time is None:
                time = max(earliest, self.never[v])
                waiting |= self._evict_for(v, time)
            self._place(v, time)
            waiting |= self._evict_neighbours(v)
        found = [time for time in self.start if time is not None]
        return None if waiting or len(found) < len(self.start) else found

    def _rows(self, v: int) -> dict[str, NDArray[np.int64]]:
        """Return what an operation takes of every unit, row by row, when it starts in row 0."""
        rows: dict[str, NDArray[np.int64]] = {}
        for r in self.problem.operations[v].reservations:
            taken = rows.setdefault(r.unit, np.zeros(self.interval, dtype=np.int64))
            np.add.at(taken, (r.start + np.arange(r.length)) % self.interval, r.count)
        return rows

    def _earliest(self, v: int) -> int:
        times = [0]
        for position, edge in enumerate(self.problem.edges):
            begun = self.start[edge.producer]
            if edge.consumer == v and edge.producer != v and begun is not None:
                delay = self.problem.least_delay(position)
                times.append(begun + delay - edge.distance * self.interval)
        return max(times)

    def _fits(self, v: int, time: int) -> bool:
        return all(
            bool(np.all(self.used[unit] + np.roll(rows, time) <= self.problem.capacities[unit]))
            for unit, rows in self.table[v].items()
        )

    def _place(self, v: int, time: int) -> None:
        self.start[v], self.never[v] = time, time + 1
        for unit, rows in self.table[v].items():
            self.used[unit] += np.roll(rows, time)

    def _remove(self, v: int) -> None:
        time, self.start[v] = self.start[v], None
        assert time is not None
        for unit, rows in self.table[v].items():
            self.used[unit] -= np.roll(rows, time)

    def _evict_for(self, v: int, time: int) -> set[int]:
        """Remove what stands in the way of v; those that need least come first."""
        gone: set[int] = set()
        others = [u for u, begun in enumerate(self.start) if begun is not None]
        for u in sorted(others, key=lambda u: (self.height[u], u)):
            if self._fits(v, time):
                break
            if any(
                unit in self.table[u] and self._meet(u, v, unit, time) for unit in self.table[v]
            ):
                self._remove(u)
                gone.add(u)
        return gone

    def _meet(self, u: int, v: int, unit: str, time: int) -> bool:
        begun = self.start[u]
        assert begun is not None
        mine, other = np.roll(self.table[v][unit], time), np.roll(self.table[u][unit], begun)
        return bool(np.any((mine > 0) & (other > 0)))

    def _evict_neighbours(self, v: int) -> set[int]:
        """Remove operations whose dependence on v, or of v on them, is broken now."""
        gone: set[int] = set()
        for position, edge in enumerate(self.problem.edges):
            before, after = self.start[edge.producer], self.start[edge.consumer]
            if v not in (edge.producer, edge.consumer) or before is None or after is None:
                continue
            delay = self.problem.least_delay(position)
            if after < before + delay - edge.distance * self.interval:
                other = edge.consumer if edge.producer == v else edge.producer
                if other != v:
                    self._remove(other)
                    gone.add(other)
        return gone
