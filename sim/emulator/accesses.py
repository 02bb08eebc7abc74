"""Accesses to cells of memory, with the observers that can see that they are over.

The rules are those of Triton's ConSan (`TritonInstrument.md`). Every partition has two observers:
itself, and the tensor core on its behalf, which sees what the partition sees and the products that
the partition issued before. An access is legal if its observer sees the last write of the cell and,
if it writes, all reads since. Arrivals publish what the arriving observer sees, waits take it over;
the completion of a TMA load publishes its own bytes only.

A fence covers what its partition sees at that moment. Where an asynchronous unit comes to shared
memory that a partition accessed before, one of the two a write, the unit's partition needs the
other access covered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from twill.sim.emulator.faults import FaultError, Place


def observers(partition: int) -> int:
    """Return the bits of a partition and of the tensor core on its behalf."""
    return 3 << 2 * partition


class Actor(NamedTuple):
    """A partition, or a unit on its behalf.

    Units are ``threads``, ``cp.async``, ``tcgen05``, ``wgmma`` and ``TMA``.
    """

    partition: int
    unit: str

    @property
    def sees(self) -> int:
        """The observer whose view its accesses rely on, as a bit."""
        return (2 if self.unit == "tcgen05" else 1) << 2 * self.partition

    @property
    def shows(self) -> int:
        """The observers that see its accesses without waiting, as bits."""
        return {"threads": observers(self.partition), "tcgen05": self.sees}.get(self.unit, 0)


@dataclass(eq=False)
class Access:
    """A read or a write: observers that see it, and those whose fences cover it, as bits."""

    what: str
    place: Place
    actor: Actor
    shared: bool  # of shared memory, which has proxies
    seen: int
    fenced: int = 0
    cells: int = 0  # that still remember it
    memory: str = ""  # what is accessed

    @property
    def generic(self) -> bool:
        """Whether it reached shared memory through the generic proxy."""
        return self.shared and self.actor.unit in ("threads", "cp.async")

    @property
    def described(self) -> str:
        """The access and its place, as text."""
        return f"{self.what} ({self.place})"


@dataclass(eq=False)
class Cell:
    """The largest part of an allocation that every view covers wholly or not at all."""

    write: Access | None = None
    reads: dict[Actor, Access] = field(default_factory=dict)


Published = dict[Access, bool]
"""Accesses that become visible to a waiter, and whether they are covered by a fence."""


class Accesses:
    """The accesses that cells remember, and the rules between them and new ones."""

    def __init__(self) -> None:
        self.remembered: set[Access] = set()
        self._arrivals: dict[int, Access] = {}  # of the tensor core, the last for a partition

    def read(self, name: str, cells: Iterable[Cell], access: Access) -> None:
        """Let `access` read cells of the memory called `name`."""
        access.memory = name
        for cell in cells:
            if cell.write is None:
                self._refuse("uninitialised", name, access, "reads", "nothing was written there")
            self._compare(name, access, "reads", cell.write, "writes")
            self._forget(cell.reads.get(access.actor))
            cell.reads[access.actor] = self._remember(access)

    def write(self, name: str, cells: Iterable[Cell], access: Access) -> None:
        """Let `access` overwrite cells of the memory called `name`."""
        access.memory = name
        for cell in cells:
            if cell.write is not None:
                self._compare(name, access, "writes", cell.write, "writes")
            for read in cell.reads.values():
                self._compare(name, access, "writes", read, "reads")
                self._forget(read)
            self._forget(cell.write)
            cell.write, cell.reads = self._remember(access), {}

    def arrive(self, access: Access) -> None:
        """Let the tensor core arrive; observers that see a later arrival see this one too."""
        self._forget(self._arrivals.get(access.actor.partition))
        self._arrivals[access.actor.partition] = self._remember(access)

    def copied(self, cell: Cell) -> Cell:
        """Return a cell with the history of one that is split."""
        for access in (cell.write, *cell.reads.values()):
            if access is not None:
                access.cells += 1
        return Cell(cell.write, dict(cell.reads))

    def fence(self, partition: int) -> None:
        """Cover what a partition sees."""
        bits = observers(partition)
        for access in self.remembered:
            if access.generic and access.seen & bits:
                access.fenced |= bits

    def published(self, actor: Actor) -> Published:
        """Return the accesses that an arrival of `actor` publishes."""
        sees = actor.sees
        return {one: bool(one.fenced & sees) for one in self.remembered if one.seen & sees}

    def take(self, partition: int, published: Published) -> None:
        """Let a partition see what was published."""
        bits = observers(partition)
        for access, fenced in published.items():
            access.seen |= bits
            if fenced:
                access.fenced |= bits

    def unseen(self) -> Access | None:
        """Return an access or arrival that no partition waited for, if there is one."""
        partitions = sum(1 << 2 * n for n in range(64))
        pending = [one for one in self.remembered if not one.seen & partitions]
        return min(pending, key=lambda one: (one.place.file, one.place.line), default=None)

    def _remember(self, access: Access) -> Access:
        access.cells += 1
        self.remembered.add(access)
        return access

    def _forget(self, access: Access | None) -> None:
        if access is not None:
            access.cells -= 1
            if not access.cells:
                self.remembered.discard(access)

    def _compare(
        self, name: str, access: Access, does: str, other: Access | None, did: str
    ) -> None:
        if other is None or other is access:
            return
        if not other.seen & access.actor.sees:
            lacks = "no wait says that this is over"
            if other.actor.unit == "threads":
                lacks = "no arrive and wait put the two in order"
            self._refuse("race", name, access, does, f"which {other.described} {did}; {lacks}")
        if (
            access.shared
            and not access.generic
            and other.generic
            and not other.fenced & observers(access.actor.partition)
        ):
            lacks = "no fence_async_shared stands between the two"
            self._refuse("fence", name, access, does, f"which {other.described} {did}; {lacks}")

    def _refuse(self, kind: str, name: str, access: Access, does: str, why: str) -> None:
        raise FaultError(kind, f"{access.what} {does} {name}, {why}", access.place)
