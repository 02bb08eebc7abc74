"""Guesses of arguments that are not given."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

from twill.base.graphs import reached


def may_be_left_out(parameter: Any) -> bool:
    """A default is a constant; of a parameter that is none, only the absence of a value is."""
    return bool(parameter.has_default and (parameter.is_constexpr or parameter.default is None))


def plausible(kernel: Any, given: Collection[str]) -> dict[str, str]:
    """Return a setting for every parameter that needs one and is not given.

    Their use decides for pointers and flags, or else their names.
    """
    found, flags, pointers = {}, _flags(kernel), _pointers(kernel)
    for parameter in kernel.params:
        name = parameter.name
        kinds = {"ptr": "*fp16", "desc": "tensordesc<fp16[128,128]>", "scale": "fp32"}
        guess = next((kind for part, kind in kinds.items() if part in name.lower()), "i32")
        guess = kinds["ptr"] if name in pointers else guess
        if name not in given and not may_be_left_out(parameter):
            number = "False" if name in flags else "128"
            found[name] = number if parameter.is_constexpr else guess
    return found


def _pointers(kernel: Any) -> set[str]:
    """Return the names that addresses of loads and stores begin with."""
    begins: dict[str, set[str]] = {}  # of what is assigned to a name
    found: set[str] = set()
    for node in ast.walk(kernel.parse()):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            begins.setdefault(node.targets[0].id, set()).add(_first(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            of_memory = node.func.attr in ("load", "store") or node.func.attr.startswith("atomic_")
            found |= {_first(node.args[0])} if of_memory else set()
    return reached(found, lambda name: begins.get(name, set()))


def _first(expression: ast.expr) -> str:
    """Return the name that a sum begins with."""
    while isinstance(expression, ast.BinOp):
        expression = expression.left
    return expression.id if isinstance(expression, ast.Name) else ""


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
