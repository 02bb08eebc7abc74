"""Operations while they run: begun by warps, taken by units, complete at some cycle."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from twill.artifacts.program import Arrive, Await, Wait
from twill.artifacts.schedule import Schedule
from twill.sim.engine.barriers import Barriers
from twill.sim.engine.clock import Clock
from twill.sim.engine.conditions import Conditions
from twill.sim.engine.events import Arrived, Busy, Completed, Started
from twill.sim.engine.hardware import AsynchronousUnit, Command, Hardware, Use
from twill.sim.engine.latency import parse_latencies
from twill.sim.engine.memory import Instance, Memory
from twill.sim.engine.warps import Warp
from twill.sim.engine.work import Work


@dataclass(slots=True)
class Execution:
    """The state of an operation in one iteration; the operation may not have begun."""

    arrived: int = 0  # warps that have begun it
    ended: int = 0  # warps that have ended it
    # Warps that have issued each command, of those that not all have.
    commands: dict[int, int] = field(default_factory=dict)
    started: float = math.nan
    leader: int = 0  # the warp that began it first
    ends: tuple[float, float, float] | None = None  # see `twill.sim.engine.memory.Memory.settle`
    signals: tuple[str, ...] = ()  # barriers at which its completion arrives
    done_at: float | None = None  # cycle at which it is complete, once that is known
    # What happens when it is complete.
    waiting: list[Callable[[], object]] = field(default_factory=list)


class Operations:
    """All operations of a run.

    Attributes
    ----------
    finished_at : list of float
        Cycle at which each iteration's last result was complete.
    last_begun_at : float
        Cycle at which the first operation of the last iteration was issued.
    """

    def __init__(
        self,
        schedule: Schedule,
        conditions: Conditions,
        works: dict[str, Work],
        clock: Clock,
        hardware: Hardware,
        memory: Memory,
        barriers: Barriers,
    ) -> None:
        self.works, self.clock, self.hardware = works, clock, hardware
        self.memory, self.barriers = memory, barriers
        self._latencies = parse_latencies(
            conditions.latency, works, schedule.machine, conditions.seed
        )
        self._home = schedule.assignment
        self._running: dict[Instance, Execution] = defaultdict(Execution)
        self._remembered = 2 + reach(schedule)
        self._through_memory = {name: self._passes(work) for name, work in works.items()}
        # Warps of its group that take part in each operation, of those that are executed.
        self.warps: dict[str, tuple[int, ...]] = {}
        self.finished_at = [0.0] * conditions.iterations
        self._unfinished = [len(works)] * conditions.iterations
        self.when_finished: Callable[[int], object] | None = None
        self.last_begun_at, self._last = math.inf, conditions.iterations - 1
        unlimited = {"queue": None, "in_flight": None} if "queues" in conditions.without else {}
        units = {
            name: schedule.machine.units[name].model_copy(update=unlimited)
            for name in sorted({w.demands[0].unit for w in works.values() if w.asynchronous})
        }
        self._units = {
            name: AsynchronousUnit(name, unit, clock, hardware, self._serve, self._use)
            for name, unit in units.items()
        }
        # Units whose queues can block who issues to them.
        self.queues = {name: unit for name, unit in self._units.items() if unit.blocks}

    # -- warps --------------------------------------------------------------------------------

    def begin(self, warp: Warp, work: Work, iteration: int) -> None:
        """Read operands and claim the result's slots, warp by warp.

        An asynchronous operation does so later, when its unit starts on it.
        """
        execution = self._running[work.name, iteration]
        first = execution.arrived == 0
        execution.arrived += warp.stands_for
        if iteration == self._last:
            self.last_begun_at = min(self.last_begun_at, self.clock.now)
        if first:
            execution.leader = warp.number
        if not work.asynchronous:
            if first:
                execution.started = self.clock.now
                self._tell_start(work, iteration)
            self.memory.touch(work, iteration, warp.number, first=first)

    def _tell_start(self, work: Work, iteration: int) -> None:
        if (tell := self.clock.tell) is not None:
            tell(Started(work.name, iteration, self.clock.now))

    def end(self, warp: Warp, work: Work, iteration: int, issued: float, done: float) -> None:
        """End a synchronous operation on one warp.

        `issued`, `done`: cycles at which its last instruction is issued, and is through the pipe.
        """
        execution = self._running[work.name, iteration]
        execution.ended += warp.stands_for
        last = execution.ended == work.warps
        ends = (issued, done, done + work.tail)
        who = (execution.started, execution.leader)
        self.memory.settle(work, iteration, warp.number, ends, last=last, who=who)
        if last:
            self._complete(work, iteration, done + work.tail)

    # -- asynchronous units -------------------------------------------------------------------

    def command(self, warp: Warp, work: Work, iteration: int, index: int) -> None:
        """Take one command of an asynchronous operation from a warp.

        The unit starts on it when the last warp of the operation has issued it.
        """
        execution = self._running[work.name, iteration]
        if warp.stands_for < work.warps:
            issued = execution.commands.get(index, 0) + warp.stands_for
            execution.commands[index] = issued
            if issued < work.warps:
                return
            del execution.commands[index]
        unit = self._units[work.demands[0].unit]
        unit.take(Command(work, iteration, index, warp.group.name))

    def _use(self, command: Command, use: Use) -> None:
        """Take what a port does for a command."""
        if (tell := self.clock.tell) is not None:
            tell(Busy(use.unit, command.work.name, command.iteration, use.begin, use.end))

    def _serve(self, command: Command, start: float, end: float, free: float) -> float:
        """Take a command's start and end; return when what it moves is there."""
        work, iteration = command.work, command.iteration
        execution = self._running[work.name, iteration]
        if (tell := self.clock.tell) is not None:
            tell(Busy(work.demands[0].unit, work.name, iteration, start, free))
        if command.index == 0:
            execution.started = start
            if start > self.clock.now:
                self.clock.at(start, lambda: self._start(work, iteration))
            else:
                self._start(work, iteration)
        if command.index < work.instructions - 1:
            return end
        return self._finish(work, iteration, execution, end)

    def _start(self, work: Work, iteration: int) -> None:
        """Let an asynchronous operation read its operands when its unit starts on it."""
        self._tell_start(work, iteration)
        for warp in self.warps[work.name]:
            self.memory.touch(work, iteration, warp, first=warp == 0)
        execution = self._running[work.name, iteration]
        if execution.ends is not None:
            self._settle(work, iteration, execution)

    def _finish(self, work: Work, iteration: int, execution: Execution, end: float) -> float:
        """Take the end of an asynchronous operation's last command; return when it is complete."""
        if work.variable_latency:
            done = max(end, execution.started + self._latencies.draw(work, execution.started))
        else:
            done = max(end, end + work.tail - self.hardware.included_wait)
        execution.ends = (end, end, done)
        if execution.started <= self.clock.now:
            self._settle(work, iteration, execution)
        self._complete(work, iteration, done)
        return done

    def _settle(self, work: Work, iteration: int, execution: Execution) -> None:
        assert execution.ends is not None
        who = (execution.started, 0)
        for warp in self.warps[work.name]:
            self.memory.settle(work, iteration, warp, execution.ends, last=True, who=who)

    # -- completion ---------------------------------------------------------------------------

    def signal_when_done(self, work: Work, iteration: int, signals: tuple[str, ...]) -> None:
        """Name the barriers at which an operation arrives by itself.

        An operation issued in parts names them with its last part, which comes after the last
        instruction where that rounds into an earlier part.
        """
        if not signals:
            return
        execution = self._running[work.name, iteration]
        if execution.signals:
            return
        execution.signals = signals
        if execution.done_at is not None:
            self._signal(work, iteration, execution)

    def _complete(self, work: Work, iteration: int, done: float) -> None:
        execution = self._running[work.name, iteration]
        execution.done_at = done
        if (tell := self.clock.tell) is not None:
            tell(Completed(work.name, iteration, done))
        self._signal(work, iteration, execution)
        for waiting in execution.waiting:
            self.clock.at(done, waiting)
        execution.waiting.clear()
        self.finished_at[iteration] = max(self.finished_at[iteration], done)
        self._unfinished[iteration] -= 1
        if not self._unfinished[iteration] and self.when_finished is not None:
            self.when_finished(iteration)
        self._running.pop((work.name, iteration - self._remembered), None)

    def _signal(self, work: Work, iteration: int, execution: Execution) -> None:
        done = execution.done_at
        assert done is not None
        for barrier in execution.signals:
            if (tell := self.clock.tell) is not None:
                tell(Arrived(barrier, iteration, "", 0, work.name, self.clock.now, done))
            self.barriers.deliver(barrier, iteration, done, work.name, work.bytes)

    def completion(
        self, warp: Warp, operation: str, iteration: int, *, of_all: bool = False
    ) -> bool:
        """Return whether an operation is complete; otherwise resume the warp when it is.

        `of_all`: whether all warps of the group have to complete it, also where each holds its own
        part of the result.
        """
        now, own = self.clock.now, not of_all
        if own and not self.works[operation].asynchronous and self.memory.in_registers(operation):
            slots = self.memory.place(operation, warp.group.name, warp.number)
            ready = slots.ready(iteration)
            if ready <= now or ready == math.inf:
                return True
            self.clock.at(ready, warp.resume)
            return False
        execution = self._running[operation, iteration]
        if execution.done_at is None:
            execution.waiting.append(warp.resume)
        elif execution.done_at > now:
            self.clock.at(execution.done_at, warp.resume)
        else:
            return True
        return False

    # -- values that pass through memory ------------------------------------------------------

    def _passes(self, work: Work) -> bool:
        """Whether an operation reads or writes memory that the group's other warps use too."""
        registers = self.memory.in_registers
        return not all(registers(value) for value in (work.name, *(r.value for r in work.reads)))

    def unfinished(self, warp: Warp, work: Work, iteration: int) -> list[Instance]:
        """Return the operations that the group's other warps must finish before this one goes on.

        If the warps of a group pass values through memory, each waits for all. The operations are
        the synchronous ones that make its operands, and those that make or read the values which
        it overwrites.
        """
        if not self._through_memory[work.name]:
            return []
        registers = self.memory.in_registers
        found = [(r.value, iteration - r.distance) for r in work.reads if not registers(r.value)]
        slots = self.memory.count(work.name, staged=False)
        if slots is not None and not registers(work.name):
            old, users = iteration - slots, [(work.name, 0), *self.memory.readers[work.name]]
            found += [(name, old + distance) for name, distance in users]
            found += self.memory.users_beneath(work.name, iteration % slots, staged=False)
        return [
            (name, of)
            for name, of in found
            if of >= 0
            and (name, of) != (work.name, iteration)
            and self._is_underway(name, of, warp.group.name)
        ]

    def unfinished_beneath(self, warp: Warp, value: str, iteration: int) -> list[Instance]:
        """Return operations of the group's other warps at the addresses of a value's staging."""
        slots = self.memory.count(value, staged=True) or 1
        return [
            (name, of)
            for name, of in self.memory.users_beneath(value, iteration % slots, staged=True)
            if self._is_underway(name, of, warp.group.name)
        ]

    def _is_underway(self, operation: str, iteration: int, group: str) -> bool:
        if self.works[operation].asynchronous or self._home[operation] != group:
            return False
        execution = self._running.get((operation, iteration))
        if execution is None or not execution.arrived:
            return False
        return execution.done_at is None or execution.done_at > self.clock.now


def reach(schedule: Schedule) -> int:
    """Return how many iterations a program's slots, stages and distances span together."""
    body = [instruction for program in schedule.programs for instruction in program.body]
    distances = (abs(i.distance) for i in body if isinstance(i, Wait | Await | Arrive))
    slots = (storage.slots for storage in schedule.storage)
    stages = (program.last_stage for program in schedule.programs)
    return max(slots, default=0) + max(stages, default=0) + max(distances, default=0)
