"""Shared and tensor memory of a kernel: allocations, and values that share them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from twill.artifacts.program import Storage
from twill.base.errors import RefusedError
from twill.base.graphs import reached
from twill.emit import statements
from twill.emit.memory.slots import Slots
from twill.emit.source import SSAValue, loops
from twill.emit.tree import Allocation
from twill.frontends.ttgir.kinds import product_operands
from twill.lower.iterations import Iteration


class Kind(NamedTuple):
    """Memory, shape and element type of a buffer; its layout as the emitted file names it."""

    memory: str
    shape: tuple[int, ...]
    dtype: str
    layout: str

    @property
    def contents(self) -> str:
        """The buffer's contents, as arguments of its allocation."""
        return statements.contents(self.dtype, self.shape, self.layout)


def plain_layout(shape: tuple[int, ...]) -> str:
    """Return a layout of shared memory without swizzling."""
    order = list(range(len(shape)))[::-1]
    return f"gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order={order})"


def swizzle(columns: int, bits: int) -> tuple[int, int]:
    """Return how many numbers of a row stay together, and after how many rows the pattern repeats.

    Half a warp has eight numbers of each of four rows of a product's tile. If they stay together
    no two rows are in one bank, given four such parts of a row.
    """
    access = 16 // (bits // 8)
    part = max(8, access)
    if columns < 4 * part:
        part = access
    return part, max(1, min(8, columns // part))


class Allocations:
    """The buffers of one kernel."""

    def __init__(self, slots: Slots) -> None:
        self.slots, self.schedule, self.source = slots, slots.schedule, slots.source
        self.layouts = slots.layouts

    def every(self) -> Iterator[Allocation]:
        """Yield the allocations of shared and tensor memory for the loop's values."""
        shared = self.slots.shared
        pooled = self._pooled(shared)
        for number, size in {p: size for p, _, size in pooled.values()}.items():
            layout = "gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[0])"
            yield statements.shared_memory(f"pool{number}", f"gl.int8, [{size}], {layout}")
        for storage in shared:
            tile = self.slots.tile(storage.value)
            shape = [storage.slots, *(tile.shape or (1,))]
            element = "i8" if tile.dtype == "i1" else tile.dtype
            what = statements.contents(element, shape, self._shared_layout(storage))
            made = statements.shared_memory(self.slots.buffer(storage), what)
            if storage.value in pooled:
                number, begin, _ = pooled[storage.value]
                size = storage.size * storage.slots
                part = f"pool{number}.slice({begin}, {size}).reinterpret({what})"
                made = Allocation(made.target, part)
            yield made
        for value in self.left_before:
            kind = self.source.type_of(value)
            what = statements.contents(kind.dtype, kind.shape, plain_layout(kind.shape))
            yield statements.shared_memory(self.begun(value), what)
        yield from self._tensor_allocations()
        for operation in self.schedule.loop.operations:
            for role, name in self.scales(operation.name).items():
                statement = self.slots.first(operation.name, "mma_scaled")
                kind = self.source.type_of(
                    statement.operands[product_operands(statement)[role] or 0]
                )
                what = statements.contents(kind.dtype, kind.shape, "TensorMemoryScalesLayout()")
                yield statements.tensor_memory(name, what)

    def scales(self, operation: str) -> dict[str, str]:
        """Return the tensor memory of a product's scales, if it has some."""
        if self.slots.operations[operation].kind != "mma_scaled":
            return {}
        return {
            role: f"{self.slots.names(operation)}_{role}_tmem" for role in ("a_scale", "b_scale")
        }

    @property
    def available(self) -> int:
        """Bytes of shared memory that values can have."""
        smem = self.schedule.machine.memories.smem
        return smem.available if smem is not None else 0

    def bytes_apart(self) -> int:
        """Return the bytes that the loop's buffers take if none shares them with another."""
        used = sum(s.size * s.slots for s in self.slots.shared)
        used += sum(self.source.type_of(v).checked_tile().bytes for v in self.left_before)
        return used + sum(f.size for f in self.schedule.fixed if f.memory == "smem")

    def bytes_taken(self) -> int:
        """Return the bytes that the loop's buffers take, in pools where there is no other way."""
        apart = self.bytes_apart()
        if apart <= self.available:
            return apart
        shared = self.slots.shared
        pooled = self._pools(shared)
        alone = sum(s.size * s.slots for s in shared if s.value in pooled)
        return apart - alone + sum({number: size for number, _, size in pooled.values()}.values())

    def _pooled(self, shared: list[Storage]) -> dict[str, tuple[int, int, int]]:
        """Return the pools of values, see `_pools`; none where there is room for all apart."""
        return self._pools(shared) if self.bytes_apart() > self.available else {}

    def _pools(self, shared: list[Storage]) -> dict[str, tuple[int, int, int]]:
        """Return number, first byte and size of the pool of each value that shares bytes in turn.

        Gluon's allocator does not know when values live; the schedule's addresses do.
        """
        rows = sorted((s for s in shared if s.addresses), key=lambda s: min(s.addresses))
        clusters: list[list[Storage]] = []
        end = -1
        for storage in rows:
            if min(storage.addresses) >= end:
                clusters.append([])
            clusters[-1].append(storage)
            end = max(end, max(storage.addresses) + storage.size)
        found: dict[str, tuple[int, int, int]] = {}
        for number, cluster in enumerate(c for c in clusters if len(c) > 1):
            base = min(min(s.addresses) for s in cluster)
            size = max(max(s.addresses) + s.size for s in cluster) - base
            for storage in cluster:
                begin = storage.addresses[0]
                if any(a != begin + k * storage.size for k, a in enumerate(storage.addresses)):
                    raise RefusedError(
                        f"{storage.value}: slots that do not follow each other have no template"
                    )
                found[storage.value] = number, begin - base, size
        return found

    def _stored_to(self, value: str) -> SSAValue | None:
        """Return the descriptor through which a value is stored, if there is one."""
        for dependence in self.schedule.loop.dependences:
            reader = self.slots.operations[dependence.consumer]
            read = dependence.producer == value and dependence.kind == "data"
            if read and reader.kind == "store":
                to = self.slots.first(reader.name, "store").operands[0]
                if self.source.layout_text(to).startswith("!tt.tensordesc"):
                    return to
        return None

    def _shared_layout(self, storage: Storage) -> str:
        tile = self.slots.tile(storage.value)
        if not storage.transfer:
            if (to := self._stored_to(storage.value)) is not None:
                return f"{self.slots.argument(to)}.layout"
            for statement in self.slots.statements(storage.value):
                for value in (*statement.results, *statement.operands):
                    kind = self.source.type_of(value)
                    linear = "shared_linear" in self.source.layout_text(value)
                    if kind.kind == "memdesc" and kind.memory == "smem" and not linear:
                        return self.layouts.of_memory(self.source.layout_text(value))
            for statement in self.slots.statements(storage.value):
                for value in statement.operands:
                    text = self.source.layout_text(value)
                    if text.startswith("!tt.tensordesc"):
                        return self.layouts.of_memory(text.replace("!tt.tensordesc", "memdesc", 1))
        rank = max(1, len(tile.shape))
        order = list(range(rank))[::-1]
        vector, phases = (1, 1) if rank == 1 else swizzle(tile.shape[-1], tile.bits)
        shape = f"vec={vector}, per_phase=1, max_phase={phases}, order={order}"
        return f"gl.SwizzledSharedLayout({shape})"

    def _tensor_allocations(self) -> Iterator[Allocation]:
        """Yield allocations in an order that fits; a value in another's columns is its slice.

        Raises
        ------
        RefusedError
            If Triton's allocator finds no room for them in any order that is tried.
        """
        owners: list[Storage] = []
        apart: dict[str, Allocation] = {}
        slices: list[Allocation] = []
        order = sorted(
            self.slots.tensors.values(), key=lambda s: (-s.size, bool(s.halves), s.addresses)
        )
        named: set[str] = set()
        for storage in order:
            name = self.slots.same_place(storage)
            if name in named:
                continue
            named.add(name)
            owner = next((o for o in owners if _within(storage, o)), None)
            if owner is None:
                if any(meets(storage, o) for o in owners):
                    raise RefusedError(f"{name} overlaps another value of tensor memory in part")
                owners.append(storage)
                apart[name] = self._tensor_allocation(storage, name, None)
            else:
                slices.append(self._tensor_allocation(storage, name, owner))
        yield from (apart[self.slots.same_place(storage)] for storage in self._fitting(owners))
        yield from slices

    def _tensor_allocation(self, storage: Storage, name: str, owner: Storage | None) -> Allocation:
        """Return the allocation of a value, or the view that makes it a part of its owner."""
        tile, layout = self.slots.tile(name), self._tensor_layout(name)
        if owner is None:
            shape = [storage.slots, *tile.shape] if storage.slots > 1 else list(tile.shape)
            what = statements.contents(tile.dtype, shape, layout)
            return statements.tensor_memory(self.slots.columns(storage), what)
        whole = self.slots.columns(owner)
        begin = storage.addresses[0] - owner.addresses[0]
        cast = f".reinterpret({statements.contents(tile.dtype, tile.shape, layout)})"
        cut = "" if storage.size == owner.size else f".slice({begin}, {storage.size})"
        return Allocation(self.slots.columns(storage), f"{whole}{cut}{cast}")

    def _fitting(self, owners: list[Storage]) -> list[Storage]:
        """Return allocations in an order in which Triton's allocator has room for them."""
        owner_of = {
            value: o.value
            for value, s in self.slots.tensors.items()
            for o in owners
            if s is o or self.slots.same_place(s) == self.slots.same_place(o) or _within(s, o)
        }
        pairs = [
            frozenset({owner_of[d.producer], owner_of[d.consumer]})
            for d in self.schedule.loop.dependences
            if d.kind == "data"
            and {d.producer, d.consumer} <= owner_of.keys()
            and self.slots.operations[d.consumer].kind.startswith("mma")
        ]
        allocations = [
            Columns(
                o.value,
                o.size * o.slots,
                self.slots.tile(o.value).shape[-2],
                (o.addresses, o.halves),
            )
            for o in owners
        ]
        room = self.schedule.machine.memories.tmem
        order = fitting(allocations, pairs, room.available if room is not None else 0)
        by_name = {o.value: o for o in owners}
        return [by_name[allocation.name] for allocation in order]

    def _tensor_layout(self, value: str) -> str:
        for statement in self.slots.statements(value):
            for seen in (*statement.results, *statement.operands):
                kind = self.source.type_of(seen)
                tile = self.slots.tile(value)
                if kind.memory == "tmem" and kind.shape == tile.shape and kind.dtype == tile.dtype:
                    return self.layouts.of_memory(self.source.layout_text(seen))
        raise RefusedError(f"{value} has no layout in tensor memory")

    def kind_of(self, value: SSAValue) -> Kind:
        """Return the kind of a buffer, or of the buffer for tiles of a descriptor."""
        text = self.source.layout_text(value).replace("!tt.tensordesc", "memdesc", 1)
        kind = self.source.type_of(value)
        return Kind(kind.memory, kind.shape, kind.dtype, self.layouts.of_memory(text))

    def rings(self) -> Iterator[tuple[Storage, Kind, str]]:
        """Yield the slots that share bytes with no other value, and their kinds."""
        shared = self.slots.shared
        pooled = self._pooled(shared)
        for storage in (s for s in shared if s.value not in pooled):
            tile = self.slots.tile(storage.value)
            kind = Kind("smem", tile.shape, tile.dtype, self._shared_layout(storage))
            for slot in range(storage.slots):
                yield storage, kind, f"{self.slots.buffer(storage)}.index({slot})"
        for storage in self.slots.tensors.values():
            tile = self.slots.tile(storage.value)
            kind = Kind("tmem", tile.shape, tile.dtype, self._tensor_layout(storage.value))
            yield storage, kind, self.slots.tensor(storage.value, Iteration("", 0))

    @cached_property
    def left_before(self) -> list[SSAValue]:
        """The tiles in registers that loops before this one leave."""
        results = [r for loop in loops(self.source.before()) for r in loop.results]
        return [r for r in results if self.source.type_of(r).kind == "tensor" and list(r.uses)]

    def begun(self, value: SSAValue) -> str:
        """Return the buffer through which a tile that a loop before this one leaves gets here."""
        return f"begun{self.left_before.index(value)}_smem"


def _within(inner: Storage, outer: Storage) -> bool:
    """Whether one lies in the columns of another, and begins at a lane where that begins."""
    if not (inner.addresses and outer.addresses):
        return False
    a, b = inner.addresses[0], outer.addresses[0]
    first = not outer.halves and not any(inner.halves)
    same = inner.halves == outer.halves
    return b <= a and a + inner.size <= b + outer.size and (same or first)


def meets(a: Storage, b: Storage) -> bool:
    """Return whether two values take some of the same columns of tensor memory."""
    return any(
        x < y + b.size and y < x + a.size and (not a.halves or a.halves == b.halves)
        for x in a.addresses
        for y in b.addresses
    )


ALIGNED = 4  # columns of which allocations begin at a multiple
HALF = 64  # rows of a tile that takes half of the lanes
MOST_ORDERS = 1000  # of allocations that are tried


class Columns(NamedTuple):
    """A tile, or several: its columns and rows, and where a schedule has it."""

    name: str
    columns: int
    rows: int
    place: Any


def fitting(
    allocations: Sequence[Columns], pairs: Collection[frozenset[str]], most: int
) -> list[Columns]:
    """Return allocations in an order that takes no more columns than there are.

    `pairs`: names of those that take the same half.

    Raises
    ------
    RefusedError
        If there is no such order among those that are tried.
    """
    by_place = sorted(allocations, key=lambda a: a.place)
    orders = itertools.chain([allocations, by_place], itertools.permutations(allocations))
    least = math.inf
    for order in itertools.islice(orders, MOST_ORDERS):
        columns = taken(order, pairs)
        if columns <= most:
            return list(order)
        least = min(least, columns)
    raise RefusedError(f"the kernel takes {least:.0f} columns of tensor memory, and has {most}")


def taken(order: Sequence[Columns], pairs: Collection[frozenset[str]]) -> int:
    """Return the columns that allocations take in an order."""
    cells: set[tuple[int, int]] = set()  # column and half
    halves: dict[str, int] = {}
    for allocation in order:
        partners, split = together(allocation.name, pairs), allocation.rows <= HALF
        known = {halves[p] for p in partners if p in halves} if split else set()
        rows = (known or (0, 1)) if split else (0,)
        for begin, first in ((c, r) for c in itertools.count(0, ALIGNED) for r in rows):
            columns = range(begin, begin + allocation.columns)
            wanted = set(itertools.product(columns, (first,) if split else (0, 1)))
            if not wanted & cells:
                cells |= wanted
                halves |= dict.fromkeys(partners, first)
                break
    return max((column for column, _ in cells), default=-1) + 1


def together(name: str, pairs: Collection[frozenset[str]]) -> set[str]:
    """Return the allocations that take the same half as one, itself among them."""
    return reached([name], lambda one: frozenset().union(*(p for p in pairs if one in p)))
