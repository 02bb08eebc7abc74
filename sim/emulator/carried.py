"""Variables of loops: Triton wants each to be of one type in all iterations."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from twill.sim.emulator.layouts import Layout, alike, known
from twill.sim.emulator.machine import machine
from twill.sim.emulator.memory import Memory
from twill.sim.emulator.products import InFlight
from twill.sim.emulator.values import Array

Kind = tuple[str, str, tuple[int, ...], Layout | None]
"""What a variable is, the type of its elements, its shape, its layout if that is known."""


def kind_of(value: Any) -> Kind | None:
    """Return what the compiler takes a variable for; None where that is not compared."""
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
