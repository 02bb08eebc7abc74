"""The language: names of `triton.experimental.gluon.language` other than operations on tiles.

Layouts and hints, which only the compiler reads, are accepted. `OFFERED` has all functions by name.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from twill.base.errors import InputError
from twill.sim.emulator import layouts, tiles
from twill.sim.emulator.layouts import Layout, alike, known
from twill.sim.emulator.machine import machine, running
from twill.sim.emulator.memory import Memory, allocate_shared
from twill.sim.emulator.products import InFlight
from twill.sim.emulator.tiles import array
from twill.sim.emulator.values import BOOL, DTYPES, INT32, Array, DType, Numbers

OFFERED: dict[str, Any] = DTYPES | tiles.OFFERED
READ_CLOCK = "mov.u64 $0, %clock64;"
_READS = itertools.count(1)


def _offered(function: Callable[..., Any]) -> Callable[..., Any]:
    OFFERED[function.__name__.strip("_")] = function
    return function


def _same(value: Any, *_: Any, **__: Any) -> Any:
    return value


CONSTANTS: dict[type, Any] = {
    kind: type(kind.__name__, (kind,), {"value": property(kind)})
    for kind in (int, float, str, tuple, list)
}
"""Types of constants: Python's types with an attribute `value`."""


class Constexpr:
    """A stand-in for `gl.constexpr`: an annotation, and a function of constants."""

    def __new__(cls, value: Any) -> Any:
        """Return the value, as a type of `CONSTANTS` if there is one for it."""
        return CONSTANTS.get(type(value), _same)(value)


