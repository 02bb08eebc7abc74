"""Programs: issues, transfers and signals; and rule 9 of docs/model.md, fences.

Fences are looked for from each access, and it is not asked what should stand where. The guarantees
of waits are judged by the simulator, which executes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twill.artifacts.program import (
    Arrive,
    Await,
    Barrier,
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
from twill.verification.times import Placed


def programs(placed: Placed) -> Iterator[str]:
    """Every operation is issued once, whole and in order, by its own group, as early as placed.

    Register values that cross groups are put once, and got once for each reader and distance. Every
    barrier that is waited for gets as many arrivals a phase as it takes.
    """
    if placed.schedule.programs:
        yield from _issues(placed)
        if placed.timed:
            yield from _stages(placed)
        yield from _copies(placed)
        for barrier in placed.schedule.barriers:
            yield from _arrivals(placed.schedule, barrier)


def _issues(placed: Placed) -> Iterator[str]:
    issued: dict[str, list[tuple[int, int, int, int]]] = {}
    for program in placed.schedule.programs:
        for position, part in enumerate(program.issues):
            home = placed.place[part.operation]
            if home != program.group:
                yield f"{part.operation} is on group {home} and is issued by {program.group}"
            if part.of not in (None, placed.work(part.operation).issue):
                yield f"a part of {part.operation} is of {part.of} cycles of issue"
            issued.setdefault(part.operation, []).append(
                (part.stage, position, part.begin or 0, part.end or 0)
            )
    for operation in placed.model.operations:
        spans = [(begin, end) for _, _, begin, end in sorted(issued.get(operation.name, []))]
        begins, ends = [begin for begin, _ in spans], [end for _, end in spans]
        joined = spans and [0, *ends] == [*begins, operation.issue]
        if not joined and spans != [(0, 0)]:
            yield f"{operation.name} is issued in parts {spans} of {operation.issue}"


def _stages(placed: Placed) -> Iterator[str]:
    """Within a program iterations are as far apart as the placements say."""
    for program in placed.schedule.programs:
        rounds = {
            (placed.start[part.operation] + (part.begin or 0)) // placed.interval - part.stage
            for part in program.issues
        }
        if rounds and max(rounds) - min(rounds) > 1:
            yield (
                f"group {program.group} issues some operations {max(rounds) - min(rounds)} "
                "iterations from where they are placed"
            )


def _copies(placed: Placed) -> Iterator[str]:
    """Every reader of another group's register value gets it once at each distance."""
    read = {(placed.name(e.producer), placed.name(e.consumer), e.distance) for e in placed.moved()}
    gets, puts = Counter[tuple[str, str, int]](), Counter[str]()
    for program in placed.schedule.programs:
        for i in program.body:
            if isinstance(i, Get) and placed.place[i.reader] == program.group:
                gets[i.value, i.reader, i.distance] += 1
            elif isinstance(i, Put) and placed.place[i.value] == program.group:
                puts[i.value] += 1
    for value, reader, distance in sorted({*read, *gets}):
        actual, needed = gets[value, reader, distance], (value, reader, distance) in read
        if actual != needed:
            yield (
                f"the copy of {value} that {reader} reads at distance {distance} has "
                f"{actual} gets, needs {int(needed)}"
            )
    for value in sorted({value for value, _, _ in read}):
        if puts[value] != 1:
            yield f"{value}, which another group reads, is put {puts[value]} times"
    for program in placed.schedule.programs:
        yield from _late(program)


def _late(program: Program) -> Iterator[str]:
    """A group gets a copy before it issues the operation that reads it."""
    begun: dict[str, int] = {}
    for position, instruction in enumerate(program.body):
        for part in issues_of(instruction):
            time = part.stage * len(program.body) + position
            begun[part.operation] = min(time, begun.get(part.operation, time))
    for position, i in enumerate(program.body):
        if isinstance(i, Get) and i.reader in begun:
            behind = (i.stage - i.distance) * len(program.body) + position
            if behind > begun[i.reader]:
                yield f"{i.reader} is issued before {program.group} gets {i.value} for it"


