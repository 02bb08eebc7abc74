"""Every single change of a schedule's JSON: numbers, names, flags, entries left out or doubled."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

Data = dict[str, Any]
Where = tuple[str | int, ...]
Change = tuple[str, str, Data]
"""What was changed, where (list positions left out) and the changed schedule."""


def changes(data: Data, parts: tuple[str, ...]) -> Iterator[Change]:
    """Yield every change of some parts of a schedule's JSON."""
    for part in parts:
        if part in data:
            yield _changed(data, (part,), "left out", lambda box, at: box.pop(at))
            yield from _within(data, (part,), data[part])


def _within(data: Data, where: Where, value: Any) -> Iterator[Change]:
    yield from _of_value(data, where, value)
    if isinstance(value, dict):
        for key, entry in value.items():
            yield _changed(data, (*where, key), "left out", lambda box, at: box.pop(at))
            yield from _within(data, (*where, key), entry)
        yield from _of_keys(data, where, value)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            here = (*where, index)
            yield _changed(data, here, "left out", lambda box, at: box.pop(at))
            yield _changed(data, here, "doubled", lambda box, at: box.insert(at, box[at]))
            if index:
                yield _changed(data, here, "swapped", _swap)
            yield from _within(data, here, entry)


def _of_value(data: Data, where: Where, value: Any) -> Iterator[Change]:
    """Yield other values of one entry."""
    others: dict[str, Any] = {}
    if isinstance(value, bool):
        others = {"turned over": not value}
    elif isinstance(value, int):
        others = {"one more": value + 1, "one less": value - 1, "doubled": 2 * value + 1}
    elif isinstance(value, float):
        others = {"more": value + 0.5}
    elif isinstance(value, str):
        others = {"renamed": f"{value}x"}
    for how, other in others.items():
        yield _changed(data, where, how, partial(_put, value=other))


def _of_keys(data: Data, where: Where, value: Data) -> Iterator[Change]:
    """Yield renamed keys of what is open to any: pins, depths, versions."""
    if where[-1] in ("pins", "limits", "pipeline_depths", "hiding_depths", "solver"):
        for key in value:
            yield _changed(
                data, (*where, key), "renamed", lambda box, at: _put(box, f"{at}x", box.pop(at))
            )


def _changed(data: Data, where: Where, how: str, change: Callable[[Any, Any], object]) -> Change:
    part = str(where[0])
    other: Data = {**data, part: copy.deepcopy(data[part])}
    box: Any = other
    for step in where[:-1]:
        box = box[step]
    change(box, where[-1])
    return ".".join(step for step in where if isinstance(step, str)), how, other


def _put(box: Any, at: Any, value: Any) -> None:
    box[at] = value


def _swap(box: list[Any], at: int) -> None:
    box[at - 1], box[at] = box[at], box[at - 1]