class Pointer:
    """Addresses in a tensor of the host: its elements by number."""

    def __init__(self, tensor: Array, offsets: Array) -> None:
        self.tensor, self.offsets = tensor, offsets
        self.dtype = PointerType(tensor.dtype)

    def __add__(self, other: Any) -> Pointer:
        return Pointer(self.tensor, self.offsets + other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Pointer:
        return Pointer(self.tensor, self.offsets - other)

    def __getitem__(self, key: Any) -> Pointer:
        return Pointer(self.tensor, self.offsets[key])

    def elements(self, mask: Any) -> tuple[Numbers, Numbers, Any]:
        """Return the tensor's flat elements, the places of these, and those that the mask keeps."""
        flat = self.tensor.data.reshape(-1)
        meant = np.broadcast_to(True if mask is None else array(mask).data, self.offsets.shape)
        where = np.where(meant, self.offsets.data, 0)
        if (
            not np.shares_memory(flat, self.tensor.data)
            or (where < 0).any()
            or (where >= flat.size).any()
        ):
            text = f"elements {where.min()} to {where.max()} of a tensor of {flat.size}"
            raise machine().fault("bounds", text)
        return flat, where, meant


class PointerType:
    """The type of a pointer."""

    def __init__(self, element_ty: DType) -> None:
        self.element_ty = element_ty


@_offered
def _program_id(axis: int) -> Array:
    return Array(machine().program[int(axis)], INT32)


@_offered
def _num_programs(axis: int) -> Array:
    return Array(machine().programs[int(axis)], INT32)


# -- global memory -----------------------------------------------------------------------------


@_offered
def _load(pointer: Pointer, mask: Any = None, other: Any = None, **_: Any) -> Array:
    flat, where, meant = pointer.elements(mask)
    dtype = pointer.tensor.dtype
    instead = 0 if other is None else array(other).data
    return Array(np.where(meant, flat[where], instead), dtype, pointer.offsets.layout)


@_offered
def _store(pointer: Pointer, value: Any, mask: Any = None, **_: Any) -> None:
    flat, where, meant = pointer.elements(mask)
    numbers = pointer.tensor.dtype.rounded(np.broadcast_to(array(value).data, where.shape))
    flat[where[meant]] = numbers[meant]
    machine().session.write(flat)


def _atomic(update: Callable[..., None], *types: str) -> Callable[..., Array]:
    """Return an atomic update; an element that occurs several times is updated as often."""

    def function(
        pointer: Pointer, value: Any, mask: Any = None, sem: str = "acq_rel", scope: str = "gpu"
    ) -> Array:
        dtype = pointer.tensor.dtype
        if dtype.name not in types or sem not in ORDERS or scope not in SCOPES:
            raise machine().fault("type", f"an atomic update of {dtype.name} ({sem}, {scope})")
        flat, where, meant = pointer.elements(mask)
        before = flat[where].copy()
        numbers = dtype.rounded(np.broadcast_to(array(value).data, where.shape))
        machine().session.write(flat)
        update(flat, where[meant], numbers[meant])
        flat[where[meant]] = dtype.rounded(flat[where[meant]])
        return Array(before, dtype)

    return function


def _exchange(flat: Numbers, where: Numbers, numbers: Numbers) -> None:
    flat[where] = numbers


ORDERS, SCOPES = ("relaxed", "acquire", "release", "acq_rel"), ("gpu", "cta", "sys")
WHOLE = ("int32", "uint32", "int64", "uint64")
REAL = ("float16", "bfloat16", "float32", "float64")
OFFERED |= {
    "atomic_add": _atomic(np.add.at, *WHOLE, *REAL),
    "atomic_max": _atomic(np.maximum.at, *WHOLE, "float32", "float64"),
    "atomic_min": _atomic(np.minimum.at, *WHOLE, "float32", "float64"),
    "atomic_and": _atomic(np.bitwise_and.at, *WHOLE),
    "atomic_or": _atomic(np.bitwise_or.at, *WHOLE),
    "atomic_xor": _atomic(np.bitwise_xor.at, *WHOLE),
    "atomic_xchg": _atomic(_exchange, *WHOLE, *REAL),
}


# -- the rest ----------------------------------------------------------------------------------


@_offered
def _constexpr_function(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def constant(*given: Any, **named: Any) -> Any:
        before, running.constant = running.constant, True
        try:
            return function(*given, **named)
        finally:
            running.constant = before

    return constant


@_offered
def _static_assert(condition: Any, message: str = "") -> None:
    if not condition:
        raise machine().fault("shape", f"static_assert: {message}")


@_offered
def _inline_asm_elementwise(asm: str, *_: Any, **__: Any) -> Array:
    """Return a number that grows from one read of the clock to the next one."""
    if asm != READ_CLOCK:
        raise InputError(f"inline assembly is not emulated: {asm}")
    return Array(next(_READS), DTYPES["int64"])


@_offered
def _warp_specialize(parts: Any, *_: Any, **__: Any) -> Any:
    return machine().specialize([(function, tuple(arguments)) for function, arguments in parts])


def _nothing(*_: Any, **__: Any) -> None:
    """Do what a compiler's hint does here."""


def _static_range(*bounds: Any, **_: Any) -> builtins.range:
    tiles.constants(*bounds)
    return builtins.range(*bounds)


class NVMMASharedLayout(Layout):
    """A layout of shared memory that TMA and the tensor core know."""

    fields = ("swizzle_byte_width", "element_bitwidth", "rank", "transposed", "fp4_padded")

    @staticmethod
    def get_default_for(block_shape: Any, dtype: DType, **_: Any) -> NVMMASharedLayout:
        """Return the layout with the widest swizzle that rows have bytes for."""
        width = int(block_shape[-1]) * dtype.itemsize
        swizzle = next((n for n in (128, 64, 32) if width % n == 0), 0)
        return NVMMASharedLayout(swizzle, dtype.primitive_bitwidth, len(block_shape))


LAYOUTS = (*layouts.REGISTERS, *layouts.CHOSEN, layouts.SwizzledSharedLayout)
OTHER_LAYOUTS = ("PaddedSharedLayout", "SharedLinearLayout")
HINTS = ("assume", "device_assert", "device_print", "static_print", "thread_barrier", "barrier")
OFFERED |= {kind.__name__: kind for kind in LAYOUTS}
OFFERED |= {name: type(name, (Layout,), {}) for name in OTHER_LAYOUTS}
OFFERED |= dict.fromkeys(HINTS, _nothing)
OFFERED |= dict.fromkeys(("multiple_of", "max_contiguous", "max_constancy"), _same)
OFFERED |= {
    "float8e4nv": DTYPES["float8_e4m3fn"],
    "float8e5": DTYPES["float8_e5m2"],
    "int1": BOOL,
    "NVMMASharedLayout": NVMMASharedLayout,
    "allocate_shared_memory": allocate_shared,
    "constexpr": Constexpr,
    "dtype": DType,
    "num_ctas": lambda: 1,
    "num_warps": lambda: 4,
    "pointer_type": PointerType,
    "shared_memory_descriptor": Memory,
    "static_range": _static_range,
    "tensor": Array,
    "tuple": tuple,
}


# -- variables of loops -----------------------------------------------------------------------

Kind = tuple[str, str, tuple[int, ...], Layout | None]
"""The kind of a loop's variable: its category, type of its elements, shape, layout if known."""


def kind_of(value: Any) -> Kind | None:
    """Return a variable's kind as the compiler sees it; None where kinds are not compared."""
    if isinstance(value, InFlight):
        return value.kind
    if isinstance(value, Memory):
        return "memory", value.dtype.name, tuple(value.shape), None
    if isinstance(value, Array):
        if value.data.ndim:
            return "tile", value.dtype.name, value.shape, known(value.layout)
        return "number", "float" if value.dtype.is_floating_point else "int", (), None
    if isinstance(value, bool | int | float):
        return "number", "float" if isinstance(value, float) else "int", (), None
    return None


def described(kind: Kind) -> str:
    """Return a kind in words."""
    what, dtype, shape, layout = kind
    return f"a {what} of {dtype}{list(shape) or ''}{f' in {layout!r}' if layout else ''}"


def counted(numbers: Iterable[Any]) -> Iterator[Any]:
    """Yield the numbers of a kernel's loop, and check its variables after each iteration.

    Raises
    ------
    FaultError
        Of kind ``type``, if a variable from before the loop is of another type behind an iteration.
    """
    before: dict[str, Kind | None] = {}
    for position, number in enumerate(numbers):
        frame = sys._getframe(1)  # noqa: SLF001 - the kernel's function, which runs the loop
        if not position:
            before = {name: kind_of(value) for name, value in frame.f_locals.items()}
        yield number
        _check(before, sys._getframe(1))  # noqa: SLF001 - the same, with its variables of now


def _check(before: dict[str, Kind | None], frame: FrameType) -> None:
    for name, value in frame.f_locals.items():
        was, is_now = before.get(name), kind_of(value)
        if was is None or is_now is None:
            continue
        if was[:3] != is_now[:3] or not alike(was[3], is_now[3]):
            text = f"{name} is {described(was)} before the loop, and {described(is_now)} in it"
            raise machine().fault("type", text)


def _kernel_range(*bounds: Any, **_hints: Any) -> Any:
    """Count with values, as loops of kernels do, where a kernel is what calls."""
    if running.machine is None or running.constant:
        return builtins.range(*(int(bound) for bound in bounds))
    numbers = builtins.range(*(int(bound) for bound in bounds))
    return counted(Array(n, INT32) for n in numbers)


OFFERED["range"] = _kernel_range


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
"""Stand-ins for Python's own functions in kernel files."""
