"""Loops that are pipelined without warp specialization: ``swp`` and ``triton``.

``swp``: The loop is pipelined as if there were no warps, in normalized time: by Rau's heuristic,
and at the lower bound, where that fails, by CBC. Then streaming loads go to a warp of their own and
each independent sub-tile, whole, to a compute group, which issue in the order of the modulo
schedule. Costs of warps (issue slots, waits, the way between groups) show when the loop runs.

``triton``: a single warp group issues everything, as Triton does unless a kernel asks for warp
specialization. The order is in rounds, by cluster and then as written, every statement for the
iteration of its stage. Rings of loads have the slots that Triton gives them, and asynchronous
operations are awaited where Triton puts its waits (see `twill.frontends.triton_dump.listing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.program import Await, Issue
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.errors import RefusedError
from twill.bounds import NO_PATH, bounds, longest_paths
from twill.engines.cbc import ModuloSchedule, modulo_schedule
from twill.frontends.ttgir.joining import read_loop
from twill.frontends.ttgir.kinds import LATER
from twill.frontends.ttgir.reader import Plain, plain
from twill.lower.baselines import LOADS, components, in_order, is_streaming
from twill.lower.written import RING
from twill.problem import Problem, build_problem
from twill.problem.costs import BUDGET, normalize
from twill.verification.registers import registers_along_programs

# Of CBC's search tree; a limit of time would make the loop depend on how fast the host is.
MOST_NODES = 100


def software_pipelined(
    loop: Loop, machine: Machine, *, budget: int = BUDGET, report: Report = silent
) -> Schedule:
    """Return the loop in the order of a modulo schedule that knows nothing of warps.

    Neither registers nor memories are limited; `excess` and `spilled` tell where they do not
    suffice.

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
    begun = {v: divmod(found.start[v], interval) for v in (problem.index[n] for n in members)}
    first = min(stage for stage, _ in begun.values())
    ordered = sorted(begun, key=lambda v: (begun[v][1], begun[v][0], v))
    placed = [(problem.operations[v], begun[v][0] - first) for v in ordered]
    issues = [Issue(operation=o.name, stage=stage) for o, stage in placed]
    # Loads into registers are sent to others behind all loads of the round.
    sent = [(o.name, stage) for o, stage in placed if o.variable_latency and o.registers]
    return (*issues, *(Await(operation=name, stage=stage) for name, stage in sent))


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
    # Their buffers are those of the operations which update them in the same iteration.
    updated = {d.producer for d in schedule.loop.dependences if d.in_place and not d.distance}
    found = []
    for name, memory in schedule.machine.memories.by_name.items():
        needed = sum(
            s.slots * s.size
            for s in schedule.storage
            if s.memory == name and (s.transfer or s.value not in updated)
        )
        needed += sum(f.size for f in schedule.fixed if f.memory == name)
        if needed > memory.available:
            found.append(f"{needed} {memory.unit} of {name}, of {memory.available}")
    return f"buffers take {', '.join(found)}: it does not fit" if found else ""


def spilled(schedule: Schedule) -> str:
    """Say which groups need more registers than a thread can have; empty if none."""
    file = schedule.machine.registers
    if file is None:
        return ""
    most = file.limit.value - int(file.reserve.value)
    live = registers_along_programs(schedule)
    found = [
        f"{n} registers per thread of {name}, of {most}" for name, n in live.items() if n > most
    ]
    return (
        f"values take {', '.join(found)}: it would spill, which is not simulated" if found else ""
    )


TRIES = 6  # placements for each operation, on average, before an interval is given up


def iterative_modulo_schedule(problem: Problem, interval: int) -> ModuloSchedule | None:
    """Return a modulo schedule, None where none was found; there may be one."""
    paths = longest_paths(problem, interval)
    start = None if paths is None else _Iterative(problem, interval, paths).run()
    if start is None:
        return None
    earliest = min(start)
    start = [time - earliest for time in start]
    return ModuloSchedule(tuple(start), max(start[o.index] + o.cycles for o in problem.operations))


