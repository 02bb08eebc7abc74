"""The loop artifact: operations, dependences and values of one tile loop (``loop.json``)."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt, model_validator

from twill.artifacts.base import Artifact, Part, check_known, check_unique, checked_name, refuse
from twill.base.errors import short
from twill.base.names import MOST_LABEL, MOST_NAME

FloatType = Literal["f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "f4e2m1"]
ElementType = Literal[FloatType, "i64", "i32", "i16", "i8", "i1"]
MemoryName = Literal["registers", "smem", "tmem", "none"]
DependenceKind = Literal["data", "anti", "order"]
Axes = tuple[NonNegativeInt | None, ...]
MOST_CYCLES, MOST_EXTENT, MOST_ELEMENTS = 1 << 22, 1 << 20, 1 << 28
MOST_DISTANCE = 1 << 16
MOST_WARPS = 64
MOST_OPERATIONS = 4096  # the solvers' tables grow with its square
Many = Field(max_length=1 << 16)
Visible = AfterValidator(checked_name)
Name = Annotated[str, Field(min_length=1, max_length=MOST_NAME), Visible]
# A name that is made of names.
Label = Annotated[str, Field(min_length=1, max_length=MOST_LABEL), Visible]
ExactInt = Annotated[int, Field(ge=1, le=MOST_CYCLES)]
Delay = Annotated[int, Field(ge=0, le=MOST_CYCLES)]

ELEMENT_BITS = {
    **dict.fromkeys(("f64", "i64"), 64),
    **dict.fromkeys(("f32", "i32"), 32),
    **dict.fromkeys(("f16", "bf16", "i16"), 16),
    **dict.fromkeys(("f8e4m3", "f8e5m2", "i8", "i1"), 8),
    "f4e2m1": 4,
}
REGISTER_BITS = 32


class Tile(Part):
    """A tile of elements and the memory it lives in.

    `shape`: elements along each dimension; ``()`` for a scalar.
    `memory`: ``registers`` (spread over the warps of its operation), ``smem``, ``tmem`` or
    ``none``.
    `elements_per_thread`: elements that one thread holds, replicas counted; without it an even
    spread is assumed.
    """

    shape: tuple[Annotated[PositiveInt, Field(le=MOST_EXTENT)], ...]
    dtype: ElementType
    memory: MemoryName = "none"
    elements_per_thread: Annotated[PositiveInt, Field(le=MOST_EXTENT)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.elements > MOST_ELEMENTS:
            raise refuse(
                "shape", f"no tile has more than {MOST_ELEMENTS} elements (got {list(self.shape)})"
            )
        return self

    @property
    def bits(self) -> int:
        """Bits of one element as stored."""
        return ELEMENT_BITS[self.dtype]

    @property
    def elements(self) -> int:
        """Elements in the tile."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes of the tile in memory."""
        return -(-self.elements * self.bits // 8)

    @property
    def rows(self) -> int:
        """Rows of the tile; the elements of its last dimension are contiguous."""
        return math.prod(self.shape[:-1])

    @property
    def row_bytes(self) -> int:
        """Bytes of one row in memory."""
        return -(-(self.shape[-1] if self.shape else 1) * self.bits // 8)

    def elements_each(self, threads: int) -> int:
        """Elements that each thread holds where its operation has so many threads."""
        return self.elements_per_thread or -(-self.elements // threads)

    def registers_each(self, threads: int) -> int:
        """Registers per thread where its operation has so many threads."""
        return -(-self.elements_each(threads) * self.bits // REGISTER_BITS)


class Step(Part):
    """Work of one operation on one functional unit.

    `unit`: name of a functional unit of the machine.
    `cycles`: cycles for which the unit works for this operation.
    `instructions`: warp-instructions that each issue context it runs on executes for it, evenly
    spaced.
    `count`: instances of the unit in use during these cycles.
    """

    unit: Name
    cycles: ExactInt
    instructions: ExactInt = 1
    count: ExactInt = 1


class Cost(Part):
    """The cost of an operation on one machine, in clock cycles.

    `steps`: work on functional units. The steps of a synchronous operation follow each other, those
    of an asynchronous one run side by side.
    `asynchronous`: whether a unit other than the issuing warps executes it, so that reading the
    result takes a blocking wait.
    `issue`: cycles for which the warp group is busy issuing an asynchronous operation. A
    synchronous one keeps its group busy for the sum of its steps.
    `latency`: cycles from issue until the result can be read (the wait included).
    `working_set`: registers per thread needed while it runs, operands and result not counted.
    `transfer`: further cycles before a consumer on another warp group may issue.
    `variable_latency`: whether `latency` is only nominal because memory decides.
    """

    steps: tuple[Step, ...] = Field(min_length=1)
    asynchronous: bool = False
    issue: Delay = 0
    latency: Delay
    working_set: Delay = 0
    transfer: Delay = 0
    variable_latency: bool = False


class Operation(Part):
    """A tile-level instruction of the loop body.

    `name`: unique in the loop.
    `kind`: the kind for which machines have rules: ``mma``, ``load``, ``reduce``, ``exp2``, ...
    `warps`: warps that execute it together.
    `operands`: its operands, in order; operand 0 and 1 of an ``mma`` are its factors.
    `elementwise`: whether each result element depends on the same element of the operands only, so
    that the result may take over the registers of one operand.
    `attributes`: further facts that rules may use, for example ``combine`` of a reduction.
    `location`: ``file:line:column`` in the user's source.
    `cost`: a cost that replaces the machine's rule.
    """

    name: Name
    kind: Name
    warps: Annotated[PositiveInt, Field(le=MOST_WARPS)] = 4
    operands: tuple[Tile, ...] = ()
    result: Tile | None = None
    elementwise: bool = False
    attributes: dict[str, str | bool | int | float] = {}
    location: str | None = None
    cost: Cost | None = None


class Dependence(Part):
    """`consumer` of iteration i follows `producer` of iteration i - distance.

    `distance`: iterations between the two (the paper's delta).
    `kind`: ``data`` (the consumer reads the producer's result), ``anti`` (the consumer overwrites
    what the producer reads) or ``order``.
    `operand`: which operand of the consumer it is.
    `axes`: for each dimension of the producer's result the dimension of that operand along which it
    lies, None where a view has mixed it with others. Without it the two are laid out alike.
    `in_place`: whether the consumer updates the producer's result where it lies (an accumulator).
    `delay`: least cycles from issue to issue, in place of the producer's latency (the paper's d).
    `blocking`: whether the consumer executes a blocking wait, in place of the rule.
    """

    producer: Name
    consumer: Name
    distance: Annotated[NonNegativeInt, Field(le=MOST_DISTANCE)] = 0
    kind: DependenceKind = "data"
    operand: NonNegativeInt | None = None
    axes: Axes | None = None
    in_place: bool = False
    delay: Delay | None = None
    blocking: bool | None = None


class Read(Part):
    """Where an operation reads an invariant (see `Dependence` for `operand` and `axes`)."""

    operation: Name
    operand: NonNegativeInt
    axes: Axes | None = None


class Invariant(Part):
    """A value that lives across the whole loop, used by operations.

    In registers it occupies every group that holds one of them; `reads` are as which operands they
    read it, where that is known.
    """

    name: Name
    tile: Tile
    used_by: tuple[Name, ...] = ()
    reads: tuple[Read, ...] = ()


class Folded(Part):
    """An operation of the source that is none of the loop's: others do its work.

    A free operation is folded into its consumers, a product into the sum that it was fused with.
    Others are folded into their access, or into the operation that goes through tensor memory.
    """

    name: Name
    kind: Name
    into: tuple[Name, ...] = ()


class Origin(Part):
    """Where a loop came from, with counts to check an extraction against.

    The function, the architecture (``sm_90``), the compiler (``triton 3.9.0``), the loop's
    induction variable and its place in the user's source. Nodes are the operations of the body and
    edges the uses between them, as written and after folding of free operations.
    """

    kernel: str
    architecture: str | None = None
    compiler: str | None = None
    loop: str | None = None
    location: str | None = None
    nodes_as_written: NonNegativeInt | None = None
    edges_as_written: NonNegativeInt | None = None
    nodes_after_folding: NonNegativeInt | None = None
    edges_after_folding: NonNegativeInt | None = None


class Source(Part):
    """The kernel that a loop is part of: operands and coordinates, what is before and after.

    `text`: the kernel's TTGIR in MLIR's generic form.
    `loop`: which of its ``scf.for`` the loop is, in program order; if `joined`, with the next.
    `statements`: for each operation the positions, in the body of that loop, of what it computes.
    `shared_bytes`: of shared memory, that the kernel takes before and after the loop.
    """

    text: Annotated[str, Field(max_length=1 << 22)]
    loop: NonNegativeInt = 0
    statements: dict[Name, tuple[NonNegativeInt, ...]] = {}
    shared_bytes: PositiveInt | None = None
    joined: bool | None = None


class Loop(Artifact):
    """A singly-nested tile loop without inner control flow.

    Attributes
    ----------
    name : str
        For people and file names.
    description : str
        A sentence about the loop.
    operations : tuple of Operation
        The body in program order.
    dependences : tuple of Dependence
        Edges of the dependence graph.
    invariants : tuple of Invariant
        Values that occupy memory for the whole loop.
    folded : tuple of Folded
        Record of operations that are free, fused or absorbed.
    renamed : tuple of Dependence
        Record of anti-dependences through buffers that the source reuses. Schedules are
        free of them: every iteration has its own buffer where lifetimes overlap.
    origin : Origin, optional
        Provenance.
    source : Source, optional
        The kernel that a kernel is made of again; without it the loop ends at its schedule.
    """

    most_bytes = 16 * 1024 * 1024
    schema_name: Literal["twill.loop"] = Field("twill.loop", alias="schema")
    schema_version: Literal[1] = 1
    name: Name
    description: str = ""
    operations: Annotated[tuple[Operation, ...], Field(max_length=MOST_OPERATIONS)]
    dependences: Annotated[tuple[Dependence, ...], Many] = ()
    invariants: Annotated[tuple[Invariant, ...], Many] = ()
    folded: Annotated[tuple[Folded, ...], Many] = ()
    renamed: Annotated[tuple[Dependence, ...], Many] = ()
    origin: Origin | None = None
    source: Source | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.operations:
            raise refuse("operations", "the loop is empty (got [])")
        names = [operation.name for operation in self.operations]
        check_unique("operations", "name", names, "operation")
        self._check_ends(frozenset(names))
        for name in self.source.statements if self.source is not None else ():
            check_known("source.statements", name, frozenset(names), "operation")
        cycle = zero_distance_cycle(self.dependences)
        if cycle:
            message = f"a cycle of distance 0 can never execute: {' -> '.join(cycle)}"
            raise refuse("dependences", message)
        return self

    def _check_ends(self, names: Container[str]) -> None:
        for key, dependences in (("dependences", self.dependences), ("renamed", self.renamed)):
            for index, d in enumerate(dependences):
                check_known(f"{key}[{index}].producer", d.producer, names, "operation")
                check_known(f"{key}[{index}].consumer", d.consumer, names, "operation")
        for index, invariant in enumerate(self.invariants):
            path = f"invariants[{index}]"
            for position, name in enumerate(invariant.used_by):
                check_known(f"{path}.used_by[{position}]", name, names, "operation")
            for position, read in enumerate(invariant.reads):
                if read.operation not in invariant.used_by:
                    message = f"is not in used_by (got {short(read.operation)})"
                    raise refuse(f"{path}.reads[{position}].operation", message)

    @property
    def summary(self) -> str:
        """Its name and how large it is."""
        return f"{self.name}: {len(self.operations)} operations"

    def operation(self, name: str) -> Operation:
        """Return the operation called `name`; a KeyError says that there is none."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Operation]:
        return {operation.name: operation for operation in self.operations}


def zero_distance_cycle(dependences: Iterable[Dependence]) -> list[str]:
    """Return the operations of a cycle of distance 0, first one repeated at the end, or ``[]``."""
    graph = TopologicalSorter[str]()
    for dependence in dependences:
        if dependence.distance == 0:
            graph.add(dependence.consumer, dependence.producer)
    try:
        graph.prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
