"""The language: what kernels find in `triton.experimental.gluon.language`.

Tiles are `Array`s, pointers are `Pointer`s, and what only the compiler looks at (layouts, hints) is
accepted. `OFFERED` has every function by its name; those on tiles are methods of tiles too.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from twill.sim.emulator.machine import machine, running
from twill.sim.emulator.memory import DistributedLinearLayout, Layout, Memory, allocate_shared
from twill.sim.emulator.values import (
    BOOL,
    DTYPES,
    FLOAT32,
    INT32,
    Array,
    DType,
    Numbers,
    of_number,
    together,
)


class Pointer:
    """Addresses in a tensor of the host: its elements by number."""

    def __init__(self, tensor: Array, offsets: Array) -> None:
        self.tensor, self.offsets = tensor, offsets
        self.dtype = PointerType(tensor.dtype)

    def __add__(self, other: Any) -> Pointer:
        return Pointer(self.tensor, self.offsets + other)  # type: ignore[operator]

    __radd__ = __add__

    def __sub__(self, other: Any) -> Pointer:
        return Pointer(self.tensor, self.offsets - other)  # type: ignore[operator]

    def __getitem__(self, key: Any) -> Pointer:
        return Pointer(self.tensor, self.offsets[key])

    def elements(self, mask: Any) -> tuple[Numbers, Numbers, Any]:
        """Return the tensor's elements in a row, the numbers of those meant, and which are meant."""
        flat = self.tensor.data.reshape(-1)
        meant = np.broadcast_to(True if mask is None else array(mask).data, self.offsets.shape)
        where = np.where(meant, self.offsets.data, 0)
        if not np.shares_memory(flat, self.tensor.data) or (where < 0).any() or (where >= flat.size).any():
            text = f"elements {where.min()} to {where.max()} of a tensor of {flat.size}"
            raise machine().fault("bounds", text)
        return flat, where, meant


class PointerType:
    """The type of a pointer."""

    def __init__(self, element_ty: DType) -> None:
        self.element_ty = element_ty


class Constexpr:
    """What `gl.constexpr` is: an annotation, and a function of constants."""

    def __new__(cls, value: Any) -> Any:
        """Return the value itself, which has an attribute `value` where its type can have one."""
        kind = type(value)
        if kind not in (int, float, str, tuple, list):
            return value
        return _constants(kind)(value)


@functools.cache
def _constants(kind: type) -> type:
    return type(kind.__name__, (kind,), {"value": property(kind)})


OFFERED: dict[str, Any] = dict(DTYPES)


