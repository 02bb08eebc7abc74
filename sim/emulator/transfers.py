"""TMA: transfers of boxes between global and shared memory, and the descriptors of tensors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from twill.errors import InputError
from twill.sim.emulator.barriers import Barrier
from twill.sim.emulator.machine import machine
from twill.sim.emulator.memory import Memory
from twill.sim.emulator.values import INT32, Array, DType, Numbers

ALIGNMENT = 16
"""Bytes that strides of a tensor are a multiple of."""


class TensorDescriptor:
    """What TMA has to know of a tensor in global memory.

    Parameters
    ----------
    base : Array
        The host's tensor.
    shape, strides, block_shape : sequence of int
        Elements along each dimension, of steps along each, and of a box.
    layout : object
        Of the box in shared memory.
    padding : str, optional
        ``zero`` or ``nan``: what loads give outside of the tensor.

    Raises
    ------
    InputError
        If TMA cannot address the tensor so.
    """

    def __init__(
        self,
        base: Array,
        shape: Any,
        strides: Any,
        block_shape: Any,
        layout: object = None,
        padding: str = "zero",
    ) -> None:
        sizes, steps = [int(n) for n in shape], [int(n) for n in strides]
        self.block_shape = [int(n) for n in block_shape]
        self.base, self.layout, self.padding = base, layout, padding
        self.dtype: DType = base.dtype
        bytes_apart = [step * self.dtype.itemsize for step in steps[:-1]]
        if steps[-1] != 1 or any(step % ALIGNMENT for step in bytes_apart):
            message = f"TMA takes strides of {ALIGNMENT} bytes, and of one element at last"
            raise InputError(f"{message}, not {steps} elements of {self.dtype}")
        if not len(sizes) == len(steps) == len(self.block_shape):
            raise InputError(f"a box {self.block_shape} of a tensor {sizes} with strides {steps}")
        last = sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
        apart = tuple(step * base.data.itemsize for step in steps)
        same = base.data.shape == tuple(sizes) and base.data.strides == apart
        if not same and (last >= base.data.size or not base.data.flags.c_contiguous):
            raise InputError(f"a tensor {sizes} with strides {steps} in one of {list(base.shape)}")
        self.elements: Numbers = np.lib.stride_tricks.as_strided(base.data, sizes, apart)
        self.shape = [Array(size, INT32) for size in sizes]
        self.strides = [Array(step, INT32) for step in steps]

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
        """What Gluon says of a box."""
        shape, size = self.block_shape, self.nbytes_per_cta
        return SimpleNamespace(shape=shape, nbytes=size, element_ty=self.dtype)

    def box(self, coord: Any) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Return which elements a box has inside of the tensor, and where in the box they lie."""
        inside, within = [], []
        for start, length, size in zip(map(int, coord), self.block_shape, self.shape, strict=True):
            first, last = max(start, 0), max(min(start + length, int(size)), max(start, 0))
            inside.append(slice(first, last))
            within.append(slice(first - start, last - start))
        return tuple(inside), tuple(within)

    def fits(self, memory: Memory, what: str) -> None:
        """Refuse shared memory that is not one box.

        Raises
        ------
        FaultError
            Of kind ``shape``.
        """
        ours = [n for n in self.block_shape if n != 1]
        if [n for n in memory.shape if n != 1] != ours or memory.dtype != self.dtype:
            box = f"a box of {self.dtype}{self.block_shape}"
            text = f"{what} {box} and {memory.name} of {memory.dtype}{memory.shape}"
            raise machine().fault("shape", text)


def _load(
    tensor_desc: TensorDescriptor,
    coord: Any,
    barrier: Barrier,
    result: Memory,
    pred: Any = True,  # noqa: FBT002
    **_: Any,
) -> None:
    if not pred:
        return
    running = machine()
    tensor_desc.fits(result, "a TMA load between")
    access = running.access("a TMA load", "TMA")
    running.accesses.write(result.name, result.cells(), access)
    barrier.initialised().pending += 1
    inside, within = tensor_desc.box(coord)

    def run() -> None:
        outside = np.nan if tensor_desc.padding == "nan" else 0
        tile = np.full(tensor_desc.block_shape, outside, tensor_desc.dtype.computed)
        tile[within] = tensor_desc.elements[inside]
        result.put(tile.reshape(result.shape))
        barrier.pending -= 1
        barrier.land(tensor_desc.nbytes_per_cta, {access: False}, f"the load of {result.name}")

    running.later(f"loads of {result.name.split('[')[0]}", run)
    running.step()


def _store(tensor_desc: TensorDescriptor, coord: Any, src: Memory, *, add: bool = False) -> None:
    running = machine()
    tensor_desc.fits(src, "a TMA store between")
    access = running.access("a TMA store", "TMA")
    running.accesses.read(src.name, src.cells(), access)
    inside, within = tensor_desc.box(coord)

    def run() -> None:
        tile = src.numbers().reshape(tensor_desc.block_shape)[within]
        if add:
            tile = tensor_desc.dtype.rounded(tensor_desc.elements[inside] + tile)
        tensor_desc.elements[inside] = tile

    event = running.later(f"stores of {src.name.split('[')[0]}", run)
    running.current.stores.append((event, access))
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
    "store_wait": _store_wait,
    "tensor_descriptor": TensorDescriptor,
}
"""The functions of `tma`."""