def _arrivals(schedule: Schedule, barrier: Barrier) -> Iterator[str]:
    """A phase that is waited for gets the arrivals, and the bytes, that it takes."""
    body = [i for program in schedule.programs for i in program.body]
    mine = [i for i in body if isinstance(i, Arrive) and i.barrier == barrier.name]
    waiting = sum(isinstance(i, Wait) and i.barrier == barrier.name for i in body)
    results = [
        schedule.loop.operation(part.operation).result
        for program in schedule.programs
        for part in program.issues
        for name in part.signals
        if name == barrier.name
    ]
    arrivals = len(mine) + (waiting if barrier.kind == "named" else 0)
    arrivals += 0 if barrier.transactions else len(results)
    announced = sum(i.expect or 0 for i in mine)
    delivered = sum(tile.bytes for tile in results if tile) if barrier.transactions else 0
    if waiting and arrivals != barrier.arrivals:
        yield f"barrier {barrier.name} takes {barrier.arrivals} arrivals and gets {arrivals}"
    if waiting and announced != delivered:
        yield f"barrier {barrier.name} is told of {announced} bytes and {delivered} come"


# -- fences ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Access:
    """An access of shared memory: of an operation, or the put or get of a value."""

    do: str
    name: str
    storage: Storage
    writes: bool

    def __str__(self) -> str:
        who = self.name if self.do == "issue" else f"{self.do} of {self.name}"
        return f"{who} {'writes' if self.writes else 'reads'} {self.storage.value}"


def fences(placed: Placed) -> Iterator[str]:
    """9. Fences: a proxy fence is between what warps and asynchronous units do in one place."""
    yield from check_fences(placed.schedule)


def check_fences(schedule: Schedule) -> Iterator[str]:
    """Yield what is done in one place of shared memory, and by a proxy, without a fence between."""
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
            for reader in dict.fromkeys(d.consumer for d in data if d.producer == value):
                yield _Access("issue", reader, storage, writes=False)

    # -- where fences stand -------------------------------------------------------------------

    def _followed(self, warps: _Access, unit: _Access) -> bool:
        """Whether every group that knows the access to be over fences before it signals others."""
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
                case Put(do=do, value=name, stage=stage) | Get(do=do, value=name, stage=stage):
                    if (do, name) == (access.do, access.name):
                        yield position, stage
                case Await(operation=name, stage=stage) if copies and name == access.name:
                    yield position, stage
                case Wait(barrier=barrier, stage=stage) if barrier in told:
                    yield position, stage
                case _ if access.do == "issue" and not copies:
                    for part in issues_of(instruction):
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
        """Whether a fence of that iteration comes before the group signals others, or the unit."""
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
            part.signals or part.operation == unit for part in issues_of(instruction)
        )

    def _preceded(self, unit: _Access, warps: _Access) -> bool:
        """Whether a fence stands before the unit's, behind the last wait that may tell of it."""
        issued = [
            (position, part.stage, program)
            for program in self.schedule.programs
            for position, instruction in enumerate(program.body)
            for part in issues_of(instruction)
            if part.operation == unit.name
        ]
        if not issued:  # which `programs` tells of, as of one that another group issues
            return False
        first, stage, home = min(issued, key=lambda found: found[:2])
        body, known = home.body, {position for position, _ in self._known(home, warps)}
        for position in reversed(range(first)):
            instruction = body[position]
            if isinstance(instruction, Fence) and instruction.stage == stage:
                return True
            if position in known or isinstance(instruction, Wait | Await):
                return False
        return False


def _meet(first: Storage, second: Storage) -> bool:
    """Whether two values have bytes in common."""
    if first is second:
        return True
    return any(
        begin < other + second.size and other < begin + first.size
        for begin in first.addresses
        for other in second.addresses
    )
