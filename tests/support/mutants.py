"""Programs with one mistake: a wait, an arrive, a slot or a distance removed or moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from twill.artifacts.program import (
    Arrive,
    Await,
    Barrier,
    Instruction,
    Interleave,
    Issue,
    Storage,
    Wait,
)
from twill.artifacts.schedule import Schedule

T = TypeVar("T")
Synchronisation = Wait | Await | Arrive


@dataclass(frozen=True)
class Mutant:
    """A schedule with one mistake; its kind is, for example, ``wait removed``."""

    kind: str
    change: str
    schedule: Schedule


def mutants(schedule: Schedule) -> Iterator[Mutant]:
    """Yield every schedule that differs from a given one by one mistake."""
    for number, program in enumerate(schedule.programs):
        seen = [program.body]
        for kind, change, body in _bodies(program.body):
            if tuple(body) in seen:
                continue  # moving one up is moving its neighbour down
            seen.append(tuple(body))
            mistaken = program.model_copy(update={"body": tuple(body)})
            programs = _replaced(schedule.programs, number, mistaken)
            yield Mutant(
                kind,
                f"{program.group}: {change}",
                schedule.model_copy(update={"programs": programs}),
            )
    for number, barrier in enumerate(schedule.barriers):
        for change, other in _barriers(barrier):
            barriers = _replaced(schedule.barriers, number, other)
            changed = schedule.model_copy(update={"barriers": barriers})
            yield Mutant("slot removed", f"barrier {barrier.name}: {change}", changed)
    for number, storage in enumerate(schedule.storage):
        for kind, change, lot in _storages(storage, schedule.storage):
            stored = _replaced(schedule.storage, number, lot)
            changed = schedule.model_copy(update={"storage": stored})
            yield Mutant(kind, f"{_storage_name(storage)}: {change}", changed)


def _replaced(entries: Sequence[T], number: int, entry: T) -> tuple[T, ...]:
    return (*entries[:number], entry, *entries[number + 1 :])


def _storage_name(storage: Storage) -> str:
    kind = (
        "staging of "
        if storage.transfer
        else f"copy for {storage.reader} at distance {storage.distance} of " * bool(storage.reader)
    )
    return f"{kind}{storage.value} in {storage.memory}"


def _bodies(
    body: Sequence[Instruction],
) -> Iterator[tuple[str, str, list[Instruction]]]:
    for place, instruction in enumerate(body):
        rest = [*body[:place], *body[place + 1 :]]
        if isinstance(instruction, Wait | Await | Arrive):
            kind, name = _named(instruction)
            where = f"{name} at {place}"
            yield f"{kind} removed", f"{where} removed", rest
            for target in (place - 1, place + 1):
                if 0 <= target < len(body) and not _same(body[target], instruction):
                    moved = [*rest[:target], instruction, *rest[target:]]
                    way = "earlier" if target < place else "later"
                    yield f"{kind} moved", f"{where} moved one {way}", moved
            for distance in (instruction.distance - 1, instruction.distance + 1):
                if distance >= 0 or isinstance(instruction, Wait | Await):
                    changed = instruction.model_copy(update={"distance": distance})
                    yield (
                        "distance changed",
                        f"{where} at distance {distance} instead of {instruction.distance}",
                        [*body[:place], changed, *body[place + 1 :]],
                    )
        elif isinstance(instruction, Issue | Interleave):
            for name, silent in _unsignalled(instruction):
                yield (
                    "arrive removed",
                    f"arrive of {name} at {place} removed",
                    [*body[:place], silent, *body[place + 1 :]],
                )


def _named(instruction: Synchronisation) -> tuple[str, str]:
    match instruction:
        case Wait():
            return "wait", f"wait for {instruction.barrier}"
        case Await():
            return "wait", f"wait for {instruction.operation}"
        case Arrive():
            return "arrive", f"arrive at {instruction.barrier}"


def _same(one: Instruction, other: Instruction) -> bool:
    """Whether nothing changes if two instructions trade places."""
    waits = isinstance(one, Wait | Await) and isinstance(other, Wait | Await)
    return waits or (isinstance(one, Arrive) and isinstance(other, Arrive))


def _unsignalled(instruction: Issue | Interleave) -> Iterator[tuple[str, Issue | Interleave]]:
    """Yield an instruction without one of the arrives that completions make by themselves."""
    parts = (instruction,) if isinstance(instruction, Issue) else instruction.parts
    for number, part in enumerate(parts):
        for signal in part.signals:
            left = tuple(name for name in part.signals if name != signal)
            silent = part.model_copy(update={"signals": left})
            name = f"{part.operation} at {signal}"
            if isinstance(instruction, Issue):
                yield name, silent
            else:
                changed = {"parts": _replaced(parts, number, silent)}
                yield name, instruction.model_copy(update=changed)


def _barriers(barrier: Barrier) -> Iterator[tuple[str, Barrier]]:
    if barrier.slots > 1:
        yield "a slot less", barrier.model_copy(update={"slots": barrier.slots - 1})
    if barrier.arrivals > 1:
        yield "an arrival less", barrier.model_copy(update={"arrivals": barrier.arrivals - 1})


def _storages(storage: Storage, every: Sequence[Storage]) -> Iterator[tuple[str, str, Storage]]:
    if storage.slots > 1:
        fewer = {
            "slots": storage.slots - 1,
            "addresses": storage.addresses[:-1],
            "halves": storage.halves[:-1],
        }
        yield "slot removed", "a slot less", storage.model_copy(update=fewer)
    for number, address in enumerate(storage.addresses):
        onto = next(
            (
                (other, k)
                for other in every
                for k, taken in enumerate(other.addresses)
                if other.memory == storage.memory
                and (other is not storage or k > number)
                and not address <= taken < address + storage.size
                and not taken <= address < taken + other.size
            ),
            None,
        )
        if onto is None:
            continue
        other, k = onto
        addresses = _replaced(storage.addresses, number, other.addresses[k])
        moved = {"addresses": addresses}
        if storage.halves and other.halves:
            moved["halves"] = _replaced(storage.halves, number, other.halves[k])
        yield (
            "slot moved",
            f"slot {number} moved onto slot {k} of {_storage_name(other)}",
            storage.model_copy(update=moved),
        )
