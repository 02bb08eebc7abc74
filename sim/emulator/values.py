"""Values: numbers and tiles that a kernel or its host holds in variables, on NumPy arrays.

A `DType` defines how an element is stored and how it is computed with. A bfloat16 is computed as a
float32 that is rounded after every operation, and stored as its upper 16 bits. Floats of 8 bits are
computed likewise, and stored as the places of their values in a list.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from twill.sim.emulator.layouts import Layout, alike, expanded, known
from twill.sim.emulator.machine import running

Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class DType:
    """The type of an element: what Triton and PyTorch call it, and its types in NumPy."""

    name: str
    stored: np.dtype[Any]
    computed: np.dtype[Any]

    @property
    def value(self) -> DType:
        """Return itself, as constants do."""
        return self

    @property
    def primitive_bitwidth(self) -> int:
        """Return the bits of an element in memory."""
        return 1 if self.name in ("bool", "int1") else 8 * self.itemsize

    @property
    def itemsize(self) -> int:
        """Return the bytes of an element in memory."""
        return self.stored.itemsize

    @property
    def is_floating_point(self) -> bool:
        """Return whether elements are floating point."""
        return self.computed.kind == "f"

    def rounded(self, numbers: Numbers) -> Numbers:
        """Return numbers as nearest ones of this type."""
        if self.name in EIGHT_BITS:
            return EIGHT_BITS[self.name][self.packed(numbers)]
        if self.name != "bfloat16":
            return numbers.astype(self.computed, copy=False)
        bits = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
        even = (bits + (((bits >> 16) & 1) + 0x7FFF)) & np.uint32(0xFFFF0000)
        made = even.view(np.float32).reshape(np.shape(numbers))
        return np.where(np.isnan(numbers), np.float32(np.nan), made)

    def packed(self, numbers: Numbers) -> Numbers:
        """Return numbers of this type as they lie in memory."""
        if self.name in EIGHT_BITS:
            return _nearest(EIGHT_BITS[self.name], numbers)
        if self.name != "bfloat16":
            return numbers.astype(self.stored, copy=False)
        return (np.ascontiguousarray(numbers, np.float32).view(np.uint32) >> 16).astype(np.uint16)

    def unpacked(self, stored: Numbers) -> Numbers:
        """Return what lies in memory as numbers to compute with, in memory of their own."""
        if self.name in EIGHT_BITS:
            return EIGHT_BITS[self.name][stored]
        if self.name != "bfloat16":
            return stored.astype(self.computed)
        return (stored.astype(np.uint32) << 16).view(np.float32)

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return f"torch.{self.name}"


def _eight_bits(exponent: int, fraction: int, infinite: bool) -> Numbers:
    """Return the values of all bytes as floats of so many bits of exponent and of fraction.

    `infinite`: whether the largest exponent is for infinities and NaN, as in IEEE 754; otherwise
    only the largest number of either sign is NaN (OCP 8-bit Floating Point Specification).
    """
    bits = np.arange(256)
    power = (bits >> fraction) & ((1 << exponent) - 1)
    part = (bits & ((1 << fraction) - 1)) / (1 << fraction)
    least = 2 - (1 << (exponent - 1))
    size = np.where(power, (1 + part) * 2.0 ** (power + least - 1.0), part * 2.0**least)
    if infinite:
        last = power == (1 << exponent) - 1
        size = np.where(last, np.where(part, np.nan, np.inf), size)
    else:
        size = np.where(bits & 127 == 127, np.nan, size)
    return np.where(bits < 128, size, -size).astype(np.float32)


def _nearest(values: Numbers, numbers: Numbers) -> Numbers:
    """Return the bytes whose values are nearest, of two as near the even one; too large is NaN."""
    sizes = values[:128].astype(np.float64)
    finite = sizes[np.isfinite(sizes)]
    borders = (finite + np.append(finite[1:], 2 * finite[-1] - finite[-2])) / 2
    size = np.abs(np.asarray(numbers, np.float64))
    place = np.searchsorted(borders, size)
    place += (np.append(borders, np.nan)[place] == size) & (place & 1)
    beyond = len(finite)  # infinity, or NaN
    place = np.where(np.isnan(size), 127, np.minimum(place, beyond))
    return (place | np.signbit(numbers) << 7).astype(np.uint8)


EIGHT_BITS = {
    "float8_e4m3fn": _eight_bits(4, 3, infinite=False),
    "float8_e5m2": _eight_bits(5, 2, infinite=True),
}
"""Values of floats of 8 bits by their place, which is how they lie in memory."""


def _dtype(name: str, stored: Any, computed: Any = None) -> DType:
    return DType(name, np.dtype(stored), np.dtype(computed or stored))


DTYPES = {
    name: _dtype(name, getattr(np, name))
    for size in (8, 16, 32, 64)
    for name in (f"int{size}", f"uint{size}", f"float{size}")
    if name != "float8"
}
DTYPES |= {"bool": _dtype("bool", np.bool_), "bfloat16": _dtype("bfloat16", np.uint16, np.float32)}
DTYPES |= {name: _dtype(name, np.uint8, np.float32) for name in EIGHT_BITS}
BOOL, INT32, INT64 = DTYPES["bool"], DTYPES["int32"], DTYPES["int64"]
FLOAT32 = DTYPES["float32"]
LEAST = -(2**31)


def promoted(a: DType, b: DType) -> DType:
    """Return the type in which two elements are computed together."""
    if a.is_floating_point != b.is_floating_point:
        return a if a.is_floating_point else b
    if a.itemsize == b.itemsize and a != b and a.is_floating_point:
        return FLOAT32  # float16 with bfloat16
    if BOOL in (a, b):
        return b if a == BOOL else a
    return max(a, b, key=lambda dtype: dtype.itemsize)


def of_number(number: complex, beside: DType | None = None) -> DType:
    """Return the type of a plain number, alone or combined with an element of another type."""
    if isinstance(number, bool):
        return beside or BOOL
    if isinstance(number, int):
        if beside is not None and beside != BOOL:
            return beside
        return INT32 if LEAST <= number < -LEAST else INT64
    return beside if beside is not None and beside.is_floating_point else FLOAT32


class Array:
    """An immutable tile or number; `functions` are its methods other than the operators.

    `data`: the numbers, in `dtype.computed`.
    `dtype`: type of an element.
    `layout`: the kernel's layout of the tile over threads; only the check of types depends on it.
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __init__(self, data: Any, dtype: DType, layout: object = None) -> None:
        self.data: Numbers = np.asarray(data, dtype.computed)
        self.dtype, self.layout = dtype, layout

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the length of every dimension."""
        return self.data.shape

    def made(self, data: Numbers, dtype: DType | None = None) -> Array:
        """Return numbers as another value of this kind, rounded to a type, of the same layout."""
        dtype = dtype or self.dtype
        return type(self)(dtype.rounded(data), dtype, self.layout)

    def __getattr__(self, name: str) -> Any:
        if name in (functions := type(self).functions):
            return partial(functions[name], self)
        raise AttributeError(f"no {name!r} of a tensor is emulated")

    def __getitem__(self, key: Any) -> Array:
        return type(self)(self.data[indices(key)], self.dtype, _indexed(self, key))

    def __iter__(self) -> Any:
        return (self[n] for n in range(len(self.data)))

    def __len__(self) -> int:
        return len(self.data)

    def __bool__(self) -> bool:
        return bool(self.data)

    def __index__(self) -> int:
        return operator.index(self.data)

    def __int__(self) -> int:
        return int(self.data)

    def __float__(self) -> float:
        return float(self.data)

    def __repr__(self) -> str:
        return str(self.data) if self.data.ndim == 0 else f"{self.dtype.name}{list(self.shape)}"

    __hash__ = None  # type: ignore[assignment] # what compares with `==` by element has none


def indices(key: Any) -> Any:
    """Return an index for NumPy, from values or from plain numbers."""
    if isinstance(key, tuple):
        return tuple(indices(part) for part in key)
    if isinstance(key, slice):
        ends = (key.start, key.stop, key.step)
        return slice(*(None if end is None else operator.index(end) for end in ends))
    return key.data if isinstance(key, Array) else key


def _indexed(value: Array, key: Any) -> Layout | None:
    """Return the layout of a tile that gets a dimension; another index leaves none that is known.

    Raises
    ------
    FaultError
        Of kind ``type``, if the tile's layout has no such dimension.
    """
    places = key if isinstance(key, tuple) else (key,)
    if places.count(None) != 1 or running.machine is None:
        return None
    try:
        return expanded(value.layout, places.index(None))
    except ValueError as error:
        raise running.machine.fault("type", str(error)) from None


def common_layout(a: Any, b: Any) -> Any:
    """Return the layout of what two operands make.

    Raises
    ------
    FaultError
        Of kind ``type``, if two tiles have different ones.
    """
    tiles = [one for one in (a, b) if isinstance(one, Array) and one.data.ndim]
    if len(tiles) > 1 and running.machine is not None:
        first, second = (tile.layout for tile in tiles)
        if not alike(first, second):
            text = f"operands of different layouts, {first!r} and {second!r}"
            raise running.machine.fault("type", text)
    layouts = [known(tile.layout) for tile in tiles]
    return next((layout for layout in layouts if layout is not None), None)


def together(kind: type[Array], a: Any, b: Any) -> tuple[Numbers, Numbers, DType, object] | None:
    """Return two operands in their common type, and its name; None if one is no value."""
    layout = common_layout(a, b)
    both = []
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Array):
            both.append(one.dtype)
        elif isinstance(one, int | float | np.generic):
            plain = one.item() if isinstance(one, np.generic) else one
            both.append(of_number(plain, other.dtype if isinstance(other, kind) else None))
        else:
            return None
    dtype = promoted(*both)
    x, y = (one.data if isinstance(one, Array) else one for one in (a, b))
    return np.asarray(x, dtype.computed), np.asarray(y, dtype.computed), dtype, layout


def _divided(x: Numbers, y: Numbers) -> Numbers:
    return np.asarray(x // y if x.dtype.kind == "f" else (x - np.fmod(x, y)) // y)


ARITHMETIC: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "and_", "or_")},
    **{name: getattr(operator, name) for name in ("xor", "lshift", "rshift", "floordiv", "mod")},
    "pow": np.power,
}
COMPARISONS = {name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")}


def _method(name: str, operation: Callable[..., Any], *, swapped: bool = False) -> Any:
    compares = name in COMPARISONS

    def method(self: Array, other: Any) -> Any:
        first, second = (other, self) if swapped else (self, other)
        operands = together(type(self), first, second)
        if operands is None:
            return NotImplemented
        x, y, dtype, layout = operands
        does = operation
        if name == "truediv" and not dtype.is_floating_point:
            x, y, dtype = x.astype(np.float32), y.astype(np.float32), FLOAT32
        elif name in ("floordiv", "mod"):
            does = _divided if name == "floordiv" else np.fmod
        if compares:
            return type(self)(does(x, y), BOOL, layout)
        return type(self)(dtype.rounded(np.asarray(does(x, y))), dtype, layout)

    return method


def _unary(operation: Callable[..., Any]) -> Any:
    return lambda self: self.made(np.asarray(operation(self.data)))


OPERATORS = [f"__{name}__" for name in ("neg", "pos", "invert", "abs")]
for _name in OPERATORS:
    setattr(Array, _name, _unary(getattr(operator, _name)))
for _name, _operation in (ARITHMETIC | COMPARISONS).items():
    for _prefix in ("", "r", "i") if _name in ARITHMETIC else ("",):
        OPERATORS.append(f"__{_prefix}{_name.strip('_')}__")
        setattr(Array, OPERATORS[-1], _method(_name, _operation, swapped=_prefix == "r"))
