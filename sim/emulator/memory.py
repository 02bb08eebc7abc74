"""Shared and tensor memory: allocations in bytes, views of them, and the cells that views cover.

Shared memory is a row of bytes. Tensor memory has a row for each row of a tile, and columns of 32
bits: views of other types over the same columns share them, as on the device. Bytes that were never
written are all ones, which are NaN as floating point.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from twill.sim.emulator.accesses import Cell
from twill.sim.emulator.barriers import Barrier, Barriers, MBarrierLayout, allocated
from twill.sim.emulator.faults import FaultError
from twill.sim.emulator.layouts import linear_layout
from twill.sim.emulator.machine import machine
from twill.sim.emulator.values import Array, DType, Numbers

GRANULE = {"shared": 1, "tensor": 4}
"""Bytes that always belong to the same cell."""
ROWS_AND_COLUMNS = 2


def _address(numbers: Numbers) -> int:
    return int(numbers.__array_interface__["data"][0])


class Storage:
    """An allocation, and the cells that it has fallen into so far."""

    def __init__(self, kind: str, shape: tuple[int, ...]) -> None:
        self.kind = kind
        self.bytes: Numbers = np.full(shape, 255, np.uint8)
        self._granule = GRANULE[kind]
        self._labels = np.zeros(self.bytes.size // self._granule, np.int32)
        self._cells = [Cell()]
        self._known: dict[Any, tuple[int, list[Cell]]] = {}

    def cells(self, view: Numbers) -> list[Cell]:
        """Return the cells of a view; cells that it covers in part are split."""
        first = _address(view) - _address(self.bytes)
        key = (first, view.shape, view.strides, view.itemsize)
        count, cells = self._known.get(key, (0, []))
        if count != len(self._cells):
            where = first + np.arange(0, view.itemsize, self._granule)
            for length, stride in zip(view.shape, view.strides, strict=True):
                where = np.add.outer(where, np.arange(length) * stride).ravel()
            cells = self._split(np.unique(where // self._granule))
            self._known[key] = (len(self._cells), cells)
        return cells

    def _split(self, granules: Numbers) -> list[Cell]:
        """Return the cells that a set of granules is made of."""
        found = []
        for label in np.unique(self._labels[granules]):
            inside = granules[self._labels[granules] == label]
            if len(inside) < np.count_nonzero(self._labels == label):
                self._cells.append(machine().accesses.copied(self._cells[label]))
                self._labels[inside] = len(self._cells) - 1
            found.append(self._cells[self._labels[inside[0]]])
        return found


class Memory:
    """A view of shared or tensor memory: what Gluon calls a memory descriptor.

    `name`: the variable that the allocation was assigned to, with indices.
    `view`: the elements as they are stored.
    `dtype`: of the elements.
    `layout`: as given; nothing depends on it but how far apart elements of tensor memory lie.
    """

    def __init__(
        self, storage: Storage, name: str, view: Numbers, dtype: DType, layout: object
    ) -> None:
        self.storage, self.name, self.view, self.dtype = storage, name, view, dtype
        self.layout = layout

    @property
    def shape(self) -> list[int]:
        """The length of every dimension."""
        return list(self.view.shape)

    @property
    def type(self) -> SimpleNamespace:
        """The descriptor's type, with Gluon's attributes."""
        return SimpleNamespace(shape=self.shape, layout=self.layout, element_ty=self.dtype)

    @property
    def in_shared(self) -> bool:
        """Whether it is shared memory."""
        return self.storage.kind == "shared"

    def cells(self) -> list[Cell]:
        """Return the cells that it covers."""
        return self.storage.cells(self.view)

    def numbers(self) -> Numbers:
        """Return what is stored, as numbers."""
        return self.dtype.unpacked(self.view)

    def put(self, numbers: Numbers) -> None:
        """Store numbers of its type."""
        self.view[...] = self.dtype.packed(numbers)

    # -- what Gluon offers ---------------------------------------------------------------------

    def index(self, index: Any) -> Memory:
        """Return the view at an index of the first dimension."""
        if not 0 <= int(index) < len(self.view):
            raise self._beyond(f"index {int(index)} of {len(self.view)}")
        return self._viewed(self.view[int(index)], f"{self.name}[{int(index)}]")

    def slice(self, start: Any, length: int, dim: int | None = None) -> Memory:
        """Return a part of a dimension: by default the columns of tensor memory, else the rows."""
        dim = (0 if self.in_shared else 1) if dim is None else dim
        first, last = int(start), int(start) + int(length)
        if not 0 <= first <= last <= self.view.shape[dim]:
            raise self._beyond(f"{first} to {last} of {self.view.shape[dim]}")
        key = (slice(None),) * dim + (slice(first, last),)
        return self._viewed(self.view[key], f"{self.name}[{':, ' * dim}{first}:{last}]")

    def permute(self, order: Any) -> Memory:
        """Return it with its dimensions in another order."""
        return self._viewed(self.view.transpose(tuple(order)), self.name)

    def reshape(self, shape: Any) -> Memory:
        """Return it with other dimensions over the same bytes."""
        dense = not self.in_shared or self.view.flags.c_contiguous
        if dense or np.prod(shape) != self.view.size:
            return self._reinterpret(self.dtype, shape, self.layout)
        return Reshaped(self, [int(length) for length in shape])

    def reinterpret(
        self, dtype: DType | None = None, shape: Any = None, layout: object = None
    ) -> Memory:
        """Return another type's elements over the same bytes."""
        dtype, shape = dtype or self.dtype, list(shape or self.shape)
        layout = layout or self.layout
        width = dtype.itemsize * stretch(dtype, layout, self.storage.kind)
        wanted = int(np.prod(shape)) * width
        lies = self.storage.bytes
        first = _address(self.view) - _address(lies)
        if self.in_shared:
            if not self.view.flags.c_contiguous or first + wanted > lies.size:
                raise self._beyond(f"{dtype.name}{shape} over {self.dtype.name}{self.shape}")
            view = lies[first : first + wanted].view(dtype.stored).reshape(shape)
            return Memory(self.storage, self.name, view, dtype, layout)
        first %= lies.shape[1]
        if (shape[-2], lies.shape[0]) == (64, 128):  # takes half of the lanes of its columns
            lies = lies[:64]
        wanted //= shape[-2]
        if shape[-2] != lies.shape[0] or first + wanted > lies.shape[1]:
            raise self._beyond(f"{dtype.name}{shape} over {self.dtype.name}{self.shape}")
        view = columns(lies[:, first : first + wanted], dtype, shape, width)
        return Memory(self.storage, self.name, view, dtype, layout)

    _reinterpret = reinterpret

    def load(self, layout: object = None) -> Array:
        """Return the tile that the partition reads."""
        running = machine()
        access = running.access("a load", shared=self.in_shared)
        running.accesses.read(self.name, self.cells(), access)
        return Array(self.numbers(), self.dtype, layout)

    def load_max(self, layout: object = None) -> tuple[Array, Array]:
        """Return what the partition reads, and the maximum of every row."""
        tile = self.load(layout)
        return tile, tile.made(np.max(tile.data, axis=1))

    def store(self, value: Array, pred: Any = True) -> None:
        """Write a value."""
        data, dtype = value.data, value.dtype
        running = machine()
        if list(data.shape) != self.shape or dtype != self.dtype:
            what = f"a value of {dtype.name}{list(data.shape)} is stored in {self.name}"
            raise running.fault("shape", f"{what}, which is {self.dtype.name}{self.shape}")
        if pred:
            access = running.access("a store", shared=self.in_shared)
            running.accesses.write(self.name, self.cells(), access)
            self.put(data)

    def _keep_alive(self) -> None:
        """Say that the allocation lasts until here."""

    def get_reg_layout(self, **_: object) -> object:
        """Return a layout of registers for it."""
        return linear_layout(self.shape)

    def _viewed(self, view: Numbers, name: str) -> Memory:
        return Memory(self.storage, name, view, self.dtype, self.layout)

    def _beyond(self, what: str) -> FaultError:
        return machine().fault("bounds", f"{self.name}: {what}")


