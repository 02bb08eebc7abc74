"""Programs as points of a search: a clock that orders what groups issue, slots and turns.

A candidate is a modulo schedule whose times give the order in which each group issues its
operations and how far ahead it is. Operations that overlap are issued in turns, in parts. Its
program is made as that of every solution (`twill.lower`), and only the simulator determines the
time of an iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from twill.artifacts.schedule import Schedule
from twill.base.errors import Refusal, RefusedError
from twill.lower import artifact, lay_out
from twill.lower.pipeline import Choices, Pipeline, pipeline
from twill.lower.programs import programs
from twill.lower.synchronization import Exchanges, Synchronization
from twill.problem import Problem, build_problem
from twill.problem.groups import WarpGroup, allocated, available_groups, lack_of_registers, pools
from twill.problem.operations import Edge
from twill.problem.solution import Assignment
from twill.verification.registers import registers_along_programs

T = TypeVar("T")


def in_turn(ordered: Sequence[T], kind: Callable[[T], Hashable]) -> list[T]:
    """Return the first of each kind, then the second ones, and so on, in their order."""
    seen = Counter[Hashable]()
    ranks = []
    for one in ordered:
        ranks.append(seen[kind(one)])
        seen[kind(one)] += 1
    return [ordered[i] for i in sorted(range(len(ordered)), key=ranks.__getitem__)]


@dataclass(frozen=True)
class Candidate:
    """A program of a loop."""

    interval: int  # length of a round of the clock that orders it, in cycles: no promise
    start: tuple[int, ...]  # when each operation is issued by that clock, in cycles
    # The group that issues each operation, as a position in `Programs.groups`.
    group: tuple[int, ...]
    choices: Choices = field(default_factory=Choices)  # slots of rings and turns on units


class Programs:
    """The programs of a loop on a machine.

    `groups`: groups that a program may use.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._given = schedule
        self.problem: Problem = build_problem(schedule.loop, schedule.machine)
        self.groups: tuple[WarpGroup, ...] = self._offered()
        self._pools = pools(self.groups)

    def _offered(self) -> tuple[WarpGroup, ...]:
        """Return the machine's groups, for a kernel's loop those as wide as its tiles lie in."""
        groups, loop = available_groups(self.problem), self._given.loop
        widths = {operation.warps for operation in loop.operations}
        return tuple(g for g in groups if loop.source is None or g.warps in widths)

    @cached_property
    def dependences(self) -> tuple[Edge, ...]:
        """Dependences between different operations."""
        return tuple(e for e in self.problem.edges if e.producer != e.consumer)

    def candidate(self, interval: int, start: Mapping[str, int]) -> Candidate:
        """Return the candidate with the groups of the schedule and these times, in cycles.

        An operation that its group does not take is moved to the narrowest group that does.

        Raises
        ------
        RefusedError
            If it has groups that the machine does not offer to a program.
        """
        free, chosen = list(range(len(self.groups))), dict[str, int]()
        for group in self._given.groups:
            kind = (group.warps, group.variable_latency)
            mine = [g for g in free if self._kind(g) == kind] or self._instead(group.name, free)
            if not mine:
                raise RefusedError(
                    f"{self._given.name}: no program may use one more group like {group.name}",
                    Refusal(),
                )
            chosen[group.name] = mine[0]
            free.remove(mine[0])
        places = {o.index: chosen[self._given.assignment[o.name]] for o in self.problem.operations}
        for o in self.problem.operations:
            if not self.groups[places[o.index]].takes(o):
                taker = self.narrowest([o.index], ())
                places[o.index] = places[o.index] if taker is None else taker
        return Candidate(
            interval,
            tuple(start[o.name] for o in self.problem.operations),
            tuple(places[o.index] for o in self.problem.operations),
        )

    def _instead(self, group: str, free: list[int]) -> list[int]:
        """Return a free group for the work of one that programs do not use, in a list, or none."""
        names, machine = self._given.assignment, self._given.machine
        widths = {g.name: g.warps for g in self._given.groups}
        if widths[group] not in {pool.warps for pool in machine.groups}:
            return []
        work = [o.index for o in self.problem.operations if names[o.name] == group]
        used = [g for g in range(len(self.groups)) if g not in free]
        narrowest = self.narrowest(work, used)
        return [] if narrowest is None else [narrowest]

    def settled(self, candidate: Candidate, apart: int = 0) -> Candidate | None:
        """Return a candidate in which everything is issued when what it reads is there, or later.

        None where that has no end.

        `apart`: cycles that groups are further behind what they read of others, which is then kept
        in more slots.
        """
        start, group, interval = list(candidate.start), candidate.group, candidate.interval
        for _ in range(2 * len(start)):
            moved = False
            for e in self.dependences:
                same = group[e.producer] == group[e.consumer]
                delay = e.delay if same else e.cross_delay + apart
                ready = start[e.producer] + (not e.streaming) * delay - e.distance * interval
                if start[e.consumer] < ready:
                    start[e.consumer], moved = ready, True
            if not moved:
                return self.with_late_loads(replace(candidate, start=tuple(start)))
        return None

    def with_late_loads(self, candidate: Candidate) -> Candidate:
        """Return a candidate that issues streaming loads when they are first read.

        Rings let them run ahead; times of a run have that in them, and would ask for it again.
        """
        start = list(candidate.start)
        for o in self.problem.operations:
            readers = [
                candidate.start[e.consumer] + e.distance * candidate.interval
                for e in self.problem.consumers[o.index]
            ]
            if o.streaming and readers:
                start[o.index] = min(readers)
        return replace(candidate, start=tuple(start))

    def narrowest(self, operations: Collection[int], used: Collection[int]) -> int | None:
        """Return the narrowest group that takes operations and is not used, None if none is."""
        takers = [
            g
            for g, group in enumerate(self.groups)
            if g not in used and all(group.takes(self.problem.operations[v]) for v in operations)
        ]
        return min(takers, key=lambda g: (self.groups[g].warps, g), default=None)

    def _kind(self, g: int) -> tuple[int, bool]:
        return self.groups[g].warps, self.groups[g].variable_latency

    def ordered(self, candidate: Candidate) -> bool:
        """Whether everything is issued behind what it depends on."""
        start, interval = candidate.start, candidate.interval
        return all(
            start[e.consumer] + e.distance * interval >= start[e.producer] + (not e.streaming)
            for e in self.dependences
        )

    def schedule(self, candidate: Candidate) -> Schedule:
        """Return the schedule of a candidate, without static times.

        Raises
        ------
        RefusedError
            If a memory or the register file has no room for it, or the machine lacks groups.
        """
        made, lacking = self.with_lack(candidate)
        if lacking:
            raise RefusedError(
                f"{made.name}: the register file has no room for its programs",
                Refusal(families=("registers",)),
            )
        return made

    def with_lack(self, candidate: Candidate) -> tuple[Schedule, float]:
        """Return the schedule of a candidate, and the part of the register file that it lacks.

        Raises
        ------
        RefusedError
            If a memory has no room for it, or the machine has fewer groups of a width.
        """
        for pool in self._pools:
            used = len(set(pool.members).intersection(candidate.group))
            if used > pool.most:
                what = f"{used} groups of {self.groups[pool.members[0]].warps} warps"
                raise RefusedError(
                    f"{self._given.name}: {what}, {self._given.machine.name} has {pool.most}",
                    Refusal(),
                )
        found = Assignment(candidate.start, candidate.group, self.groups)
        named = replace(
            pipeline(self.problem, candidate.interval, found), choices=candidate.choices
        )
        synchronization = Synchronization(Exchanges(lay_out(named, exactly=False)))
        made, lack = self._within_registers(named, synchronization)
        if lack:
            # Where there is no room groups wait earlier for what reads their registers.
            tight = Synchronization(synchronization.exchanges, named.groups)
            waiting, less = self._within_registers(named, tight)
            if less < lack:
                return waiting, less
        return made, lack

    def _within_registers(
        self, named: Pipeline, synchronization: Synchronization
    ) -> tuple[Schedule, float]:
        """Return a schedule with registers allocated, and the part of the file that it lacks."""
        made = artifact(
            synchronization,
            lambda: programs(synchronization),
            file=self._given.file or self._given.name,
            name=self._given.name,
            description=f"{self._given.loop.name} on {self._given.machine.name}",
        )
        live = registers_along_programs(made)
        needed = [live.get(name, 0) for name in named.groups]
        groups = allocated(self.problem, list(named.groups.values()), needed)
        if groups is None:
            return made, lack_of_registers(self.problem, list(named.groups.values()), needed)
        of_groups = (
            {"registers": group.allocation or None, "registers_live": live.get(name)}
            for name, group in zip(named.groups, groups, strict=True)
        )
        told = zip(made.groups, of_groups, strict=True)
        given = tuple(group.model_copy(update=update) for group, update in told)
        return made.model_copy(update={"groups": given}), 0.0
