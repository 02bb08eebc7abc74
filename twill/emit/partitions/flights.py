"""Products and stores of one group that are in flight while its program runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from twill.artifacts.program import Await, Program, issues_of
from twill.emit.memory.slots import Slots
from twill.lower.iterations import Iteration
from twill.lower.rounds import Pipelined, Round, Step

TRIAL_ROUNDS = 6  # after which what is in flight where repeats


@dataclass(frozen=True)
class Flights:
    """Products and stores in flight.

    Attributes
    ----------
    least : dict
        By round and place in it, how many younger ones an await may leave in flight.
    left : list
        Products in flight when the loop ends.
    over : frozenset
        Products in flight where a round begins.
    entered : frozenset
        Products in flight where the first round of the steady state begins, with their iterations.
    holders : dict
        By round and place in it, the product in flight that adds to what an await waits for, and
        so has its registers.
    stores : bool
        Whether stores are in flight when the loop ends; no block may end before they are over.
    """

    least: dict[tuple[Iteration, int], int]
    left: list[str]
    over: frozenset[str]
    entered: frozenset[tuple[str, int]]
    holders: dict[tuple[Iteration, int], str]
    stores: bool


def flights_of(slots: Slots, program: Program, parts: Pipelined) -> Flights:
    """Execute the program for some iterations, as far as what is in flight is concerned."""
    least: dict[tuple[Iteration, int], int] = {}
    holders: dict[tuple[Iteration, int], str] = {}
    flying: dict[str, list[tuple[str, int]]] = {"mma": [], "store": []}
    over: set[str] = set()
    entered: frozenset[tuple[str, int]] | None = None
    trips = max(TRIAL_ROUNDS, 2 * program.last_stage + 2)
    for of, i in _walk(parts, trips):
        if of is parts.steady:
            over |= {name for name, _ in flying["mma"]}
            entered = frozenset(flying["mma"]) if entered is None else entered
        for k, step in enumerate(of.steps):
            for name, iteration in _begun(step, i, trips):
                if is_counted(slots, name):
                    flying[slots.operations[name].kind].append((name, iteration))
            if not isinstance(step.instruction, Await):
                continue
            name = step.instruction.operation
            there = flying.get(slots.operations[name].kind, [])
            key = (name, _value(step.iteration, i, trips))
            if key in there:
                younger = len(there) - 1 - there.index(key)
                place = (of.number, k)
                least[place] = min(least.get(place, younger), younger)
                holder = _holder(slots, key, there[len(there) - younger :])
                if holder is not None:
                    holders[place] = holder
                flying[slots.operations[name].kind] = there[len(there) - younger :]
    left = list(dict.fromkeys(name for name, _ in flying["mma"]))
    stores = bool(flying["store"])
    return Flights(least, left, frozenset(over), entered or frozenset(), holders, stores)


def _holder(slots: Slots, product: tuple[str, int], younger: list[tuple[str, int]]) -> str | None:
    """Return the last of younger products that adds to a product's result, if one does."""
    found: str | None = None
    for name, iteration in younger:
        chained = [
            d.producer == product[0] and d.distance == iteration - product[1]
            for d in slots.schedule.loop.dependences
            if d.consumer == name and d.in_place
        ]
        if any(chained):
            found, product = name, (name, iteration)
    return found


def is_counted(slots: Slots, name: str) -> bool:
    """Return whether a group waits for an operation by the number of younger ones."""
    operation = slots.operations[name]
    if operation.kind == "mma":
        return slots.in_registers(name)
    return operation.kind == "store" and operation.attributes.get("engine") == "tma"


def _walk(parts: Pipelined, trips: int) -> Iterator[tuple[Round, int]]:
    yield from ((of, 0) for of in parts.prologue)
    if parts.steady is not None:
        yield from ((parts.steady, i) for i in range(parts.first, trips))
    yield from ((of, 0) for of in parts.epilogue)


def _begun(step: Step, i: int, trips: int) -> Iterator[tuple[str, int]]:
    parts = issues_of(step.instruction)
    for part in parts:
        if part.first:
            at = step.iteration.minus(part.stage - parts[0].stage)
            yield part.operation, _value(at, i, trips)


def _value(iteration: Iteration, i: int, trips: int) -> int:
    return {"i": i, "n": trips, "": 0}[iteration.base] + iteration.offset
