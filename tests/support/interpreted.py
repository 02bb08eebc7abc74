"""Run the packaged kernels in Triton's interpreter on NumPy arrays.

The interpreter is chosen when Triton is imported, so that `run` belongs into a process of its own
with ``TRITON_INTERPRET=1``. Triton takes torch's tensors; `Tensor` offers what it asks of them.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

KERNELS = Path(__file__).parents[2] / "traces" / "kernels"
Array = npt.NDArray[Any]


@dataclass
class Tensor:
    """An array as the interpreter wants it; with a `block` it is passed as a TMA descriptor."""

    array: Array
    block: tuple[int, ...] = ()
    element: str = ""
    dtype: Any = field(init=False)

    def __post_init__(self) -> None:
        self.array = np.ascontiguousarray(self.array)
        self.dtype = Element(self.element or self.array.dtype.name, self.array.itemsize)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def size(self) -> tuple[int, ...]:
        return self.array.shape

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def storage_offset(self) -> int:
        return 0

    def untyped_storage(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def new_empty(self, size: int, device: str) -> Tensor:
        assert (size, device) == (0, "cpu")
        return Tensor(self.array, element=self.element)

    def set_(self, storage: Tensor, *_: Any) -> None:
        self.array = storage.array

    def copy_(self, other: Tensor) -> None:
        assert other.array is self.array


@dataclass(frozen=True)
class Element:
    """An element type by its name in torch."""

    name: str
    itemsize: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Call:
    """A kernel of the folder, its grid and arguments."""

    kernel: str
    grid: tuple[int, ...]
    arguments: Mapping[str, Any]


def run(call: Call) -> dict[str, Array]:
    """Run a kernel and return its tensors as they are afterwards."""
    file, _, name = call.kernel.partition(":")
    specification = importlib.util.spec_from_file_location(file, KERNELS / f"{file}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    _add_reduction()
    kernel = getattr(module, name)
    kernel[call.grid](**{key: _argument(value) for key, value in call.arguments.items()})
    return {k: v.array for k, v in call.arguments.items() if isinstance(v, Tensor)}


def _argument(value: Any) -> Any:
    if not isinstance(value, Tensor) or not value.block:
        return value
    descriptors = importlib.import_module("triton.tools.tensor_descriptor")
    return descriptors.TensorDescriptor.from_tensor(value, list(value.block))


def _add_reduction() -> None:
    """Add what Triton 3.9's interpreter lacks: the reduce-add through a descriptor."""
    interpreter = importlib.import_module("triton.runtime.interpreter")
    libtriton = importlib.import_module("triton._C.libtriton")
    builder = interpreter.InterpreterBuilder
    if hasattr(builder, "create_descriptor_reduce"):
        return

    def reduce(self: Any, kind: Any, descriptor: Any, value: Any, indices: Any) -> None:
        assert kind == libtriton.ir.DESCRIPTOR_REDUCE_KIND.ADD
        stored = self.create_descriptor_load(descriptor, indices, None)
        total = interpreter.TensorHandle(stored.data + value.data, value.dtype)
        self.create_descriptor_store(descriptor, total, indices)

    builder.create_descriptor_reduce = reduce
