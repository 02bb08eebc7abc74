"""Slots that hold instances of values: the check of reads, and slots that share addresses."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

from twill.artifacts.program import Storage
from twill.sim.engine.events import SimulationError

NEVER = -1
# Places of values that pass between groups, and of those that have no storage.
STAGING, NOWHERE = "staging in smem", "no memory"
COPY = "copy for "


def copy_for(reader: str, distance: int) -> str:
    """Return what the place is called where a reader on another group has its copy of a value.

    `distance`: iterations by which it is later than the value.
    """
    return f"{COPY}{reader} at distance {distance}"


class Slots:
    """Slots of one value in one place; iteration i uses slot i mod `count`.

    `checks`: whether wrong reads and writes are refused; if not, they happen.
    """

    def __init__(self, value: str, place: str, count: int, *, checks: bool = True) -> None:
        self.value, self.place, self.count, self.checks = value, place, count, checks
        self.holds = [NEVER] * count
        self.readable = [math.inf] * count
        self.reading_until = [-math.inf] * count
        self.reader = [("", NEVER)] * count
        self.lost_to = [""] * count

    def instance(self, iteration: int) -> tuple[str, str, int, int]:
        """Return the value, the place, the slot and the iteration of an instance."""
        return self.value, self.place, iteration % self.count, iteration

    def begin_write(self, iteration: int, now: float, writer: tuple[str, int]) -> None:
        """Overwrite a slot with the instance of `iteration`, not readable yet.

        `now`: cycle.
        `writer`: operation and iteration that write; one that reads the old instance itself updates
        it in place.

        Raises
        ------
        SimulationError
            If the old instance is still being read.
        """
        slot = iteration % self.count
        if self.reading_until[slot] > now:
            self._refuse_while_read(slot, now, writer, f"{self.value} of iteration {iteration}")
        self.holds[slot] = iteration
        self.readable[slot] = math.inf

    def destroy(self, slot: int, now: float, writer: tuple[str, int]) -> None:
        """Lose what a slot holds to a value that is written over its addresses.

        `now`: cycle.

        Raises
        ------
        SimulationError
            If it is still being read by anything but the writer.
        """
        what = f"{writer[0]} of iteration {writer[1]}"
        self._refuse_while_read(slot, now, writer, what)
        if self.holds[slot] != NEVER:
            self.lost_to[slot] = (
                f"{what}, written over {self.value} of iteration {self.holds[slot]}"
            )
        self.holds[slot] = NEVER

    def _refuse_while_read(self, slot: int, now: float, writer: tuple[str, int], what: str) -> None:
        if self.checks and self.reading_until[slot] > now and self.reader[slot] != writer:
            reader, of = self.reader[slot]
            raise SimulationError(
                "overwrite",
                f"{what} overwrites {self.place} slot {slot} at cycle {now:.0f} while {reader} of "
                f"iteration {of} reads {self.value} of iteration {self.holds[slot]} there",
            )

    def end_write(self, iteration: int, when: float) -> None:
        """Make the instance of `iteration` readable from `when` on.

        `when`: cycle.
        """
        slot = iteration % self.count
        if self.holds[slot] == iteration:
            self.readable[slot] = when

    def ready(self, iteration: int) -> float:
        """Return from when on the instance of `iteration` is readable."""
        slot = iteration % self.count
        return self.readable[slot] if self.holds[slot] == iteration else -math.inf

    def read(
        self,
        iteration: int,
        now: float,
        until: float,
        reader: tuple[str, int],
        *,
        chained: bool = False,
    ) -> None:
        """Read the instance of `iteration` from `now` until `until`.

        `now`, `until`: cycles; `until` may be infinite and set later by `hold`.
        `chained`: whether the reader's unit makes the instance before it reads it, so that it need
        not be complete yet.

        Raises
        ------
        SimulationError
            If the slot holds another instance, or this one is not complete.
        """
        slot = iteration % self.count
        found = self.holds[slot]
        wrong = found != iteration or (self.readable[slot] > now and not chained)
        if wrong and self.checks:
            what = self.lost_to[slot] or "nothing"
            if found != NEVER:
                what = f"{self.value} of iteration {found}"
            state = " which is still being made" if found == iteration else ""
            raise SimulationError(
                "value",
                f"{reader[0]} of iteration {reader[1]} reads {self.value} of iteration "
                f"{iteration} at cycle {now:.0f}; {self.place} slot {slot} holds {what}{state}",
            )
        if until > self.reading_until[slot]:
            self.reading_until[slot] = until
            self.reader[slot] = reader

    def hold(self, iteration: int, until: float, reader: tuple[str, int]) -> None:
        """Set when a read that was begun without an end is over.

        `until`: cycle at which the reader is done.
        """
        slot = iteration % self.count
        if self.reader[slot] == reader and self.reading_until[slot] == math.inf:
            self.reading_until[slot] = until


Slot = tuple[str, bool, int]  # a value, whether it is the staging of a register value, and the slot


def beneath(storage: Iterable[Storage]) -> dict[Slot, list[Slot]]:
    """Return, for every slot with an address, the other slots that a write to it destroys.

    `storage`: A schedule's storage; addresses are bytes, or columns with the half of their lanes.
    """
    found: dict[Slot, list[Slot]] = defaultdict(list)
    cells: dict[str, list[tuple[int, int, frozenset[int], Slot]]] = defaultdict(list)
    for entry in storage:
        for number, address in enumerate(entry.addresses):
            lanes = frozenset({entry.halves[number]} if entry.halves else {0, 1})
            slot = (entry.value, entry.transfer, number)
            end = address + entry.size
            for begun, ended, taken, other in cells[entry.memory]:
                if address < ended and begun < end and lanes & taken:
                    found[slot].append(other)
                    found[other].append(slot)
            cells[entry.memory].append((address, end, lanes, slot))
    return dict(found)
