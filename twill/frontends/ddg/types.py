"""Types as MLIR writes them, as far as scheduling needs them."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import ValidationError

from twill.artifacts.loop import ELEMENT_BITS, MemoryName, Tile
from twill.errors import InputError, short

_SHAPED = re.compile(r"^(tensor|!ttg\.memdesc)<((?:\d{1,9}x)*)([!\w.]+)(?:, (.*))?>$", re.DOTALL)
_SCALAR = re.compile(r"^(i\d+|f\d+\w*|bf16|index)$")
_ELEMENT = {"f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2", "f4E2M1FN": "f4e2m1", "index": "i64"}
MOST_DIMENSIONS = 8


def is_integer(text: str) -> bool:
    """Return whether a type is an integer scalar."""
    return _SCALAR.match(text) is not None and text.startswith("i")


def tile_of(text: str, *, path: str) -> Tile | None:
    """Return a type as a tile; None for what holds no data: tokens, descriptors, pointers.

    Raises
    ------
    InputError
        If it is a tensor or a buffer of a form or element type that is not known.
    """
    if _SCALAR.match(text):
        return (
            _tile((), text, "registers", None, path)
            if _ELEMENT.get(text, text) in (ELEMENT_BITS)
            else None
        )
    if not text.startswith(("tensor<", "!ttg.memdesc<")):
        return None
    match = _SHAPED.match(text)
    if match is None:
        if "!tt.ptr" in text:
            return None
        raise InputError(f"not a type that is known (got {short(text)})", path=path)
    shape = tuple(int(extent) for extent in match[2].split("x")[:-1])
    if not shape or len(shape) > MOST_DIMENSIONS:
        raise InputError(f"not the shape of a tile (got {short(text)})", path=path)
    rest = match[4] or ""
    if match[1] == "tensor":
        return _tile(shape, match[3], "registers", _elements_per_thread(rest, shape, path), path)
    memory: Literal["smem", "tmem"] = "tmem" if "#ttng.tensor_memory" in rest else "smem"
    return _tile(shape, match[3], memory, None, path)


def _tile(
    shape: tuple[int, ...],
    element: str,
    memory: MemoryName,
    elements_per_thread: int | None,
    path: str,
) -> Tile:
    try:
        return Tile.model_validate(
            {
                "shape": shape,
                "dtype": _ELEMENT.get(element, element),
                "memory": memory,
                "elements_per_thread": elements_per_thread,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"{first['loc'][0]}: {first['msg']} (got {short(first['input'])})", path=path
        ) from None


def _elements_per_thread(layout: str, shape: tuple[int, ...], path: str) -> int | None:
    from twill.frontends.ttgir.layouts import elements_per_thread, parse_layout

    if not layout:
        return None
    try:
        return elements_per_thread(parse_layout(layout), shape)
    except (InputError, KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
        raise InputError(f"not a layout for its shape (got {short(layout)})", path=path) from None
