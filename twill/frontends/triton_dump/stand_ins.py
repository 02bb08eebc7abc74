"""Arguments of calls in place of their types."""

from __future__ import annotations

from typing import Any

from twill.base.errors import InputError
from twill.frontends.triton_dump.call import (
    ALIGNED,
    UNSHAPED,
    Constant,
    Element,
    Type,
    described,
)

# Numbers for which Triton takes an argument to be of a type, as large as sizes of tensors are.
INSTANCES = {
    "i1": True, "i32": 4099, "i32:16": 4096, "i64": 2**40 + 1, "i64:16": 2**40, "fp32": 0.5,
}  # fmt: skip


def instance(value: Any, name: str) -> Any:
    """Return an argument of a call for a type in its place; anything else as it is.

    Raises
    ------
    InputError
        If arguments of calls have no such type.
    """
    if isinstance(value, Constant):
        raise InputError("no argument of a call is constexpr:VALUE; give the value", path=name)
    if not isinstance(value, Type):
        return value
    element = value.text.lstrip("*").removeprefix("k").removesuffix(ALIGNED)
    if value.text.startswith("*"):
        return Element(element)[UNSHAPED]
    if value.text.startswith("tensordesc<"):
        kind, _, shape = value.text.removeprefix("tensordesc<").removesuffix("]>").partition("[")
        block = [int(extent) for extent in shape.split(",")]
        return described(Element(kind)[block], block)
    if value.text in INSTANCES:
        return INSTANCES[value.text]
    raise InputError(f"no argument of a call is {value.text}; give a number", path=name)
