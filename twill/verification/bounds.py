"""Lower bounds of schedules, computed by the judge: docs/model.md, Objective and proof.

Units, recurrences and issuing one operation bound the interval each by itself, and all units
together by weights; dependences bound the length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import sub

import numpy as np
from numpy.typing import NDArray

from twill.artifacts.proof import LowerBound
from twill.verification.reading import Model

# Amounts of room left on all units that are told apart before a claim is too complicated.
MOST_ROOMS = 100_000

Taken = tuple[int, ...]  # what is taken of every unit
# How much there is of every unit, and of being issued to it where that is in turn (True).
Room = Mapping[tuple[str, bool], int]


def least_interval(model: Model) -> int:
    """Return what units, recurrences and issuing one operation need, each by itself."""
    units = [unit_needs(model, unit) for unit in model.capacities]
    return max(*units, *issue_times(model).values(), by_recurrences(model), 1)


def unit_needs(model: Model, unit: str) -> int:
    """Return the least time in which a unit can do one iteration's work.

    For every count up to half of the capacity: what takes more than all but that of the unit can
    share it with nothing that takes so much or more.
    """
    capacity = model.capacities[unit]
    mine = [
        (r.length, r.count)
        for o in model.operations
        for r in o.reservations
        if r.unit == unit and r.count <= capacity
    ]
    least = max((-(-length // (capacity // count)) for length, count in mine), default=0)
    for small in range((capacity + 1) // 2 + 1):
        alone = sum(length for length, count in mine if count > capacity - small)
        shared = sum(length * count for length, count in mine if small <= count <= capacity - small)
        least = max(least, alone + -(-shared // capacity))
    return least


def issue_times(model: Model) -> dict[str, int]:
    """Return how long it takes to issue each asynchronous operation, where that is in order."""
    if model.rules != "issue":
        return {}
    return {o.name: o.issue for o in model.operations if o.asynchronous}


def by_recurrences(model: Model) -> int:
    """Return the least interval at which no recurrence takes longer than its iterations."""
    low, high = 0, sum(max(0, e.cross_delay, e.delay) for e in model.edges) + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if _earliest(model, middle) is None else (low, middle)
    return low


def shortest(model: Model, interval: int) -> int:
    """Return the least time that an iteration takes at this interval whatever the resources."""
    earliest = _earliest(model, interval)
    cycles = np.array([o.cycles for o in model.operations])
    return int(((0 if earliest is None else earliest) + cycles).max())


def _earliest(model: Model, interval: int) -> NDArray[np.int64] | None:
    """When operations issue at the earliest if the first does at 0; None if never."""
    edges = model.edges
    time = np.zeros(len(model.operations), dtype=np.int64)
    producers = np.array([e.producer for e in edges], dtype=np.int64)
    consumers = np.array([e.consumer for e in edges], dtype=np.int64)
    after = [model.least_delay(e) - e.distance * interval for e in edges]
    for _ in range(len(time) + 1):
        before = time.copy()
        np.maximum.at(time, consumers, before[producers] + np.array(after, dtype=np.int64))
        if (time == before).all():
            return time
    return None


# -- all units together ---------------------------------------------------------------------------


def check_configurations(model: Model, bound: LowerBound) -> Iterator[str]:
    """Yield what is wrong with a bound's weights (`twill.artifacts.proof.Weight`).

    The units' room is filled by adding parts of operations one by one: none that fit all units
    weigh too much.
    """
    room = _room(model)
    kinds: set[tuple[Taken, int]] = set()
    ended: dict[str, int] = {}
    work, most = 0, bound.most or 1
    for part in sorted(bound.weights or (), key=lambda w: (w.operation, w.start)):
        if part.start < ended.get(part.operation, 0):
            yield f"the proof counts {part.operation} twice at {part.start}"
        ended[part.operation] = part.start + part.length
        taken = _taken(model, room, part.operation, part.start, part.length)
        if not any(taken):
            yield f"the proof counts {part.operation} at {part.start}, where it takes no unit"
            return
        kinds.add((taken, part.weight))
        work += part.weight * part.length
    heaviest = _heaviest(tuple(room.values()), sorted(kinds))
    if heaviest is None:
        yield "the proof has more combinations of operations than can be checked"
    elif heaviest > most:
        yield f"the proof says at most {most} fits all units at once, {heaviest} does"
    elif -(-work // most) != bound.value:
        yield f"the proof says at least {bound.value}, its weights say {work} / {most}"


def _room(model: Model) -> Room:
    """Return the capacities, and one turn at every in-order unit whose operations keep turns."""
    units = {(unit, False): capacity for unit, capacity in model.capacities.items()}
    if model.rules != "issue":
        return units
    return units | {(o.in_order_unit, True): 1 for o in model.operations if o.in_order_unit}


def _taken(model: Model, room: Room, name: str, start: int, length: int) -> Taken:
    """Return what an operation takes of every unit at least, all through a part of it.

    An operation that waits in every iteration for the result of another is not issued while a
    second such operation is. On the same group, warps issue nothing else when a wait ends. Two
    groups hand the unit over after an operation has been issued.
    """
    operation = next((o for o in model.operations if o.name == name), None)
    if operation is None:
        return (0,) * len(room)
    use = np.zeros((len(room), length), dtype=np.int64)
    for row, (unit, turn) in enumerate(room):
        if turn:
            waits = any(e.blocking for e in model.edges if e.consumer == operation.index)
            if waits and operation.in_order_unit == unit:
                use[row, : max(0, operation.blocked_span - start)] = 1
            continue
        for r in operation.reservations:
            if r.unit == unit:
                use[row, max(0, r.start - start) : max(0, r.start + r.length - start)] += r.count
    return tuple(int(x) for x in use.min(axis=1))


def _heaviest(capacities: Taken, kinds: Iterable[tuple[Taken, int]]) -> int | None:
    """Return the most that parts weigh which fit together, any number of each kind."""
    best = {capacities: 0}
    for taken, weight in kinds:
        waiting = list(best.items())
        while waiting:
            room, weighs = waiting.pop()
            rest = tuple(map(sub, room, taken))
            if min(rest) >= 0 and weighs + weight > best.get(rest, 0):
                best[rest] = weighs + weight
                waiting.append((rest, weighs + weight))
        if len(best) > MOST_ROOMS:
            return None
    return max(best.values())
