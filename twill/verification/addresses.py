"""Addresses of values in memories, and what lives there: rule 4 of docs/model.md.

They are checked slot by slot, and instance by instance where values share them.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

from twill.artifacts.loop import Invariant
from twill.artifacts.program import Fixed, Storage
from twill.verification.memory import overwritten_at
from twill.verification.reading import available, halved, slot_size
from twill.verification.times import Placed

# Address of a slot, and the half of the lanes of TMEM if it takes one.
Slot = tuple[int, int | None]


def addresses(placed: Placed) -> Iterator[str]:
    """Every instance in SMEM or TMEM has a range of its own while it lives (Addresses)."""
    every = [s for s in placed.schedule.storage if s.memory in placed.model.memories]
    addressed = {s.memory for s in every if s.addresses}
    bare = set() if placed.timed else placed.model.memories.keys() - addressed
    yield from _side_by_side(placed, bare)
    every = [s for s in every if s.memory not in bare]
    for s in every:
        yield from _inside(placed, s)
    with_addresses = [s for s in every if s.addresses]
    yield from _halves(placed, with_addresses)
    yield from _second_halves(with_addresses)
    yield from _updates(placed, with_addresses)
    yield from _invariants(placed, bare)
    for fixed, s in itertools.product(placed.schedule.fixed, with_addresses):
        yield from _over(s, fixed)
    for index, first in enumerate(with_addresses):
        for a, b in itertools.combinations(_slots(first), 2):
            if _overlap(a, first.size, b, first.size):
                start = max(a[0], b[0])
                yield f"two slots of {first.value} share {first.memory} address {start}"
        for second in with_addresses[index + 1 :]:
            if first.memory == second.memory and placed.timed:
                yield from _shared(placed, first, second)


def _side_by_side(placed: Placed, bare: Collection[str]) -> Iterator[str]:
    """Where an order names no addresses each of its slots takes room of its own."""
    for name in bare:
        taken, room = placed.model.fixed[name], placed.model.memories[name]
        for s in placed.schedule.storage:
            if s.memory == name:
                work = placed.work(s.value)
                taken += s.slots * (work.transfer_bytes if s.transfer else work.footprint)
        if taken > room:
            unit = 2 if name == "tmem" else 1
            yield f"all slots take {taken / unit:g} of {name}, capacity {room / unit:g}"


def _over(storage: Storage, fixed: Fixed) -> Iterator[str]:
    """Report the first slot that lies over an invariant."""
    place = (fixed.address or 0, fixed.half)
    for slot in _slots(storage) if storage.memory == fixed.memory else ():
        if _overlap(place, fixed.size, slot, storage.size):
            start = max(place[0], slot[0])
            yield f"{storage.value} lies over {fixed.name} in {fixed.memory} (from {start})"
            return


def _inside(placed: Placed, storage: Storage) -> Iterator[str]:
    """Every slot is aligned and inside its memory."""
    name, memory = storage.value, storage.memory
    if not storage.addresses:
        yield f"{name} in {memory} has no address"
        return
    room = available(placed.schedule.machine.memories.by_name[memory])
    end, step = max(storage.addresses) + storage.size, _step(placed, memory, storage.size)
    if end > room:
        yield f"{name} ends at {end} of {memory}, capacity {room}"
    for address in storage.addresses:
        if address % step:
            yield f"{name} at {memory} address {address} is not aligned to {step}"


def _step(placed: Placed, memory: str, size: int) -> int:
    """Alignment of the addresses of a slot."""
    smem = placed.schedule.machine.memories.smem
    if memory != "smem" or smem is None:
        return 1
    return smem.alignment.value if size < smem.swizzle.value else smem.swizzle.value


def _halves(placed: Placed, every: list[Storage]) -> Iterator[str]:
    """Only tiles of half the lanes take a half; slots, and a product's two, share one half."""
    loop, tmem = placed.schedule.loop, placed.schedule.machine.memories.tmem
    taken: dict[str, set[int]] = {s.value: set(s.halves) for s in every if not s.transfer}
    taken |= {f.name: {f.half} for f in placed.schedule.fixed if f.half is not None}
    for s in every:
        tile = loop.operation(s.value).result
        if s.halves and (tile is None or not halved(tile, tmem)):
            yield f"{s.value} takes more than half the lanes of tmem"
        if len(set(s.halves)) > 1:
            yield f"slots of {s.value} lie in different halves of tmem"
    for factor, product in _first_factors(placed):
        here, there = taken.get(factor), taken.get(product)
        if here and there and len(here | there) > 1:
            what = f"{factor} and {product} are first factor and accumulator of a product"
            yield f"{what} and lie in different halves of tmem"


def _second_halves(every: list[Storage]) -> Iterator[str]:
    """A tile in the second half of the lanes is never in columns of a tile that takes all lanes."""
    tiles = [s for s in every if s.memory == "tmem"]
    second = [(s.value, a, a + s.size) for s in tiles for a, half in _slots(s) if half == 1]
    whole = [(s.value, a, a + s.size) for s in tiles if not s.halves for a, _ in _slots(s)]
    for (part, low, high), (tile, begin, end) in itertools.product(second, whole):
        if low < end and begin < high:
            what = f"{part} takes the second half of the lanes of tmem column {max(low, begin)}"
            yield f"{what}, of which {tile} takes all"


