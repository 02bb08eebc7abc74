"""Races: two accesses to one place, one of them a write, that nothing puts in order.

An access happens before another if a chain of program order, issues, completions that somebody
awaits, and arrives and waits at barriers leads from one to the other (Lamport 1978; vector clocks
as in Flanagan and Freund, FastTrack, PLDI 2009). Every warp is an agent, and so is every instance
of an asynchronous operation, from its issue to its completion. Nothing here depends on cycles or on
what a slot holds: an access without such a chain is a race even if it was lucky in time, and the
check of values may be wrong without this one being wrong with it.

What orders accesses without an instruction in the program: an in-order unit executes commands in
the order in which they were issued, if something puts the issues in order (results are another
matter: only an accumulator of the same unit may be read without a wait); and the warps of a group
that pass values through memory wait for each other.

Where units reach shared memory through a proxy of their own, a clock has three parts: what is over,
what of that an agent sees, and what of that is behind a proxy fence. TMA's completion passes on the
first, and of the others only what it wrote itself; accesses need the second of each other, and a
unit's the third of what warps did (Triton's ConSan: visibility, precise write tracking, and
generic-to-async proxy ordering).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from twill.artifacts.schedule import Schedule
from twill.sim.checks.vector_clocks import Clock, Epochs, join, knows
from twill.sim.engine.addresses import beneath
from twill.sim.engine.errors import SimulationError
from twill.sim.engine.observer import Observer
from twill.sim.engine.work import Work, works

STAGING, NOWHERE = "staging in smem", "no memory"
ADDRESSED = ("smem", "tmem", STAGING)
LACKING = {
    "race": "no chain of arrives and waits puts the two in order",
    "visibility": "the two are in order only by bytes that TMA delivered, which make nothing else "
    "visible",
    "fence": "no proxy fence stands between the warps' access and the unit's",
}
REMEMBERED = 4
"""Commands of each group that an in-order unit remembers."""

Instance = tuple[str, int]
_Party = tuple[str, bool]
"""Who arrives at a barrier: a name, and whether it is of a group."""
Place = tuple[str, str, int, int]
"""A value, where it is, the lane if each warp has its own, and the slot."""


@dataclass(eq=False)
class _Execution:
    """One operation in one iteration: what its agents know, and their epochs in it."""

    clock: Clock
    group: str
    asynchronous: bool
    issued: Epochs = field(default_factory=dict)
    behind: Clock | None = None
    seen: dict[int, int] = field(default_factory=dict)


@dataclass(eq=False)
class _Access:
    """A read or a write of a slot; open until it is over."""

    who: Instance
    group: str
    epochs: Epochs
    execution: _Execution | None
    by_proxy: bool = False
    is_open: bool = True

    def close(self) -> None:
        """Take the end of the access, which may be in a later epoch than its begin."""
        self.is_open = False
        if self.execution is not None and not self.execution.asynchronous:
            issued = self.execution.issued
            self.epochs = {agent: issued.get(agent, epoch) for agent, epoch in self.epochs.items()}


@dataclass(eq=False)
class _Cell:
    """What was done to a slot: its last write, and the reads since."""

    write: _Access | None = None
    reads: dict[Instance, _Access] = field(default_factory=dict)

    def accesses(self) -> Iterator[tuple[str, _Access]]:
        """Yield the reads and the write, each with its verb."""
        for access in self.reads.values():
            yield "reads", access
        if self.write is not None:
            yield "writes", self.write


class Races(Observer):
    """Raises on the first race that an execution shows.

    Raises
    ------
    SimulationError
        Of kind ``race``, ``visibility`` or ``fence``, from within the execution; it names the two
        accesses and the slot.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._works = works(schedule.loop, schedule.machine)
        self._home = schedule.assignment
        self._warps = {group.name: group.warps for group in schedule.groups}
        self._slots = {barrier.name: barrier.slots for barrier in schedule.barriers}
        self._ring = _concurrent(schedule)
        self._read = {read.value for work in self._works.values() for read in work.reads}
        self._agents = 0
        self._proxies = any(work.by_proxy for work in self._works.values())
        self._lanes = {
            (group.name, lane): self._agent()
            for group in schedule.groups
            for lane in range(group.warps)
        }
        self._instances = {
            (name, k): self._agent()
            for name, work in self._works.items()
            if work.asynchronous
            for k in range(self._ring)
        }
        self._clocks: list[Clock] = [self._blank() for _ in self._lanes]
        for lane, clock in enumerate(self._clocks):
            self._enter(clock, lane, 1)
        self._changed = [0] * len(self._clocks)
        self._executions: dict[Instance, _Execution] = {}
        self._phases: dict[tuple[str, int], dict[int, Clock]] = defaultdict(dict)
        self._arrivals: dict[tuple[str, int], dict[int, dict[_Party, Epochs]]] = defaultdict(dict)
        self._cells: dict[Place, _Cell] = defaultdict(_Cell)
        self._shared = self._groups_of_lanes()
        self._beneath = beneath(schedule.storage)
        in_order = {name for name, unit in schedule.machine.units.items() if unit.in_order}
        self._unit = {
            name: next((d.unit for d in work.demands if d.unit in in_order), None)
            for name, work in self._works.items()
        }
        self._queues: dict[tuple[str, str], deque[_Execution]] = defaultdict(
            lambda: deque(maxlen=REMEMBERED)
        )

    def _agent(self) -> int:
        self._agents += 1
        return self._agents - 1

    def _blank(self) -> Clock:
        """Return the clock of who knows nothing: in order, and if told apart visible and fenced."""
        return [0] * (3 * self._agents if self._proxies else self._agents)

    def _enter(self, clock: Clock, agent: int, epoch: int) -> None:
        """Begin an epoch of an agent, who sees what it did itself."""
        clock[agent] = epoch
        if self._proxies:
            clock[self._agents + agent] = epoch

    def _groups_of_lanes(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for (group, _), agent in self._lanes.items():
            found[group].append(agent)
        return dict(found)

    # -- agents -------------------------------------------------------------------------------

    def _execution(self, operation: str, iteration: int) -> _Execution:
        key = (operation, iteration)
        execution = self._executions.get(key)
        if execution is None:
            work = self._works[operation]
            clock = self._blank()
            execution = _Execution(clock, self._home[operation], work.asynchronous)
            if work.asynchronous:
                agent = self._instances[operation, iteration % self._ring]
                self._enter(clock, agent, iteration // self._ring + 1)
            self._executions[key] = execution
        return execution

    def _advance(self, lane: int, other: Clock) -> None:
        """Let a warp know what a clock knows."""
        join(self._clocks[lane], other)
        self._changed[lane] += 1

    def issued(
        self,
        group: str,
        lane: int,
        operation: str,
        iteration: int,
        unit: str,
        begin: float,
        end: float,
    ) -> None:
        """Let an operation know what the warps that issue it know; see `Observer.issued`."""
        agent = self._lanes[group, lane]
        execution = self._execution(operation, iteration)
        execution.issued[agent] = self._clocks[agent][agent]
        if execution.seen.get(agent) != self._changed[agent]:
            execution.seen[agent] = self._changed[agent]
            join(execution.clock, self._clocks[agent])

    def started(self, operation: str, iteration: int, cycle: float) -> None:
        """Queue an asynchronous operation behind what its unit was given before."""
        unit = self._unit[operation]
        execution = self._execution(operation, iteration)
        if unit is None or not execution.asynchronous:
            return
        behind = self._blank()
        for group in self._warps:
            for before in reversed(self._queues[unit, group]):
                if knows(execution.clock, before.issued):
                    join(behind, before.clock)
                    join(behind, before.behind or before.clock)
                    if len(before.issued) == self._warps[group]:
                        break  # and so it knows what its group issued before
        execution.behind = behind
        self._queues[unit, execution.group].append(execution)

    def completed(self, operation: str, iteration: int, cycle: float) -> None:
        """Let those who await an operation know what it was queued behind; forget an old one."""
        execution = self._execution(operation, iteration)
        if execution.behind is not None:
            join(execution.clock, execution.behind)
        self._executions.pop((operation, iteration - self._ring), None)

    # -- synchronisation ----------------------------------------------------------------------

    def arrived(
        self,
        barrier: str,
        iteration: int,
        group: str,
        lane: int,
        operation: str,
        cycle: float,
        visible: float,
    ) -> None:
        """Let a phase know what those who arrive know; see `Observer.arrived`."""
        number, slot = divmod(iteration, self._slots[barrier])
        phases = self._phases[barrier, slot]
        if number not in phases:
            before = phases.pop(number - 2, None) or phases.get(number - 1)
            phases[number] = self._blank() if before is None else list(before)
            if number - 1 in phases:
                join(phases[number], phases[number - 1])
        if not group:
            clock = self._execution(operation, iteration).clock
            agent = self._instances[operation, iteration % self._ring]
            self._follow(barrier, iteration, (operation, False), agent, clock)
            join(phases[number], self._told_by(operation, agent, clock))
            return
        agent = self._lanes[group, lane]
        clock = self._clocks[agent]
        self._follow(barrier, iteration, (group, True), agent, clock)
        join(phases[number], clock)
        self._enter(clock, agent, clock[agent] + 1)
        self._changed[agent] += 1

    def _told_by(self, operation: str, agent: int, clock: Clock) -> Clock:
        """Return what the completion of an asynchronous operation tells those who wait for it.

        A tensor core's commit passes on all that its issuer knew; the bytes that TMA counts say
        that they are there, and nothing of what their issuer saw.
        """
        if not self._works[operation].by_proxy or self._unit[operation] is not None:
            return clock
        told = clock[: self._agents] + [0] * (len(clock) - self._agents)
        self._enter(told, agent, clock[agent])
        return told

    def _follow(self, barrier: str, iteration: int, who: _Party, agent: int, clock: Clock) -> None:
        """Check that an arrival comes after the phase before, or it may count for that one."""
        slots = self._slots[barrier]
        number, slot = divmod(iteration, slots)
        phases = self._arrivals[barrier, slot]
        for other, epochs in phases.get(number - 1, {}).items():
            # A group arrives as one, when the last of its warps does.
            if not knows(clock, epochs) and not (other == who and who[1]):
                raise SimulationError(
                    "race",
                    f"{who[0]} arrives at {barrier} for iteration {iteration}, and {other[0]} for "
                    f"iteration {iteration - slots}; no chain of arrives and waits puts the two in "
                    "order, so that either may count for the other's phase",
                )
        phases.setdefault(number, {}).setdefault(who, {})[agent] = clock[agent]
        phases.pop(number - 2, None)

    def waited(
        self,
        group: str,
        lane: int,
        barrier: str,
        iteration: int,
        cycle: float,
    ) -> None:
        """Let a warp know what a phase knows; see `Observer.waited`."""
        number, slot = divmod(iteration, self._slots[barrier])
        known = self._phases[barrier, slot].get(number)
        if known is not None:
            self._advance(self._lanes[group, lane], known)

    def fenced(self, group: str, lane: int, cycle: float) -> None:
        """Put a fence behind all that a warp did or knows of; see `Observer.fenced`."""
        if not self._proxies:
            return
        agent = self._lanes[group, lane]
        clock = self._clocks[agent]
        visible = slice(self._agents, 2 * self._agents)
        clock[2 * self._agents :] = clock[visible]
        self._enter(clock, agent, clock[agent] + 1)
        self._changed[agent] += 1

    def met(self, group: str, cycle: float) -> None:
        """Let the warps of a group know what all of them know; see `Observer.met`."""
        together = list(map(max, *(self._clocks[agent] for agent in self._shared[group])))
        for agent in self._shared[group]:
            self._advance(agent, together)
            self._enter(self._clocks[agent], agent, self._clocks[agent][agent] + 1)

    def awaited(
        self,
        group: str,
        lane: int,
        operation: str,
        iteration: int,
        cycle: float,
    ) -> None:
        """Let a warp know what an operation knew; see `Observer.awaited`."""
        execution = self._executions.get((operation, iteration))
        if execution is not None:
            self._advance(self._lanes[group, lane], execution.clock)

    # -- accesses -----------------------------------------------------------------------------

    def reading(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        of_iteration: int,
        group: str,
        lane: int,
        begin: float,
    ) -> None:
        """Check that the last write comes before a read; see `Observer.reading`."""
        key = self._key(value, place, slot, group, lane)
        access, clocks = self._access(operation, of_iteration, group, lane, place)
        chained = self._chained(operation, value, of_iteration - iteration)
        clock = clocks[1] if chained else clocks[0]
        cell = self._cells[key]
        self._compare("reads", access, clock, key, [(key, cell)], writes_only=True)
        self._compare("reads", access, clock, key, self._under(key), writes_only=True)
        other = cell.reads.get(access.who)
        if other is not None and access.execution is None:
            access.epochs |= other.epochs  # warps that get the part of one
        cell.reads[access.who] = access

    def read(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        of_iteration: int,
        group: str,
        lane: int,
        begin: float,
        end: float,
    ) -> None:
        """Take the end of a read; see `Observer.read`."""
        access = self._cells[self._key(value, place, slot, group, lane)].reads.get(
            (operation, of_iteration)
        )
        if access is not None:
            access.close()

    def writing(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        group: str,
        lane: int,
        begin: float,
    ) -> None:
        """Check that all earlier accesses come before a write; see `Observer.writing`."""
        key = self._key(value, place, slot, group, lane)
        access, (_, clock) = self._access(operation, iteration, group, lane, place)
        if place != NOWHERE:
            cell = self._cells[key]
            self._compare("writes", access, clock, key, [(key, cell)], writes_only=False)
            self._compare("writes", access, clock, key, self._under(key), writes_only=False)
        self._cells[key] = _Cell(write=access)

    def wrote(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        group: str,
        lane: int,
        begin: float,
        end: float,
    ) -> None:
        """Take the end of a write; see `Observer.wrote`."""
        access = self._cells[self._key(value, place, slot, group, lane)].write
        if access is not None and access.who == (operation, iteration):
            access.close()

    def _access(
        self, operation: str, iteration: int, group: str, lane: int, place: str
    ) -> tuple[_Access, tuple[Clock, Clock]]:
        """Return an access, with the clocks for reads and for what a unit does in order."""
        who = (operation, iteration)
        agent = self._lanes[group, lane]
        own = self._clocks[agent]
        if operation not in self._works:
            return _Access(who, group, {agent: own[agent]}, None), (own, own)
        execution = self._execution(operation, iteration)
        if not execution.asynchronous:
            if self._works[operation].holder(lane) == lane:
                execution.issued[agent] = own[agent]
            epochs = execution.issued if place in ADDRESSED else {agent: own[agent]}
            return _Access(who, group, epochs, execution), (own, own)
        instance = self._instances[operation, iteration % self._ring]
        by_proxy = self._works[operation].by_proxy
        epochs = {instance: execution.clock[instance]}
        access = _Access(who, group, epochs, execution, by_proxy)
        ordered = execution.clock
        if execution.behind is not None:
            ordered = list(map(max, execution.clock, execution.behind))
        return access, (execution.clock, ordered)

    def _chained(self, operation: str, value: str, distance: int) -> bool:
        work: Work | None = self._works.get(operation)
        return work is not None and any(
            read.chained and (read.value, read.distance) == (value, distance) for read in work.reads
        )

    def _key(self, value: str, place: str, slot: int, group: str, lane: int) -> Place:
        """Return the cell that a warp uses: of staging, that of the warp whose part it is.

        So it is with what another group made that lies nowhere.
        """
        if place in ("smem", "tmem"):
            return (value, place, 0, slot)
        if place == STAGING or (place == NOWHERE and group != self._home[value]):
            lane = self._works[value].holder(lane)
        return (value, place, lane, slot)

    def _under(self, key: Place) -> Iterator[tuple[Place, _Cell]]:
        """Yield the cells that lie over the addresses of one."""
        value, place, _, slot = key
        for other, staged, number in self._beneath.get((value, place == STAGING, slot), ()):
            where = STAGING if staged else "smem" if place == STAGING else place
            for lane in range(max(self._warps.values()) if staged else 1):
                cell = self._cells.get((other, where, lane, number))
                if cell is not None:
                    yield (other, where, lane, number), cell

    def _compare(
        self,
        verb: str,
        access: _Access,
        clock: Clock,
        place: Place,
        cells: Iterator[tuple[Place, _Cell]] | list[tuple[Place, _Cell]],
        *,
        writes_only: bool,
    ) -> None:
        for where, cell in cells:
            for done, other in cell.accesses():
                if other.who == access.who or (writes_only and done == "reads"):
                    continue
                if other.who[0] == access.who[0] == place[0] and place[0] not in self._read:
                    continue  # nobody in the loop reads what it makes
                kind = self._lacking(access, clock, other, where)
                if kind is not None:
                    raise SimulationError(
                        kind, _message(verb, access, place, done, other, where, LACKING[kind])
                    )

    def _lacking(self, access: _Access, clock: Clock, other: _Access, where: Place) -> str | None:
        """Return what is missing between two accesses, None if they are in order."""
        if other.is_open:
            return "race"
        if not (self._sees(clock, other.epochs) or self._met(access, clock, other, where)):
            return "visibility" if knows(clock, other.epochs) else "race"
        return "fence" if self._unfenced(access, clock, other, where) else None

    def _sees(self, clock: Clock, epochs: Epochs) -> bool:
        part = self._agents if self._proxies else 0
        return knows(clock, {agent + part: epoch for agent, epoch in epochs.items()})

    def _unfenced(self, access: _Access, clock: Clock, other: _Access, where: Place) -> bool:
        """Whether a unit comes to where a warp was before, and no proxy fence is between."""
        in_shared = where[1] in ("smem", STAGING)
        if not in_shared or not access.by_proxy or other.by_proxy or access.execution is None:
            return False
        epochs, before = other.epochs, other.execution
        if before is not None and not before.asynchronous:
            # Warps of one group meet in between, and all have run the same fences.
            issuing = access.execution.issued
            epochs = {a: epoch for a, epoch in epochs.items() if a in issuing} or epochs
        shifted = {agent + 2 * self._agents: epoch for agent, epoch in epochs.items()}
        return not knows(clock, shifted)

    def _met(self, access: _Access, clock: Clock, other: _Access, where: Place) -> bool:
        """Whether the warps of a group waited for each other between two uses of memory."""
        before = other.execution
        if where[1] not in ADDRESSED or before is None or before.asynchronous:
            return False
        if access.group != before.group:
            return False
        done = self._blank()
        for agent, epoch in before.issued.items():
            self._enter(done, agent, epoch)
        join(clock, before.clock)
        join(clock, done)
        return True


def _message(
    verb: str, access: _Access, place: Place, done: str, other: _Access, where: Place, lack: str
) -> str:
    (name, of), (before, earlier) = access.who, other.who
    value, memory, _, slot = place
    what = f"{value} in {memory} slot {slot}"
    if where[:2] != place[:2] or where[3] != slot:
        done = f"{done} {where[0]} in {where[1]} slot {where[3]} at its addresses"
    return (
        f"{name} of iteration {of} {verb} {what}, which {before} of iteration {earlier} {done}; "
        f"{lack}"
    )


def _concurrent(schedule: Schedule) -> int:
    """Return more instances of one operation than a program waits for at once.

    More are under way where nobody waits: on an in-order unit, who knows one knows those before it.
    """
    slots = [storage.slots for storage in schedule.storage]
    stages = [program.last_stage for program in schedule.programs]
    return 2 + max(slots, default=0) + max(stages, default=0)


__all__ = ["Races"]
