"""Transfers between global and shared memory: boxes of tensors by TMA, tiles by cp.async."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from twill.base.errors import InputError
from twill.sim.emulator.barriers import Barrier
from twill.sim.emulator.language import Pointer
from twill.sim.emulator.machine import machine
from twill.sim.emulator.memory import Memory
from twill.sim.emulator.pytorch import array_of
from twill.sim.emulator.values import INT32, INT64, Array, DType, Numbers

ALIGNMENT = 16
"""Bytes that strides of a tensor are a multiple of."""
LEAST_COPIED = 4
"""Bytes that a thread copies by cp.async at least; it copies 4, 8 or 16."""


class TensorDescriptor:
    """TMA's description of a tensor in global memory.

    `base`: the host's tensor, or where it begins in memory.
    `shape`, `strides`, `block_shape`: elements along each dimension, of steps along each, and of a
    box.
    `layout`: layout of the box in shared memory.
    `padding`: value of loads outside of the tensor: ``zero`` or ``nan``.

    Raises
    ------
    InputError
        If TMA cannot address the tensor so.
    """

    def __init__(
        self,
        base: Any,
        shape: Any,
        strides: Any,
        block_shape: Any,
        layout: object = None,
        padding: str = "zero",
    ) -> None:
        begin = base if isinstance(base, Pointer) else None
        base = array_of(base) if begin is None else begin.tensor
        sizes, steps = [int(n) for n in shape], [int(n) for n in strides]
        self.block_shape = [int(n) for n in block_shape]
        self.base, self.layout, self.padding = base, layout, padding
        self.dtype: DType = base.dtype
        bytes_apart = [step * self.dtype.itemsize for step in steps[:-1]]
        if steps[-1] != 1 or any(step % ALIGNMENT for step in bytes_apart):
            message = f"TMA takes strides of {ALIGNMENT} bytes, and of one element at last"
            raise InputError(f"{message}, not {steps} elements of {self.dtype.name}")
        if not len(sizes) == len(steps) == len(self.block_shape):
            raise InputError(f"a box {self.block_shape} of a tensor {sizes} with strides {steps}")
        self.shape = [Array(size, INT32) for size in sizes]
        self.strides = [Array(step, INT32) for step in steps]
        self.elements: Any = None if begin is None else _Behind(begin, steps)
        if begin is not None:
            return
        last = sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
        apart = tuple(step * base.data.itemsize for step in steps)
        same = base.data.shape == tuple(sizes) and base.data.strides == apart
        if not same and (last >= base.data.size or not base.data.flags.c_contiguous):
            raise InputError(f"a tensor {sizes} with strides {steps} in one of {list(base.shape)}")
        self.elements = np.lib.stride_tricks.as_strided(base.data, sizes, apart)

    @classmethod
    def from_tensor(
        cls, tensor: Any, block_shape: Any, layout: object = None, padding: str = "zero"
    ) -> TensorDescriptor:
        """Return the descriptor of a whole tensor."""
        return cls(tensor, tensor.shape, tensor.stride(), block_shape, layout, padding)

    @property
    def nbytes_per_cta(self) -> int:
        """The bytes of a box."""
        return int(np.prod(self.block_shape)) * self.dtype.itemsize

    @property
    def block_type(self) -> SimpleNamespace:
        """The type of a box, with Gluon's attributes."""
        shape, size = self.block_shape, self.nbytes_per_cta
        return SimpleNamespace(shape=shape, nbytes=size, element_ty=self.dtype)

    def box(self, coord: Any, lengths: list[int]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Return which elements a box has inside of the tensor, and where in the box they lie."""
        inside, within = [], []
        for start, length, size in zip(map(int, coord), lengths, self.shape, strict=True):
            first, last = max(start, 0), max(min(start + length, int(size)), start, 0)
            inside.append(slice(first, last))
            within.append(slice(first - start, last - start))
        return tuple(inside), tuple(within)

    def fitting(self, memory: Memory, what: str, *, narrow: bool = False) -> list[int]:
        """Return the lengths of the box that is transferred.

        `memory`: the other side of the transfer.
        `what`: the transfer, for the fault.
        `narrow`: whether a part of the box's columns will do.

        Raises
        ------
        FaultError
            Of kind ``shape``, unless `memory` holds one box.
        """
        lengths = list(self.block_shape)
        if narrow and memory.shape[-1] < lengths[-1]:
            lengths[-1] = memory.shape[-1]
        ours, theirs = ([n for n in shape if n != 1] for shape in (lengths, memory.shape))
        # Integers have no sign in Triton's memory.
        alike = memory.dtype.name.removeprefix("u") == self.dtype.name.removeprefix("u")
        if ours != theirs or not alike:
            box = f"a box of {self.dtype.name}{self.block_shape}"
            text = f"{what} {box} and {memory.name} of {memory.dtype.name}{memory.shape}"
            raise machine().fault("shape", text)
        return lengths


class _Behind:
    """The elements of a tensor that begins at an address, each looked for where it lies."""

    def __init__(self, begin: Pointer, strides: list[int]) -> None:
        self.begin, self.strides = begin, strides

    def _pointer(self, inside: tuple[slice, ...]) -> Pointer:
        places = np.zeros((), np.int64)
        for part, stride in zip(inside, self.strides, strict=True):
            places = places[..., None] + np.arange(part.start, part.stop) * stride
        return self.begin + Array(places, INT64)

    def __getitem__(self, inside: tuple[slice, ...]) -> Numbers:
        flat, where, _ = self._pointer(inside).elements(None)
        return flat[where]

    def __setitem__(self, inside: tuple[slice, ...], tile: Numbers) -> None:
        flat, where, _ = self._pointer(inside).elements(None)
        flat[where] = tile


def _made(
    base: Pointer, shape: Any, strides: Any, block_shape: Any, layout: object
) -> TensorDescriptor:
    begin = int(base.offsets) * base.tensor.dtype.itemsize
    if begin % ALIGNMENT:
        raise machine().fault("shape", f"a descriptor of what begins at byte {begin}")
    return TensorDescriptor(base, shape, strides, block_shape, layout)


def _load(
    tensor_desc: TensorDescriptor,
    coord: Any,
    barrier: Barrier,
    result: Memory,
    pred: Any = True,
    **_: Any,
) -> None:
    if not pred:
        return
    running = machine()
    lengths = tensor_desc.fitting(result, "a TMA load between")
    access = running.access("a TMA load", "TMA")
    running.accesses.write(result.name, result.cells(), access)
    barrier.initialised().pending += 1
    inside, within = tensor_desc.box(coord, lengths)

    def run() -> None:
        outside = np.nan if tensor_desc.padding == "nan" else 0
        tile = np.full(lengths, outside, tensor_desc.dtype.computed)
        tile[within] = tensor_desc.elements[inside]
        result.put(tile.reshape(result.shape))
        barrier.pending -= 1
        barrier.land(tensor_desc.nbytes_per_cta, {access: False}, f"the load of {result.name}")

    running.later(f"loads of {result.name.split('[')[0]}", run)
    running.step()


def _store(tensor_desc: TensorDescriptor, coord: Any, src: Memory, *, add: bool = False) -> None:
    running = machine()
    lengths = tensor_desc.fitting(src, "a TMA store between", narrow=True)
    access = running.access("a TMA store", "TMA")
    running.accesses.read(src.name, src.cells(), access)
    inside, within = tensor_desc.box(coord, lengths)

    def run() -> None:
        tile = src.numbers().reshape(lengths)[within]
        if add:
            tile = tensor_desc.dtype.rounded(tensor_desc.elements[inside] + tile)
        tensor_desc.elements[inside] = tile
        running.session.write(tensor_desc.base.data)

    event = running.later(f"stores of {src.name.split('[')[0]}", run)
    running.current.stores.append([(event, access)])
    running.step()


def _store_wait(pendings: int = 0) -> None:
    running = machine()
    running.settle(running.current.stores, int(pendings), "TMA stores")


def _add(tensor_desc: TensorDescriptor, coord: Any, src: Memory) -> None:
    _store(tensor_desc, coord, src, add=True)


OFFERED = {
    "async_load": _load,
    "async_copy_global_to_shared": _load,
    "async_store": _store,
    "async_copy_shared_to_global": _store,
    "async_atomic_add": _add,
    "make_tensor_descriptor": _made,
    "store_wait": _store_wait,
    "tensor_descriptor": TensorDescriptor,
}
"""The functions of `tma`."""


def _at_once(pointer: Pointer) -> int:
    """Return the bytes that a thread can copy at once: those that it has, and that lie so."""
    offsets, layout = pointer.offsets.data, pointer.offsets.layout
    while hasattr(layout, "parent"):
        layout = layout.parent  # the sum of an index along each dimension has the layout of a tile
    counts, order = (getattr(layout, name, ()) for name in ("size_per_thread", "order"))
    dimensions = order[:1] if len(order) == offsets.ndim else range(offsets.ndim)
    size = pointer.tensor.dtype.itemsize
    several = -(-LEAST_COPIED // size)
    for dimension in dimensions:
        held = counts[dimension] if len(counts) == offsets.ndim else several
        rows = np.moveaxis(offsets, dimension, -1)
        if held >= several and rows.shape[-1] % several == 0:
            rows = rows.reshape(*rows.shape[:-1], -1, several)
            if (rows - rows[..., :1] == np.arange(several)).all():
                return several * size
    return size


def _copy(smem: Memory, pointer: Pointer, mask: Any = None, **_: Any) -> None:
    running = machine()
    me = running.current
    if (width := _at_once(pointer)) < LEAST_COPIED:
        least = f"it copies {LEAST_COPIED} at least"
        raise running.fault("shape", f"a cp.async of {width} bytes a thread; {least}")
    access = running.access("a cp.async", "cp.async")
    running.accesses.write(smem.name, smem.cells(), access)
    flat, where, meant = pointer.elements(mask)

    def run() -> None:
        smem.put(np.where(meant, flat[where], 0).astype(flat.dtype))

    event = running.later(f"copies to {smem.name.split('[')[0]}", run, f"copies of {me.name}")
    me.staged.append((event, access))
    running.step()


def _commit_group() -> None:
    me = machine().current
    me.copies.append(me.staged)
    me.staged = []


def _wait_group(num_outstanding: int = 0) -> None:
    running = machine()
    running.settle(running.current.copies, int(num_outstanding), "groups of cp.async")


def _arrive_after(barrier: Barrier, increment_count: bool = True) -> None:
    """Let the copies so far arrive when they are over.

    The phase counts one arrival more from now on (as Triton's `async_copy_mbarrier_kernel` has it).
    """
    running = machine()
    me = running.current
    barrier.initialised().pending += 1
    barrier.left += increment_count
    published = {access: False for group in (*me.copies, me.staged) for _, access in group}

    def run() -> None:
        barrier.pending -= 1
        barrier.arrive(1, published, f"a cp.async of {me.name}")

    running.later(f"copies of {me.name}", run, f"copies of {me.name}")


COPIES = {
    "async_copy_global_to_shared": _copy,
    "async_load": _copy,
    "commit_group": _commit_group,
    "wait_group": _wait_group,
    "mbarrier_arrive": _arrive_after,
}
"""The functions of `async_copy`."""
