"""Slots, sizes and addresses of every value of a schedule."""

from __future__ import annotations

from dataclasses import dataclass

from twill.artifacts.schedule import Fixed, Storage
from twill.errors import RefusedError
from twill.joint.answer import Assignment
from twill.joint.lifetimes import register_occupants
from twill.joint.sums import alive, lifetime
from twill.pipeline import Pipeline
from twill.problem import Problem
from twill.signals import Signals

ALIGNMENT = {"smem": 1024, "tmem": 1}
"""Bytes or columns: 1024 bytes is the period of the 128-byte swizzle of TMA and MMA operands."""


@dataclass(frozen=True)
class Layout:
    """Where everything of a schedule lies.

    Attributes
    ----------
    storage : tuple of Storage
        Slots of each value.
    fixed : tuple of Fixed
        Places of what lives throughout the loop.
    depths : dict
        Ring slots of each streaming load.
    """

    storage: tuple[Storage, ...]
    fixed: tuple[Fixed, ...]
    depths: dict[str, int]


def lay_out(signals: Signals) -> tuple[Signals, Layout]:
    """Give every value its slots, and those in SMEM and TMEM addresses.

    Buffers follow each other; none is shared in time. Rings that do not fit as deep as hiding the
    nominal latency asks for are made shallower, the largest first.

    Parameters
    ----------
    signals : Signals
        The pipeline with its slot counts.

    Returns
    -------
    tuple of (Signals, Layout)
        The signals with the slot counts that fit.

    Raises
    ------
    RefusedError
        If a memory cannot hold them.
    """
    problem = signals.problem
    depths = {o.index: signals.slots[o.index] for o in problem.operations if o.streaming}
    while True:
        layout, free = _laid_out(signals)
        memory = next((m for m, used in free.items() if used > problem.memories[m]), None)
        if memory is None:
            return signals, layout
        rings = [v for v in depths if problem.operations[v].memory == memory]
        rings.sort(key=lambda v: -signals.slots[v] * problem.operations[v].footprint)
        for v in rings:
            depths[v] = signals.slots[v] - 1
            shallower = Signals(signals.pipeline, depths)
            if shallower.slots[v] < signals.slots[v]:
                signals = shallower
                break
            depths[v] = signals.slots[v]
        else:
            unit = problem.machine.memories[memory].unit  # type: ignore[index]
            raise RefusedError(
                f"{problem.loop.name}: buffers of this schedule take {free[memory]} {unit} of "
                f"{memory}; {problem.machine.name} has {problem.memories[memory]}"
            )


def _laid_out(signals: Signals) -> tuple[Layout, dict[str, int]]:
    """Place buffers one after the other; return them and the end of each memory."""
    problem = signals.problem
    free = dict.fromkeys(problem.memories, 0)
    fixed = []
    for invariant in problem.loop.invariants:
        tile = invariant.tile
        if tile.memory in ("smem", "tmem"):
            size = _aligned(tile.memory, tile.bytes if tile.memory == "smem" else tile.columns)
            fixed.append(
                Fixed(
                    name=invariant.name,
                    memory=tile.memory,
                    size=size,
                    address=_place(free, tile.memory, size),
                )
            )
    storage = [s for v in range(len(problem.operations)) for s in _storage_of(signals, v, free)]
    depths = {o.name: signals.slots[o.index] for o in problem.operations if o.streaming}
    return Layout(tuple(storage), tuple(fixed), depths), free


def _storage_of(signals: Signals, v: int, free: dict[str, int]) -> list[Storage]:
    operation, slots = signals.problem.operations[v], signals.slots[v]
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
    elif operation.memory is not None:
        size = _aligned(operation.memory, operation.footprint)
        found.append(
            Storage.model_validate(
                {
                    "value": operation.name,
                    "memory": operation.memory,
                    "slots": slots,
                    "size": size,
                    "address": _place(free, operation.memory, slots * size),
                }
            )
        )
    found += [
        Storage(
            value=operation.name,
            memory="registers",
            group=signals.pipeline.place[edge.consumer],
            reader=signals.problem.operations[edge.consumer].name,
            slots=signals.copy_slots(edge),
            size=operation.registers,
        )
        for edge in signals.problem.consumers[v]
        if edge.transferable and signals.pipeline.crosses(edge)
    ]
    if v in signals.transferred:
        size, count = _aligned("smem", operation.transfer_bytes), signals.staging_slots(v)
        found.append(
            Storage(
                value=operation.name,
                memory="smem",
                transfer=True,
                slots=count,
                size=size,
                address=_place(free, "smem", count * size),
            )
        )
    return found


def registers_live(pipeline: Pipeline) -> dict[str, int]:
    """Return the most registers per thread live at once on each group.

    Parameters
    ----------
    pipeline : Pipeline
        The schedule.
    """
    problem = pipeline.problem
    names = list(pipeline.groups)
    assignment = _assignment(pipeline, names)
    spans = [
        (o, span)
        for o in register_occupants(problem)
        if (span := lifetime(o, pipeline.interval, assignment)) is not None
    ]
    most = dict.fromkeys(names, 0)
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


def _assignment(pipeline: Pipeline, names: list[str]) -> Assignment:
    return Assignment(
        pipeline.start,
        tuple(names.index(name) for name in pipeline.place),
        tuple(pipeline.groups.values()),
    )


def _aligned(memory: str, size: int) -> int:
    step = ALIGNMENT[memory]
    return -(-size // step) * step


def _place(free: dict[str, int], memory: str, size: int) -> int | None:
    """Return the next free address, None on a machine that does not limit this memory."""
    address = free.get(memory)
    if address is not None:
        free[memory] = address + size
    return address
