"""The streaming multiprocessor: warps, units, barriers and memory put together."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from twill.artifacts.program import Program
from twill.artifacts.schedule import Group, Schedule
from twill.base.errors import InputError
from twill.sim.engine.barriers import Barriers, deadlock
from twill.sim.engine.clock import Clock
from twill.sim.engine.conditions import Conditions
from twill.sim.engine.events import Observer, SimulationError
from twill.sim.engine.hardware import Hardware
from twill.sim.engine.issue import IssueStage
from twill.sim.engine.memory import Memory
from twill.sim.engine.operations import Operations
from twill.sim.engine.programs import Interpreter
from twill.sim.engine.warps import Warp
from twill.sim.engine.work import Work, works


class StreamingMultiprocessor:
    """A simulated SM that executes a schedule's programs.

    `watched_from`: first round of the programs that observers are notified of, once any warp begins
    it.
    `estimate`: execute one issue context, and let it stand for all whether or not they do the same.
    `checks`: whether wrong reads, writes and arrivals end the run; if not, they happen.

    Attributes
    ----------
    warps : list of Warp
        Warps that are executed; where the warps of a group are in step one stands for several.
    """

    def __init__(
        self,
        schedule: Schedule,
        conditions: Conditions,
        observers: Iterable[Observer] = (),
        *,
        watched_from: int = 0,
        checks: bool = True,
        estimate: bool = False,
    ) -> None:
        _check(schedule)
        without = conditions.without
        self.schedule = schedule
        self.works = works(schedule.loop, schedule.machine, without=without)
        _check_signals(schedule, self.works)
        self.clock = clock = Clock(observers)
        self.hardware = Hardware(schedule.machine, without)
        self._barriers = Barriers(schedule, clock, self.hardware, checks=checks)
        memory = Memory(schedule, self.works, conditions.iterations, clock, checks=checks)
        self._operations = Operations(
            schedule, conditions, self.works, clock, self.hardware, memory, self._barriers
        )
        self._issue = IssueStage(clock, conditions.warp_scheduler, in_order=self.hardware.immediate)
        self._estimate = estimate
        self._iterations, self._watched_from = conditions.iterations, watched_from
        self.warps = list(self._make_warps(conditions.seed))
        for name, work in self.works.items():
            home = schedule.assignment[name]
            self._operations.warps[name] = tuple(
                w.number for w in self.warps if w.group.name == home and w.number < work.warps
            )

    @property
    def finished_at(self) -> list[float]:
        """Cycle at which each iteration's last result was complete."""
        return self._operations.finished_at

    @property
    def in_flight(self) -> int:
        """Iterations that were not complete when the last one began, itself included.

        That is how many of them drain: none follows that takes what they leave free.
        """
        begun = self._operations.last_begun_at
        return sum(finished > begun for finished in self.finished_at)

    @property
    def instructions(self) -> int:
        """Instructions issued so far by the warps that are executed."""
        return sum(context.issued for context in self.hardware.contexts)

    @property
    def events(self) -> int:
        """Events so far: instructions, and everything that waits for time."""
        return self._issue.events + self.clock.events

    def run(self, when_finished: Callable[[int], object] | None = None) -> None:
        """Execute until every warp is at its end.

        `when_finished`: called with the number of every iteration whose results are all known to be
        complete at their time in `finished_at`; an exception of it ends the run.

        Raises
        ------
        SimulationError
            If a read, a write or an arrive is wrong, or the warps wait for each other or for
            registers.
        """
        self._operations.when_finished = when_finished
        set_registers(self.schedule)
        if not self._watched_from:
            self.clock.listen()
        for warp in self.warps:
            self.clock.at(0, warp.resume)
        self.clock.run()
        stuck = [warp for warp in self.warps if not warp.finished]
        if stuck:
            raise SimulationError(
                "deadlock", deadlock(self.schedule, self._barriers, stuck, self.clock.now)
            )

    # -- warps --------------------------------------------------------------------------------

    def _make_warps(self, seed: int) -> Iterator[Warp]:
        """Place wide groups on whole sets of contexts, single warps behind them."""
        contexts = self.hardware.contexts
        programs = {program.group: program for program in self.schedule.programs}
        placed: list[tuple[Group, Program, int, int]] = []
        step = len(contexts) if self._estimate or self.in_step else 1
        first = 0
        for group in sorted(self.schedule.groups, key=lambda g: -g.warps):
            program = programs.get(group.name)
            if program is not None:
                stride = step if group.warps % step == 0 else 1
                placed += [(group, program, n, first + n) for n in range(0, group.warps, stride)]
            first += group.warps
        ages = list(range(len(placed)))
        if seed:
            random.Random(seed).shuffle(ages)  # noqa: S311 - no secret
        rounds = (self._iterations, self._watched_from)
        for age, (group, program, number, position) in zip(ages, placed, strict=True):
            stands_for = step if group.warps % step == 0 else 1
            context = contexts[position % len(contexts)]
            warp = Warp(self.clock, group, number, stands_for, age, context)
            Interpreter(self._operations, self._issue, warp, program, *rounds)
            yield warp

    @property
    def in_step(self) -> bool:
        """Whether all contexts do the same at the same time, so that one stands for all.

        So it is where groups that issue to pipes have a warp, or equally many, in each context for
        each of their operations, and no pipe is shared between contexts.
        """
        contexts, units = len(self.hardware.contexts), self.schedule.machine.units
        groups = {group.name: group for group in self.schedule.groups}
        for name, work in self.works.items():
            group = groups[self.schedule.assignment[name]]
            pipes = [segment.unit for segment in work.segments if segment.unit]
            if any(units[pipe].scope == "sm" for pipe in pipes):
                return False
            even = group.warps % contexts == 0 and work.warps % contexts == 0
            if not even and (pipes or group.warps > 1):
                return False
        return True


