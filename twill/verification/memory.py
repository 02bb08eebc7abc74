"""Memories: what is live in every row, and which slots values have: rule 4 of docs/model.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from twill.artifacts.program import Storage
from twill.verification.reading import Edge, Work, slot_size
from twill.verification.registers import released
from twill.verification.times import Placed, occupy

# Value, memory, whether it is staged, group, reader and its distance, of what has slots.
Key = tuple[str, str, bool, str | None, str | None, int]


def memory(placed: Placed) -> Iterator[str]:
    """4. Memory: in no row do live instances and invariants exceed a memory."""
    for name, room in placed.model.memories.items():
        used = placed.rows() + placed.model.fixed[name]
        for operation in placed.model.operations:
            time = placed.at(operation.index)
            if operation.memory == name:
                occupy(used, time, _released(placed, operation) - time, operation.footprint)
            staged = _staged_until(placed, operation)
            if name == "smem" and staged is not None:
                occupy(used, time, staged - time, operation.transfer_bytes)
        if used.max() > room:
            unit = 2 if name == "tmem" else 1
            live = f"{int(used.max()) / unit:g} live, capacity {room / unit:g}"
            yield f"{name} in slot {int(used.argmax())}: {live}"


def _released(placed: Placed, operation: Work) -> int:
    ends = [placed.read_at(edge) + edge.hold for edge in placed.reads(operation.index)]
    return max(ends, default=placed.at(operation.index) + operation.latency)


def _staged_until(placed: Placed, operation: Work) -> int | None:
    """When the SMEM staging of a register value has been read by other groups, if any."""
    ends = [placed.read_at(e) for e in placed.moved() if e.producer == operation.index]
    return max(ends, default=None)


# -- slots ----------------------------------------------------------------------------------------


def storage(placed: Placed) -> Iterator[str]:
    """Every result, copy and staging has its slots, once and of its size, and nothing else."""
    sizes, given = dict(_stored(placed)), Counter[Key]()
    for s in placed.schedule.storage:
        key: Key = (s.value, s.memory, s.transfer, s.group, s.reader, s.distance)
        given[key] += 1
        if key in sizes and s.size != sizes[key]:
            yield f"{_what(key)} takes {sizes[key]} a slot, not {s.size}"
    for key in {**sizes, **given}:
        if not given[key]:
            yield f"{_what(key)} has no slots"
        elif key not in sizes:
            yield f"{_what(key)} has slots, and nothing needs them"
        elif given[key] > 1:
            yield f"{_what(key)} has slots {given[key]} times"


def _stored(placed: Placed) -> Iterator[tuple[Key, int]]:
    """Yield everything that needs slots, with the size of one."""
    for operation in placed.model.operations:
        name = operation.name
        result = placed.schedule.loop.operation(name).result
        if operation.registers:
            yield (name, "registers", False, placed.place[name], None, 0), operation.registers
        elif operation.memory and result:
            size = slot_size(result, placed.schedule.machine)
            yield (name, operation.memory, False, None, None, 0), size
        if _staged_until(placed, operation) is not None:
            yield (name, "smem", True, None, None, 0), operation.transfer_bytes
    for e in placed.moved():
        key = (placed.name(e.producer), "registers", False, placed.group(e.consumer))
        size = placed.model.operations[e.producer].registers
        yield (*key, placed.name(e.consumer), e.distance), size


def _what(key: Key) -> str:
    """Say what has slots."""
    value, memory, staged, group, reader, distance = key
    where = f"registers of {group}" if memory == "registers" and group else memory
    for_whom = f" for {reader} at distance {distance}" if reader else " staged" if staged else ""
    return f"{value}{for_whom} in {where}"


def slots(placed: Placed) -> Iterator[str]:
    """A slot is overwritten only after its last reader released it (Addresses)."""
    for s in placed.schedule.storage:
        begin, end = _life(placed, s)
        needed, what = max(1, -(-(end - begin) // placed.interval)), f"{s.value} in {s.memory}"
        if s.slots < needed:
            yield f"{what} lives {end - begin} and has {s.slots} slots, needs {needed}"
        elif s.slots > needed and not s.addresses and s.reader is None:
            yield f"{what} needs {needed} slots and has {s.slots}"


def _life(placed: Placed, storage: Storage) -> tuple[int, int]:
    """Time from which, and until which, an instance occupies its slot."""
    operation = placed.work(storage.value)
    time = placed.start[storage.value]
    if storage.transfer:
        return time, (_staged_until(placed, operation) or time) + placed.model.hop
    if storage.reader is not None:
        reader = placed.work(storage.reader).index
        copy = (operation.index, reader, storage.distance)
        copied = (e for e in placed.model.edges if (e.producer, e.consumer, e.distance) == copy)
        reads = max((e.copy_reads for e in copied if e.transferable), default=0)
        return placed.at(reader), placed.at(reader) + reads
    if storage.memory == "registers":
        return time, released(placed, operation, until_read=True)
    return time, overwritten_at(placed, storage, storage.value)


def overwritten_at(placed: Placed, storage: Storage, by: str) -> int:
    """When operation `by` may overwrite what `storage` holds in memory.

    Every reader counts by itself: those on other groups than the writer's signal their end. An
    update in place needs no signal from readers that a dependence orders before it.
    """
    v, hop = placed.work(storage.value).index, placed.model.hop
    ends = []
    for edge in placed.reads(v):
        if storage.transfer and not (edge.transferable and placed.crosses(edge)):
            continue
        if not storage.transfer and _ordered_before_update(placed, edge, placed.work(by).index):
            continue
        told = hop if placed.group(edge.consumer) != placed.place[by] else 0
        ends.append(placed.read_at(edge) + (0 if storage.transfer else edge.hold) + told)
    away = hop if placed.group(v) != placed.place[by] else 0
    return max(ends, default=placed.at(v) + placed.model.operations[v].latency + away)


def _ordered_before_update(placed: Placed, read: Edge, v: int) -> bool:
    """Whether operation v updates in place what is read, and a dependence has it wait."""
    edges = placed.model.edges
    updates = [
        edge.distance
        for edge, given in zip(edges, placed.schedule.loop.dependences, strict=True)
        if (edge.producer, edge.consumer) == (read.producer, v) and given.in_place
    ]
    return any(
        (order.producer, order.consumer) == (read.consumer, v)
        and read.distance + order.distance <= distance
        and (order.cross_delay if placed.crosses(order) else order.delay) >= read.hold
        for order in edges
        for distance in updates
    )


def recorded_depths(placed: Placed) -> Iterator[str]:
    """Check that rings, and nothing else, say how deep they are, and what hides their latency.

    Without static times the slots that hide a latency are unknown: see `unchecked`.
    """
    depths, hiding = placed.schedule.pipeline_depths, placed.schedule.hiding_depths
    rings = {o.name: o for o in placed.model.operations if o.streaming}
    stated = {"pipeline depth": depths} | ({"hiding depth": hiding} if placed.timed else {})
    for what, given in stated.items():
        for name in sorted(rings.keys() ^ given.keys()):
            yield f"{name} {'has no' if name in rings else 'is no ring and has a'} {what}"
    slots: dict[str, int] = {}
    for s in placed.schedule.storage:
        if s.memory != "registers" and not s.transfer:
            slots.setdefault(s.value, s.slots)
    for name, depth in depths.items():
        if slots.get(name, depth) != depth:
            yield f"{name} has a pipeline depth of {depth} and {slots[name]} slots"
    for name, ring in rings.items() if placed.timed else ():
        needed = _hiding(placed, ring)
        if hiding.get(name, needed) != needed:
            yield f"hiding the latency of {name} takes {needed} slots, not {hiding[name]}"


def _hiding(placed: Placed, ring: Work) -> int:
    """Slots of a ring whose loads, and those that are read with them, take their time."""
    read, operations = placed.reads(ring.index), placed.model.operations
    readers = {edge.consumer for edge in read}
    beside = {e.producer for e in placed.model.edges if e.streaming and e.consumer in readers}
    late = max(operations[v].nominal_latency for v in {ring.index, *beside})
    time, hop = placed.at(ring.index), placed.model.hop
    ends = [placed.read_at(e) + e.reads + (hop if placed.crosses(e) else 0) for e in read]
    return max(1, -(-(max(ends, default=time + ring.latency) - time + late) // placed.interval))