def offered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Offer a function to kernels under its name without underscores."""
    OFFERED[function.__name__.strip("_")] = function
    return function


def array(value: Any, beside: DType | None = None) -> Array:
    """Return a value as an array."""
    if hasattr(value, "data") and hasattr(value, "dtype") and not isinstance(value, np.generic):
        return value if isinstance(value, Array) else Array(value.data, value.dtype)
    return Array(value, of_number(value, beside))


# -- making tiles ------------------------------------------------------------------------------


@offered
def _full(shape: Any, value: Any, dtype: DType, layout: object = None) -> Array:
    number = value.data if isinstance(value, Array) else value
    return Array(dtype.rounded(np.full([int(n) for n in shape], number, dtype.computed)), dtype, layout)


@offered
def _zeros(shape: Any, dtype: DType, layout: object = None) -> Array:
    return Array(np.zeros([int(n) for n in shape], dtype.computed), dtype, layout)


@offered
def _zeros_like(tile: Array) -> Array:
    return tile.made(np.zeros_like(tile.data))


@offered
def _arange(start: int, end: int, layout: object = None) -> Array:
    return Array(np.arange(int(start), int(end)), INT32, layout)


@offered
def _to_tensor(value: Any) -> Array:
    return array(value)


@offered
def _program_id(axis: int) -> Array:
    return Array(machine().program[int(axis)], INT32)


@offered
def _num_programs(axis: int) -> Array:
    return Array(machine().programs[int(axis)], INT32)


# -- element by element ------------------------------------------------------------------------


def _elementwise(operation: Callable[[Numbers], Numbers]) -> Callable[..., Array]:
    def function(x: Any, **_: Any) -> Array:
        tile = array(x)
        dtype = tile.dtype if tile.dtype.is_floating_point else FLOAT32
        return tile.made(operation(tile.data.astype(dtype.computed)), dtype)

    return function


OFFERED |= {
    "exp": _elementwise(np.exp),
    "exp2": _elementwise(np.exp2),
    "log": _elementwise(np.log),
    "log2": _elementwise(np.log2),
    "sqrt": _elementwise(np.sqrt),
    "sqrt_rn": _elementwise(np.sqrt),
    "rsqrt": _elementwise(lambda x: 1 / np.sqrt(x)),
    "sin": _elementwise(np.sin),
    "cos": _elementwise(np.cos),
    "floor": _elementwise(np.floor),
    "ceil": _elementwise(np.ceil),
}


@offered
def _abs(x: Any) -> Array:
    return array(x).made(np.abs(array(x).data))


def _pairwise(operation: Callable[..., Any]) -> Callable[..., Array]:
    def function(x: Any, y: Any, **_: Any) -> Array:
        first, second = array(x, getattr(y, "dtype", None)), array(y, getattr(x, "dtype", None))
        operands = together(Array, first, second)
        assert operands is not None
        a, b, dtype, layout = operands
        return Array(dtype.rounded(np.asarray(operation(a, b))), dtype, layout)

    return function


OFFERED |= {
    # NaN gives way to the other operand, as on the device.
    "maximum": _pairwise(np.fmax),
    "minimum": _pairwise(np.fmin),
    "add": _pairwise(np.add),
    "add2": _pairwise(np.add),
    "sub": _pairwise(np.subtract),
    "sub2": _pairwise(np.subtract),
    "mul": _pairwise(np.multiply),
    "mul2": _pairwise(np.multiply),
    "fdiv": _pairwise(np.true_divide),
    "div_rn": _pairwise(np.true_divide),
}


@offered
def _fma(x: Any, y: Any, z: Any) -> Array:
    """Round once, as a fused operation does."""
    dtype = array(OFFERED["add"](OFFERED["mul"](x, y), z)).dtype
    exact = [array(one).data.astype(np.float64) for one in (x, y, z)]
    return array(x).made(exact[0] * exact[1] + exact[2], dtype)


OFFERED["fma2"] = _fma


@offered
def _where(condition: Any, x: Any, y: Any) -> Array:
    choice = OFFERED["add"](x, y)
    a, b = array(x, choice.dtype).data, array(y, choice.dtype).data
    return Array(np.where(array(condition).data, a, b), choice.dtype, choice.layout)


@offered
def _cdiv(x: Any, y: Any) -> Any:
    return (x + (y - 1)) // y


@offered
def _cast(x: Any, dtype: DType, bitcast: bool = False) -> Array:  # noqa: FBT001, FBT002
    tile = array(x)
    if bitcast:
        bits = np.ascontiguousarray(tile.dtype.packed(tile.data)).view(dtype.stored)
        return Array(dtype.unpacked(bits), dtype, tile.layout)
    return tile.made(tile.data, dtype)


OFFERED["to"] = _cast


@offered
def _map_elementwise(function: Callable[..., Any], *tiles: Any) -> Any:
    return function(*tiles)


# -- shapes ------------------------------------------------------------------------------------


@offered
def _convert_layout(value: Any, layout: object, assert_trivial: bool = False) -> Array:  # noqa: ARG001, FBT001, FBT002
    return Array(value.data, value.dtype, layout)


@offered
def _set_auto_layout(value: Any, layout: object) -> Array:
    return Array(value.data, value.dtype, layout)


@offered
def _reshape(value: Array, *shape: Any) -> Array:
    sizes = shape[0] if isinstance(shape[0], list | tuple) else shape
    return value.made(value.data.reshape([int(n) for n in sizes]))


@offered
def _permute(value: Array, *order: Any) -> Array:
    axes = order[0] if isinstance(order[0], list | tuple) else order
    return value.made(value.data.transpose(tuple(axes)))


@offered
def _trans(value: Array, *order: Any) -> Array:
    return _permute(value, *(order or (range(value.data.ndim - 1, -1, -1),)))  # type: ignore[no-any-return]


@offered
def _expand_dims(value: Array, axis: int) -> Array:
    return value.made(np.expand_dims(value.data, axis))


@offered
def _broadcast_to(value: Array, *shape: Any) -> Array:
    sizes = shape[0] if isinstance(shape[0], list | tuple) else shape
    return value.made(np.broadcast_to(value.data, [int(n) for n in sizes]))


@offered
def _broadcast(x: Array, y: Array) -> tuple[Array, Array]:
    a, b = np.broadcast_arrays(x.data, y.data)
    return x.made(a), y.made(b)


@offered
def _join(x: Array, y: Array) -> Array:
    return x.made(np.stack(np.broadcast_arrays(x.data, y.data), axis=-1))


@offered
def _split(value: Array) -> tuple[Array, Array]:
    return value.made(value.data[..., 0]), value.made(value.data[..., 1])


# -- reductions --------------------------------------------------------------------------------


def _reduction(operation: Callable[..., Any]) -> Callable[..., Array]:
    def function(x: Array, axis: int | None = None, keep_dims: bool = False, **_: Any) -> Array:  # noqa: FBT001, FBT002
        if x.dtype.is_floating_point:
            wide = x.data.astype(np.promote_types(x.data.dtype, np.float32), copy=False)
            return x.made(operation(wide, axis=axis, keepdims=keep_dims))
        return x.made(operation(x.data, axis=axis, keepdims=keep_dims))

    return function


OFFERED |= {
    "max": _reduction(np.fmax.reduce),
    "min": _reduction(np.fmin.reduce),
    "sum": _reduction(np.sum),
    "xor_sum": _reduction(np.bitwise_xor.reduce),
}


@offered
def _reduce(tiles: Any, axis: int, combine_fn: Callable[..., Any], keep_dims: bool = False) -> Any:  # noqa: FBT001, FBT002
    """Combine halves until one is left; a last dimension of one stands for what a thread holds."""
    several = isinstance(tiles, tuple)
    parts = [np.moveaxis(one.data, axis, 0) for one in (tiles if several else (tiles,))]
    like = tiles[0] if several else tiles
    while (length := len(parts[0])) > 1:
        half = length // 2
        given = [like.made(part[k : k + half, ..., None]) for k in (0, half) for part in parts]
        combined = combine_fn(*given)
        made = combined if isinstance(combined, tuple) else (combined,)
        rest = [part[2 * half :] for part in parts]
        shape = (half, *parts[0].shape[1:])
        parts = [
            np.concatenate([one.data.reshape(shape), end])
            for one, end in zip(made, rest, strict=True)
        ]
    ends = [part[0] for part in parts]
    found = tuple(like.made(np.expand_dims(end, axis) if keep_dims else end) for end in ends)
    return found if several else found[0]


# -- global memory -----------------------------------------------------------------------------


@offered
def _load(pointer: Pointer, mask: Any = None, other: Any = None, **_: Any) -> Array:
    flat, where, meant = pointer.elements(mask)
    dtype = pointer.tensor.dtype
    instead = 0 if other is None else array(other).data
    return Array(np.where(meant, flat[where], instead), dtype, pointer.offsets.layout)


@offered
def _store(pointer: Pointer, value: Any, mask: Any = None, **_: Any) -> None:
    flat, where, meant = pointer.elements(mask)
    numbers = pointer.tensor.dtype.rounded(np.broadcast_to(array(value).data, where.shape))
    flat[where[meant]] = numbers[meant]


@offered
def _atomic_add(pointer: Pointer, value: Any, mask: Any = None, **_: Any) -> Array:
    flat, where, meant = pointer.elements(mask)
    dtype = pointer.tensor.dtype
    before = flat[where].copy()
    np.add.at(flat, where[meant], np.broadcast_to(array(value).data, where.shape)[meant])
    flat[where[meant]] = dtype.rounded(flat[where[meant]])
    return Array(before, dtype)


# -- the rest ----------------------------------------------------------------------------------


@offered
def _constexpr_function(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def constant(*given: Any, **named: Any) -> Any:
        before, running.constant = running.constant, True
        try:
            return function(*given, **named)
        finally:
            running.constant = before

    return constant


@offered
def _static_assert(condition: Any, message: str = "") -> None:
    if not condition:
        raise machine().fault("shape", f"static_assert: {message}")


@offered
def _warp_specialize(parts: Any, *_: Any, **__: Any) -> Any:
    return machine().specialize([(function, tuple(arguments)) for function, arguments in parts])


def _nothing(*_: Any, **__: Any) -> None:
    """Do what a compiler's hint does here."""


