"""Mbarriers: phases that end when all arrivals and all announced bytes have come."""

from __future__ import annotations

from typing import Any

from twill.sim.emulator.accesses import Actor, Published
from twill.sim.emulator.faults import FaultError
from twill.sim.emulator.machine import machine


class Barrier:
    """An mbarrier in shared memory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count: int | None = None  # None: not initialised
        self.phase = self.left = self.bytes = 0
        self.pending = 0  # arrivals and bytes of units that are on their way
        self._gathered: Published = {}
        self._published: Published = {}

    @property
    def state(self) -> str:
        """The arrivals and bytes that its current phase lacks, as text."""
        lacks = f"phase {self.phase}, {self.left} of {self.count} arrivals left"
        return f"{lacks}, {self.bytes} bytes to come" if self.bytes else lacks

    def initialised(self) -> Barrier:
        """Return itself if it may be used.

        Raises
        ------
        FaultError
            If it was not initialised, or invalidated since.
        """
        if self.count is None:
            raise machine().fault("barrier", f"{self.name} is used but not initialised")
        return self

    def arrive(self, count: int, published: Published, who: str) -> None:
        """Take arrivals.

        Raises
        ------
        FaultError
            If there are more than the phase counts.
        """
        if self.initialised().left < count:
            raise machine().fault(
                "barrier",
                f"{who} arrives at {self.name} more often than the {self.count} times that a phase "
                f"counts ({self.state})",
            )
        self.left -= count
        self._gathered |= published
        self._advance()

    def land(self, size: int, published: Published, what: str) -> None:
        """Take bytes of a transfer.

        Raises
        ------
        FaultError
            If they were not announced.
        """
        if self.initialised().bytes < size:
            raise machine().fault(
                "barrier",
                f"{what} brings {size} bytes to {self.name}, which expects {self.bytes} "
                f"({self.state})",
            )
        self.bytes -= size
        self._gathered |= published
        self._advance()

    def _advance(self) -> None:
        if self.left == 0 and self.bytes == 0:
            self.phase, self.left = self.phase + 1, self.count or 0
            known = machine().accesses.remembered
            self._published = {
                one: fenced for one, fenced in self._published.items() if one in known
            }
            self._published |= self._gathered
            self._gathered = {}

    def wait(self, parity: int) -> None:
        """Let the current partition wait until the phase of a parity is over."""
        if parity not in (0, 1):
            raise machine().fault("barrier", f"parity {parity} of {self.name}; it is 0 or 1")
        self.initialised()
        running = machine()
        me = running.current
        running.wait(
            lambda: self.phase & 1 != parity,
            lambda: f"parity {parity} of {self.name} ({self.state})",
        )
        running.accesses.take(me.number, self._published)


class Barriers:
    """An array of mbarriers."""

    def __init__(self, name: str, count: int) -> None:
        self.name = name
        self.all = [Barrier(f"{name}[{n}]") for n in range(count)]
        self.shape = [count, 1]

    def index(self, index: Any) -> Barrier:
        """Return a barrier of the array; beyond its end, one that may not be used."""
        number = int(index)
        if not 0 <= number < len(self.all):
            return Barrier(f"{self.name}[{number}] (it has {len(self.all)})")
        return self.all[number]


def allocated(shape: list[int]) -> Barrier | Barriers:
    """Return barriers named by the variable that they are assigned to."""
    name = machine().named()
    return Barrier(name) if len(shape) == 1 else Barriers(name, shape[0])


OFFERED: dict[str, Any] = {}
"""The functions of `mbarrier`."""


def _init(barrier: Barrier, count: int) -> None:
    if barrier.count is not None:
        raise machine().fault("barrier", f"{barrier.name} is initialised twice")
    if int(count) < 1:
        raise machine().fault("barrier", f"{barrier.name} is initialised for {count} arrivals")
    barrier.count = barrier.left = int(count)
    barrier.phase = barrier.bytes = 0
    where = machine().here()

    def check() -> None:
        if barrier.bytes:
            text = f"{barrier.name} is left in use ({barrier.state})"
            raise FaultError("barrier", text, where)

    machine().at_end.append(check)


def _invalidate(barrier: Barrier) -> None:
    barrier.initialised()
    if barrier.pending or barrier.bytes:
        text = f"{barrier.name} is invalidated while in use ({barrier.state})"
        raise machine().fault("barrier", text)
    barrier.count = None


def _expect(barrier: Barrier, bytes: int, pred: Any = True) -> None:
    if pred:
        barrier.initialised().bytes += int(bytes)
        _arrive(barrier)


def _arrive(barrier: Barrier, *, count: int = 1, pred: Any = True) -> None:
    running = machine()
    if pred:
        actor = Actor(running.current.number, "threads")
        published = running.accesses.published(actor)
        barrier.arrive(int(count), published, running.current.name)
    running.step()


def _wait(barrier: Barrier, phase: Any, pred: Any = True, deps: Any = ()) -> None:
    if pred:
        barrier.wait(int(phase))


def _allocate(batch: int | None = None, two_ctas: object = None) -> Barrier | Barriers:
    return allocated([1] if batch is None else [int(batch), 1])


class MBarrierLayout:
    """The layout of shared memory that holds mbarriers."""

    def __init__(self, *_: object, **__: object) -> None: ...

    @staticmethod
    def multicta(*_: object) -> MBarrierLayout:
        """Return the layout for a number of blocks."""
        return MBarrierLayout()


OFFERED |= {
    "init": _init,
    "invalidate": _invalidate,
    "expect": _expect,
    "arrive": _arrive,
    "wait": _wait,
    "allocate_mbarrier": _allocate,
    "MBarrierLayout": MBarrierLayout,
}
