"""Pairs of float32 that the device computes with at once: Triton's module `float2`."""

from __future__ import annotations

from typing import Any

from twill.sim.emulator.tiles import OFFERED as GL
from twill.sim.emulator.tiles import array
from twill.sim.emulator.values import Array


class Float2Tensor:
    """A tile of pairs; `value` has them along its last dimension."""

    def __init__(self, value: Array) -> None:
        self.value = value

    def __add__(self, other: Float2Tensor) -> Float2Tensor:
        return Float2Tensor(GL["add"](self.value, other.value))

    def __sub__(self, other: Float2Tensor) -> Float2Tensor:
        return Float2Tensor(GL["sub"](self.value, other.value))

    def __mul__(self, other: Float2Tensor) -> Float2Tensor:
        return Float2Tensor(GL["mul"](self.value, other.value))

    def sum(self, axis: int) -> Float2Tensor:
        """Return the sums of firsts and of seconds along a dimension."""
        return Float2Tensor(GL["sum"](self.value, axis))


def _pack(x: Array, axis: int) -> Float2Tensor:
    """Pair what is adjacent along a dimension."""
    shape = [*x.shape[:axis], x.shape[axis] // 2, 2, *x.shape[axis + 1 :]]
    axes = [n for n in range(len(shape)) if n != axis + 1]
    return Float2Tensor(GL["permute"](GL["reshape"](x, shape), [*axes, axis + 1]))


def _unpack(x: Float2Tensor, axis: int) -> Array:
    last = len(x.value.shape) - 1
    order = [*range(axis + 1), last, *range(axis + 1, last)]
    shape = list(x.value.shape[:-1])
    shape[axis] *= 2
    unpacked: Array = GL["reshape"](GL["permute"](x.value, order), shape)
    return unpacked


def _full_like(x: Float2Tensor, value: Any) -> Float2Tensor:
    return Float2Tensor(GL["full"](x.value.shape, array(value), x.value.dtype, x.value.layout))


OFFERED = {
    "Float2Tensor": Float2Tensor,
    "fma": lambda a, b, c: Float2Tensor(GL["fma"](a.value, b.value, c.value)),
    "full_like": _full_like,
    "pack": _pack,
    "pack2": lambda x, y: Float2Tensor(GL["join"](x, y)),
    "unpack": _unpack,
    "unpack2": lambda x: GL["split"](x.value),
}
