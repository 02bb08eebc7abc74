"""The streaming multiprocessor: warps, units, barriers and memory put together."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction

from twill.artifacts.schedule import Group, Program, Schedule
from twill.errors import InputError
from twill.sim.engine.barriers import Barriers
from twill.sim.engine.clock import Clock
from twill.sim.engine.conditions import Conditions
from twill.sim.engine.deadlock import deadlock
from twill.sim.engine.errors import SimulationError
from twill.sim.engine.hardware import Hardware
from twill.sim.engine.issue import IssueStage
from twill.sim.engine.latency import parse_latencies
from twill.sim.engine.memory import Memory
from twill.sim.engine.observer import Observer, together
from twill.sim.engine.operations import Operations
from twill.sim.engine.registers import set_registers
from twill.sim.engine.warps import Warp
from twill.sim.engine.work import Work, works


class StreamingMultiprocessor:
    """One SM that executes a schedule's programs.

    `watched_from`: round of the programs from which on the observers are told, once any warp begins
    it.
    `checks`: whether wrong reads, writes and arrivals end the run; if not, they happen.

    Attributes
    ----------
    warps : list of Warp
        Those that are executed; where the warps of a group are in step one stands for several.
    """

    def __init__(
        self,
        schedule: Schedule,
        conditions: Conditions,
        observers: Iterable[Observer] = (),
        *,
        watched_from: int = 0,
        checks: bool = True,
    ) -> None:
        _check(schedule)
        iterations, without = conditions.iterations, conditions.without
        self.schedule, self.iterations = schedule, iterations
        self.clock = Clock()
        self.observer: Observer | None = None
        self._observer, self.watched_from = together(observers), watched_from
        self.hardware = Hardware(schedule.machine, without, interference=conditions.interference)
        self.works = works(
            schedule.loop, schedule.machine, bundle=conditions.bundle, without=without
        )
        _check_signals(schedule, self.works)
        self.barriers = Barriers(
            self.clock, schedule.barriers, schedule.machine.transactions, checks=checks
        )
        self.memory = Memory(schedule, self.works, iterations, self.clock, checks=checks)
        self.issue = IssueStage(self.clock, conditions.warp_scheduler)
        self.operations = Operations(
            schedule,
            self.works,
            iterations,
            self.clock,
            self.hardware,
            self.memory,
            self.barriers,
            parse_latencies(conditions.latency, self.works, schedule.machine, conditions.seed),
            without,
        )
        self._arrivals: dict[tuple[str, int, str], tuple[int, float]] = {}
        self._meeting: dict[str, list[Warp]] = defaultdict(list)
        self._programs = {program.group: program for program in schedule.programs}
        self.warps = list(self._make_warps(conditions.seed))
        for name, work in self.works.items():
            home = schedule.assignment[name]
            self.operations.lanes[name] = tuple(
                w.lane for w in self.warps if w.group.name == home and w.lane < work.warps
            )

    @property
    def finished_at(self) -> list[float]:
        """Cycle at which each iteration's last result was complete."""
        return self.operations.finished_at

    @property
    def in_flight(self) -> int:
        """Iterations that were not complete when the last one began, itself included.

        That is how many of them drain: none follows that takes what they leave free.
        """
        begun = self.operations.last_begun_at
        return sum(finished > begun for finished in self.finished_at)

    @property
    def instructions(self) -> int:
        """Instructions issued so far by the warps that are executed."""
        return sum(context.issued for context in self.hardware.contexts)

    @property
    def events(self) -> int:
        """What has happened so far: bundles of instructions, and everything that waits for time."""
        return self.issue.events + self.clock.events

    def run(self) -> None:
        """Execute until every warp is at its end.

        Raises
        ------
        SimulationError
            If a read, a write or an arrive is wrong, or the warps wait for each other or for
            registers.
        """
        set_registers(self.schedule)
        if not self.watched_from:
            self.watch()
        for warp in self.warps:
            self.clock.at(0, warp.resume)
        self.clock.run()
        stuck = [warp for warp in self.warps if not warp.finished]
        if stuck:
            raise SimulationError(
                "deadlock", deadlock(self.schedule, self.barriers, stuck, self.clock.now)
            )

    def watch(self) -> None:
        """Tell the observers of everything from now on."""
        observer, self._observer = self._observer, None
        if observer is not None:
            self.observer = self.memory.observer = self.operations.observer = observer
            self.issue.watched = True

    # -- warps --------------------------------------------------------------------------------

    def _make_warps(self, seed: int) -> Iterator[Warp]:
        """Place wide groups on whole sets of contexts, single warps behind them."""
        contexts = self.hardware.contexts
        placed: list[tuple[Group, Program, int, int]] = []
        step = len(contexts) if self._in_step() else 1
        first = 0
        for group in sorted(self.schedule.groups, key=lambda g: -g.warps):
            program = self._programs.get(group.name)
            if program is not None:
                stride = step if group.warps % step == 0 else 1
                placed += [(group, program, n, first + n) for n in range(0, group.warps, stride)]
            first += group.warps
        ages = list(range(len(placed)))
        if seed:
            random.Random(seed).shuffle(ages)  # noqa: S311 - no secret
        for age, (group, program, lane, position) in zip(ages, placed, strict=True):
            stands_for = step if group.warps % step == 0 else 1
            context = contexts[position % len(contexts)]
            yield Warp(self, group, program, lane, stands_for, age, context)

    def _in_step(self) -> bool:
        """Whether all contexts do the same at the same time, so that one stands for all.

        So it is where groups that issue to pipes have a warp, or equally many, in each context for
        each of their operations, and no pipe is shared between contexts.
        """
        contexts, units = len(self.hardware.contexts), self.schedule.machine.units
        for name, work in self.works.items():
            group = next(
                g for g in self.schedule.groups if g.name == self.schedule.assignment[name]
            )
            pipes = [segment.unit for segment in work.segments if segment.unit]
            if any(units[pipe].scope == "sm" for pipe in pipes):
                return False
            even = group.warps % contexts == 0 and work.warps % contexts == 0
            if not even and (pipes or group.warps > 1):
                return False
        return True

    def meet(self, warp: Warp) -> bool:
        """Return whether all warps of a group are here; the others go on with the last one."""
        waiting = self._meeting[warp.group.name]
        waiting.append(warp)
        if sum(one.stands_for for one in waiting) < warp.group.warps:
            return False
        if self.observer is not None:
            self.observer.met(warp.group.name, self.clock.now)
        for other in waiting[:-1]:
            self.clock.at(self.clock.now, other.resume)
        waiting.clear()
        return True

    def arrive(
        self, warp: Warp, barrier: str, iteration: int, staged: float, expect: int = 0
    ) -> None:
        """Arrive for a group once its last warp does.

        `staged`: cycle at which what the warp stored before is there for others to see.
        `expect`: bytes that the phase has to wait for.
        """
        hardware = self.hardware
        costs = hardware.named if self.barriers.is_named(barrier) else hardware.signals
        key = (barrier, iteration, warp.group.name)
        seen = max(self.clock.now, staged) + costs.signal
        arrived, others = self._arrivals.pop(key, (0, 0.0))
        arrived, last = arrived + warp.stands_for, max(seen, others)
        if self.observer is not None:
            who = (warp.group.name, warp.lane)
            self.observer.arrived(barrier, iteration, *who, "", self.clock.now, seen)
        if arrived < warp.group.warps:
            self._arrivals[key] = arrived, last
        else:
            self.barriers.arrive(barrier, iteration, last, warp.group.name, expect)


