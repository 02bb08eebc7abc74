"""The happened-before order: a vector clock for every agent of an execution.

An event happens before another if a chain leads from the first to the second (Lamport 1978). Links
of a chain are program order, issues, awaited completions, and arrives and waits at barriers. Vector
clocks are as in Flanagan and Freund, FastTrack, PLDI 2009. Every warp is an agent, and so is every
instance of an asynchronous operation, from its issue to its completion.

If units reach shared memory through proxies of their own, a clock has three parts: events that are
over, those that the agent sees, and those behind a proxy fence. TMA's completion passes on the
first part, and of the others only its own writes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from twill.artifacts.schedule import Schedule
from twill.sim.engine.events import (
    Arrived,
    Completed,
    Fenced,
    Handlers,
    Issued,
    Met,
    SimulationError,
    Started,
    Waited,
)
from twill.sim.engine.work import Work

REMEMBERED = 4  # commands of each group that an in-order unit remembers

Clock = NDArray[np.int64]  # for each agent the last of its epochs that is known to be over
Epochs = dict[int, int]
_Party = tuple[str, bool]  # who arrives at a barrier: a name, and whether it is of a group


def join(clock: Clock, other: Clock) -> None:
    """Let `clock`, which is changed, know what `other` knows."""
    np.maximum(clock, other, out=clock)


def knows(clock: Clock, epochs: Mapping[int, int]) -> bool:
    """Return whether all that happened in some epochs happened before."""
    return all(clock[agent] >= epoch for agent, epoch in epochs.items())


@dataclass(eq=False)
class OperationClock:
    """An operation in an iteration: the knowledge of its agents, and their epochs in it."""

    clock: Clock  # what all that issued it know together
    group: str
    asynchronous: bool  # whether a unit executes it
    agent: int = -1  # it itself, where it is asynchronous
    issued: Epochs = field(default_factory=dict)  # of the warps that issued or take part in it
    awaited: Epochs = field(default_factory=dict)  # of those of them that have awaited its end
    # Of the group's warps that first used its result in memory: all had waited for each other.
    met: Epochs = field(default_factory=dict)
    behind: Clock | None = None  # what its in-order unit knew when it started on it
    # How often the clock of each warp that issues it had changed when it was last looked at.
    seen: dict[int, int] = field(default_factory=dict)


class HappenedBefore:
    """Tracks what every warp and every operation knows of the others.

    `agents`: the agent of every warp, by group and number.
    `handlers`: its handlers, by type of event.

    Raises
    ------
    SimulationError
        Of kind ``race``, from within the execution, if nothing puts an arrival behind the phase
        before, or a phase behind the waits for the one before.
    """

    def __init__(self, schedule: Schedule, works: Mapping[str, Work]) -> None:
        self._works, self._home = works, schedule.assignment
        self._warps = {group.name: group.warps for group in schedule.groups}
        self._slots = {barrier.name: barrier.slots for barrier in schedule.barriers}
        self._ring = _concurrent(schedule)
        warps = [(group.name, n) for group in schedule.groups for n in range(group.warps)]
        asynchronous = [name for name, work in works.items() if work.asynchronous]
        instances = [(name, k) for name in asynchronous for k in range(self._ring)]
        self.agents = {warp: agent for agent, warp in enumerate(warps)}
        self._instances = {one: agent for agent, one in enumerate(instances, start=len(warps))}
        self._count = len(warps) + len(instances)
        self._proxies = any(work.by_proxy for work in works.values())
        self.clocks = [self.blank() for _ in warps]
        for agent, clock in enumerate(self.clocks):
            self.enter(clock, agent, 1)
        self._changed = [0] * len(warps)
        self._issuing: dict[int, OperationClock] = {}  # by the warp's agent, what it issued last
        self._executions: dict[tuple[str, int], OperationClock] = {}
        self._phases: dict[tuple[str, int], dict[int, Clock]] = defaultdict(dict)
        self._arrivals: dict[tuple[str, int], dict[int, dict[_Party, Epochs]]] = defaultdict(dict)
        self._waits: dict[tuple[str, int], dict[int, dict[str, Epochs]]] = defaultdict(dict)
        in_order = {name for name, unit in schedule.machine.units.items() if unit.in_order}
        self._unit = {
            name: next((d.unit for d in work.demands if d.unit in in_order), None)
            for name, work in works.items()
        }
        self._queues: dict[tuple[str, str], deque[OperationClock]] = defaultdict(
            lambda: deque(maxlen=REMEMBERED)
        )
        self.handlers: Handlers = {
            Issued: self._issued,
            Started: self._started,
            Completed: self._completed,
            Arrived: self._arrived,
            Waited: self._waited,
            Fenced: self._fenced,
            Met: self._met,
        }

    # -- what clocks say ----------------------------------------------------------------------

    def blank(self) -> Clock:
        """Return an empty clock; with proxies it has parts for visible and fenced accesses too."""
        return np.zeros(3 * self._count if self._proxies else self._count, np.int64)

    def enter(self, clock: Clock, agent: int, epoch: int) -> None:
        """Begin an epoch of an agent, which sees its own accesses."""
        clock[agent] = epoch
        if self._proxies:
            clock[self._count + agent] = epoch

    def sees(self, clock: Clock, epochs: Epochs) -> bool:
        """Return whether what happened in some epochs is visible."""
        part = self._count if self._proxies else 0
        return knows(clock, {agent + part: epoch for agent, epoch in epochs.items()})

    def fenced(self, clock: Clock, epochs: Epochs) -> bool:
        """Return whether what happened in some epochs is behind a proxy fence."""
        return knows(clock, {agent + 2 * self._count: epoch for agent, epoch in epochs.items()})

    def execution(self, operation: str, iteration: int) -> OperationClock:
        """Return an operation in an iteration, which may not have begun."""
        key = (operation, iteration)
        execution = self._executions.get(key)
        if execution is None:
            execution = OperationClock(
                self.blank(), self._home[operation], self._works[operation].asynchronous
            )
            if execution.asynchronous:
                execution.agent = self._instances[operation, iteration % self._ring]
                self.enter(execution.clock, execution.agent, iteration // self._ring + 1)
            self._executions[key] = execution
        return execution

    # -- agents -------------------------------------------------------------------------------

    def _advance(self, agent: int, other: Clock) -> None:
        """Let a warp know what a clock knows."""
        join(self.clocks[agent], other)
        self._changed[agent] += 1

    def _next_epoch(self, agent: int) -> None:
        """Begin a warp's next epoch."""
        clock = self.clocks[agent]
        self.enter(clock, agent, clock[agent] + 1)
        self._changed[agent] += 1

    def _issued(self, event: Issued) -> None:
        """Let an operation know what the warps that issue it know.

        Its completion does not cover what a warp does behind the issue: that is a next epoch.
        """
        agent = self.agents[event.group, event.warp]
        execution = self.execution(event.operation, event.iteration)
        goes_on = self._issuing.get(agent) is execution
        self._issuing[agent] = execution
        known = execution.seen.get(agent) == self._changed[agent]
        if known and (goes_on or not execution.asynchronous):
            return
        execution.issued[agent] = self.clocks[agent][agent]
        join(execution.clock, self.clocks[agent])
        if execution.asynchronous:
            self._next_epoch(agent)
        execution.seen[agent] = self._changed[agent]

    def _started(self, event: Started) -> None:
        """Queue an asynchronous operation behind what its unit was given before."""
        unit, execution = self._unit[event.operation], self.execution(*event[:2])
        if unit is None or not execution.asynchronous:
            return
        behind = self.blank()
        for group in self._warps:
            for before in reversed(self._queues[unit, group]):
                if knows(execution.clock, before.issued):
                    join(behind, before.clock)
                    join(behind, before.clock if before.behind is None else before.behind)
                    if len(before.issued) == self._warps[group]:
                        break  # and so it knows what its group issued before
        execution.behind = behind
        self._queues[unit, execution.group].append(execution)

    def _completed(self, event: Completed) -> None:
        """Pass the commands that an operation was queued behind to its waiters; drop old ones."""
        operation, iteration, _ = event
        execution = self.execution(operation, iteration)
        if execution.behind is not None:
            join(execution.clock, execution.behind)
        self._executions.pop((operation, iteration - self._ring), None)

    # -- synchronisation ----------------------------------------------------------------------

    def _arrived(self, event: Arrived) -> None:
        """Add the knowledge of an arriving agent to the phase."""
        barrier, iteration = event.barrier, event.iteration
        number, slot = divmod(iteration, self._slots[barrier])
        phases = self._phases[barrier, slot]
        if number not in phases:
            before = phases.pop(number - 2, phases.get(number - 1))
            phases[number] = self.blank() if before is None else before.copy()
            if number - 1 in phases:
                join(phases[number], phases[number - 1])
        if not event.group:
            execution = self.execution(event.operation, iteration)
            self._follow(event, (event.operation, False), execution.agent, execution.clock)
            join(phases[number], self._told_by(event.operation, execution))
            return
        agent = self.agents[event.group, event.warp]
        self._follow(event, (event.group, True), agent, self.clocks[agent])
        join(phases[number], self.clocks[agent])
        self._next_epoch(agent)

    def _told_by(self, operation: str, execution: OperationClock) -> Clock:
        """Return the clock that the completion of an asynchronous operation passes to its waiters.

        A tensor core's commit passes on all that its issuer knew. The bytes that TMA counts only
        show that they have arrived, and nothing of what their issuer saw.
        """
        clock = execution.clock
        if not self._works[operation].by_proxy or self._unit[operation] is not None:
            return clock
        told = clock.copy()
        told[self._count :] = 0
        self.enter(told, execution.agent, clock[execution.agent])
        return told

    def _follow(self, event: Arrived, who: _Party, agent: int, clock: Clock) -> None:
        """Check that an arrival comes after the phase before, or it may count for that one."""
        barrier, iteration, slots = event.barrier, event.iteration, self._slots[event.barrier]
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

    def _waited(self, event: Waited) -> None:
        """Let a warp know what a phase knows, or what an operation knew."""
        agent = self.agents[event.group, event.warp]
        if event.kind != "barrier":
            execution = self._executions.get((event.subject, event.iteration))
            if execution is not None:
                self._advance(agent, execution.clock)
                execution.awaited[agent] = self.clocks[agent][agent]
            return
        slots = self._slots[event.subject]
        number, slot = divmod(event.iteration, slots)
        known = self._phases[event.subject, slot].get(number)
        if known is None:
            return
        waits = self._waits[event.subject, slot]
        # A group waits as one: some of its warps are enough.
        before = waits.get(number - 1, {}).values()
        if not all(any(known[a] >= epoch for a, epoch in group.items()) for group in before):
            raise SimulationError(
                "race",
                f"{event.subject} is complete for iteration {event.iteration}, and no chain of "
                f"arrives and waits puts that behind all waits for iteration "
                f"{event.iteration - slots}: one that is late finds the wrong phase",
            )
        self._advance(agent, known)
        self._next_epoch(agent)
        of_group = waits.setdefault(number, {}).setdefault(event.group, {})
        of_group[agent] = self.clocks[agent][agent]
        waits.pop(number - 2, None)

    def _fenced(self, event: Fenced) -> None:
        """Put a fence behind all that a warp did or knows of."""
        if self._proxies:
            agent = self.agents[event.group, event.warp]
            clock = self.clocks[agent]
            clock[2 * self._count :] = clock[self._count : 2 * self._count]
            self._next_epoch(agent)

    def _met(self, event: Met) -> None:
        """Let the warps of a group know what all of them know."""
        agents = [self.agents[event.group, n] for n in range(self._warps[event.group])]
        together = np.maximum.reduce([self.clocks[agent] for agent in agents])
        for agent in agents:
            self._advance(agent, together)
            self._next_epoch(agent)


def _concurrent(schedule: Schedule) -> int:
    """Return more instances of one operation than a program waits for at once.

    More are under way only without waits: on an in-order unit, a wait for one covers all before it.
    """
    slots = [storage.slots for storage in schedule.storage]
    stages = [program.last_stage for program in schedule.programs]
    return 2 + max(slots, default=0) + max(stages, default=0)
