"""Transfers between L2 and the SM: bulk copies of tiles, loads and stores of warps, spills."""

from __future__ import annotations

from dataclasses import dataclass

from twill.sim.machine_code.clock import Clock
from twill.sim.machine_code.costs import Costs

_FIRST_CACHE = 256 * 1024  # bytes of the first cache and shared memory together
_RESERVED = 1024  # bytes of shared memory for a block
_ISSUE = 4  # cycles from an access's issue to the path


@dataclass(frozen=True)
class Boxes:
    """Boxes that one copy of a tile through a descriptor consists of.

    Attributes
    ----------
    bytes : int
        Bytes of one box.
    number : int
        Boxes of the tile.
    """

    bytes: int
    number: int


class Transfers:
    """The engine of bulk copies, and the path of loads through pointers."""

    def __init__(self, clock: Clock, costs: Costs) -> None:
        self._clock, self._costs = clock, costs
        self._engine = self._path = 0.0
        self.issue_at = 0.0  # when the next bulk copy can be issued

    def _bulk(self, size: int) -> float:
        now = self._clock.now
        self.issue_at = now + self._costs.bulk_issue
        self._engine = max(now, self._engine) + size / self._costs.bulk_rate
        return self._engine

    def load(self, size: int) -> float:
        """Begin a bulk load; return when its bytes are there."""
        return self._bulk(size) + self._costs.bulk_latency

    def store(self, size: int) -> float:
        """Begin a bulk store; return when it has read shared memory."""
        return self._bulk(size) + self._costs.store_read

    def access(self, size: int) -> tuple[float, float]:
        """Begin a warp's access to global memory; return when it begins and when it is done."""
        begin = max(self._clock.now + _ISSUE, self._path)
        self._path = begin + size / self._costs.load_rate
        return begin, self._path + self._costs.load_latency


def spills_leave_cache(slots: int, threads: int, shared: int) -> bool:
    """Return whether spilled registers exceed what shared memory leaves of the first cache."""
    return slots * threads > _FIRST_CACHE - _RESERVED - shared
