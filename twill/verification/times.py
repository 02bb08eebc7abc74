"""Where and when operations are: rules 1 to 3, 7, 8 and 10 of docs/model.md, and its groups."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from twill.artifacts.schedule import Schedule
from twill.verification.reading import Edge, Model, Work


def timed(schedule: Schedule) -> bool:
    """Whether a schedule has any static times; one of programs alone has none."""
    return bool(schedule.start or schedule.initiation_interval or schedule.length)


class Placed:
    """A schedule whose operations have a time and a group, with what the model says of them."""

    def __init__(self, model: Model, schedule: Schedule) -> None:
        self.model, self.schedule = model, schedule
        self.groups = {group.name: group for group in schedule.groups}
        # Without static times everything is at 0: only rules that ask for no time are checked then.
        self.timed = timed(schedule)
        self.place = schedule.assignment
        self.start = schedule.start if self.timed else dict.fromkeys(self.place, 0)
        self.interval = schedule.initiation_interval or 1

    def name(self, v: int) -> str:
        """Name of operation `v`."""
        return self.model.operations[v].name

    def work(self, name: str) -> Work:
        """The operation itself."""
        return self.model.operations[self.model.index[name]]

    def at(self, v: int) -> int:
        """When operation `v` is issued."""
        return self.start[self.name(v)]

    def group(self, v: int) -> str:
        """Group of operation `v`."""
        return self.place[self.name(v)]

    def crosses(self, edge: Edge) -> bool:
        """Whether the ends of a dependence are on different groups."""
        return self.group(edge.producer) != self.group(edge.consumer)

    def read_at(self, edge: Edge) -> int:
        """When the consumer of a dependence is issued, seen from the producer's iteration."""
        return self.at(edge.consumer) + edge.distance * self.interval

    def reads(self, producer: int) -> list[Edge]:
        """Dependences through which the result of an operation is read."""
        return [e for e in self.model.edges if e.producer == producer and e.carries]

    def moved(self) -> list[Edge]:
        """Dependences through which another group reads a register value (6. Transfer)."""
        return [e for e in self.model.edges if e.transferable and self.crosses(e)]

    def rows(self) -> NDArray[np.int64]:
        """Zero for every row, that is time modulo I."""
        return np.zeros(self.interval, dtype=np.int64)


def occupy(used: NDArray[np.int64], time: int, length: int, amount: int) -> None:
    """Add an amount in every row of [time, time + length)."""
    interval = len(used)
    whole, rest = divmod(max(length, 0), interval)
    used += whole * amount
    first = time % interval
    used[first : first + rest] += amount
    used[: max(0, first + rest - interval)] += amount


def incomplete(model: Model, schedule: Schedule) -> Iterator[str]:
    """Interval, length and stages, and every issue time, are given."""
    for key in ("initiation_interval", "length", "stages"):
        if getattr(schedule, key) is None:
            yield f"the schedule has no {key}"
    for operation in model.operations:
        if operation.name not in schedule.start:
            yield f"{operation.name} has no start"


def group_widths(placed: Placed) -> Iterator[str]:
    """Groups are wide enough, from the machine's pool, and not too many (below 10. Completion)."""
    machine, widths = placed.schedule.machine, [group.warps for group in placed.groups.values()]
    for operation in placed.model.operations:
        group = placed.groups[placed.place[operation.name]]
        if group.warps < operation.warps:
            its = f"its group {group.name} has {group.warps}"
            yield f"{operation.name} needs {operation.warps} warps, {its}"
    pool = {entry.warps: entry.count for entry in machine.groups}
    for width in sorted(set(widths)):
        count, most = widths.count(width), pool.get(width, 0)
        if count > most:
            yield f"{count} groups of {width} warps, {machine.name} allows {most}"
    if sum(widths) > machine.warps.value:
        yield f"{sum(widths)} warps in all, {machine.name} holds {machine.warps.value}"


def variable_latency(placed: Placed) -> Iterator[str]:
    """8. Variable latency: such operations, and only they, are on groups of their own."""
    for operation in placed.model.operations:
        name, group = operation.name, placed.groups[placed.place[operation.name]]
        if operation.variable_latency and not group.variable_latency:
            yield f"{name} has variable latency, its group {group.name} is not for it"
        if group.variable_latency and not operation.variable_latency:
            yield f"{name} has a fixed latency, its group {group.name} is for variable ones"


