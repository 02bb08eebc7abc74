"""Arguments of calls as Triton sees them when it specializes, and as emitted kernels take them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from twill.base.errors import InputError, RefusedError
from twill.frontends.triton_dump.call import TORCH, Element
from twill.sim.emulator.tensors import Tensor
from twill.sim.emulator.values import DTYPES

PADDED = "zero"  # of a descriptor: what is loaded outside of its tensor


@dataclass(frozen=True)
class HostArray:
    """A NumPy array as Triton takes tensors."""

    array: np.ndarray[Any, Any]

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        name = self.array.dtype.name
        if name not in TORCH:
            raise InputError(f"Triton has no elements of type {name}")
        return Element(TORCH[name]).dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return tuple(self.array.shape)

    def stride(self) -> tuple[int, ...]:
        """Return the elements from one index to the next along each dimension."""
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def data_ptr(self) -> int:
        """Return the address of its first element."""
        return int(self.array.ctypes.data)


def taken(value: Any) -> Any:
    """Return an argument as Triton takes it."""
    return HostArray(value) if isinstance(value, np.ndarray) else value


def memory_of(value: Any) -> Any:
    """Return the tensor of an argument that is one or describes one, None of a number."""
    base = value.base if hasattr(value, "block_shape") else value
    return base if hasattr(base, "data_ptr") else None


def check_memory(given: Mapping[str, Any], outputs: Iterable[str]) -> None:
    """Refuse tensors and descriptors of which an emitted kernel assumes otherwise.

    Raises
    ------
    RefusedError
        If an output and another argument begin at the same place, or a descriptor is of a kind that
        is not emitted.
    """
    places: dict[str, int] = {}
    for name, value in given.items():
        places[name] = memory_of(value).data_ptr()
        rounds = getattr(value, "round_f32_to_tf32", False)
        if rounds or getattr(value, "padding", PADDED) != PADDED:
            raise RefusedError(f"{name}: descriptors that round, or pad with NaN, have no template")
    for output in outputs:
        for name, place in places.items():
            if place == places[output] and name != output:
                raise RefusedError(f"{output} and {name} are the same memory")


def on_gpu(value: Any) -> Any:
    """Return an argument as the host side of an emitted kernel takes it; a descriptor's tensor."""
    if not hasattr(value, "block_shape"):
        return value
    return value.base.as_strided(tuple(value.shape), tuple(value.strides))


def on_host(value: Any, *, real: bool) -> Any:
    """Return an argument as the host side of an emitted kernel takes it in the emulator.

    A pointer reaches to the end of the memory that it leads to; what is written is the caller's.
    `real`: whether tensors are PyTorch's, or the emulator's own.
    """
    tensor = memory_of(value)
    if tensor is None:
        return value
    described = tensor is not value
    shape, strides = (value.shape, value.strides) if described else _flat(tensor)
    if not isinstance(tensor, HostArray):
        return tensor.detach().as_strided(tuple(shape), tuple(strides))
    steps = [step * tensor.array.itemsize for step in strides]
    array = np.lib.stride_tricks.as_strided(tensor.array, tuple(shape), steps)
    if real:
        return sys.modules["torch"].from_numpy(array)
    return Tensor(array, DTYPES[array.dtype.name])


def _flat(tensor: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return shape and strides of all that follows a tensor's first element in memory."""
    if isinstance(tensor, HostArray):
        steps = list(zip(tensor.shape, tensor.stride(), strict=True))
        if any(step < 0 for _, step in steps):
            raise InputError("an array with negative strides is not taken")
        return (1 + sum((size - 1) * step for size, step in steps),), (1,)
    storage = tensor.untyped_storage().nbytes() // tensor.element_size()
    return (storage - tensor.storage_offset(),), (1,)
