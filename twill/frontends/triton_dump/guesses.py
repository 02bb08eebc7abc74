"""Guesses of arguments that are not given."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any


def may_be_left_out(parameter: Any) -> bool:
    """A default is a constant; of a parameter that is none, only the absence of a value is."""
    return bool(parameter.has_default and (parameter.is_constexpr or parameter.default is None))


def plausible(kernel: Any, given: Collection[str]) -> dict[str, str]:
    """Return a setting for every parameter that needs one and is not given.

    Names of parameters decide, and for flags their use.
    """
    found, flags = {}, _flags(kernel)
    for parameter in kernel.params:
        name = parameter.name
        kinds = {"ptr": "*fp16", "desc": "tensordesc<fp16[128,128]>", "scale": "fp32"}
        guess = next((kind for part, kind in kinds.items() if part in name.lower()), "i32")
        if name not in given and not may_be_left_out(parameter):
            number = "False" if name in flags else "128"
            found[name] = number if parameter.is_constexpr else guess
    return found


def _flags(kernel: Any) -> set[str]:
    """Return the names that a kernel's text asks whether they are true."""
    asked: list[ast.expr] = []
    for node in ast.walk(kernel.parse()):
        if isinstance(node, ast.If | ast.IfExp):
            asked.append(node.test)
        elif isinstance(node, ast.BoolOp):
            asked += node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            asked.append(node.operand)
    return {one.id for one in asked if isinstance(one, ast.Name)}
