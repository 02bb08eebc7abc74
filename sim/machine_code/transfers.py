"""Transfers between L2 and the SM: bulk copies of tiles, loads and stores of warps, spills."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from twill.sim.machine_code.clock import Clock
from twill.sim.machine_code.costs import Costs

_KIB = 1024
# What shared memory can have of the memory that it shares with the first cache, in KiB: CUDA
# programming guide, compute capabilities 9.0 and 10.0.
_SHARED = 0, 8, 16, 32, 64, 100, 132, 164, 196, 228
Latency = Callable[[random.Random, int, float], float]
"""Draws the cycles of a bulk load of some bytes that starts at some cycle, until all are there."""


@dataclass(frozen=True)
class Boxes:
    """Boxes that one copy of a tile through a descriptor consists of.

    Attributes
    ----------
    bytes : int
        Bytes of one box.
    number : int
        Boxes of the tile.
    rows : int
        Rows of one box.
    """

    bytes: int
    number: int
    rows: int


class Transfers:
    """The engine of bulk copies, and the path of loads through pointers.

    `latency`: of bulk loads; that of the costs without it.
    """

    def __init__(self, clock: Clock, costs: Costs, latency: Latency | None = None) -> None:
        self._clock, self._costs = clock, costs
        self._latency, self._random = latency, random.Random(0)  # noqa: S311 - no secret
        self._engine = self._path = 0.0
        self.issue_at = 0.0  # when the next bulk copy can be issued

    def _bulk(self, size: int, rows: int) -> float:
        now, costs = self._clock.now, self._costs
        self.issue_at = now + costs.bulk_issue
        self._engine = max(now, self._engine) + max(size / costs.bulk_rate, rows * costs.bulk_row)
        return self._engine

    def load(self, size: int, rows: int) -> float:
        """Begin a bulk load of some bytes in rows; return when its bytes are there."""
        costs, now = self._costs, self._clock.now
        moved = self._bulk(size, rows)
        if self._latency is not None:
            return max(moved, now + self._latency(self._random, size, now))
        return moved + costs.bulk_latency + costs.bulk_latency_kib * size / _KIB

    def store(self, size: int, rows: int) -> float:
        """Begin a bulk store; return when it has read shared memory."""
        return self._bulk(size, rows) + self._costs.bulk_stored

    def access(self, size: int) -> tuple[float, float]:
        """Begin a warp's access to global memory; return when it begins and when it is done."""
        begin = max(self._clock.now + self._costs.global_issue, self._path)
        self._path = begin + size / self._costs.global_rate
        return begin, self._path + self._costs.global_latency

    def spills_leave_cache(self, spilled: int, shared: int) -> bool:
        """Return whether bytes of registers exceed what shared memory leaves of the first cache."""
        needed = shared + self._costs.local_reserved
        given = next(_KIB * size for size in _SHARED if needed <= _KIB * size)
        return spilled > self._costs.local_cache - given
