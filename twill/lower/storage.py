"""Slots, sizes and addresses of every value of a schedule."""

from __future__ import annotations

from dataclasses import dataclass

from twill.artifacts.program import Fixed, Storage
from twill.bounds.infeasible import lack
from twill.errors import RefusedError
from twill.lower.pipeline import Pipeline
from twill.lower.signals import Signals
from twill.memory.addresses import Allocation, Conflict, Ring, allocate
from twill.problem.lifetimes import memory_occupants, register_occupants
from twill.problem.problem import Problem
from twill.problem.solution import alive, lifetime


@dataclass(frozen=True)
class Layout:
    """Where everything of a schedule lies.

    Attributes
    ----------
    storage : tuple of Storage
        Slots of each value.
    fixed : tuple of Fixed
        Places of what lives throughout the loop.
    depths, hiding : dict
        Ring slots of each streaming load, and those that hiding its nominal latency asks for.
    """

    storage: tuple[Storage, ...]
    fixed: tuple[Fixed, ...]
    depths: dict[str, int]
    hiding: dict[str, int]


def lay_out(named: Pipeline) -> tuple[Signals, Layout]:
    """Give every value its slots, and those in SMEM and TMEM addresses.

    Rings of streaming loads are as deep as hiding the nominal latency asks for, and share memory
    with nothing. Where that does not fit they are made shallower, the largest first, down to what
    the static schedule needs.

    Raises
    ------
    RefusedError
        If a memory cannot hold what lives at once.
    """
    problem, wanted = named.problem, Signals(named).slots
    signals = Signals(named, _allocated(named, wanted))
    streaming = [o for o in problem.operations if o.streaming]
    storage = [s for v in range(len(problem.operations)) for s in _storage_of(signals, v)]
    return signals, Layout(
        tuple(storage),
        tuple(_fixed(problem, signals.allocation)),
        {o.name: signals.slots[o.index] for o in streaming},
        {o.name: wanted[o.index] for o in streaming},
    )


def _allocated(named: Pipeline, wanted: tuple[int, ...]) -> Allocation:
    """Return addresses with rings as near to the slots that are wanted as memory allows."""
    problem, interval, assignment = named.problem, named.interval, named.assignment
    least = allocate(problem, interval, assignment, until_read=True)
    if isinstance(least, Conflict):
        room = problem.memories[least.memory]
        about = lack(least.memory, None, least.needed, room) if least.needed else None
        raise RefusedError(_refusal(problem, least), about)
    given = {v: ring.count for v, ring in least.values.items()}
    slots = {v: max(wanted[v], given[v]) for v in given if problem.operations[v].streaming}
    while slots:
        found = allocate(problem, interval, assignment, slots, until_read=True)
        if isinstance(found, Allocation):
            return found
        rings = [v for v in slots if problem.operations[v].memory == found.memory]
        rings.sort(
            key=lambda v: (slots[v] <= given[v], -slots[v] * problem.operations[v].footprint)
        )
        if not rings:
            break
        slots[rings[0]] -= 1
        if slots[rings[0]] < given[rings[0]]:
            del slots[rings[0]]
    return least


def _refusal(problem: Problem, conflict: Conflict) -> str:
    occupants = memory_occupants(problem, conflict.memory)
    names = dict.fromkeys(occupants[i].name for fact in conflict.facts for i, _, _ in fact)
    room = problem.amount(conflict.memory, problem.memories[conflict.memory])
    needed = (
        f"take {problem.amount(conflict.memory, conflict.needed)} at once"
        if conflict.needed
        else "find no addresses together"
    )
    return (
        f"{problem.loop.name}: {', '.join(names) or 'what lives through the loop'} {needed} in "
        f"{conflict.memory}; {problem.machine.name} has {room}"
    )


def _fixed(problem: Problem, allocation: Allocation | None) -> list[Fixed]:
    found = []
    for invariant in problem.loop.invariants:
        tile = invariant.tile
        if tile.memory not in ("smem", "tmem"):
            continue
        ring = allocation.invariants.get(invariant.name) if allocation else None
        found.append(
            Fixed(
                name=invariant.name,
                memory=tile.memory,
                size=problem.machine.slot_size(tile),
                address=ring.addresses[0] if ring else None,
                half=ring.halves[0] if ring and ring.halves else None,
            )
        )
    return found


def _placed(ring: Ring | None) -> dict[str, tuple[int, ...]]:
    """Return the part of an entry that says where its slots are."""
    return {} if ring is None else {"addresses": ring.addresses, "halves": ring.halves}


def _storage_of(signals: Signals, v: int) -> list[Storage]:
    operation, slots = signals.problem.operations[v], signals.slots[v]
    allocation = signals.allocation
    result = signals.problem.loop.operations[v].result
    found = []
    if operation.registers:
        found.append(
            Storage(
                value=operation.name,
                memory="registers",
                group=signals.pipeline.place[v],
                slots=slots,
                size=operation.registers,
            )
        )
    elif operation.memory is not None and result is not None:
        found.append(
            Storage.model_validate(
                {
                    "value": operation.name,
                    "memory": operation.memory,
                    "slots": slots,
                    "size": signals.problem.machine.slot_size(result),
                    **_placed(allocation.values.get(v) if allocation else None),
                }
            )
        )
    found += [
        Storage(
            value=operation.name,
            memory="registers",
            group=signals.pipeline.place[edge.consumer],
            reader=signals.problem.operations[edge.consumer].name,
            distance=edge.distance,
            slots=signals.copy_slots(edge),
            size=operation.registers,
        )
        for edge in signals.pipeline.copies
        if edge.producer == v
    ]
    if v in signals.transferred:
        found.append(
            Storage.model_validate(
                {
                    "value": operation.name,
                    "memory": "smem",
                    "transfer": True,
                    "slots": signals.staging_slots(v),
                    "size": operation.transfer_bytes,
                    **_placed(allocation.transfers.get(v) if allocation else None),
                }
            )
        )
    return found


def registers_live(pipeline: Pipeline) -> dict[str, int]:
    """Return the most registers per thread live at once on each group."""
    problem = pipeline.problem
    spans = [
        (o, span)
        for o in register_occupants(problem)
        if (span := lifetime(o, pipeline.interval, pipeline.assignment)) is not None
    ]
    most = dict.fromkeys(pipeline.groups, 0)
    for starting, (time, _) in spans:
        group = pipeline.place[starting.start]
        total = sum(
            o.weight * alive(span, time, pipeline.interval)
            for o, span in spans
            if o.group_of is not None and pipeline.place[o.group_of] == group
        )
        most[group] = max(most[group], total + _pinned(problem, pipeline, group))
    return most


def _pinned(problem: Problem, pipeline: Pipeline, group: str) -> int:
    return sum(
        pinned.registers
        for pinned in problem.pinned
        if any(pipeline.place[user] == group for user in pinned.used_by)
    )
