"""Arithmetic in cost rules: a safe subset of Python expressions, evaluated by simpleeval."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from twill.artifacts.base import refuse
from twill.errors import InputError, short

FUNCTIONS = {"ceil": math.ceil, "floor": math.floor, "max": max, "min": min, "log2": math.log2}
_TOLERANCE = 1e-9
MOST_CYCLES = 1 << 22


def check_expression(expression: str, path: str) -> None:
    """Refuse text that is not a Python expression.

    Parameters
    ----------
    expression : str
        The expression.
    path : str
        Where it stands in the machine file.

    Raises
    ------
    PydanticCustomError
        For use inside model validators.
    """
    try:
        ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        raise refuse(path, f"not an expression (got {short(expression)})") from None


def evaluate(
    expression: str, names: Mapping[str, Any], *, path: str, file: str, operation: str = ""
) -> Any:
    """Return the value of `expression`.

    Parameters
    ----------
    expression : str
        The expression.
    names : mapping
        Values of the names in it.
    path, file : str
        Where it stands, for errors.
    operation : str
        Operation that is being costed, for errors.

    Raises
    ------
    InputError
        If a name is missing or the arithmetic fails.
    """
    import simpleeval

    evaluator = simpleeval.SimpleEval(functions=FUNCTIONS, names=dict(names))
    try:
        return evaluator.eval(expression)
    except simpleeval.NameNotDefined as error:
        whose = f" for operation {short(operation)}" if operation else ""
        raise InputError(
            f"nothing named {short(error.name)}{whose} in {short(expression)}", path=path, file=file
        ) from None
    except (
        simpleeval.InvalidExpression,
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise InputError(f"{error} in {short(expression)}", path=path, file=file) from None


def to_cycles(value: object, *, path: str, file: str, operation: str = "") -> int:
    """Round a cost up to whole cycles.

    Parameters
    ----------
    value : object
        Cycles; a rounding error of the floating-point arithmetic is forgiven.
    path, file, operation : str
        Where it comes from, for errors.

    Raises
    ------
    InputError
        If it is no number from 0 to about four million.
    """
    if isinstance(value, int | float) and 0 <= value <= MOST_CYCLES:
        return math.ceil(value - _TOLERANCE)
    whose = f" for operation {short(operation)}" if operation else ""
    raise InputError(
        f"a cost is a number from 0 to {MOST_CYCLES}{whose} (got {short(value)})",
        path=path,
        file=file,
    )
