"""Races: two accesses to one place, one of them a write, that nothing puts in order.

Nothing here depends on cycles or on the contents of slots. Two accesses without a chain of
`twill.sim.checks.vector_clocks` between them are a race, even if their cycles are in order. The
check of values may be wrong without this one being wrong with it.

Two rules order accesses without an instruction in the program. An in-order unit executes commands
in the order of their issues, if something orders the issues. (Of its results only an accumulator
may be read without a wait, by the same unit.) And the warps of a group that pass values through
memory wait for each other.

Where units reach shared memory through a proxy, an access must also be visible to the next one. A
unit's access needs a fence behind accesses of warps (Triton's ConSan: visibility, precise write
tracking, and generic-to-async proxy ordering).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from twill.artifacts.schedule import Schedule
from twill.sim.checks.vector_clocks import (
    Clock,
    Epochs,
    HappenedBefore,
    OperationClock,
    join,
    knows,
)
from twill.sim.engine.events import (
    Access,
    Handlers,
    ReadBegins,
    ReadEnds,
    SimulationError,
    WriteBegins,
    WriteEnds,
)
from twill.sim.engine.memory import Cell, Cells, Instance
from twill.sim.engine.slots import NOWHERE, STAGING
from twill.sim.engine.work import works

ADDRESSED = ("smem", "tmem", STAGING)
LACKING = {
    "race": "no chain of arrives and waits puts the two in order",
    "visibility": "the two are in order only by bytes that TMA delivered, which make nothing else "
    "visible",
    "fence": "no proxy fence stands between the warps' access and the unit's",
}


@dataclass(eq=False)
class _Done:
    """A read or a write of a slot; open until it is over."""

    who: Instance
    group: str
    epochs: Epochs
    execution: OperationClock | None
    by_proxy: bool = False
    is_open: bool = True
    to_await: bool = False  # whether it is over only for warps that awaited its end

    def close(self) -> None:
        """Take the end of the access, which may be in a later epoch than its begin."""
        self.is_open = False
        if self.execution is not None and not self.execution.asynchronous:
            issued = self.execution.issued
            self.epochs = {agent: issued.get(agent, epoch) for agent, epoch in self.epochs.items()}

    @property
    def over(self) -> list[Epochs]:
        """The epochs in which it was over: an agent that knows all of one entry knows so."""
        if not self.to_await or self.execution is None:
            return [self.epochs]
        awaited, met = self.execution.awaited, self.execution.met
        return [awaited] * (awaited.keys() >= self.epochs.keys()) + [met] * bool(met)


@dataclass(eq=False)
class _History:
    """Accesses to a cell: its last write, and the reads since."""

    write: _Done | None = None
    reads: dict[Instance, _Done] = field(default_factory=dict)


class Races:
    """An observer that raises on the first race that an execution shows.

    Raises
    ------
    SimulationError
        Of kind ``race``, ``visibility`` or ``fence``, from within the execution; it names the two
        accesses and the slot.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._works = works(schedule.loop, schedule.machine)
        self._cells = Cells(schedule, self._works)
        self._order = HappenedBefore(schedule, self._works)
        self._read = {read.value for work in self._works.values() for read in work.reads}
        self._histories: dict[Cell, _History] = defaultdict(_History)
        self.handlers: Handlers = {
            **self._order.handlers,
            ReadBegins: self._begin_read,
            ReadEnds: self._end_read,
            WriteBegins: self._begin_write,
            WriteEnds: self._end_write,
        }

    def _begin_read(self, event: ReadBegins) -> None:
        """Check that the last write comes before a read."""
        access, clock = self._access(event, chained=self._cells.chained(event))
        cell = self._cells.of(event)
        history = self._histories[cell]
        for place, other in [(cell, history), *self._beneath(cell)]:
            self._compare(event, access, clock, cell, place, "writes", other.write)
        before = history.reads.get(access.who)
        if before is not None and access.execution is None:
            access.epochs |= before.epochs  # warps that get the part of one
        history.reads[access.who] = access

    def _end_read(self, event: ReadEnds) -> None:
        history = self._histories[self._cells.of(event)]
        if (access := history.reads.get((event.operation, event.of_iteration))) is not None:
            access.close()

    def _begin_write(self, event: WriteBegins) -> None:
        """Check that all earlier accesses come before a write."""
        access, clock = self._access(event, chained=True)
        cell = self._cells.of(event)
        if event.place != NOWHERE:
            # What warps store to tensor memory is there when they have waited for their stores.
            asynchronous = access.execution is None or access.execution.asynchronous
            access.to_await = event.place == "tmem" and not asynchronous
            for place, other in [(cell, self._histories[cell]), *self._beneath(cell)]:
                for read in other.reads.values():
                    self._compare(event, access, clock, cell, place, "reads", read)
                self._compare(event, access, clock, cell, place, "writes", other.write)
        self._histories[cell] = _History(write=access)

    def _end_write(self, event: WriteEnds) -> None:
        access = self._histories[self._cells.of(event)].write
        if access is not None and access.who == (event.operation, event.of_iteration):
            access.close()

    def _access(self, event: Access, *, chained: bool) -> tuple[_Done, Clock]:
        """Return an access, with the clock at its begin.

        `chained`: whether the access also knows of earlier commands on its in-order unit.
        """
        who = (event.operation, event.of_iteration)
        agent = self._order.agents[event.group, event.warp]
        own = self._order.clocks[agent]
        if event.operation not in self._works:
            return _Done(who, event.group, {agent: own[agent]}, None), own
        work, execution = self._works[event.operation], self._order.execution(*who)
        if not execution.asynchronous:
            if work.holder(event.warp) == event.warp:
                execution.issued[agent] = own[agent]
            epochs = execution.issued if event.place in ADDRESSED else {agent: own[agent]}
            return _Done(who, event.group, epochs, execution), own
        epochs = {execution.agent: execution.clock[execution.agent]}
        clock = execution.clock
        if chained and execution.behind is not None:
            clock = np.maximum(clock, execution.behind)
        return _Done(who, event.group, epochs, execution, work.by_proxy), clock

    def _beneath(self, cell: Cell) -> Iterator[tuple[Cell, _History]]:
        """Yield the cells that overlap the addresses of one, with their accesses."""
        for other in self._cells.beneath(cell):
            if (history := self._histories.get(other)) is not None:
                yield other, history

    def _compare(
        self,
        event: Access,
        access: _Done,
        clock: Clock,
        cell: Cell,
        place: Cell,
        done: str,
        other: _Done | None,
    ) -> None:
        """Refuse an access to a cell if nothing puts it behind what was done at a place before."""
        if other is None or other.who == access.who:
            return
        if other.who[0] == access.who[0] == cell.value and cell.value not in self._read:
            return  # nobody in the loop reads what it makes
        kind = self._lacking(access, clock, other, place)
        if kind is not None:
            verb = "reads" if isinstance(event, ReadBegins) else "writes"
            (name, of), (before, earlier) = access.who, other.who
            what = f"{cell.value} in {cell.place} slot {cell.slot}"
            if (place.value, place.place, place.slot) != (cell.value, cell.place, cell.slot):
                done += f" {place.value} in {place.place} slot {place.slot} at its addresses"
            raise SimulationError(
                kind,
                f"{name} of iteration {of} {verb} {what}, which {before} of iteration {earlier} "
                f"{done}; {LACKING[kind]}",
            )

    def _lacking(self, access: _Done, clock: Clock, other: _Done, place: Cell) -> str | None:
        """Return what is missing between two accesses, None if they are in order."""
        if other.is_open:
            return "race"
        seen = any(self._order.sees(clock, epochs) for epochs in other.over)
        if not (seen or self._met(access, clock, other, place)):
            known = any(knows(clock, epochs) for epochs in other.over)
            return "visibility" if known else "race"
        return "fence" if self._unfenced(access, clock, other, place) else None

    def _unfenced(self, access: _Done, clock: Clock, other: _Done, place: Cell) -> bool:
        """Whether a unit comes to where a warp was before, and no proxy fence is between."""
        in_shared = place.place in ("smem", STAGING)
        if not in_shared or not access.by_proxy or other.by_proxy or access.execution is None:
            return False
        epochs, before = other.epochs, other.execution
        if before is not None and not before.asynchronous:
            # Warps of one group meet in between, and all have run the same fences.
            issuing = access.execution.issued
            epochs = {a: epoch for a, epoch in epochs.items() if a in issuing} or epochs
        return not self._order.fenced(clock, epochs)

    def _met(self, access: _Done, clock: Clock, other: _Done, place: Cell) -> bool:
        """Whether the warps of a group waited for each other between two uses of memory."""
        before = other.execution
        if place.place not in ADDRESSED or before is None or before.asynchronous:
            return False
        if access.group != before.group:
            return False
        done = self._order.blank()
        for agent, epoch in before.issued.items():
            self._order.enter(done, agent, epoch)
        join(clock, before.clock)
        join(clock, done)
        if access.execution is not None and not before.met:
            before.met = dict(access.execution.issued)
        return True
