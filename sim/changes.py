"""Changed schedules: a deeper ring, one more warp group, a wait less, a faster unit."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from twill.artifacts.loop import Cost, Operation
from twill.artifacts.schedule import (
    Arrive,
    Await,
    Get,
    Group,
    Instruction,
    Interleave,
    Issue,
    Placement,
    Program,
    Put,
    Schedule,
    Storage,
    Wait,
)
from twill.sim.switches import Mechanism

ALIGNMENT_BYTES = 128
"""Of a slot of SMEM that TMA writes (CUDA C++ Programming Guide, tensor maps: shared address)."""


@dataclass(frozen=True)
class Changed:
    """A changed schedule.

    Attributes
    ----------
    kind : str
        ``ring``, ``group``, ``wait`` or ``machine``: only the last is not the programmer's to make.
    what : str
        The change in words.
    schedule : Schedule
        The result.
    needs : str
        What it takes that may be missing; empty if nothing.
    fits : bool
        Whether the machine has it.
    without : tuple of str
        Mechanisms of the machine that are switched off for it.
    """

    kind: str
    what: str
    schedule: Schedule
    needs: str = ""
    fits: bool = True
    without: tuple[Mechanism, ...] = ()


# -- rings ------------------------------------------------------------------------------------


def rings(schedule: Schedule) -> list[str]:
    """Return the values in SMEM or TMEM whose slots are filled and emptied under barriers.

    Slots whose addresses other values share are left out: there is more to it than a number.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    """
    found = []
    for storage in schedule.storage:
        alone = storage.memory != "registers" and not storage.transfer and storage.reader is None
        if alone and not _shared(schedule, storage) and _refills(schedule, storage):
            found.append(storage.value)
    return found


def deeper(schedule: Schedule, values: Collection[str], by: int) -> Changed:
    """Give rings more slots.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    values : collection of str
        Values that `rings` lists.
    by : int
        Slots more for each.
    """
    changed = schedule
    needs: dict[str, int] = {}
    for storage in schedule.storage:
        if storage.value in values and storage in _own(schedule, storage.value):
            changed = _one_deeper(changed, storage, by)
            needs[storage.memory] = needs.get(storage.memory, 0) + by * storage.size
    names = " and ".join(values)
    texts, fits = [], True
    for memory, more in needs.items():
        unit, free = (
            "bytes of SMEM" if memory == "smem" else "columns of TMEM",
            _free(schedule, memory),
        )
        enough = free is None or more <= free
        fits = fits and enough
        texts.append(f"{more} {unit} more" + ("" if enough else f", {max(0, free or 0)} are free"))
    slots = f"{by} slot{'s' if by > 1 else ''}"
    each = " each" if len(values) > 1 else ""
    what = f"ring{'s' if len(values) > 1 else ''} of {names} deeper by {slots}{each}"
    return Changed("ring", what, changed, "; ".join(texts), fits)


def _own(schedule: Schedule, value: str) -> list[Storage]:
    return [s for s in schedule.storage if s.value == value and not s.transfer and s.reader is None]


def _refills(schedule: Schedule, storage: Storage) -> bool:
    """Return whether some wait protects the slots from the instance a whole turn later."""
    barriers = {barrier.name: barrier for barrier in schedule.barriers}
    return any(
        isinstance(i, Wait)
        and _about(i.barrier, storage.value)
        and i.distance == storage.slots == barriers[i.barrier].slots
        for program in schedule.programs
        for i in program.body
    )


def _about(barrier: str, value: str) -> bool:
    return barrier.rpartition(".")[0] == value


def _shared(schedule: Schedule, storage: Storage) -> bool:
    if not storage.addresses:
        return False
    taken = [(a, a + storage.size) for a in storage.addresses]
    return any(
        low < end and begin < high
        for other in schedule.storage
        if other is not storage and other.memory == storage.memory
        for begin in other.addresses
        for end in (begin + other.size,)
        for low, high in taken
    )


def _end(schedule: Schedule, memory: str) -> int:
    """Return the first address behind everything, or the sum of sizes without addresses."""
    ends = [0]
    unplaced = 0
    for storage in schedule.storage:
        if storage.memory == memory:
            ends += [address + storage.size for address in storage.addresses]
            unplaced += 0 if storage.addresses else storage.slots * storage.size
    for value in schedule.fixed:
        if value.memory == memory:
            ends.append((value.address or 0) + value.size)
            unplaced += value.size if value.address is None else 0
    return max(ends) + unplaced


def _free(schedule: Schedule, memory: str) -> int | None:
    capacity = {str(name): found.capacity for name, found in schedule.machine.memories.items()}
    return capacity[memory] - _end(schedule, memory) if memory in capacity else None


def _one_deeper(schedule: Schedule, storage: Storage, by: int) -> Schedule:
    value, slots = storage.value, storage.slots
    begin = _end(schedule, storage.memory)
    step = ALIGNMENT_BYTES if storage.memory == "smem" else 1
    begin = -(-begin // step) * step
    more = tuple(begin + number * storage.size for number in range(by))
    larger = storage.model_copy(
        update={
            "slots": slots + by,
            "addresses": storage.addresses + more if storage.addresses else (),
            "halves": storage.halves + (0,) * by if storage.halves else (),
        }
    )
    barriers = tuple(
        b.model_copy(update={"slots": b.slots + by})
        if _about(b.name, value) and b.slots == slots
        else b
        for b in schedule.barriers
    )
    ring = {b.name for b in schedule.barriers if _about(b.name, value) and b.slots == slots}
    return schedule.model_copy(
        update={
            "storage": tuple(larger if s is storage else s for s in schedule.storage),
            "barriers": barriers,
            "programs": tuple(_later(p, ring, slots, by) for p in schedule.programs),
            "pipeline_depths": {
                name: depth + by if name == value else depth
                for name, depth in schedule.pipeline_depths.items()
            },
        }
    )


def _later(program: Program, barriers: set[str], slots: int, by: int) -> Program:
    """Let waits for a free slot look back by as many iterations more."""
    body = tuple(
        i.model_copy(update={"distance": i.distance + by})
        if isinstance(i, Wait) and i.barrier in barriers and i.distance == slots
        else i
        for i in program.body
    )
    return program.model_copy(update={"body": body})


# -- groups -----------------------------------------------------------------------------------


def split(schedule: Schedule) -> Iterator[Changed]:
    """Yield schedules in which a group's independent operations have a group of their own.

    Both groups keep every wait, and both arrive at every barrier at which the one did, so that
    neither does anything earlier than the order of the one allowed.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    """
    for group in schedule.groups:
        mine = [p.operation for p in schedule.placements if p.group == group.name]
        parts = _components(schedule, mine)
        if len(parts) > 1:
            moved = set(parts[-1])
            warps = max(o.warps for o in schedule.loop.operations if o.name in moved)
            width = min(
                (pool.warps for pool in schedule.machine.groups if pool.warps >= warps),
                default=group.warps,
            )
            yield Changed(
                "group",
                f"one more group, for {', '.join(parts[-1])} of {group.name}",
                _split(schedule, group, moved, width),
                f"{width} warp{'s' if width > 1 else ''} and their registers",
                fits=_room(schedule, width),
            )


def _room(schedule: Schedule, width: int) -> bool:
    warps = sum(group.warps for group in schedule.groups)
    return warps + width <= schedule.machine.warps.value


def _components(schedule: Schedule, operations: Sequence[str]) -> list[list[str]]:
    leader = {name: name for name in operations}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for dependence in schedule.loop.dependences:
        if dependence.producer in leader and dependence.consumer in leader:
            leader[find(dependence.consumer)] = find(dependence.producer)
    parts: dict[str, list[str]] = {}
    for name in operations:
        parts.setdefault(find(name), []).append(name)
    return list(parts.values())


def _split(schedule: Schedule, group: Group, moved: set[str], width: int) -> Schedule:
    names = {other.name for other in schedule.groups}
    name = next(n for k in itertools.count(1) if (n := group.name + k * "'") not in names)
    program = schedule.program(group.name)
    kept = {p.operation for p in schedule.placements if p.group == group.name} - moved
    named = {b.name for b in schedule.barriers if b.kind == "named"}
    arrivals = {
        i.barrier
        for i in program.body
        if isinstance(i, Arrive) or (isinstance(i, Wait) and i.barrier in named)
    }
    new = group.model_copy(update={"name": name, "warps": width})
    return schedule.model_copy(
        update={
            "groups": (*schedule.groups, new),
            "placements": tuple(
                Placement(operation=p.operation, group=name, start=p.start)
                if p.operation in moved
                else p
                for p in schedule.placements
            ),
            "storage": tuple(
                s.model_copy(update={"group": name})
                if s.value in moved and s.group == group.name
                else s
                for s in schedule.storage
            ),
            "barriers": tuple(
                b.model_copy(update={"arrivals": b.arrivals + (b.name in arrivals)})
                for b in schedule.barriers
            ),
            "programs": (
                *(_only(p, kept) if p.group == group.name else p for p in schedule.programs),
                _announcing_nothing(_only(program, moved)).model_copy(update={"group": name}),
            ),
        }
    )


def _only(program: Program, operations: set[str]) -> Program:
    """Keep what concerns some operations, and all signals."""
    body: list[Instruction] = []
    for instruction in program.body:
        match instruction:
            case Issue() | Await():
                keep: Instruction | None = (
                    instruction if (instruction.operation in operations) else None
                )
            case Interleave():
                keep = _parts(instruction, operations)
            case Put():
                keep = instruction if instruction.value in operations else None
            case Get():
                keep = instruction if instruction.reader in operations else None
            case _:
                keep = instruction
        if keep is not None:
            body.append(keep)
    return program.model_copy(update={"body": tuple(body)})


def _announcing_nothing(program: Program) -> Program:
    """Leave the bytes that a phase waits for to the group that announced them so far."""
    body = tuple(
        i.model_copy(update={"expect": None}) if isinstance(i, Arrive) else i for i in program.body
    )
    return program.model_copy(update={"body": body})


def _parts(instruction: Interleave, operations: set[str]) -> Instruction | None:
    parts = tuple(part for part in instruction.parts if part.operation in operations)
    if len(parts) < 2:
        return parts[0] if parts else None
    return instruction.model_copy(update={"parts": parts})


# -- waits ------------------------------------------------------------------------------------


def without_each_wait(schedule: Schedule) -> Iterator[Changed]:
    """Yield schedules that lack one wait; most of them are wrong.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    """
    for number, program in enumerate(schedule.programs):
        for index, instruction in enumerate(program.body):
            if not isinstance(instruction, Wait | Await):
                continue
            body = program.body[:index] + program.body[index + 1 :]
            programs = list(schedule.programs)
            programs[number] = program.model_copy(update={"body": body})
            subject = (
                instruction.barrier if isinstance(instruction, Wait) else instruction.operation
            )
            yield Changed(
                "wait",
                f"{program.group} without its wait for {subject}",
                schedule.model_copy(update={"programs": tuple(programs)}),
            )


# -- the machine ------------------------------------------------------------------------------


def free_signals(schedule: Schedule) -> Changed:
    """Let waits and arrives cost nothing, the wait inside asynchronous latencies neither.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    """
    return Changed(
        "machine", "if waits and arrives took no time", schedule, without=("synchronisation",)
    )


def twice_as_fast(schedule: Schedule, unit: str) -> Changed:
    """Halve the cycles that every operation takes of a unit.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    unit : str
        A unit of its machine.
    """
    operations = tuple(_faster(schedule, o, unit) for o in schedule.loop.operations)
    loop = schedule.loop.model_copy(update={"operations": operations})
    return Changed(
        "machine", f"if {unit} were twice as fast", schedule.model_copy(update={"loop": loop})
    )


def _faster(schedule: Schedule, operation: Operation, unit: str) -> Operation:
    cost: Cost = schedule.machine.cost(operation)
    if all(step.unit != unit for step in cost.steps):
        return operation
    steps = tuple(
        step.model_copy(update={"cycles": -(-step.cycles // 2)}) if step.unit == unit else step
        for step in cost.steps
    )
    total = max if cost.asynchronous else sum
    saved = total(s.cycles for s in cost.steps) - total(s.cycles for s in steps)
    faster = cost.model_copy(update={"steps": steps, "latency": max(0, cost.latency - saved)})
    return operation.model_copy(update={"cost": faster})