def dependence(placed: Placed) -> Iterator[str]:
    """1. Dependence: M(v) + distance I >= M(u) + d, with hop and transfer across groups."""
    for edge in placed.model.edges:
        crosses = placed.crosses(edge)
        needed = edge.cross_delay if crosses else edge.delay
        given = placed.read_at(edge) - placed.at(edge.producer)
        if given < needed:
            ends = f"{placed.group(edge.producer)} and {placed.group(edge.consumer)}"
            across = f" across groups {ends}" if crosses else ""
            yield (
                f"{placed.name(edge.producer)} -> {placed.name(edge.consumer)} (distance "
                f"{edge.distance}){across}: issues {given} after it, needs {needed}"
            )


def capacity(placed: Placed) -> Iterator[str]:
    """2. Capacity: in no row are more instances of a unit in use than there are."""
    for unit, most in placed.model.capacities.items():
        taken = [
            (o, placed.start[o.name] + r.start, r)
            for o in placed.model.operations
            for r in o.reservations
            if r.unit == unit
        ]
        used = placed.rows()
        for _, time, r in taken:
            occupy(used, time, r.length, r.count)
        if used.max() > most:
            row = int(used.argmax())
            inside = (o.name for o, t, r in taken if (row - t) % placed.interval < r.length)
            by = f"{int(used[row])} in use by {', '.join(inside)}"
            yield f"unit {unit} in slot {row}: {by}, capacity {most}"


def turns(placed: Placed) -> Iterator[str]:
    """3. Turns: groups that share an in-order unit leave time to pass it on."""
    start, place = placed.start, placed.place
    for first in placed.model.operations:
        for second in placed.model.operations:
            needed = placed.model.turn(first, second)
            if place[first.name] == place[second.name] or not needed:
                continue
            given = (start[second.name] - start[first.name]) % placed.interval
            if given < needed:
                u, v = (f"{o.name} of group {place[o.name]}" for o in (first, second))
                after = f"on {first.in_order_unit} after {given}"
                yield f"{v} follows {u} {after}, passing the turn takes {needed}"


def completion(placed: Placed) -> Iterator[str]:
    """10. Completion: every operation ends within L, and the stages are ceil(L / I)."""
    length, stages = placed.schedule.length or 0, placed.schedule.stages
    for operation in placed.model.operations:
        end = placed.start[operation.name] + operation.cycles
        if end > length:
            yield f"{operation.name} ends at {end}, the length is {length}"
    if stages != -(-length // placed.interval):
        yield f"{stages} stages, a length of {length} takes {-(-length // placed.interval)}"


def concurrency(placed: Placed) -> Iterator[str]:
    """7. Concurrency: when a blocking operation starts, its group is issuing nothing else."""
    model, interval = placed.model, placed.interval
    for operation in model.operations:
        in_order = model.rules == "issue" and operation.asynchronous
        if in_order and operation.issue > interval:
            yield f"issuing {operation.name} takes its warps {operation.issue} of every {interval}"
    for operation in model.operations:
        v = operation.index
        causes = [e for e in model.edges if e.consumer == v and (e.blocking or placed.crosses(e))]
        for other in model.operations if causes else ():
            if other.index == v or placed.place[other.name] != placed.group(v):
                continue
            inside = (placed.at(v) - placed.at(other.index)) % interval
            if inside < other.blocked_span or other.blocked_span > interval:
                yield (
                    f"{operation.name} waits for {placed.name(causes[0].producer)} while "
                    f"group {placed.group(v)} is issuing {other.name} (cycle {inside} of "
                    f"{other.blocked_span})"
                )


def of_times(placed: Placed) -> Iterator[str]:
    """Check that a schedule without static times says nothing that follows from them."""
    if not placed.timed:
        for key in ("stages", "proof"):
            if getattr(placed.schedule, key) is not None:
                yield f"the schedule has {key} and no static times"


def unit_of_time(placed: Placed) -> Iterator[str]:
    """Check that the unit of time is what its costs say, within its budget (Time)."""
    scale = placed.schedule.time
    before, after = sum(a for a, _ in scale.costs), sum(b for _, b in scale.costs)
    ratio = before / after if scale.mode == "normalized" and after else 1.0
    if scale.cycles_per_unit != ratio:
        yield f"a unit of time is {ratio:g} cycles, not {scale.cycles_per_unit:g}"
    changes = [b / a for a, b in scale.costs] or [1.0]
    distortion = max(changes) / min(changes)
    if not math.isclose(scale.distortion, distortion):
        yield f"ratios of costs changed by up to {distortion:g}, not {scale.distortion:g}"
    if (scale.mode == "exact") != (not scale.costs):
        yield f"time is {scale.mode} and has {len(scale.costs)} other costs"
    if scale.budget is not None and after > scale.budget:
        yield f"costs sum up to {after}, the budget is {scale.budget}"
