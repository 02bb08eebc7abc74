"""Files of earlier versions, written in the form of today; what a person wrote there stays."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from twill.artifacts.base import Artifact, parse_toml
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine, extended
from twill.artifacts.order import SCHEMA, Order
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError, short
from twill.base.files import read_bytes

KINDS: dict[str, type[Artifact]] = {
    "twill.loop": Loop,
    "twill.machine": Machine,
    "twill.schedule": Schedule,
    SCHEMA: Order,
}


def migrated(file: str) -> tuple[str, list[str]]:
    """Return a file's text in the form of today, and what was done; nothing if it has that form.

    `file`: a machine (``.toml``, ``.json``), loop, schedule or order (``.json``).

    Raises
    ------
    InputError
        If it is none of them, or not valid.
    """
    text = read_bytes(file)
    if Path(file).suffix == ".toml":
        return _toml(text, file)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {short(str(error))}", file=file) from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema not in KINDS:
        known = ", ".join(KINDS)
        raise InputError(f"one of {known} (got {short(schema)})", path="schema", file=file)
    told = KINDS[schema].bring_up(document)
    new = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    KINDS[schema].from_json(new, file=file)
    return (text.decode(), []) if told is None else (new, told)


def _toml(text: bytes, file: str) -> tuple[str, list[str]]:
    """Return the text of a machine; only what is new is written, comments and order stay."""
    import tomlkit

    before = extended(parse_toml(text, file), file)
    after = copy.deepcopy(before)
    told = Machine.bring_up(after)
    if told is None:
        Machine.from_toml(text, file=file)
        return text.decode(), []
    document = tomlkit.parse(text)
    for (*parents, key), value in _differences(before, after):
        table: Any = document
        for name in parents:
            table = table.setdefault(name, tomlkit.table())
        table[key] = _inline(value)
    for key in before.keys() - after.keys():
        document.pop(key, None)
    new = tomlkit.dumps(document)
    Machine.from_toml(new.encode(), file=file)
    return new, told


def _differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[list[str], Any]]:
    for key, value in after.items():
        if isinstance(value, dict) and isinstance(before.get(key), dict):
            yield from (([key, *path], new) for path, new in _differences(before[key], value))
        elif before.get(key) != value:
            yield [key], value


def _inline(value: Any) -> Any:
    import tomlkit

    if not isinstance(value, dict):
        return value
    table = tomlkit.inline_table()
    table.update(value)
    return table