class _Iterative:
    def __init__(self, problem: Problem, interval: int, paths: NDArray[np.int64]) -> None:
        self.problem, self.interval = problem, interval
        size = len(problem.operations)
        self.start: list[int | None] = [None] * size
        # Earliest time at which an operation that was evicted may come back.
        self.never: list[int] = [0] * size
        # Of each unit, row by row, what is there and what is used.
        self.capacity = np.array([*problem.capacities.values()])[:, np.newaxis]
        self.used = np.zeros((len(problem.capacities), interval), dtype=np.int64)
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
            earliest = self._earliest(v)
            times = range(earliest, earliest + self.interval)
            time = next((t for t in times if self._fits(v, t)), None)
            if time is None:
                time = max(earliest, self.never[v])
                waiting |= self._evict_for(v, time)
            self.start[v], self.never[v] = time, time + 1
            self.used += self._taken(v, time)
            waiting |= self._evict_neighbours(v)
        found = [time for time in self.start if time is not None]
        return None if waiting or len(found) < len(self.start) else found

    def _rows(self, v: int) -> NDArray[np.int64]:
        """Return what an operation takes of every unit, row by row, when it starts in row 0."""
        units = {unit: index for index, unit in enumerate(self.problem.capacities)}
        rows = np.zeros_like(self.used)
        for r in self.problem.operations[v].reservations:
            np.add.at(rows[units[r.unit]], (r.start + np.arange(r.length)) % self.interval, r.count)
        return rows

    def _taken(self, v: int, time: int) -> NDArray[np.int64]:
        return np.roll(self.table[v], time, axis=1)

    def _earliest(self, v: int) -> int:
        times = [0]
        for position, edge in enumerate(self.problem.edges):
            begun = self.start[edge.producer]
            if edge.consumer == v and edge.producer != v and begun is not None:
                delay = self.problem.least_delay(position)
                times.append(begun + delay - edge.distance * self.interval)
        return max(times)

    def _fits(self, v: int, time: int) -> bool:
        taken = self._taken(v, time)
        return bool(np.all((taken == 0) | (self.used + taken <= self.capacity)))

    def _remove(self, v: int) -> None:
        time, self.start[v] = self.start[v], None
        assert time is not None
        self.used -= self._taken(v, time)

    def _evict_for(self, v: int, time: int) -> set[int]:
        """Remove what stands in the way of v; those that need least come first."""
        gone: set[int] = set()
        placed = {u: begun for u, begun in enumerate(self.start) if begun is not None}
        mine = self._taken(v, time) > 0
        for u in sorted(placed, key=lambda u: (self.height[u], u)):
            if self._fits(v, time):
                break
            if np.any(mine & (self._taken(u, placed[u]) > 0)):
                self._remove(u)
                gone.add(u)
        return gone

    def _evict_neighbours(self, v: int) -> set[int]:
        """Remove operations whose dependence on v, or of v on them, is broken now."""
        gone: set[int] = set()
        for position, edge in enumerate(self.problem.edges):
            before, after = self.start[edge.producer], self.start[edge.consumer]
            if v not in (edge.producer, edge.consumer) or before is None or after is None:
                continue
            delay = self.problem.least_delay(position)
            if after < before + delay - edge.distance * self.interval:
                for other in {edge.producer, edge.consumer} - {v}:
                    self._remove(other)
                    gone.add(other)
        return gone


def triton_pipelined(loop: Loop, machine: Machine) -> Schedule:
    """Return the loop as Triton pipelines it, on one warp group.

    An operation that Triton has split over stages is whole in the first of them. Loads into
    registers, which Triton sends through shared memory, stay in registers.

    Raises
    ------
    RefusedError
        If the loop is not from a dump, or Triton does not pipeline it.
    InputError
        If an operation of the loop cannot be whole where Triton begins it.
    """
    if loop.source is None:
        raise RefusedError("only dumps of Triton kernels tell how Triton pipelines them")
    dump, body = read_loop(loop.source)
    every = plain(body).inside[:-1]
    kept = [n for n, statement in enumerate(every) if LATER not in statement.attributes]
    statements = [every[n] for n in kept]
    if any("sched.stage" not in s.attributes for s in statements):
        raise RefusedError(
            f"Triton does not pipeline this loop ({dump.compiler}; it pipelines loads for products)"
        )
    if not any("sched.wait_stage" in s.attributes for s in statements):
        raise RefusedError("the dump has no waits of Triton's; dump the kernel anew")
    own = {o.name: [*map(kept.index, loop.source.statements[o.name])] for o in loop.operations}
    found = [_placed(name, positions, statements) for name, positions in own.items()]
    rings = {placed.name: placed.slots for placed in found if placed.slots}
    return in_order("triton", loop, machine, {"all": list(_round(found))}, rings)


@dataclass(frozen=True)
class _Placed:
    """An operation of the loop at its stage, `place` in the round, with slots and a wait if any.

    A wait is `wait_stage` and its place in the round.
    """

    name: str
    stage: int
    place: tuple[int, int]
    slots: int = 0
    wait: tuple[int, tuple[int, int]] | None = None


def _placed(name: str, own: Sequence[int], statements: Sequence[Plain]) -> _Placed:
    stage = min(_number(statements[n], "stage") for n in own)
    last = max(n for n in own if _number(statements[n], "stage") == stage)
    for statement in (statements[n] for n in own):
        before = statement.attributes.get("sched.wait_before")
        if before is not None:
            wait = _number(statement, "wait_stage"), _place(before, statements)
            slots = _number(statement, "slots")
            return _Placed(name, stage, _place(last, statements), slots, wait)
    return _Placed(name, stage, _place(last, statements))


def _place(statement: int, statements: Sequence[Plain]) -> tuple[int, int]:
    return _number(statements[statement], "cluster"), statement


def _number(statement: Plain, key: str) -> int:
    return int(statement.attributes.get(f"sched.{key}", 0))


def _round(found: Sequence[_Placed]) -> Iterator[Issue | Await]:
    """Yield what a round issues and awaits; waits come before what stands at their place."""
    entries: list[tuple[tuple[int, int], bool, Issue | Await]] = []
    for one in found:
        entries.append((one.place, True, Issue(operation=one.name, stage=one.stage)))
        if one.wait is not None:
            stage, place = one.wait
            entries.append((place, False, Await(operation=one.name, stage=stage)))
    return (entry for *_, entry in sorted(entries, key=lambda entry: entry[:2]))