class Reshaped(Memory):
    """A view whose elements have other dimensions than they lie in, in the order of their own."""

    def __init__(self, whole: Memory, shape: list[int]) -> None:
        like = np.empty(shape, whole.view.dtype)
        super().__init__(whole.storage, whole.name, like, whole.dtype, whole.layout)
        self._whole = whole

    def cells(self) -> list[Cell]:
        """Return the cells that it covers."""
        return self._whole.cells()

    def numbers(self) -> Numbers:
        """Return what is stored, as numbers."""
        return self._whole.numbers().reshape(self.shape)

    def put(self, numbers: Numbers) -> None:
        """Store numbers of its type."""
        self._whole.put(numbers.reshape(self._whole.shape))

    def _viewed(self, _view: Numbers, _name: str) -> Memory:
        raise self._beyond("a part of a view whose dimensions were permuted and reshaped")


def stretch(dtype: DType, layout: object, kind: str) -> int:
    """Return how many elements apart the elements of a row lie."""
    if kind == "shared":
        return 1
    if getattr(layout, "unpacked", False):
        return max(1, 4 // dtype.itemsize)
    return int(getattr(layout, "col_stride", None) or 1)


def columns(lies: Numbers, dtype: DType, shape: list[int], width: int) -> Numbers:
    """Return the elements of rows of bytes, `width` bytes apart, as tiles next to each other."""
    step = width // dtype.itemsize
    elements = lies.view(dtype.stored)[:, ::step]
    if len(shape) == ROWS_AND_COLUMNS:
        return elements
    count, rows, length = shape
    strides = (elements.strides[1] * length, elements.strides[0], elements.strides[1])
    return np.lib.stride_tricks.as_strided(elements, (count, rows, length), strides)


def allocate_shared(
    element_ty: DType, shape: Any, layout: object = None, value: Array | None = None
) -> Memory | Barrier | Barriers:
    """Return shared memory, or barriers, named by the variable that they are assigned to."""
    shape = [int(length) for length in shape]
    if isinstance(layout, MBarrierLayout) and element_ty.name == "int64":
        return allocated(shape)
    storage = Storage("shared", (int(np.prod(shape)) * element_ty.itemsize,))
    view = storage.bytes.view(element_ty.stored).reshape(shape)
    return _filled(Memory(storage, machine().named(), view, element_ty, layout), value)


def allocate_tensor(
    element_ty: DType, shape: Any, layout: object = None, value: Array | None = None
) -> Memory:
    """Return tensor memory, named by the variable that it is assigned to."""
    shape = [int(length) for length in shape]
    width = element_ty.itemsize * stretch(element_ty, layout, "tensor")
    pitch = -(-int(np.prod(shape)) // shape[-2] * width // 4) * 4
    storage = Storage("tensor", (shape[-2], pitch))
    view = columns(storage.bytes, element_ty, shape, width)
    return _filled(Memory(storage, machine().named(), view, element_ty, layout), value)


def _filled(memory: Memory, value: Array | None) -> Memory:
    if value is not None:
        memory.store(value)
    return memory
