"""Models of JSON objects, put together from dataclasses and models that have their fields."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any, Literal

from pydantic import Field, create_model

from twill.artifacts.base import Part


def part(name: str, about: str, /, *composed: type, **fields: Any) -> Any:
    """Return the model of an object with all fields of some classes, and further fields.

    `about`: its description in the schema. `composed`: models, and dataclasses, all of whose fields
    are required. `fields`: a type by name, perhaps with a default or a `Field` behind it.
    """
    found: dict[str, Any] = {}
    for one in composed:
        found |= _fields(one)
    for key, given in fields.items():
        found[key] = given if isinstance(given, tuple) else (given, ...)
    return create_model(name, __base__=Part, __doc__=about, **found)


def document(
    schema: str, command: str, /, *composed: type, **fields: Any
) -> tuple[str, type[Part]]:
    """Return the name of a schema, and the model of what a command prints with ``--json``.

    `composed`, `fields`: those of `part`.
    """
    first = {
        "schema_name": (Literal[f"twill.{schema}"], Field(alias="schema")),
        "schema_version": Literal[1],
    }
    name = "".join(word.capitalize() for word in schema.split("-"))
    return schema, part(name, f"``{command} --json``.", *composed, **first, **fields)


def many(one: Any) -> Any:
    """Return the type of a list of `one`."""
    return tuple[one, ...]


def named(one: Any) -> Any:
    """Return the type of an object whose values are `one`."""
    return dict[str, one]


def _fields(one: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(one):
        types = typing.get_type_hints(one)
        return {field.name: (types[field.name], ...) for field in dataclasses.fields(one)}
    return {name: (field.annotation, field) for name, field in one.model_fields.items()}
