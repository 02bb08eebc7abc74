"""The judge of configuration bounds: no parts of operations that fit all units weigh too much.

Shares no code with what computes such bounds: it fills the units' room by adding parts one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import sub

import numpy as np

from twill.artifacts.schedule import LowerBound
from twill.verification.reading import Model

MOST_ROOMS = 100_000
"""Amounts of room left on all units that are told apart before a claim is too complicated."""

Taken = tuple[int, ...]
"""What is taken of every unit."""
Room = Mapping[tuple[str, bool], int]
"""How much there is of every unit, and of being issued to it where that is in turn (True)."""


def check_configurations(problem: Model, bound: LowerBound) -> Iterator[str]:
    """Yield what is wrong with a bound's weights (`twill.artifacts.schedule.Weight`)."""
    room = _room(problem)
    kinds: set[tuple[Taken, int]] = set()
    ended: dict[str, int] = {}
    work, most = 0, bound.most or 1
    for part in sorted(bound.weights or (), key=lambda w: (w.operation, w.start)):
        if part.start < ended.get(part.operation, 0):
            yield f"the proof counts {part.operation} twice at {part.start}"
        ended[part.operation] = part.start + part.length
        taken = _taken(problem, room, part.operation, part.start, part.length)
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


def _room(problem: Model) -> Room:
    """Return the capacities, and one turn at every in-order unit whose operations keep turns."""
    units = {(unit, False): capacity for unit, capacity in problem.capacities.items()}
    if problem.rules != "issue":
        return units
    return units | {(o.in_order_unit, True): 1 for o in problem.operations if o.in_order_unit}


def _taken(problem: Model, room: Room, name: str, start: int, length: int) -> Taken:
    """Return what an operation takes of every unit at least, all through a part of it.

    One that waits in every iteration for what another has produced is not issued while a second
    one of its kind is: not on the same group, whose warps issue nothing else when a wait ends, nor
    on two, which hand the unit over after an operation has been issued.
    """
    operation = next((o for o in problem.operations if o.name == name), None)
    if operation is None:
        return (0,) * len(room)
    use = np.zeros((len(room), length), dtype=np.int64)
    for row, (unit, turn) in enumerate(room):
        if turn:
            waits = any(e.blocking for e in problem.edges if e.consumer == operation.index)
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
