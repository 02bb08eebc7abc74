"""Groups: up to four warps that do the same on the four schedulers, of which one is simulated."""

from __future__ import annotations

from collections.abc import Callable

from twill.sim.machine_code.listing import NO_SCOREBOARD, SCOREBOARDS
from twill.sim.machine_code.registers import LANES, Warp
from twill.sim.machine_code.steps import Step

# What a group waits for, as reports say it.
STALL = "its stall count"
OTHER = "another group, which issues"
MEETING = "a named barrier"
PIPE = "the pipe"
SLOT = "a register slot"
QUEUE = "the queue of memory instructions"
CORE = "the queue of products"
PRODUCTS = "products"
COPIES = "bulk stores"
FENCE = "stores before a fence"


BEGINS = 2
"""The barrier `BLOCK` of the whole block, from 1, at which warps begin their partition."""
BLOCK = "0x1"


class Group:
    """A warp that is simulated, for all warps of its group.

    Attributes
    ----------
    first : int
        Number of its first warp.
    threads : int
        Threads of all its warps.
    position : int
        Index of its next instruction.
    ready : float
        Cycle from which the stall count allows the next instruction.
    issued : float
        Cycle of its last instruction.
    lanes : int
        Lanes that follow the first lane's way; the others wait at `meeting`.
    met : int
        Barriers of the whole block that it met at.
    begun : int
        Index of the instruction where its partition begins; -1 before that.
    reason, cause : str and int
        Reason of the group's wait, and the index of the instruction that has to answer.
    """

    def __init__(self, first: int, threads: int, warp: Warp) -> None:
        self.first, self.threads, self.warp = first, threads, warp
        self.position = 0
        self.ready = self.issued = 0.0
        self.gone = self.blocked = self.meets = False
        self.lanes, self.meeting = LANES, -1
        self.pending = [0] * SCOREBOARDS
        self.setter = [-1] * SCOREBOARDS
        self.committed = self.complete = 0
        self.left: int | None = None  # groups of products that a wait leaves under way
        self.commits: list[tuple[int, Callable[[], None]]] = []  # signals, by the products before
        self.stored = 0.0  # when its stores to shared memory are done
        self.tensor_stored = 0.0  # when those to tensor memory are
        self.copied = 0.0  # when its asynchronous copies are done
        self.bulk_end = 0.0
        self.bulk: list[float] = []
        self.met, self.begun = 0, -1
        self.reason, self.cause = STALL, -1

    @property
    def warps(self) -> int:
        """The number of its warps, at least one."""
        return max(1, self.threads // LANES)

    def threads_of(self, lanes: int) -> int:
        """Return the threads that execute what so many lanes of the warp do."""
        return self.threads if lanes == LANES else lanes

    def hold(self, board: int) -> Callable[[], None] | None:
        """Let a scoreboard wait for the present instruction; return what releases it."""
        if board == NO_SCOREBOARD:
            return None
        self.pending[board] += 1
        self.setter[board] = self.position

        def release() -> None:
            self.pending[board] -= 1

        return release

    def finish_products(self) -> None:
        """Count a group of products that is complete."""
        self.complete += 1
        if self.left is not None and self.committed - self.complete <= self.left:
            self.left, self.blocked = None, False
        while self.commits and self.commits[0][0] <= self.complete:
            self.commits.pop(0)[1]()

    def guard(self, step: Step) -> tuple[int, ...] | None:
        """Return the lanes that execute an instruction, None for all, an empty tuple for none."""
        if step.guard is None:
            return None
        found = step.guard(self.warp)
        if isinstance(found, tuple):
            return found if any(found) else ()
        return None if found else ()


Waits = dict[tuple[int, int, str, int], float]
"""Cycles by first warp of the group, index of the instruction, reason, index of the cause."""
