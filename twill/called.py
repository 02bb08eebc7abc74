"""Rooms that are called as the function of the interface that has their name: `twill.polish`."""

from __future__ import annotations

from types import ModuleType

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than Ctrl-C may wait

if TYPE_CHECKING:
    from collections.abc import Callable
    from inspect import Signature
    from typing import Any

ROOMS = ("emit", "explain", "polish")
INTERFACE = "twill.interface"  # imported on the first call, since it needs these rooms itself


class Called(ModuleType):
    """A room that is called."""

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        import importlib

        name = self.__name__.rpartition(".")[2]
        found: Callable[..., Any] = getattr(importlib.import_module(INTERFACE), name)
        return found

    @property
    def __signature__(self) -> Signature:
        """The signature that notebooks and `help` show."""
        import inspect

        return inspect.signature(self.__wrapped__)

    def __call__(self, *given: object, **named: object) -> Any:
        """Call the function of the interface."""
        return self.__wrapped__(*given, **named)


class House(ModuleType):
    """The package, in which an import puts each room."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in ROOMS and isinstance(value, ModuleType):
            value.__class__ = Called
        super().__setattr__(name, value)
