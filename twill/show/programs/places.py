"""Where values lie in a program's text: plain names, rings, rotating names.

Memory is indexed by the iteration modulo its slots. Registers cannot be: a value of which two
instances live has two names, ``S`` and ``S_next``, and ``S = S_next`` at the end of a round stands
for what a compiler does by unrolling (the paper's Figure 1f, modulo variable expansion).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from twill.artifacts.loop import Dependence, Operation
from twill.artifacts.schedule import Schedule, Storage
from twill.show.programs.rounds import Iteration

MOST_ROTATING = 3
NEXT = "_next"


@dataclass(frozen=True)
class Place:
    """Where the instances of a value lie, for one who reads or writes them.

    Attributes
    ----------
    name : str
        What it is called.
    slots : int or None
        Instances that fit; None for a value that occupies nothing, of which every one is told
        apart.
    rotating : bool
        Whether the slots are names and not indices.
    stage : int
        Of the operation that makes it, for rotating names.
    oldest : int
        Rounds after which it is read last, for rotating names.
    carried : int
        Iterations before the first from which the loop reads it.
    """

    name: str
    slots: int | None
    rotating: bool = False
    stage: int = 0
    oldest: int = 0
    carried: int = 0

    def text(self, iteration: Iteration, number: Iteration) -> str:
        """Return how an instance is called in a round."""
        if self.rotating:
            return self._rotated(self.age(iteration, number))
        return f"{self.name}{ring(iteration, self.slots)}"

    def age(self, iteration: Iteration, number: Iteration) -> int:
        """Return by how many rounds an instance is older than what the round makes.

        The first instance goes where the next round looks for it, if nothing else is there.
        """
        since = number.offset
        if not number.base:
            since = max(since, self.stage)
        age = since - self.stage - iteration.offset
        return age + 1 if self.first_round(number) else age

    def first_round(self, number: Iteration) -> bool:
        """Return whether nothing is there before what the round makes."""
        return not number.base and not self.carried and number.offset == self.stage

    def rotations(
        self, number: Iteration, iterations: int | None, last: int
    ) -> Iterator[tuple[str, str]]:
        """Yield the renamings at the end of a round: new name, old name.

        `last`: the program's last stage; the round after the last one needs nothing.
        """
        begun = bool(number.base) or number.offset >= self.stage
        if not self.rotating or not begun or self.first_round(number):
            return
        for age in reversed(range(self.oldest)):
            iteration = number.minus(self.stage + age)
            over = iteration.base == "n" and iteration.offset >= 0
            if not iteration.base:
                over = iterations is not None and iteration.offset >= iterations
                over |= iteration.offset < -self.carried
            at_end = number.base == "n" and number.offset == last - 1
            if not over and not at_end:
                yield self._rotated(age + 1), self._rotated(age)

    def _rotated(self, age: int) -> str:
        return self.name + NEXT * (self.oldest - age)


def ring(iteration: Iteration, slots: int | None) -> str:
    """Return the index of an iteration's slot in brackets; nothing where there is one slot."""
    index = slot(iteration, slots)
    return "" if index == "0" and slots == 1 else f"[{index}]"


def slot(iteration: Iteration, slots: int | None) -> str:
    """Return the index of an iteration's slot."""
    if slots is None:
        return str(iteration)
    if slots == 1:
        return "0"
    if not iteration.base:
        return str(iteration.offset % slots)
    return f"{_bracketed(iteration)} % {slots}"


