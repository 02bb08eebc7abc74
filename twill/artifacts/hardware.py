"""The hardware of one SM: units, memories, registers, warps, signals; numbers have sources."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, PositiveInt, model_validator

from twill.artifacts.base import Part
from twill.artifacts.loop import Name, Tile

Text = Annotated[str, Field(min_length=1)]
EIGHTHS = 8  # of the issue rate of all contexts, in which issue slots are counted
MOST_GROUPS = 64
MOST_UNITS = 64
MOST_COUNT = 1 << 20
HALVES = 2  # of the lanes of a column of TMEM, as tiles with few rows take them
CELL_BITS = 32  # of a column of TMEM in one lane; what the unit of its capacity means


class Quantity(Part):
    """A number with its unit and its source."""

    value: Annotated[float, Field(ge=0)]
    unit: Text
    source: Text


class Count(Part):
    """A whole positive number, up to a million or so, with its unit and its source."""

    value: Annotated[PositiveInt, Field(le=MOST_COUNT)]
    unit: Text
    source: Text


class Cycles(Part):
    """A cost in whole cycles with its source."""

    value: Annotated[int, Field(ge=0, le=1 << 40)]
    source: Text


class CommandQueue(Part):
    """Commands that wait for an asynchronous unit; a further one waits until there is room.

    `depth`: commands that fit, the one in execution not counted.
    """

    depth: Count
    source: Text


class Proxy(Part):
    """The proxy through which a unit's asynchronous operations reach shared memory.

    `name`: ``async``: what warps read and wrote there before needs a fence to be ordered with it.
    """

    name: Literal["async"]
    source: Text


class Unit(Part):
    """A kind of functional unit.

    `capacity`: instances, or shares of one, that can be in use in a cycle.
    `unit`: the name of an instance.
    `scope`: ``context`` if each issue context has its own part, ``sm`` if the SM has one.
    `in_order`: whether it executes asynchronous operations strictly in the order of their issue, so
    that an accumulation may follow on it without a wait.
    `queue`: of an asynchronous unit; without it commands are taken in the order of their issue and
    as many as come.
    `in_flight`: bytes that may be on their way at once, from the start of a command until its
    result is there.
    `proxy`: of its asynchronous operations; without it they access shared memory as warps do.
    """

    capacity: PositiveInt
    unit: Text
    scope: Literal["context", "sm"] = "sm"
    in_order: bool = False
    queue: CommandQueue | None = None
    in_flight: Count | None = None
    proxy: Proxy | None = None
    source: Text


class SharedMemory(Part):
    """SMEM, addressed in bytes.

    `capacity`: bytes that a thread block has.
    `set_aside`: bytes of these that values do not get: for barriers, and for what compilers keep
    there.
    `alignment`: bytes; every address is a multiple.
    `swizzle`: bytes after which the pattern repeats in which operands are stored; the address of a
    slot of at least so many is a multiple.
    """

    capacity: PositiveInt
    unit: Literal["bytes"]
    set_aside: Count | None = None
    alignment: Count
    swizzle: Count
    source: Text

    @model_validator(mode="after")
    def _leaves_room(self) -> SharedMemory:
        if self.available <= 0:
            raise ValueError(f"less than the capacity of {self.capacity} is set aside")
        return self

    @property
    def available(self) -> int:
        """Bytes that values can have."""
        return self.capacity - (self.set_aside.value if self.set_aside else 0)

    @property
    def room(self) -> int:
        """Capacity for values in the unit of `footprint`."""
        return self.available

    def footprint(self, tile: Tile) -> int:
        """Return the bytes that a tile takes."""
        return tile.bytes

    def slot_size(self, tile: Tile) -> int:
        """Return the bytes that a tile takes."""
        return tile.bytes

    def step(self, size: int) -> int:
        """Return what the address of a slot of so many bytes is a multiple of."""
        return (self.swizzle if size >= self.swizzle.value else self.alignment).value


class TensorMemory(Part):
    """TMEM, addressed in columns; a cell of a column, one for each lane, has 32 bits.

    `capacity`: columns that a program has.
    `lanes`: lanes of a column.
    `half`: rows of a tile up to which it takes half of the lanes of its columns, so that another
    one fits into the other half.
    """

    capacity: PositiveInt
    unit: Literal["columns"]
    lanes: Count
    half: Count
    source: Text

    @property
    def available(self) -> int:
        """Columns that values can have."""
        return self.capacity

    @property
    def room(self) -> int:
        """Capacity for values in the unit of `footprint`."""
        return self.available * HALVES

    def halved(self, tile: Tile) -> bool:
        """Return whether a tile takes half of the lanes of its columns; a vector does not."""
        return len(tile.shape) > 1 and math.prod(tile.shape[:-1]) <= self.half.value

    def slot_size(self, tile: Tile) -> int:
        """Return the columns that a tile takes."""
        width = tile.shape[-1] if tile.shape else 1
        deep = -(-math.prod(tile.shape[:-1]) // self.lanes.value)
        return deep * -(-width * tile.bits // CELL_BITS)

    def footprint(self, tile: Tile) -> int:
        """Return the columns that a tile takes, those of half of the lanes counted once."""
        return self.slot_size(tile) * (1 if self.halved(tile) else HALVES)

    def step(self, _size: int) -> int:
        """Return what the address of a slot is a multiple of: a tile may begin at any column."""
        return 1


class Memories(Part):
    """Memories in which values have addresses, as far as the machine has them."""

    smem: SharedMemory | None = None
    tmem: TensorMemory | None = None

    @property
    def by_name(self) -> dict[str, SharedMemory | TensorMemory]:
        """Memories of this machine, by name."""
        both = {"smem": self.smem, "tmem": self.tmem}
        return {name: memory for name, memory in both.items() if memory is not None}


class Registers(Part):
    """The register file and how it is handed out.

    `file`: 32-bit registers of the SM.
    `limit`: most registers that one thread can use.
    `step`, `least`, `most`: registers per thread are allocated in multiples of `step` from `least`
    to `most`.
    `warps`: aligned warps that share one allocation.
    `launch`: a launch gives every thread the same registers, a multiple of this and at most `most`,
    which groups share out again. Without it they share out the whole file.
    `reserve`: registers per thread kept for addresses, descriptors and loop counters.
    `product`: registers per thread that a group keeps in addition, once, if it issues products that
    leave their results in its registers.
    """

    file: Count
    limit: Count
    step: Count
    least: Count
    most: Count
    warps: Count
    launch: Count | None = None
    reserve: Quantity
    product: Count | None = None


class GroupPool(Part):
    """How many warp groups of one width a program may use."""

    warps: Annotated[PositiveInt, Field(le=MOST_GROUPS)]
    count: Annotated[PositiveInt, Field(le=MOST_GROUPS)]
    source: Text


class Synchronisation(Part):
    """Costs of signals between warp groups, in cycles.

    `wait`: a blocking wait on a barrier whose phase is already complete.
    `arrive`: issue time of an arrive.
    `hop`: from the issue of an arrive until a blocked waiter goes on; both of the above included.
    `poll`: from one test of a polling wait to the next.
    `named`: the same for named barriers; as above without it.
    `transactions`: bytes that a phase can still expect, or have been given too early, at most;
    required where there is SMEM, in which barriers count them.
    """

    wait: Cycles
    arrive: Cycles
    hop: Cycles
    poll: Cycles | None = None
    named: Synchronisation | None = None
    transactions: Count | None = None

    @property
    def most_expected(self) -> int | None:
        """Bytes that a phase of a barrier can expect, None for any number."""
        return None if self.transactions is None else self.transactions.value


class Level(Part):
    """A level of the memory system that loads are served from.

    Its data is `further` away by so many cycles than that of the nearest level, whose latency is
    the nominal one. The level serves a `share` of the loads by default, at a `rate` in bytes a
    cycle for one SM; without a rate as fast as the loading unit.
    """

    name: Name
    further: Quantity
    share: Quantity
    rate: Quantity | None = None


class Products(Part):
    """Shapes that one matrix product instruction can have.

    `rows`: rows of the result; a tile's rows are a multiple of one of them.
    `column_step`, `most_columns`: columns of the result are a multiple of the one and no more than
    the other.
    `depth_bytes`: bytes along the depth of either factor; a tile's depth is a multiple. Absent:
    any.
    `warps`: warps that execute one together, where its result is in their registers: so many have
    the result's rows, others further ones. Absent: all warps of an operation.
    """

    rows: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    column_step: PositiveInt
    most_columns: PositiveInt
    depth_bytes: PositiveInt | None = None
    warps: PositiveInt | None = None
    source: Text
