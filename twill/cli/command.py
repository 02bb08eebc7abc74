"""How a function becomes a command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from twill.base.console import command as ending_in_one_line


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command: errors are one line, and a parameter that is a dataclass is its options."""
    parameters, groups = [], {}
    hints = get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind))
            continue
        assert isinstance(kind, type)
        groups[parameter.name] = kind
        types = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name, parameter.kind, default=field.default, annotation=types[field.name]
            )
            for field in fields(kind)
        ]

    @functools.wraps(function)
    def flat(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        function(**given, **made)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as typed
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return ending_in_one_line(flat)
