"""The rule of proxy fences, checked from its definition in docs/model.md.

Shares no code with what puts fences into programs: it looks for a fence from each access, and does
not ask what should stand where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twill.artifacts.schedule import (
    Arrive,
    Await,
    Fence,
    Get,
    Instruction,
    Interleave,
    Issue,
    Program,
    Put,
    Schedule,
    Storage,
    Wait,
)


@dataclass(frozen=True)
class _Access:
    """What somebody does in shared memory: an operation, or the put or get of a value."""

    do: str
    name: str
    storage: Storage
    writes: bool

    def __str__(self) -> str:
        who = self.name if self.do == "issue" else f"{self.do} of {self.name}"
        return f"{who} {'writes' if self.writes else 'reads'} {self.storage.value}"


def check_fences(schedule: Schedule) -> Iterator[str]:
    """Yield what warps and asynchronous units do in one place with no proxy fence between."""
    if any(unit.proxy is not None for unit in schedule.machine.units.values()):
        yield from _Fences(schedule).unfenced()


class _Fences:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.asynchronous, self.by_proxy = set[str](), set[str]()
        for operation in schedule.loop.operations:
            cost = schedule.machine.cost(operation)
            if cost.asynchronous:
                self.asynchronous.add(operation.name)
                if schedule.machine.units[cost.steps[0].unit].proxy is not None:
                    self.by_proxy.add(operation.name)

    def unfenced(self) -> Iterator[str]:
        accesses = list(self._accesses())
        units = [a for a in accesses if a.do == "issue" and a.name in self.by_proxy]
        for warps in accesses:
            if warps in units:
                continue
            for unit in units:
                conflict = warps.writes or unit.writes
                fenced = self._followed(warps, unit) or self._preceded(unit, warps)
                if conflict and _meet(warps.storage, unit.storage) and not fenced:
                    yield f"{warps} in shared memory, {unit} there by a proxy, and no fence between"

    def _accesses(self) -> Iterator[_Access]:
        data = [d for d in self.schedule.loop.dependences if d.kind == "data"]
        for storage in self.schedule.storage:
            if storage.memory != "smem":
                continue
            value = storage.value
            if storage.transfer:
                yield _Access("put", value, storage, writes=True)
                yield _Access("get", value, storage, writes=False)
                continue
            yield _Access("issue", value, storage, writes=True)
            for reader in {d.consumer for d in data if d.producer == value}:
                yield _Access("issue", reader, storage, writes=False)

    # -- where fences stand -------------------------------------------------------------------

    def _followed(self, warps: _Access, unit: _Access) -> bool:
        """Whether everyone who knows the access to be over fences before telling anyone."""
        return all(
            self._fences_next(program.body, position, stage, unit.name)
            for program in self.schedule.programs
            for position, stage in self._known(program, warps)
        )

    def _known(self, program: Program, access: _Access) -> Iterator[tuple[int, int]]:
        """Yield position and stage of the instructions behind which an access is over."""
        copies = access.do == "issue" and access.name in self.asynchronous
        told = self._signalled(access.name) if copies else set()
        for position, instruction in enumerate(program.body):
            match instruction:
                case Put() | Get() if (instruction.do, instruction.value) == (
                    access.do,
                    access.name,
                ):
                    yield position, instruction.stage
                case Await() if copies and instruction.operation == access.name:
                    yield position, instruction.stage
                case Wait() if instruction.barrier in told:
                    yield position, instruction.stage
                case Issue() | Interleave() if access.do == "issue" and not copies:
                    for part in _parts(instruction):
                        if part.operation == access.name and part.last:
                            yield position, part.stage

    def _signalled(self, operation: str) -> set[str]:
        return {
            barrier
            for program in self.schedule.programs
            for part in program.issues
            if part.operation == operation
            for barrier in part.signals
        }

    def _fences_next(
        self, body: Sequence[Instruction], position: int, stage: int, unit: str
    ) -> bool:
        """Whether a fence of that iteration comes before the group tells others, or the unit."""
        for number in range(position + 1, position + 1 + len(body)):
            later, index = divmod(number, len(body))
            instruction = body[index]
            if isinstance(instruction, Fence) and instruction.stage == stage + later:
                return True
            if self._tells(instruction, unit):
                return False
        return True

    def _tells(self, instruction: Instruction, unit: str) -> bool:
        if isinstance(instruction, Wait):
            kinds = {barrier.name: barrier.kind for barrier in self.schedule.barriers}
            return kinds[instruction.barrier] == "named"
        return isinstance(instruction, Arrive) or any(
            part.signals or part.operation == unit for part in _parts(instruction)
        )

    def _preceded(self, unit: _Access, warps: _Access) -> bool:
        """Whether a fence stands before the unit's, behind the last wait that may tell of it."""
        home = self.schedule.assignment[unit.name]
        (body,) = [program.body for program in self.schedule.programs if program.group == home]
        known = {
            position
            for program in self.schedule.programs
            if program.group == home
            for position, _ in self._known(program, warps)
        }
        first, stage = min(
            (position, part.stage)
            for position, instruction in enumerate(body)
            for part in _parts(instruction)
            if part.operation == unit.name
        )
        for position in reversed(range(first)):
            instruction = body[position]
            if isinstance(instruction, Fence) and instruction.stage == stage:
                return True
            if position in known or isinstance(instruction, Wait | Await):
                return False
        return False


def _parts(instruction: Instruction) -> tuple[Issue, ...]:
    if isinstance(instruction, Interleave):
        return instruction.parts
    return (instruction,) if isinstance(instruction, Issue) else ()


def _meet(first: Storage, second: Storage) -> bool:
    """Whether two values have bytes in common."""
    if first is second:
        return True
    return any(
        begin < other + second.size and other < begin + first.size
        for begin in first.addresses
        for other in second.addresses
    )
