"""Rings of other depths: the changes to storage, barriers and waits, and resources needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from twill.artifacts.program import Program, Storage, Wait
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError

UNITS = {"smem": "bytes of SMEM", "tmem": "columns of TMEM"}


@dataclass(frozen=True)
class Changed:
    """A changed schedule."""

    schedule: Schedule
    needs: str  # resources that it takes and its machine lacks; empty if none

    @property
    def fits(self) -> bool:
        """Whether the machine has all."""
        return not self.needs


def streaming(schedule: Schedule) -> list[str]:
    """Return the loads of variable latency whose results lie in rings in SMEM or TMEM."""
    machine = schedule.machine
    loads = [o.name for o in schedule.loop.operations if machine.cost(o).variable_latency]
    return [name for name in loads if _own(schedule, name)]


def with_depth(schedule: Schedule, slots: int) -> Changed:
    """Give the ring of every streaming load `slots` slots, more or fewer than it has.

    A ring whose slots share addresses with other values gets addresses of its own, behind all
    others. The schedule may then need more room than if it had been solved for that depth.

    Raises
    ------
    RefusedError
        If no load has a ring, or nothing protects a ring's slots by its depth alone.
    """
    return _with_slots(schedule, lambda _: slots)


def with_more_slots(schedule: Schedule, by: int) -> Changed:
    """Give the ring of every streaming load so many slots more than it has.

    Other than `with_depth` this keeps what rings have of different depths apart. Addresses follow
    the same rule.

    `by`: slots more for each ring, at least 0; with 0 the schedule is as it was.

    Raises
    ------
    RefusedError
        If no load has a ring, or nothing protects a ring's slots by its depth alone.
    """
    return _with_slots(schedule, lambda before: before + by)


def _with_slots(schedule: Schedule, wanted: Callable[[int], int]) -> Changed:
    """Resize the ring of every streaming load from its slots to those that are wanted then."""
    names = streaming(schedule)
    if not names:
        raise RefusedError(f"{schedule.name}: no load of variable latency has a ring")
    changed = schedule
    for name in names:
        for storage in _own(changed, name):
            slots = wanted(storage.slots)
            if storage.slots == slots:
                continue
            if not _refills(changed, storage):
                raise RefusedError(
                    f"{schedule.name}: the ring of {name} cannot have {slots} slots: no wait "
                    f"protects its {storage.slots} slots by their number"
                )
            changed = _resized(changed, storage, slots)
    return Changed(changed, _lacking(changed, schedule))


def _lacking(changed: Schedule, schedule: Schedule) -> str:
    """Say which memories a changed schedule overruns that the schedule before did not."""
    rooms = {name: memory.available for name, memory in schedule.machine.memories.by_name.items()}
    taken = {memory: _end(changed, memory) for memory in rooms}
    return "; ".join(
        f"{taken[memory]} {UNITS[memory]}, of {room}"
        for memory, room in rooms.items()
        if taken[memory] > max(room, _end(schedule, memory))
    )


def _own(schedule: Schedule, value: str) -> list[Storage]:
    """Return where a value itself lies in SMEM or TMEM, not a copy or what it passes through."""
    there = (s for s in schedule.storage if s.value == value and s.memory != "registers")
    return [storage for storage in there if not storage.transfer and storage.reader is None]


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
    ends, unplaced = [0], 0
    for storage in schedule.storage:
        if storage.memory == memory:
            ends += [address + storage.size for address in storage.addresses]
            unplaced += 0 if storage.addresses else storage.slots * storage.size
    for value in schedule.fixed:
        if value.memory == memory:
            ends.append((value.address or 0) + value.size)
            unplaced += value.size if value.address is None else 0
    return max(ends) + unplaced


def _resized(schedule: Schedule, storage: Storage, slots: int) -> Schedule:
    """Give a ring so many slots; slots that share addresses with other values get new ones."""
    value, before = storage.value, storage.slots
    kept = () if _shared(schedule, storage) else storage.addresses[:slots]
    begin = _end(schedule, storage.memory)
    memory = schedule.machine.memories.by_name.get(storage.memory)
    step = 1 if memory is None else memory.step(storage.size)
    begin = -(-begin // step) * step
    more = tuple(begin + number * storage.size for number in range(slots - len(kept)))
    halves = storage.halves[: len(kept)] + (0,) * (slots - len(kept))
    resized = storage.model_copy(
        update={
            "slots": slots,
            "addresses": kept + more if storage.addresses else (),
            "halves": halves if storage.halves else (),
        }
    )
    ring = {b.name for b in schedule.barriers if _about(b.name, value) and b.slots == before}
    barriers = tuple(
        b.model_copy(update={"slots": slots}) if b.name in ring else b for b in schedule.barriers
    )
    return schedule.model_copy(
        update={
            "storage": tuple(resized if s is storage else s for s in schedule.storage),
            "barriers": barriers,
            "programs": tuple(_later(p, ring, before, slots) for p in schedule.programs),
            "pipeline_depths": {
                name: slots if name == value else depth
                for name, depth in schedule.pipeline_depths.items()
            },
        }
    )


def _later(program: Program, barriers: set[str], before: int, slots: int) -> Program:
    """Let waits for a free slot look back by as many iterations as there are slots now."""
    body = tuple(
        i.model_copy(update={"distance": slots})
        if isinstance(i, Wait) and i.barrier in barriers and i.distance == before
        else i
        for i in program.body
    )
    return program.model_copy(update={"body": body})