def phase(iteration: Iteration, slots: int) -> str:
    """Return the parity of a barrier's phase of an iteration."""
    if not iteration.base:
        return str(iteration.offset // slots & 1)
    if slots == 1:
        return f"{_bracketed(iteration)} & 1"
    return f"({_bracketed(iteration)} // {slots}) & 1"


def _bracketed(iteration: Iteration) -> str:
    return f"({iteration})" if iteration.offset else str(iteration)


@dataclass(frozen=True)
class Operand:
    """Something that an operation reads.

    Attributes
    ----------
    place : Place or None
        Where a value of the loop lies; None for what comes from outside.
    distance : int
        Iterations back.
    name : str
        Of what comes from outside; ``[i]`` in it is the iteration.
    """

    place: Place | None
    distance: int = 0
    name: str = ""


class Places:
    """All places of a schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._group = schedule.assignment
        self._operations = {operation.name: operation for operation in schedule.loop.operations}
        self._data = [d for d in schedule.loop.dependences if d.kind == "data"]

    @cached_property
    def _storage(self) -> dict[tuple[str, bool, str | None, int], Storage]:
        return {(s.value, s.transfer, s.reader, s.distance): s for s in self._schedule.storage}

    @cached_property
    def _stages(self) -> dict[str, set[int]]:
        found: dict[str, set[int]] = defaultdict(set)
        for program in self._schedule.programs:
            for part in program.issues:
                found[part.operation].add(part.stage)
        return found

    def result(self, value: str) -> Place:
        """Return where an operation puts its result."""
        storage = self._storage.get((value, False, None, 0))
        carried = max((d.distance for d in self._data if d.producer == value), default=0)
        if storage is None:
            return Place(value, None, carried=carried)
        ages, stages = self._ages(value), self._stages[value]
        rotating = (
            storage.memory == "registers"
            and 1 < storage.slots <= MOST_ROTATING
            and len(stages) == 1
            and storage.slots == max(ages, default=0) + 1
        )
        if not rotating:
            return Place(value, storage.slots, carried=carried)
        return Place(
            value,
            storage.slots,
            rotating=True,
            stage=min(stages),
            oldest=max(ages),
            carried=carried,
        )

    def _ages(self, value: str) -> list[int]:
        """Return how many rounds after its own round a value is read, by readers of its group."""
        made = min(self._stages[value], default=0)
        return [
            stage + d.distance - made
            for d in self._data
            if d.producer == value and self._group[d.consumer] == self._group[value]
            for stage in self._stages[d.consumer]
        ]

    def staging(self, value: str) -> Place:
        """Return where a register value is staged for other groups."""
        storage = self._storage.get((value, True, None, 0))
        return Place(f"{value}.staging", storage.slots if storage else None)

    def copy(self, value: str, reader: str, distance: int) -> Place:
        """Return where another group's reader has its copy of a register value.

        `distance`: iterations by which it is later than the value.
        """
        storage = self._storage.get((value, False, reader, distance))
        later = f".{distance}_later" if distance else ""
        name = f"{value}.for.{reader}{later}"
        return Place(name, storage.slots if storage else None, carried=distance)

    def read(self, dependence: Dependence) -> Place:
        """Return where the consumer of a dependence finds the value."""
        value, reader = dependence.producer, dependence.consumer
        storage = self._storage.get((value, False, None, 0))
        in_registers = storage is not None and storage.memory == "registers"
        if in_registers and self._group[value] != self._group[reader]:
            return self.copy(value, reader, dependence.distance)
        return self.result(value)

    def operands(self, operation: Operation) -> list[Operand]:
        """Return what an operation reads, in the order of its operands."""
        found: list[tuple[int, Operand]] = [
            (len(operation.operands) if d.operand is None else d.operand,
             Operand(self.read(d), d.distance))
            for d in self._data if d.consumer == operation.name
        ]  # fmt: skip
        found += [
            (read.operand, Operand(None, name=invariant.name))
            for invariant in self._schedule.loop.invariants
            for read in invariant.reads
            if read.operation == operation.name
        ]
        for number in range(len(operation.operands)):
            name = operation.attributes.get(f"operand{number}")
            if isinstance(name, str):
                found.append((number, Operand(None, name=name)))
        return [operand for _, operand in sorted(found, key=lambda entry: entry[0])]

    def accumulates(self, operation: Operation) -> bool:
        """Return whether an operation adds to its own result of the iteration before."""
        return any(
            d.producer == d.consumer == operation.name and d.in_place and d.distance == 1
            for d in self._data
        )

    def initial(self, group: str | None) -> list[tuple[str, str]]:
        """Return names and kinds of what the loop reads from before its first iteration."""
        found: dict[str, str] = {}
        for d in self._data:
            place = self.read(d)
            kept: str | None = self._group[d.producer if place.name == d.producer else d.consumer]
            if self._in_memory(d.producer) and place.name == d.producer:
                kept = None
            if kept != group:
                continue
            kind = self._operations[d.producer].kind
            for before in range(d.distance, 0, -1):
                found[place.text(Iteration("", -before), Iteration("", 0))] = kind
        return list(found.items())

    def _in_memory(self, value: str) -> bool:
        storage = self._storage.get((value, False, None, 0))
        return storage is not None and storage.memory != "registers"
