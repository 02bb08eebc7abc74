"""Shares of warps during products: register slots of a context, the port of shared memory."""

from __future__ import annotations

import math

from twill.artifacts.mechanisms import RegisterSlots as SlotRules
from twill.artifacts.mechanisms import SharedPort as PortRules
from twill.sim.engine.units import Port, Unit
from twill.sim.engine.work import Work


class RegisterSlots:
    """Register slots of a context, one a cycle, of which a product takes most.

    Instructions take one slot each. During a product those of some pipes go first, and delay the
    product once no slot is free; instructions of others wait for a free slot. See
    `twill.artifacts.mechanisms.RegisterSlots`.

    `product`: the unit of products.
    `contexts`: issue contexts that it works for together.
    """

    __slots__ = ("_apart", "_contexts", "_first", "_free", "_kept", "_product", "_rate", "_since",
                 "_waiting")  # fmt: skip

    def __init__(self, rules: SlotRules, product: Unit, contexts: int) -> None:
        self._product, self._contexts = product, contexts
        self._rate, self._kept = rules.free.value, rules.kept.value
        self._apart = rules.apart.value
        self._first, self._waiting = frozenset(rules.first), frozenset(rules.waiting)
        self._free, self._since = self._kept, 0.0

    def interval(self, now: float, pipe: str, stands_for: int, interval: float) -> float:
        """Take a slot for an instruction; return the cycles until the next one of its pipe.

        `stands_for`: contexts that do the same.
        `interval`: cycles that the pipe takes for it.
        """
        if pipe in self._first:
            return interval * self._ahead(now, stands_for)
        if pipe in self._waiting:
            lasts = self._behind(now)
            return lasts if lasts > interval else interval
        return interval

    def _ahead(self, now: float, stands_for: int) -> float:
        """Take a slot at once; return the cycles until the next instruction."""
        busy = self._update(now)
        lacking = 1.0 - (self._free if self._free > 0.0 else 0.0)
        if lacking <= 0.0 or not busy:
            self._free -= 1.0
            return 1.0
        self._free = self._free if self._free < 0.0 else 0.0
        # The product stands still meanwhile, and leaves nothing free.
        self._since = (self._since if self._since > now else now) + lacking
        self._product.late += lacking * stands_for / self._contexts
        return self._apart

    def _behind(self, now: float) -> float:
        """Take a free slot; return the cycles until there is another one."""
        busy = self._update(now)
        self._free -= 1.0
        return (1.0 - self._free) / self._rate if busy and self._free < 1.0 else 0.0

    def _update(self, now: float) -> bool:
        """Count the slots that came free; return whether a product is under way."""
        busy = self._product.works(now)
        if now > self._since:
            free, ended = self._free, self._product.free
            if ended > self._since:
                free += self._rate * ((ended if ended < now else now) - self._since)
            if not busy:
                free += now - (ended if ended > self._since else self._since)
            self._free = free if free < self._kept else self._kept
            self._since = now
        return busy


class SharedPort:
    """The port of shared memory: warps get all of it, or what products leave.

    `products`: the unit of products.
    `capacity`: bytes a cycle.

    Attributes
    ----------
    name : str
        The unit.
    shuffles : str
        The pipe whose instructions take a cycle each; empty without one.
    latency : int
        Cycles of a load.
    """

    def __init__(self, rules: PortRules, port: Port, products: Unit, capacity: int) -> None:
        self._port, self._products, self._capacity = port, products, capacity
        self._shares = [(share.needed, share.left.value) for share in rules.shares]
        self._needed, self._left = -1.0, 1.0
        self.shuffles, self.latency = rules.shuffles or "", rules.latency.value
        self.name = rules.unit

    def left(self, now: float) -> float:
        """Return the share that warps get."""
        if not self._products.works(now):
            return 1.0
        needed = self._products.fetches
        if needed != self._needed:
            self._needed = needed
            self._left = min(self._shares, key=lambda one: abs(one[0] - needed))[1]
        return self._left

    def move(self, now: float, cycles: float, part: float) -> float:
        """Let warps access memory; return the end.

        `cycles`: of all warps of the operation, with the whole port.
        `part`: share of these warps.
        """
        left = self.left(now)
        return self._port.stream(now, cycles / left, left * part)[1]

    def moved(self, now: float, work: Work, warps: int) -> float:
        """Let warps store or load their part of a value; return the cycle in which they go on."""
        if not work.bytes:
            return now
        end = self.move(now, work.bytes / self._capacity, warps / work.warps)
        return float(math.ceil(end))

    def shuffle(self, now: float, number: int) -> float:
        """Return how long shuffles of so many warps wait for the port."""
        if not self._products.works(now):
            return 0.0
        return self._port.accept(now, 0.0, float(number))[0] - now
