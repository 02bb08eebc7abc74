"""Kernels: what `gluon.jit` and `gluon.aggregate` make of functions and classes."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from twill.base.errors import InputError
from twill.sim.emulator.language import BUILTINS, OFFERED, Constexpr, Pointer
from twill.sim.emulator.machine import Machine, running
from twill.sim.emulator.pytorch import array_of
from twill.sim.emulator.values import FLOAT32, INT32, Array, of_number


class Kernel:
    """A function of a kernel file: called by kernels, and launched by hosts with a grid."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        functools.update_wrapper(self, function)
        parameters = inspect.signature(function).parameters.values()
        self._constant = {n: p.name for n, p in enumerate(parameters) if _is_constant(p)}
        self._names = set(self._constant.values())
        for name, stand_in in BUILTINS.items():
            function.__globals__.setdefault(name, stand_in)

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Execute it as a part of the kernel that runs."""
        if self._names:
            given = tuple(
                Constexpr(value) if n in self._constant else value for n, value in enumerate(given)
            )
            named = {
                name: Constexpr(value) if name in self._names else value
                for name, value in named.items()
            }
        return self.function(*given, **named)

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        return self if owner is None else functools.partial(self, owner)

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return functools.partial(self._launch, grid)

    def _launch(self, grid: Any, *given: Any, **named: Any) -> None:
        """Execute every block of a grid, one after the other."""
        if named.get("num_ctas", 1) != 1:
            raise InputError("clusters of several blocks are not emulated")
        parameters = inspect.signature(self.function).parameters
        options = {name: value for name, value in named.items() if name in parameters}
        bound = inspect.signature(self.function).bind(*given, **options)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            bound.arguments[name] = value if name in self._names else argument(value)
        sizes = grid(bound.arguments) if callable(grid) else grid
        sizes = [int(n) for n in (sizes if isinstance(sizes, list | tuple) else [sizes])]
        programs = (*sizes, 1, 1, 1)[:3]
        session = running.session
        if session is None:
            raise InputError("a kernel is launched outside of stand_ins()")
        session.shared.begin()
        for z, y, x in itertools.product(*(range(n) for n in reversed(programs))):
            running.machine = Machine(session, (x, y, z), programs)
            try:
                call = functools.partial(self, *bound.args, **bound.kwargs)
                running.machine.run(self.function.__name__, call)
            finally:
                running.machine = None
        session.shared.end()


def _is_constant(parameter: inspect.Parameter) -> bool:
    note = parameter.annotation
    return note is Constexpr or (isinstance(note, str) and note.endswith("constexpr"))


def argument(value: Any) -> Any:
    """Return what a kernel gets of an argument of its host."""
    value = array_of(value)
    if isinstance(value, Array):
        return Pointer(value, Array(0, INT32))
    if isinstance(value, tuple):
        return tuple(argument(one) for one in value)
    if isinstance(value, float):
        return Array(value, FLOAT32)
    if isinstance(value, int) and not isinstance(value, bool):
        return Array(value, of_number(value))
    return value


def jit(function: Callable[..., Any] | None = None, **_: Any) -> Any:
    """Return a kernel of a function; options are the compiler's."""
    return Kernel if function is None else Kernel(function)


def aggregate(kind: type) -> type:
    """Return a class of values by its annotated fields, made in their order."""
    return kind if "__init__" in vars(kind) else dataclasses.dataclass(eq=False)(kind)


GLUON = {
    "aggregate": aggregate,
    "constexpr_function": OFFERED["constexpr_function"],
    "jit": jit,
    "must_use_result": lambda function: function,
}
OFFERED["aggregate"] = aggregate