def _first_factors(placed: Placed) -> Iterator[tuple[str, str]]:
    """Yield the first factor of every product with the product, both by name."""
    loop = placed.schedule.loop
    products = {o.name for o in loop.operations if o.kind.startswith("mma")}
    reads = [(d.producer, d.consumer, d.operand) for d in loop.dependences if d.kind == "data"]
    reads += [(i.name, read.operation, read.operand) for i in loop.invariants for read in i.reads]
    for factor, consumer, operand in reads:
        if consumer in products and operand == 0:
            yield factor, consumer


def _updates(placed: Placed, every: list[Storage]) -> Iterator[str]:
    """A value that another operation updates in place, or without other readers, stays where it is.

    Its slot counts as free from the update on, so that elsewhere it would be read too late.
    """
    places = {s.value: (s.memory, _slots(s)) for s in every if not s.transfer}
    data = [d for d in placed.schedule.loop.dependences if d.kind == "data"]
    for d in data:
        old, new = places.get(d.producer), places.get(d.consumer)
        if not d.in_place or old is None or not old[1]:
            continue
        alone = sum(other.producer == d.producer for other in data) == 1
        u, v = placed.work(d.producer), placed.work(d.consumer)
        alike = (u.footprint, u.halved) == (v.footprint, v.halved)
        fits = alike and new is not None and bool(new[1]) and old[0] == new[0]
        frees = u is not v and placed.schedule.rules == "issue"
        if not (frees or (alone and fits)):
            continue
        here, there = old[1], new[1] if fits and new is not None else []
        if not there or any(
            here[(i - d.distance) % len(here)] != there[i % len(there)]
            for i in range(len(here) * len(there))
        ):
            yield f"{d.producer} is updated in place by {d.consumer} and lies elsewhere"


def _invariants(placed: Placed, bare: Collection[str]) -> Iterator[str]:
    """Every invariant in memory has one place, inside it and apart from the others."""
    given = [f for f in placed.schedule.fixed if f.memory not in bare]
    needed = {
        (i.name, i.tile.memory): i
        for i in placed.schedule.loop.invariants
        if i.tile.memory in {"smem", "tmem"} - set(bare)
    }
    places: list[tuple[str, str]] = [(f.name, f.memory) for f in given]
    for name, memory in (*needed, *places):
        found, wanted = places.count((name, memory)), (name, memory) in needed
        if found != wanted:
            yield f"{name} has {found} places in {memory} for the whole loop, not {wanted:d}"
    for index, first in enumerate(given):
        invariant = needed.get((first.name, first.memory))
        if invariant is not None:
            yield from _fixed(placed, first, invariant)
        for second in given[index + 1 :]:
            a, b = ((f.address or 0, f.half) for f in (first, second))
            if first.memory == second.memory and _overlap(a, first.size, b, second.size):
                yield f"{first.name} lies over {second.name} in {first.memory}"


def _fixed(placed: Placed, fixed: Fixed, invariant: Invariant) -> Iterator[str]:
    """An invariant's place has its size, is aligned and inside its memory."""
    name, memory, machine = fixed.name, fixed.memory, placed.schedule.machine
    size = slot_size(invariant.tile, machine)
    if fixed.size != size:
        yield f"{name} needs {size} of {memory} for the whole loop and has {fixed.size}"
    if fixed.half is not None and not halved(invariant.tile, machine.memories.tmem):
        yield f"{name} takes more than half the lanes of {memory}"
    if fixed.address is None:
        yield f"{name} in {memory} has no address"
        return
    if fixed.address % _step(placed, memory, size):
        yield f"{name} at {memory} address {fixed.address} is not aligned"
    end, room = fixed.address + fixed.size, machine.memories.by_name.get(memory)
    if room is None or end > available(room):
        yield f"{name} ends at {end} of {memory}, beyond its capacity"


def _shared(placed: Placed, first: Storage, second: Storage) -> Iterator[str]:
    """Report instances of two values that share an address while both live."""
    touching = {
        (i, j): max(a[0], b[0])
        for i, a in enumerate(_slots(first))
        for j, b in enumerate(_slots(second))
        if _overlap(a, first.size, b, second.size)
    }
    if not touching:
        return
    begin_a, begin_b = placed.start[first.value], placed.start[second.value]
    end_a = overwritten_at(placed, first, second.value)
    end_b = overwritten_at(placed, second, first.value)
    reach = -(-(max(end_a, end_b) - min(begin_a, begin_b)) // placed.interval) + 1
    for i in range(first.slots * second.slots):
        for j in range(i - reach, i + reach + 1):
            address = touching.get((i % first.slots, j % second.slots))
            shift = (j - i) * placed.interval
            overwritten = begin_a <= begin_b + shift < end_a
            overwrites = begin_b + shift <= begin_a < end_b + shift
            if address is not None and (overwritten or overwrites):
                both = f"{first.value} of iteration {i} and {second.value} of iteration {j}"
                yield f"{both} are both live at {first.memory} address {address}"
                return


def _slots(storage: Storage) -> list[Slot]:
    halves = storage.halves or (None,) * storage.slots
    return list(zip(storage.addresses, halves, strict=True))


def _overlap(a: Slot, size_a: int, b: Slot, size_b: int) -> bool:
    """Whether two slots have addresses, and lanes of them, in common."""
    lanes = a[1] is None or b[1] is None or a[1] == b[1]
    return lanes and a[0] < b[0] + size_b and b[0] < a[0] + size_a
