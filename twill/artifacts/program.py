"""Programs of groups: instructions in order, their slots and their barriers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from twill.artifacts.base import Part, check_unique, refuse
from twill.artifacts.loop import MOST_DISTANCE, Label, Many, Name

MOST_INSTRUCTIONS = 100_000
Stage = Annotated[int, Field(ge=0, le=MOST_DISTANCE)]
Distance = Annotated[int, Field(ge=0, le=MOST_DISTANCE)]  # iterations that something was before
# Iterations that something was before or, if negative, comes after.
EitherWay = Annotated[int, Field(ge=-MOST_DISTANCE, le=MOST_DISTANCE)]
Slots = Annotated[int, Field(ge=1, le=MOST_DISTANCE)]
LaneHalf = Annotated[int, Field(ge=0, le=1)]  # which half of the lanes of TMEM


class Storage(Part):
    """Slots that hold the instances of a value; iteration i uses slot i mod `slots`.

    `value`: the operation whose result it holds.
    `memory`: ``registers`` (of `group`), ``smem`` or ``tmem``.
    `group`: the group whose registers hold it.
    `transfer`: whether it is the SMEM staging of a register value read by another group.
    `reader`: for the copy that another group makes of a register value: the operation that reads
    it.
    `distance`: and that many iterations later: of each distance a reader has a copy of its own.
    `slots`: instances that fit.
    `size`: registers per thread, bytes or columns of one slot.
    `addresses`: of every slot, in bytes or columns; absent where memory is not limited.
    `halves`: for tiles of at most 64 rows in TMEM: which half of the lanes of its columns every
    slot takes. Such a slot leaves the other half free.
    """

    value: Name
    memory: Literal["registers", "smem", "tmem"]
    group: Name | None = None
    transfer: bool = False
    reader: Name | None = None
    distance: Distance = 0
    slots: Slots
    size: NonNegativeInt
    addresses: tuple[NonNegativeInt, ...] = ()
    halves: tuple[LaneHalf, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key, given in (("addresses", self.addresses), ("halves", self.halves)):
            if given and len(given) != self.slots:
                raise refuse(key, f"one for each of {self.slots} slots (got {len(given)})")
        if self.halves and self.memory != "tmem":
            raise refuse("halves", f"{self.memory} has no halves")
        if self.distance and self.reader is None:
            raise refuse("distance", f"of a copy with a reader (got {self.distance} without one)")
        return self


class Fixed(Part):
    """Memory that an invariant occupies throughout the loop."""

    name: Name
    memory: Literal["smem", "tmem"]
    size: PositiveInt
    address: NonNegativeInt | None = None
    half: LaneHalf | None = None


class Barrier(Part):
    """A barrier for each of `slots` slots.

    Iteration i uses slot i mod `slots`; its phase completes when `arrivals` groups (or asynchronous
    units) have arrived.

    `kind`: ``named`` for a named barrier: a wait arrives as well (``bar.sync``), an arrive does not
    wait (``bar.arrive``). Without it an mbarrier.
    `transactions`: whether asynchronous operations that signal it deliver the bytes of their
    results, which an arrive announces (``expect``), and do not arrive.
    """

    name: Label
    slots: Slots
    arrivals: Slots = 1
    kind: Literal["named"] | None = None
    transactions: bool | None = None


Barriers = Annotated[tuple[Barrier, ...], Many]


class Issue(Part):
    """Execute an operation, or the part of it between two of its issue cycles.

    `stage`: in round j of the program it concerns iteration j - stage; nothing happens if the loop
    has no such iteration.
    `begin`, `end`, `of`: the part from cycle `begin` to before cycle `end` of the `of` cycles that
    issuing it takes; without them the whole.
    `signals`: barriers at which the operation's completion arrives by itself.
    """

    do: Literal["issue"] = "issue"
    operation: Name
    stage: Stage = 0
    begin: NonNegativeInt | None = None
    end: PositiveInt | None = None
    of: PositiveInt | None = None
    signals: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        match self.begin, self.end, self.of:
            case (None, None, None):
                return self
            case (int(begin), int(end), int(of)) if begin < end <= of:
                return self
        got = f"got begin {self.begin}, end {self.end}, of {self.of}"
        raise refuse("begin", f"a part needs begin < end <= of ({got})")

    @property
    def first(self) -> bool:
        """Whether the operation begins with this part."""
        return not self.begin

    @property
    def last(self) -> bool:
        """Whether the operation is issued completely with this part."""
        return self.end == self.of


class Interleave(Part):
    """Parts of several operations whose instructions alternate in proportion."""

    do: Literal["interleave"] = "interleave"
    parts: Annotated[tuple[Issue, ...], Field(min_length=2)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        parts = [f"{part.operation} of stage {part.stage}" for part in self.parts]
        check_unique("parts", "operation", parts)
        return self


class Await(Part):
    """Block until an asynchronous operation of this group has completed."""

    do: Literal["await"] = "await"
    operation: Name
    stage: Stage = 0
    distance: EitherWay = 0


class Wait(Part):
    """Block until the barrier's phase of iteration j - stage - distance is complete.

    A negative distance waits for a later iteration, as where groups take turns on a unit; there is
    no wait for an iteration that the loop does not have. A `polling` warp tests the barrier again
    and again (``test_wait``) and does not sleep.
    """

    do: Literal["wait"] = "wait"
    barrier: Label
    stage: Stage = 0
    distance: EitherWay = 0
    polling: bool | None = None


class Arrive(Part):
    """Arrive at the barrier's phase of iteration j - stage - distance.

    The phase is to `expect` so many bytes in addition to the arrivals (``arrive.expect_tx``), at
    most the machine's `Synchronisation.transactions`.
    """

    do: Literal["arrive"] = "arrive"
    barrier: Label
    stage: Stage = 0
    distance: Distance = 0
    expect: PositiveInt | None = None


class Put(Part):
    """Write a register value of this group to its SMEM staging."""

    do: Literal["put"] = "put"
    value: Name
    stage: Stage = 0


class Get(Part):
    """Read a register value of another group from its SMEM staging, for one operation.

    `stage`: the value is that of iteration j - stage.
    `distance`: iterations by which the reader is later than the value: the distance of the
    dependence.
    """

    do: Literal["get"] = "get"
    value: Name
    reader: Name
    stage: Stage = 0
    distance: Distance = 0


class Fence(Part):
    """Order accesses to shared memory that the group did, or knows of, before asynchronous units.

    That is a proxy fence (``fence.proxy.async``): it concerns those accesses of asynchronous units
    that come to know of it, by issues, arrives and waits.
    """

    do: Literal["fence"] = "fence"
    stage: Stage = 0


# An instruction that is not interleaved with others.
Single = Issue | Await | Wait | Arrive | Put | Get | Fence
Instruction = Annotated[Interleave | Single, Field(discriminator="do")]


def singles(instruction: Instruction) -> tuple[Single, ...]:
    """Return the instructions that are interleaved, or the only one."""
    return instruction.parts if isinstance(instruction, Interleave) else (instruction,)


def issues_of(instruction: Instruction) -> tuple[Issue, ...]:
    """Return the issues that an instruction consists of; none for synchronisation."""
    return tuple(part for part in singles(instruction) if isinstance(part, Issue))


def arrivals_of(instruction: Instruction) -> tuple[str, ...]:
    """Return the barriers at which an instruction, or the completion of its issues, arrives."""
    if isinstance(instruction, Arrive):
        return (instruction.barrier,)
    return tuple(signal for part in issues_of(instruction) for signal in part.signals)


def references(instruction: Instruction) -> Iterator[tuple[str, str, str]]:
    """Yield the key, the name, and what it is of, of all that an instruction refers to."""
    match instruction:
        case Wait() | Arrive():
            yield "barrier", instruction.barrier, "barrier"
        case Await():
            yield "operation", instruction.operation, "operation"
        case Put():
            yield "value", instruction.value, "operation"
        case Get():
            yield "value", instruction.value, "operation"
            yield "reader", instruction.reader, "operation"
        case Issue():
            yield "operation", instruction.operation, "operation"
            yield from (("signals", signal, "barrier") for signal in instruction.signals)
        case Interleave():
            for part in instruction.parts:
                yield from references(part)


class Program(Part):
    """The instructions of a warp group, in order, in each round j = 0, 1, ...

    Rounds in which some iterations are still or already missing are the prologue and the epilogue.
    """

    group: Name
    body: Annotated[tuple[Instruction, ...], Field(max_length=MOST_INSTRUCTIONS)]

    @cached_property
    def issues(self) -> tuple[Issue, ...]:
        """Every issue of the body, those inside interleaved blocks included."""
        return tuple(part for instruction in self.body for part in issues_of(instruction))

    @property
    def last_stage(self) -> int:
        """Largest stage, hence rounds that follow the last iteration's first."""
        return max((part.stage for i in self.body for part in singles(i)), default=0)
