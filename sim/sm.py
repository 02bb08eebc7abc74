"""The streaming multiprocessor: warps, units, barriers and memory put together."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import simpy

from twill.artifacts.schedule import Arrive, Await, Schedule, Storage, Wait
from twill.errors import InputError
from twill.sim.addresses import beneath
from twill.sim.barriers import Barriers
from twill.sim.errors import SimulationError
from twill.sim.hardware import Hardware
from twill.sim.latency import Source
from twill.sim.slots import Slots
from twill.sim.warps import Warp
from twill.sim.work import Work, works


@dataclass
class _Execution:
    """One operation in one iteration, while it runs."""

    arrived: int = 0
    ended: int = 0
    commands: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    started: float = math.nan
    ends: tuple[float, float, float] | None = None
    signals: tuple[str, ...] = ()
    done_at: float | None = None
    event: Any = None


class StreamingMultiprocessor:
    """One SM that executes a schedule's programs.

    Parameters
    ----------
    schedule : Schedule
        With programs.
    iterations : int
        Trip count of the loop.
    seed : int
        Of the variable latencies.
    latency : Source, optional
        Latency of every variable-latency load; their nominal latency without it.

    Attributes
    ----------
    finished_at : list of float
        Cycle at which each iteration's last result was complete.
    """

    def __init__(
        self, schedule: Schedule, iterations: int, *, seed: int = 0, latency: Source | None = None
    ) -> None:
        if not schedule.programs:
            raise InputError("the schedule has no programs", path="programs", file=schedule.name)
        warps = sum(group.warps for group in schedule.groups)
        if warps > schedule.machine.warps.value:
            raise InputError(
                f"{warps} warps in all, {schedule.machine.name} has {schedule.machine.warps.value}",
                path="groups",
                file=schedule.file or schedule.name,
            )
        self.schedule, self.iterations = schedule, iterations
        self.environment = simpy.Environment()
        self.hardware = Hardware(schedule.machine)
        self.works = works(schedule.loop, schedule.machine)
        self.barriers = Barriers(self.environment, schedule.barriers)
        self._latency, self._random = latency, random.Random(seed)  # noqa: S311 - no secret
        self._home = schedule.assignment
        self._groups = {group.name: group for group in schedule.groups}
        self._running: dict[tuple[str, int], _Execution] = {}
        self._arrivals: dict[tuple[str, int, str], int] = defaultdict(int)
        self._storage = {(s.value, s.transfer): s for s in schedule.storage if s.reader is None}
        self._copies = {(s.value, s.reader): s for s in schedule.storage if s.reader is not None}
        self._slots: dict[tuple[str, str, int], Slots] = {}
        self._beneath = beneath(schedule.storage)
        self._in_memory: dict[tuple[str, bool], list[Slots]] = defaultdict(list)
        self._readers: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for reader in self.works.values():
            for read in reader.reads:
                self._readers[read.value].append((reader.name, read.distance))
        self._farthest = _farthest(schedule)
        self._unfinished = [len(self.works)] * iterations
        self.finished_at = [0.0] * iterations
        self.warps = list(self._make_warps())

    # -- running ------------------------------------------------------------------------------

    def run(self) -> None:
        """Execute until every warp is at its end.

        Raises
        ------
        SimulationError
            If a read, a write or an arrive is wrong, or the warps wait for each other.
        """
        for warp in self.warps:
            self.environment.process(warp.run())
        self.environment.run()
        stuck = [warp for warp in self.warps if not warp.finished]
        if stuck:
            raise SimulationError("deadlock", self._deadlock(stuck))

    def _make_warps(self) -> Iterator[Warp]:
        """Place wide groups on whole sets of contexts, single warps behind them."""
        first = 0
        contexts = self.hardware.contexts
        for group in sorted(self.schedule.groups, key=lambda g: -g.warps):
            program = next((p for p in self.schedule.programs if p.group == group.name), None)
            for lane in range(group.warps if program is not None else 0):
                assert program is not None
                yield Warp(self, group, program, lane, contexts[(first + lane) % len(contexts)])
            first += group.warps

    # -- values -------------------------------------------------------------------------------

    def _place(self, value: str, group: str, lane: int, reader: str = "") -> Slots:
        """Return where a warp of `group` writes `value`, or reads it for operation `reader`."""
        storage = self._storage.get((value, False))
        if storage is not None and storage.memory != "registers":
            return self._slots_of(value, storage.memory, 0, storage.slots, staged=False)
        if storage is None:
            return self._slots_of(value, "no memory", lane, self.iterations)
        if group == self._home[value]:
            return self._slots_of(value, f"registers of {group}", lane, storage.slots)
        copy = self._copies.get((value, reader))
        count = copy.slots if copy is not None else 1
        return self._slots_of(value, f"copy for {reader}", lane, count)

    def _slots_of(
        self, value: str, place: str, lane: int, count: int, *, staged: bool | None = None
    ) -> Slots:
        """Return the slots of a value; `staged` is None where they are not in addressed memory."""
        key = (value, place, lane)
        if key not in self._slots:
            self._slots[key] = Slots(value, place, count)
            if staged is not None:
                self._in_memory[value, staged].append(self._slots[key])
        return self._slots[key]

    def _write_over(self, slots: Slots, iteration: int, *, staged: bool, writer: str) -> None:
        """Destroy what lies at the addresses that an instance is about to be written to."""
        slot = (slots.value, staged, iteration % slots.count)
        for value, other, number in self._beneath.get(slot, ()):
            for lost in self._in_memory[value, other]:
                lost.destroy(number, self.environment.now, (writer, iteration))

    def _in_registers(self, value: str) -> bool:
        """Return whether every warp holds its own part of a value."""
        storage = self._storage.get((value, False))
        return storage is None or storage.memory == "registers"

    def operands_ready(self, warp: Warp, work: Work, iteration: int) -> float:
        """Return when the scoreboard lets `work` issue: synchronous results of its own group.

        Parameters
        ----------
        warp : Warp
            The warp that issues.
        work : Work
            The operation.
        iteration : int
            Its iteration.
        """
        group = warp.group.name
        ready = -math.inf
        for read in work.reads:
            home = self._home[read.value]
            crossing = home != group and self._in_registers(read.value)
            synchronous = not self.works[read.value].asynchronous and home == group
            if iteration >= read.distance and (synchronous or crossing):
                slots = self._place(read.value, group, warp.lane, work.name)
                ready = max(ready, slots.ready(iteration - read.distance))
        return ready if ready < math.inf else -math.inf

    def result_ready(self, warp: Warp, value: str, iteration: int) -> float:
        """Return when a synchronous result of the warp's own group can be read.

        Parameters
        ----------
        warp : Warp
            The warp that reads it.
        value : str
            The result.
        iteration : int
            Its iteration.
        """
        ready = self._place(value, warp.group.name, warp.lane).ready(iteration)
        return ready if ready < math.inf else -math.inf

    # -- operations ---------------------------------------------------------------------------

    def begin(self, warp: Warp, work: Work, iteration: int) -> None:
        """Read operands and claim the result's slots, warp by warp.

        An asynchronous operation does so later, when its unit starts on it.

        Parameters
        ----------
        warp : Warp
            A warp that begins it.
        work : Work
            The operation.
        iteration : int
            Its iteration.
        """
        execution = self._execution(work.name, iteration)
        execution.arrived += 1
        if not work.asynchronous:
            self._touch(work, iteration, warp.lane, first=execution.arrived == 1)

    def _start(self, work: Work, iteration: int, start: float) -> None:
        """Let an asynchronous operation read its operands when its unit starts on it."""

        def touch(_: Any = None) -> None:
            for lane in range(work.warps):
                self._touch(work, iteration, lane, first=lane == 0)
            execution = self._execution(work.name, iteration)
            if execution.ends is not None:
                self._settle(work, iteration, range(work.warps), *execution.ends)

        ahead = start - self.environment.now
        if ahead > 0:
            self.environment.timeout(ahead).callbacks.append(touch)
        else:
            touch()

    def _touch(self, work: Work, iteration: int, lane: int, *, first: bool) -> None:
        now, reader = self.environment.now, (work.name, iteration)
        group = self._home[work.name]
        for read in work.reads:
            if iteration >= read.distance and (first or self._in_registers(read.value)):
                self._place(read.value, group, lane, work.name).read(
                    iteration - read.distance, now, math.inf, reader, chained=read.chained
                )
        if first or self._in_registers(work.name):
            slots = self._place(work.name, group, lane)
            self._write_over(slots, iteration, staged=False, writer=work.name)
            slots.begin_write(iteration, now, reader)

    def _settle(
        self,
        work: Work,
        iteration: int,
        lanes: Iterable[int],
        issued: float,
        read: float,
        readable: float,
        *,
        last: bool = True,
    ) -> None:
        """End the reads (of registers at `issued`, of memory at `read`) and show the result.

        Memory is read, and a result in memory is there, once the last warp is done.
        """
        group, reader = self._home[work.name], (work.name, iteration)
        for lane in lanes:
            for operand in work.reads:
                own = self._in_registers(operand.value)
                if iteration >= operand.distance and (own or last):
                    place = self._place(operand.value, group, lane, work.name)
                    place.hold(iteration - operand.distance, issued if own else read, reader)
            if last or self._in_registers(work.name):
                self._place(work.name, group, lane).end_write(iteration, readable)

    def end(self, warp: Warp, work: Work, iteration: int, issued: float, done: float) -> None:
        """End a synchronous operation on one warp.

        Parameters
        ----------
        warp : Warp
            The warp.
        work : Work
            The operation.
        iteration : int
            Its iteration.
        issued, done : float
            Cycles at which its last instruction is issued, and is through the pipe.
        """
        execution = self._execution(work.name, iteration)
        execution.ended += 1
        last = execution.ended == work.warps
        self._settle(work, iteration, [warp.lane], issued, done, done + work.tail, last=last)
        if last:
            self._complete(work, iteration, done + work.tail)

    def signal_when_done(self, work: Work, iteration: int, signals: tuple[str, ...]) -> None:
        """Name the barriers at which an asynchronous operation arrives by itself.

        An operation issued in parts names them with its last part, which comes after the last
        instruction where that rounds into an earlier part.

        Parameters
        ----------
        work : Work
            The operation.
        iteration : int
            Its iteration.
        signals : tuple of str
            Barriers.
        """
        execution = self._execution(work.name, iteration)
        if not signals or execution.signals:
            return
        execution.signals = signals
        if execution.done_at is not None:
            self._signal(work, iteration, execution.done_at)

    def command(self, work: Work, iteration: int, index: int) -> None:
        """Take one command of an asynchronous operation from a warp.

        The unit starts on it when the last warp of the operation has issued it.

        Parameters
        ----------
        work : Work
            The operation.
        iteration : int
            Its iteration.
        index : int
            Which of its commands.
        """
        execution = self._execution(work.name, iteration)
        execution.commands[index] += 1
        if execution.commands[index] < work.warps:
            return
        start, end = self.hardware.accept(self.environment.now, work.demands)
        if index == 0:
            execution.started = start
            self._start(work, iteration, start)
        if index < work.instructions - 1:
            return
        if work.variable_latency:
            drawn = self._latency(self._random) if self._latency else work.latency
            done = max(end, execution.started + drawn)
        else:
            done = max(end, end + work.tail - self.hardware.wait)
        execution.ends = (end, end, done)
        if execution.started <= self.environment.now:
            self._settle(work, iteration, range(work.warps), *execution.ends)
        self._complete(work, iteration, done)

    def _complete(self, work: Work, iteration: int, done: float) -> None:
        execution = self._running[work.name, iteration]
        execution.done_at = done
        self._signal(work, iteration, done)
        if execution.event is not None:
            self._trigger(execution.event, done)
        self.finished_at[iteration] = max(self.finished_at[iteration], done)
        self._unfinished[iteration] -= 1
        self._running.pop((work.name, iteration - self._history), None)

    def _signal(self, work: Work, iteration: int, done: float) -> None:
        for barrier in self._execution(work.name, iteration).signals:
            self.barriers.arrive(barrier, iteration, done, work.name)

    def unfinished(self, warp: Warp, work: Work, iteration: int) -> list[tuple[str, int]]:
        """Return what the group's other warps have to finish before this one goes on.

        Where the warps of a group pass values through memory, each waits for all: for the
        synchronous operation that makes what it reads, and for those that read what it overwrites.

        Parameters
        ----------
        warp : Warp
            A warp about to begin an operation.
        work : Work
            The operation.
        iteration : int
            Its iteration.
        """
        found = [
            (read.value, iteration - read.distance)
            for read in work.reads
            if not self._in_registers(read.value)
        ]
        storage = self._storage.get((work.name, False))
        if storage is not None and storage.memory != "registers":
            old = iteration - storage.slots
            found += [(name, old + distance) for name, distance in self._readers[work.name]]
            found += self._readers_beneath(work.name, iteration % storage.slots, staged=False)
        return [
            (name, of)
            for name, of in found
            if of >= 0
            and (name, of) != (work.name, iteration)
            and self._is_underway(name, of, warp.group.name)
        ]

    def unfinished_readers(self, warp: Warp, value: str, iteration: int) -> list[tuple[str, int]]:
        """Return what the group's other warps read at the addresses of a value's staging.

        Parameters
        ----------
        warp : Warp
            A warp about to write to the staging.
        value : str
            The register value.
        iteration : int
            Its iteration.
        """
        storage = self._storage.get((value, True))
        slot = iteration % storage.slots if storage is not None else 0
        return [
            (name, of)
            for name, of in self._readers_beneath(value, slot, staged=True)
            if self._is_underway(name, of, warp.group.name)
        ]

    def _readers_beneath(self, value: str, slot: int, *, staged: bool) -> list[tuple[str, int]]:
        """Return the readers of the instances that a write to a slot destroys."""
        return [
            (name, lost.holds[number] + distance)
            for other, is_staging, number in self._beneath.get((value, staged, slot), ())
            if not is_staging
            for lost in self._in_memory[other, False]
            if lost.holds[number] >= 0
            for name, distance in self._readers[other]
        ]

    def _is_underway(self, operation: str, iteration: int, group: str) -> bool:
        execution = self._running.get((operation, iteration))
        synchronous = not self.works[operation].asynchronous and self._home[operation] == group
        return (
            synchronous
            and execution is not None
            and execution.arrived > 0
            and (execution.done_at is None or execution.done_at > self.environment.now)
        )

    @property
    def _history(self) -> int:
        """Iterations for which a finished operation is remembered."""
        return self._farthest

    def completion(self, warp: Warp, operation: str, iteration: int) -> Any | None:
        """Return an event for the completion of an operation, or None if it is complete.

        Parameters
        ----------
        warp : Warp
            The warp that waits.
        operation : str
            The operation.
        iteration : int
            Its iteration.
        """
        work = self.works[operation]
        if not work.asynchronous and self._in_registers(operation):
            ready = self.result_ready(warp, operation, iteration)
            ahead = ready - self.environment.now
            return self.environment.timeout(ahead) if ahead > 0 else None
        execution = self._execution(operation, iteration)
        if execution.done_at is not None and execution.done_at <= self.environment.now:
            return None
        if execution.event is None:
            execution.event = self.environment.event()
            if execution.done_at is not None:
                self._trigger(execution.event, execution.done_at)
        return execution.event

    def _trigger(self, event: Any, when: float) -> None:
        timeout = self.environment.timeout(max(0, when - self.environment.now))
        timeout.callbacks.append(lambda _: event.succeed())

    def _execution(self, operation: str, iteration: int) -> _Execution:
        return self._running.setdefault((operation, iteration), _Execution())

    # -- synchronisation ----------------------------------------------------------------------

    def arrive(self, warp: Warp, barrier: str, iteration: int, staged: float) -> None:
        """Arrive for a group once its last warp does.

        Parameters
        ----------
        warp : Warp
            The warp.
        barrier : str
            The barrier.
        iteration : int
            Iteration whose phase it is.
        staged : float
            Cycle at which what the warp stored before is there for others to see.
        """
        key = (barrier, iteration, warp.group.name)
        self._arrivals[key] += 1
        if self._arrivals[key] % warp.group.warps == 0:
            del self._arrivals[key]
            seen = max(self.environment.now, staged) + self.hardware.signal
            self.barriers.arrive(barrier, iteration, seen, warp.group.name)

    def put(self, warp: Warp, value: str, iteration: int, done: float) -> None:
        """Write a warp's part of a register value to its SMEM staging.

        Parameters
        ----------
        warp : Warp
            The warp.
        value : str
            The value.
        iteration : int
            Its iteration.
        done : float
            Cycle at which the part is written.
        """
        reader, now = (f"put of {value}", iteration), self.environment.now
        self._place(value, warp.group.name, warp.lane).read(iteration, now, now, reader)
        staging = self._staging(value, warp.lane)
        self._write_over(staging, iteration, staged=True, writer=reader[0])
        staging.begin_write(iteration, self.environment.now, reader)
        staging.end_write(iteration, done)

    def get(self, warp: Warp, value: str, reader: str, iteration: int, done: float) -> None:
        """Read a warp's part of a register value from its SMEM staging.

        Parameters
        ----------
        warp : Warp
            The warp.
        value, reader : str
            The value, and the operation that it is read for.
        iteration : int
            Its iteration.
        done : float
            Cycle at which the part is there.
        """
        now = self.environment.now
        who = (f"get of {value}", iteration)
        self._staging(value, warp.lane).read(iteration, now, done, who)
        copy = self._place(value, warp.group.name, warp.lane, reader)
        copy.begin_write(iteration, now, who)
        copy.end_write(iteration, done)

    def _staging(self, value: str, lane: int) -> Slots:
        storage: Storage | None = self._storage.get((value, True))
        count = storage.slots if storage is not None else 1
        return self._slots_of(value, "staging in smem", lane, count, staged=True)

    # -- deadlock -----------------------------------------------------------------------------

    def _deadlock(self, stuck: list[Warp]) -> str:
        """Describe who waits for whom, the cycle of groups first."""
        waits: dict[str, str] = {}
        behind: dict[str, list[str]] = {}
        for warp in stuck:
            name = warp.group.name
            if warp.blocked_on is None or name in waits:
                continue
            kind, target, iteration = warp.blocked_on
            sources = self._arrivers(target) if kind == "barrier" else [self._home[target]]
            waits[name] = (
                f"{name} waits for {target if kind == 'barrier' else kind} "
                f"{'' if kind == 'barrier' else f'of {target} '}of iteration "
                f"{iteration} (from {', '.join(sources) or 'nobody'})"
            )
            behind[name] = sources
        cycle = _cycle(behind)
        order = [*cycle, *(name for name in waits if name not in cycle)]
        around = f"cycle {' -> '.join([*cycle, cycle[0]])}: " if cycle else ""
        return f"at cycle {self.environment.now:.0f} nothing can go on; {around}" + "; ".join(
            waits[name] for name in order
        )

    def _arrivers(self, barrier: str) -> list[str]:
        found = []
        for program in self.schedule.programs:
            arrives = any(isinstance(i, Arrive) and i.barrier == barrier for i in program.body)
            signals = any(barrier in issue.signals for issue in program.issues)
            if arrives or signals:
                found.append(program.group)
        return found


def _farthest(schedule: Schedule) -> int:
    """Return more iterations than any instruction looks back, or any group runs ahead."""
    distances = [
        instruction.distance
        for program in schedule.programs
        for instruction in program.body
        if isinstance(instruction, Wait | Await)
    ]
    slots = [storage.slots for storage in schedule.storage]
    stages = [program.last_stage for program in schedule.programs]
    return 2 + max(distances, default=0) + max(slots, default=0) + max(stages, default=0)


def _cycle(behind: dict[str, list[str]]) -> list[str]:
    """Return groups that wait for each other in a circle, or nothing."""
    for root in behind:
        path, name = [root], root
        while True:
            following = next((n for n in behind.get(name, []) if n in behind), None)
            if following is None:
                break
            if following in path:
                return path[path.index(following) :]
            path.append(following)
            name = following
    return []