def _check(schedule: Schedule) -> None:
    """Refuse programs that do not issue every operation once, in order, on its own group."""
    if not schedule.programs:
        raise _refusal(schedule, "the schedule has no programs", "programs")
    parts: dict[str, list[tuple[int, int, Fraction, Fraction]]] = defaultdict(list)
    for number, program in enumerate(schedule.programs):
        for position, part in enumerate(program.issues):
            home = schedule.assignment[part.operation]
            if home != program.group:
                what = f"{program.group} issues {part.operation}, which is placed on {home}"
                raise _refusal(schedule, what, f"programs[{number}].body")
            of = part.of or 1
            begin, end = Fraction(part.begin or 0, of), Fraction(part.end or of, of)
            parts[part.operation].append((part.stage, position, begin, end))
    for operation in schedule.assignment:
        edges = [Fraction(0), *(edge for part in sorted(parts[operation]) for edge in part[2:]), 1]
        if any(a != b for a, b in zip(edges[::2], edges[1::2], strict=True)):
            how = "as a whole or in all of its parts one after the other"
            what = f"{operation} is not issued exactly once, {how}"
            raise _refusal(schedule, what, "programs")
    warps, most = sum(group.warps for group in schedule.groups), schedule.machine.warps.value
    if warps > most:
        what = f"{warps} warps in all, {schedule.machine.name} has {most}"
        raise _refusal(schedule, what, "groups")


def _check_signals(schedule: Schedule, works: dict[str, Work]) -> None:
    """Refuse signals of operations that warps execute: those arrive by an instruction."""
    for number, program in enumerate(schedule.programs):
        for part in program.issues:
            if part.signals and not works[part.operation].asynchronous:
                what = (
                    f"{part.operation} signals {part.signals[0]}, but only asynchronous operations "
                    "arrive by themselves; put an arrive behind it"
                )
                raise _refusal(schedule, what, f"programs[{number}].body")


def _refusal(schedule: Schedule, what: str, path: str) -> InputError:
    return InputError(what, path=path, file=schedule.file or schedule.name)


# -- registers --------------------------------------------------------------------------------


def set_registers(schedule: Schedule) -> None:
    """Let every group take the registers it asks for (``setmaxnreg``); those that shrink go first.

    Groups give no registers back later, so that a group that does not get them now never will.

    `schedule`: with registers per thread; where one group names none, none is set.

    Raises
    ------
    SimulationError
        If a group waits for registers for ever.
    """
    registers = schedule.machine.registers
    if registers is None or any(group.registers is None for group in schedule.groups):
        return
    threads = schedule.machine.threads(registers.warps.value)
    sets = sorted(_sets(schedule, registers.warps.value))
    launched = left = pool(schedule)
    for asked, names in sets:
        if asked * threads > left:
            raise SimulationError(
                "deadlock",
                f"at cycle 0 {' and '.join(names)} wait at setmaxnreg for {asked} registers per "
                f"thread, {asked * threads} in all; {left} of {launched} are left",
            )
        left -= asked * threads


def pool(schedule: Schedule) -> int:
    """Return the registers that a launch gives to all groups together.

    Every thread is launched with the same; groups of fewer warps than share an allocation are
    filled up with idle warps to whole sets of them.
    """
    registers = schedule.machine.registers
    assert registers is not None
    width = registers.warps.value
    threads = schedule.machine.threads(width) * len(_sets(schedule, width))
    if registers.launch is None or not threads:
        return registers.file.value
    step = registers.launch.value
    each = registers.file.value // threads // step * step
    return threads * min(each, registers.most.value)


def _sets(schedule: Schedule, width: int) -> list[tuple[int, tuple[str, ...]]]:
    """Return registers per thread and groups of every set of warps with one allocation.

    Groups that are narrower than a set share one, with as much as the greediest of them asks for.
    """
    found: list[tuple[int, tuple[str, ...]]] = []
    narrow = sorted(
        (group for group in schedule.groups if group.warps % width),
        key=lambda group: -(group.registers or 0),
    )
    for group in schedule.groups:
        found += [(group.registers or 0, (group.name,))] * (group.warps // width)
    for first in range(0, len(narrow), width):
        shared = narrow[first : first + width]
        found.append((shared[0].registers or 0, tuple(group.name for group in shared)))
    return found
