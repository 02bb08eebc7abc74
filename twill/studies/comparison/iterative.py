"""Iterative modulo scheduling (Rau, MICRO-27, 1994): quick, without proof.

Operations are placed in the order of their height over the loop's end, each in the first free slot
of a modular reservation table; where there is none, one is taken and what stands there is placed
anew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twill.bounds.least import NO_PATH, longest_paths
from twill.engines.cbc.modulo import ModuloSchedule
from twill.problem.problem import Problem

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