def _same(value: Any, *_: Any, **__: Any) -> Any:
    return value


class NVMMASharedLayout(Layout):
    """A layout of shared memory that TMA and the tensor core know."""

    fields = ("swizzle_byte_width", "element_bitwidth", "rank", "transposed", "fp4_padded")

    @staticmethod
    def get_default_for(block_shape: Any, dtype: DType, **_: Any) -> NVMMASharedLayout:
        """Return the layout with the widest swizzle that rows have bytes for."""
        width = int(block_shape[-1]) * dtype.itemsize
        swizzle = next((n for n in (128, 64, 32) if width % n == 0), 0)
        return NVMMASharedLayout(swizzle, dtype.primitive_bitwidth, len(block_shape))


LAYOUTS = (
    "AutoLayout BlockedLayout CoalescedLayout DotOperandLayout NVMMADistributedLayout PaddedSharedLayout "
    "SharedLinearLayout SliceLayout SwizzledSharedLayout"
).split()
HINTS = "assume device_assert device_print static_print thread_barrier barrier".split()
OFFERED |= {name: type(name, (Layout,), {}) for name in LAYOUTS}
OFFERED |= dict.fromkeys(HINTS, _nothing)
OFFERED |= dict.fromkeys(("multiple_of", "max_contiguous", "max_constancy"), _same)
OFFERED |= {
    "int1": BOOL,
    "DistributedLinearLayout": DistributedLinearLayout,
    "NVMMASharedLayout": NVMMASharedLayout,
    "allocate_shared_memory": allocate_shared,
    "constexpr": Constexpr,
    "dtype": DType,
    "num_ctas": lambda: 1,
    "num_warps": lambda: 4,
    "pointer_type": PointerType,
    "shared_memory_descriptor": Memory,
    "static_range": range,
    "tensor": Array,
    "tuple": tuple,
}
METHODS = (
    "abs atomic_add broadcast_to cast expand_dims max min permute reduce reshape split sum to trans"
).split()
Array.functions = {name: OFFERED[name] for name in METHODS}


def _type(self: Array) -> Any:
    return Layout(shape=list(self.shape), layout=self.layout, element_ty=self.dtype, scalar=self.dtype)


Array.type = property(_type)  # type: ignore[attr-defined]


def _kernel_range(*bounds: Any) -> Any:
    """Count with values, as loops of kernels do, where a kernel is what calls."""
    if running.machine is None or running.constant:
        return builtins.range(*(int(bound) for bound in bounds))
    return (Array(n, INT32) for n in builtins.range(*(int(bound) for bound in bounds)))


def _of_values(plain: Callable[..., Any], name: str) -> Callable[..., Any]:
    def function(*given: Any, **named: Any) -> Any:
        if not any(isinstance(one, Array) for one in given):
            return plain(*given, **named)
        return functools.reduce(OFFERED[name], given)

    return function


BUILTINS = {
    "range": _kernel_range,
    "min": _of_values(builtins.min, "minimum"),
    "max": _of_values(builtins.max, "maximum"),
}
"""What stands for Python's own functions in kernel files."""