def _check(schedule: Schedule) -> None:
    if not schedule.programs:
        raise InputError("the schedule has no programs", path="programs", file=schedule.name)
    _check_issues(schedule)
    warps = sum(group.warps for group in schedule.groups)
    if warps > schedule.machine.warps.value:
        raise InputError(
            f"{warps} warps in all, {schedule.machine.name} has {schedule.machine.warps.value}",
            path="groups",
            file=schedule.file or schedule.name,
        )


def _check_issues(schedule: Schedule) -> None:
    """Refuse programs that do not issue every operation once, on the group where it is placed."""
    parts: dict[str, list[tuple[Fraction, Fraction]]] = defaultdict(list)
    for number, program in enumerate(schedule.programs):
        for part in program.issues:
            home = schedule.assignment[part.operation]
            if home != program.group:
                raise InputError(
                    f"{program.group} issues {part.operation}, which is placed on {home}",
                    path=f"programs[{number}].body",
                    file=schedule.file or schedule.name,
                )
            of = part.of or 1
            begin, end = Fraction(part.begin or 0, of), Fraction(part.end or of, of)
            parts[part.operation].append((begin, end))
    for operation in schedule.assignment:
        edges = [Fraction(0), *(edge for part in sorted(parts[operation]) for edge in part), 1]
        if any(a != b for a, b in zip(edges[::2], edges[1::2], strict=True)):
            raise InputError(
                f"{operation} is not issued exactly once, as a whole or in all of its parts",
                path="programs",
                file=schedule.file or schedule.name,
            )


def _check_signals(schedule: Schedule, works: dict[str, Work]) -> None:
    """Refuse signals of operations that warps execute: those arrive by an instruction."""
    for number, program in enumerate(schedule.programs):
        for part in program.issues:
            if part.signals and not works[part.operation].asynchronous:
                raise InputError(
                    f"{part.operation} signals {part.signals[0]}, but only asynchronous operations "
                    "arrive by themselves; put an arrive behind it",
                    path=f"programs[{number}].body",
                    file=schedule.file or schedule.name,
                )
