"""Fences between accesses to shared memory by warps and by asynchronous units.

An asynchronous unit reaches shared memory through a proxy of its own. An arrive and a wait do not
order its access after a warp's. A proxy fence between the warp's access and the arrive does (PTX
ISA, proxies; Triton's ConSan, generic-to-async proxy ordering).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

from twill.artifacts.program import (
    Arrive,
    Await,
    Fence,
    Get,
    Instruction,
    Program,
    Put,
    Storage,
    Wait,
    issues_of,
)
from twill.artifacts.schedule import Schedule

Subject = tuple[str, str]  # who accesses: ``issue`` of an operation, ``put`` or ``get`` of a value
Place = tuple[str, bool]  # a value in shared memory, and whether its staging is meant


def with_fences(schedule: Schedule) -> Schedule:
    """Return a schedule whose programs have the fences that they need.

    A fence follows an access of warps to shared memory that an asynchronous unit's access has to
    be ordered with. Waits for copies in the name of warps (``cp.async``) count as such accesses. A
    fence stands as late as it can, right before the group signals other groups or a unit.
    """
    if not any(unit.proxy for unit in schedule.machine.units.values()):
        return schedule
    fences = _Fences(schedule)
    programs = tuple(fences.program(program) for program in schedule.programs)
    return schedule.model_copy(update={"programs": programs})


class _Fences:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.storage = {(s.value, s.transfer): s for s in schedule.storage if s.memory == "smem"}
        costs = {o.name: schedule.machine.cost(o) for o in schedule.loop.operations}
        units = schedule.machine.units
        self.asynchronous = {name for name, cost in costs.items() if cost.asynchronous}
        self.by_proxy = {n for n in self.asynchronous if units[costs[n].steps[0].unit].proxy}
        self.named = {b.name for b in schedule.barriers if b.kind == "named"}
        self.signalling: dict[str, set[str]] = defaultdict(set)
        for program in schedule.programs:
            for part in program.issues:
                for barrier in part.signals:
                    self.signalling[barrier].add(part.operation)
        self.conflicts = self._conflicts()

    def program(self, program: Program) -> Program:
        body: list[Instruction] = []
        pending: set[tuple[int, Subject]] = set()
        for instruction in program.body:
            if isinstance(instruction, Fence):
                pending = {entry for entry in pending if entry[0] != instruction.stage}
            elif self._tells(instruction, {subject for _, subject in pending}):
                body += _fences(pending)
                pending = set()
            body.append(instruction)
            for subject, stage in self._over(instruction):
                if self.conflicts.get(subject):
                    pending.add((stage, subject))
        return program.model_copy(update={"body": (*body, *_fences(pending))})

    def _tells(self, instruction: Instruction, pending: set[Subject]) -> bool:
        """Whether an instruction signals other groups, or starts a unit's conflicting access."""
        if isinstance(instruction, Wait):
            return instruction.barrier in self.named
        concerned = {name for subject in pending for name in self.conflicts[subject]}
        return isinstance(instruction, Arrive) or any(
            part.signals or part.operation in concerned for part in issues_of(instruction)
        )

    def _over(self, instruction: Instruction) -> Iterator[tuple[Subject, int]]:
        """Yield accesses that the group knows to be over behind an instruction, with its stage."""
        for part in issues_of(instruction):
            if part.last and part.operation not in self.asynchronous:
                yield ("issue", part.operation), part.stage
        match instruction:
            case Put() | Get():
                yield (instruction.do, instruction.value), instruction.stage
            case Await():
                if instruction.operation in self.asynchronous:
                    yield ("issue", instruction.operation), instruction.stage
            case Wait():
                for operation in self.signalling[instruction.barrier]:
                    yield ("issue", operation), instruction.stage

    def _conflicts(self) -> dict[Subject, set[str]]:
        """Return, for each access of warps, the units' operations to be ordered with it."""
        units = [(name, *access) for name in self.by_proxy for access in self._of_operation(name)]
        return {
            subject: {
                name
                for (place, writes), (name, other, written) in itertools.product(accesses, units)
                if (writes or written) and self._meet(place, other)
            }
            for subject, accesses in self._of_warps()
        }

    def _of_operation(self, name: str) -> list[tuple[Place, bool]]:
        """Return the places in shared memory that an operation uses, and whether it writes."""
        data = (d for d in self.schedule.loop.dependences if d.kind == "data")
        reads = [((d.producer, False), False) for d in data if d.consumer == name]
        found = [((name, False), True), *reads]
        return [(place, writes) for place, writes in found if place in self.storage]

    def _of_warps(self) -> Iterator[tuple[Subject, list[tuple[Place, bool]]]]:
        for operation in self.schedule.loop.operations:
            if operation.name not in self.by_proxy:
                yield ("issue", operation.name), self._of_operation(operation.name)
        for value, staged in self.storage:
            if staged:
                yield ("put", value), [((value, True), True)]
                yield ("get", value), [((value, True), False)]

    def _meet(self, place: Place, other: Place) -> bool:
        return place == other or _overlap(self.storage[place], self.storage[other])


def _fences(pending: set[tuple[int, Subject]]) -> list[Instruction]:
    return [Fence(stage=stage) for stage in sorted({stage for stage, _ in pending})]


def _overlap(first: Storage, second: Storage) -> bool:
    return any(
        a < b + second.size and b < a + first.size
        for a in first.addresses
        for b in second.addresses
    )
