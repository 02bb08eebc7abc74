"""Operators of the host's tensors: types as PyTorch promotes them, and what it refuses.

Source: PyTorch 2.13, `torch.result_type` and the errors of its functions on a CPU; a test compares
both where PyTorch is installed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from twill.sim.emulator.values import BOOL, DTYPES, FLOAT32, INT64, Array, DType, Numbers

UINT8 = DTYPES["uint8"]
BITWISE = ("and_", "or_", "xor", "lshift", "rshift")
NUMBERS_ONLY = ("lshift", "rshift", "floordiv", "mod")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", *BITWISE)


def category(dtype: DType) -> int:
    """Return what wins: floats before integers before truth values."""
    return 2 if dtype.is_floating_point else int(dtype != BOOL)


def of_plain(number: complex) -> DType:
    """Return the type of a plain number by itself."""
    if isinstance(number, bool | np.bool_):
        return BOOL
    return INT64 if isinstance(number, int | np.integer) else FLOAT32


def _of_two(a: DType, b: DType) -> DType:
    """Return the type of two tensors of equal rank in the promotion."""
    if a == b:
        return a
    if category(a) != category(b):
        return max(a, b, key=category)
    if any(dtype.name.startswith("float8") for dtype in (a, b)):
        raise RuntimeError(f"promotion of 8-bit floats is not supported ({a} and {b})")
    if a.is_floating_point:
        return FLOAT32 if a.itemsize == b.itemsize else max(a, b, key=lambda d: d.itemsize)
    if any(dtype.name in ("uint16", "uint32", "uint64") for dtype in (a, b)):
        raise RuntimeError(f"promotion of {a} and {b} is not supported")
    if UINT8 in (a, b):
        return DTYPES["int16"] if DTYPES["int8"] in (a, b) else max(a, b, key=_signed)
    return max(a, b, key=lambda d: d.itemsize)


def _signed(dtype: DType) -> int:
    return 0 if dtype == UINT8 else dtype.itemsize


def result_type(*given: Any) -> DType:
    """Return the type in which operands are computed together.

    Tensors with dimensions come before those without, and these before plain numbers: the latter
    count only if their category is higher.
    """
    ranks: list[DType | None] = [None, None, None]
    for one in given:
        rank = 2 if not isinstance(one, Array) else int(one.data.ndim == 0)
        dtype = one.dtype if isinstance(one, Array) else of_plain(one)
        known = ranks[rank]
        ranks[rank] = dtype if known is None else _of_two(known, dtype)
    found = [dtype for dtype in ranks if dtype is not None]
    return max(found, key=category)


def tensors_only(name: str, *given: Any) -> None:
    """Refuse plain numbers, which some functions do not take.

    Raises
    ------
    TypeError
        If one is given.
    """
    for one in given:
        if not isinstance(one, Array):
            raise TypeError(f"{name}(): an argument must be a Tensor, not {type(one).__name__}")


def numbers_only(name: str, dtype: DType) -> None:
    """Refuse truth values.

    Raises
    ------
    RuntimeError
        If they are the type.
    """
    if dtype == BOOL:
        raise RuntimeError(f'"{name}" not implemented for {dtype}')


def operands(*given: Any) -> tuple[list[Numbers], DType]:
    """Return operands in their common type, and that type."""
    dtype = result_type(*given)
    data = [one.data if isinstance(one, Array) else one for one in given]
    return [np.asarray(one).astype(dtype.computed) for one in data], dtype


def _checked(name: str, x: Any, y: Any) -> None:
    dtype = result_type(x, y)
    if name in BITWISE and dtype.is_floating_point:
        raise RuntimeError(f'"{name.strip("_")}" not implemented for {dtype}')
    truths = [isinstance(one, bool) or getattr(one, "dtype", None) == BOOL for one in (x, y)]
    if name == "sub" and any(truths):
        raise RuntimeError("subtraction with a bool tensor is not supported")
    if name in NUMBERS_ONLY:
        numbers_only(name, dtype)
    divides = name in ("floordiv", "mod") and not dtype.is_floating_point
    if divides and (np.asarray(y.data if isinstance(y, Array) else y) == 0).any():
        raise RuntimeError("ZeroDivisionError")


def _computed(name: str, x: Any, y: Any) -> tuple[Numbers, DType]:
    """Return what an operator makes of two operands, and its type."""
    _checked(name, x, y)
    (a, b), dtype = operands(x, y)
    if name == "truediv" and not dtype.is_floating_point:
        a, b, dtype = a.astype(np.float32), b.astype(np.float32), FLOAT32
    function = np.power if name == "pow" else getattr(operator, name)
    with np.errstate(all="ignore"):
        made = np.asarray(function(a, b))
    return made, BOOL if name in COMPARISONS else dtype


def method(name: str, *, swapped: bool = False) -> Callable[[Array, Any], Any]:
    """Return an operator of tensors as a method."""

    def of_two(self: Array, other: Any) -> Any:
        if not isinstance(other, Array | int | float | np.generic):
            return NotImplemented
        made, dtype = _computed(name, *((other, self) if swapped else (self, other)))
        return type(self)(dtype.rounded(made), dtype)

    return of_two


def in_place(name: str) -> Callable[[Array, Any], Any]:
    """Return an operator that changes the tensor before it."""

    def change(self: Array, other: Any) -> Any:
        made, dtype = _computed(name, self, other)
        if category(dtype) > category(self.dtype):
            raise RuntimeError(f"result type {dtype} can't be cast to {self.dtype}")
        self.data[...] = self.dtype.rounded(made)
        return self

    return change


def unary(name: str) -> Callable[[Array], Any]:
    """Return an operator of one tensor as a method."""

    def of_one(self: Array) -> Any:
        if name == "neg" and self.dtype == BOOL:
            raise RuntimeError("negation of a bool tensor is not supported")
        if name == "invert" and self.dtype.is_floating_point:
            raise RuntimeError(f'"bitwise_not" not implemented for {self.dtype}')
        made = np.asarray(getattr(operator, name)(self.data))
        return type(self)(self.dtype.rounded(made), self.dtype)

    return of_one


def _made(like: Array, numbers: Any, dtype: DType) -> Any:
    return type(like)(dtype.rounded(np.asarray(numbers)), dtype)


def clamp(x: Array, min: Any = None, max: Any = None) -> Any:
    """Return a tensor within bounds."""
    bounds = [bound for bound in (min, max) if bound is not None]
    if not bounds:
        raise RuntimeError("clamp: at least one of min and max must not be None")
    (data, *_), dtype = operands(x, *bounds)
    if not any(isinstance(bound, Array) for bound in bounds):
        numbers_only("clamp", dtype)
    if min is not None:
        data = np.maximum(data, operands(min)[0][0].astype(dtype.computed))
    if max is not None:
        data = np.minimum(data, operands(max)[0][0].astype(dtype.computed))
    return _made(x, data, dtype)


def div(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """Return a quotient, rounded down or to zero."""
    tensors_only("div", x)
    if rounding_mode is None:
        return x / y
    if rounding_mode == "floor":
        return x // y
    x // y  # what that refuses
    (a, b), dtype = operands(x, y)
    if dtype.is_floating_point:
        return _made(x, np.trunc(a / b), dtype)
    return _made(x, (a - np.fmod(a, b)) // b, dtype)


def fmod(x: Any, y: Any) -> Any:
    """Return what is left of a quotient that is rounded to zero."""
    tensors_only("fmod", x)
    x % y  # what that refuses
    (a, b), dtype = operands(x, y)
    return _made(x, np.fmod(a, b), dtype)


def install(kind: type[Array]) -> None:
    """Give a class of tensors PyTorch's operators."""
    for name in (*ARITHMETIC, *COMPARISONS):
        plain = name.strip("_")
        setattr(kind, f"__{plain}__", method(name))
        if name in ARITHMETIC:
            setattr(kind, f"__r{plain}__", method(name, swapped=True))
            setattr(kind, f"__i{plain}__", in_place(name))
    for name in ("neg", "invert", "abs"):
        setattr(kind, f"__{name}__", unary(name))
