"""How much of SMEM, TMEM and the registers holds live values, over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from twill.artifacts.schedule import Schedule, Storage
from twill.sim.engine.record import Lifetime
from twill.sim.engine.slots import copy_for

SMEM, TMEM = "SMEM bytes", "TMEM columns"
HALVES = 2

Extent = tuple[int, int, int]
"""Begin, end and half of the lanes."""


@dataclass(frozen=True)
class Level:
    """From `cycle` on, `amount` of something is live."""

    cycle: float
    amount: float


def coverage(schedule: Schedule, lifetimes: Iterable[Lifetime]) -> dict[str, list[Level]]:
    """Return what is live over time: SMEM bytes, TMEM columns, registers of a thread by group.

    Addresses that several live values share count once. A value is live from the begin of its
    write to the end of its last read; what invariants occupy in SMEM and TMEM is live throughout.
    The result of an elementwise operation takes over an operand's registers, so that it counts from
    the end of its write.
    """
    places = _places(schedule)
    elementwise = {o.name for o in schedule.loop.operations if o.elementwise}
    lives: dict[str, list[tuple[float, float, Extent]]] = defaultdict(list)
    for life in lifetimes:
        if life.lane == 0 or life.place in ("smem", "tmem"):
            for name, extent in places.get((life.value, life.place, life.slot), ()):
                late = life.value in elementwise and name not in (SMEM, TMEM)
                lives[name].append((life.written if late else life.begin, life.end, extent))
    fixed: dict[str, int] = defaultdict(int)
    for value in schedule.fixed:
        fixed[SMEM if value.memory == "smem" else TMEM] += value.size
    return {
        name: [Level(level.cycle, level.amount + fixed[name]) for level in _levels(lives[name])]
        for name in sorted(lives)
    }


def _places(schedule: Schedule) -> dict[tuple[str, str, int], list[tuple[str, Extent]]]:
    """Return, for every slot of every value, which extent of which memory it takes."""
    found: dict[tuple[str, str, int], list[tuple[str, Extent]]] = defaultdict(list)
    beyond: dict[str, int] = defaultdict(lambda: 1 << 40)
    home = schedule.assignment
    for storage in schedule.storage:
        name, place = _name(storage, home)
        for slot in range(storage.slots):
            begin = storage.addresses[slot] if storage.addresses else beyond[name]
            beyond[name] += storage.size
            halves = (storage.halves[slot],) if storage.halves else range(HALVES)
            for half in halves if name == TMEM else (0,):
                extent = (begin, begin + storage.size, half)
                found[storage.value, place, slot].append((name, extent))
    return found


def _name(storage: Storage, home: dict[str, str]) -> tuple[str, str]:
    if storage.transfer and storage.memory == "smem":
        return SMEM, "staging in smem"
    if storage.memory == "registers":
        group = storage.group or home[storage.value]
        if storage.reader is not None:
            place = copy_for(storage.reader, storage.distance)
            return f"registers of {home[storage.reader]}", place
        return f"registers of {group}", f"registers of {home[storage.value]}"
    return (SMEM if storage.memory == "smem" else TMEM), storage.memory


def _levels(lives: list[tuple[float, float, Extent]]) -> Iterator[Level]:
    """Yield the extent of the union of what is live, whenever it changes."""
    bounds = sorted({edge for _, _, (begin, end, _) in lives for edge in (begin, end)})
    index = {edge: number for number, edge in enumerate(bounds)}
    halves = {half for _, _, (_, _, half) in lives}
    weight = 1 / HALVES if len(halves) > 1 or 1 in halves else 1.0
    changes: list[tuple[float, int, Extent]] = []
    for begin, end, extent in lives:
        changes += [(begin, 1, extent), (end, -1, extent)]
    changes.sort()
    count: dict[tuple[int, int], int] = defaultdict(int)
    amount, shown = 0.0, -1.0
    for number, (cycle, change, (low, high, half)) in enumerate(changes):
        for piece in range(index[low], index[high]):
            before = count[piece, half] > 0
            count[piece, half] += change
            after = count[piece, half] > 0
            amount += (after - before) * weight * (bounds[piece + 1] - bounds[piece])
        last = number + 1 == len(changes) or changes[number + 1][0] > cycle
        if last and amount != shown:
            shown = amount
            yield Level(cycle, amount)
