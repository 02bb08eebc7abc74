"""Barriers of a simulated SM: mbarriers in shared memory, and named barriers of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from twill.base.errors import InputError
from twill.sim.machine_code.clock import Clock

_COUNT = 0xFFFFF  # bits of an mbarrier's count


@dataclass
class Phases:
    """State of one mbarrier."""

    count: int
    pending: int
    bytes: int = 0
    phase: int = 0
    waiting: list[tuple[int, Callable[[], None]]] = field(default_factory=list)


class MBarriers:
    """The mbarriers, by their address in shared memory."""

    def __init__(self, clock: Clock, wake: float) -> None:
        self._clock, self._wake = clock, wake
        self._found: dict[int, Phases] = {}

    def initialize(self, address: int, word: int) -> None:
        """Begin a barrier; the word has the count, as compiled code writes it."""
        count = 0x100000 - (word >> 1 & _COUNT) & _COUNT
        self._found[address] = Phases(count, count)

    def at(self, address: int) -> Phases:
        """Return a barrier.

        Raises
        ------
        InputError
            If no barrier was initialized there.
        """
        found = self._found.get(address)
        if found is None:
            raise InputError(f"no mbarrier was initialized at {address:#x} of shared memory")
        return found

    def arrive(self, address: int, threads: int, expected: int = 0) -> None:
        """Count arrivals, and bytes that are expected or, below zero, that came."""
        barrier = self.at(address)
        barrier.bytes += expected
        barrier.pending -= threads
        if barrier.pending or barrier.bytes:
            return
        barrier.phase ^= 1
        barrier.pending = barrier.count
        woken, barrier.waiting = barrier.waiting, []
        for parity, go in woken:
            self.wait(address, parity, go, self._wake)

    def wait(self, address: int, parity: int, go: Callable[[], None], answer: float) -> None:
        """Call ``go`` when the phase of a parity is complete, after the time of an answer."""
        barrier = self.at(address)
        if barrier.phase != parity:
            self._clock.at(self._clock.now + answer, go)
        else:
            barrier.waiting.append((parity, go))


@dataclass
class Meeting:
    """Threads at one named barrier."""

    needed: int | None = None  # None: all threads of the block
    threads: int = 0
    until: float = 0.0
    waiting: list[Callable[[], None]] = field(default_factory=list)


class NamedBarriers:
    """The named barriers, at which a number of threads meet."""

    def __init__(self, clock: Clock, threads: int) -> None:
        self.threads = threads  # of the block, those that ended left out
        self._clock = clock
        self._meetings: dict[str, Meeting] = {}

    def arrive(
        self,
        name: str,
        threads: int,
        needed: int | None,
        until: float,
        go: Callable[[], None] | None,
    ) -> None:
        """Count a group's arrival; ``go`` is called when all are there, not before ``until``."""
        meeting = self._meetings.setdefault(name, Meeting())
        meeting.needed = needed
        meeting.threads += threads
        meeting.until = max(meeting.until, until)
        if go is not None:
            meeting.waiting.append(go)
        self._settle(name)

    def leave(self, threads: int) -> None:
        """Count threads that ended; barriers of the whole block need them no more."""
        self.threads -= threads
        for name in list(self._meetings):
            self._settle(name)

    def _settle(self, name: str) -> None:
        meeting = self._meetings[name]
        needed = self.threads if meeting.needed is None else meeting.needed
        if meeting.threads and meeting.threads >= needed:
            del self._meetings[name]
            for go in meeting.waiting:
                self._clock.at(meeting.until, go)
