"""Arithmetic in cost rules: numbers, names and a few functions, evaluated by simpleeval."""

from __future__ import annotations

import ast
import functools
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from twill.artifacts.base import refuse
from twill.errors import InputError, short

MOST_CYCLES = 1 << 22
MOST_CHARACTERS = 500
MOST_NESTED = 40
"""Operations within each other."""
LARGEST = 1 << 53
"""Magnitude of a number; up to it whole numbers are exact as floating-point ones too."""
LARGEST_EXPONENT = 64
_TOLERANCE = 1e-9


def _number(value: object) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"not a number: {short(value)}")
    if not -LARGEST <= value <= LARGEST:
        raise ValueError("a number beyond 2**53")
    return value


def _bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` of numbers only, with a number as its result."""

    @functools.wraps(function)
    def bounded(*arguments: object) -> float:
        return _number(function(*map(_number, arguments)))

    return bounded


def _power(base: float, exponent: float) -> Any:
    if abs(exponent) > LARGEST_EXPONENT:
        raise ValueError(f"an exponent beyond {LARGEST_EXPONENT}")
    return base**exponent


FUNCTIONS = {
    function.__name__: _bounded(function)
    for function in (math.ceil, math.floor, max, min, math.log2)
}
_OPERATORS = {
    ast.Add: _bounded(operator.add),
    ast.Sub: _bounded(operator.sub),
    ast.Mult: _bounded(operator.mul),
    ast.Div: _bounded(operator.truediv),
    ast.FloorDiv: _bounded(operator.floordiv),
    ast.Mod: _bounded(operator.mod),
    ast.Pow: _bounded(_power),
    ast.USub: _bounded(operator.neg),
    ast.UAdd: _bounded(operator.pos),
    ast.Lt: _bounded(operator.lt),
    ast.LtE: _bounded(operator.le),
    ast.Gt: _bounded(operator.gt),
    ast.GtE: _bounded(operator.ge),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Not: operator.not_,
}
_NODES = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call),
    *(ast.Name, ast.Constant, ast.Load, ast.And, ast.Or, *_OPERATORS),
)


@functools.lru_cache(maxsize=4096)
def parsed(expression: str) -> ast.Expression:
    """Return the tree of an expression of numbers.

    Raises
    ------
    ValueError
        If it is none; says what it may not have.
    """
    if len(expression) > MOST_CHARACTERS:
        raise ValueError(f"an expression of more than {MOST_CHARACTERS} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError("not an expression") from None
    _check_depth(tree)
    for problem in _problems(tree):
        raise ValueError(problem)
    return tree


def check_expression(expression: str, path: str) -> None:
    """Refuse text that is not an expression of numbers.

    Raises
    ------
    PydanticCustomError
        For use inside model validators.
    """
    try:
        parsed(expression)
    except ValueError as error:
        raise refuse(path, f"{error} (got {short(expression)})") from None


def names_in(expression: str) -> frozenset[str]:
    """Return the names in an expression, functions left out."""
    nodes = ast.walk(parsed(expression))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name)) - set(FUNCTIONS)


def _check_depth(tree: ast.AST) -> None:
    level = [tree]
    for _ in range(MOST_NESTED):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise ValueError(f"an expression of more than {MOST_NESTED} operations within each other")


def _problems(tree: ast.AST) -> Iterator[str]:
    """Yield what an expression of numbers may not have."""
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    words = set(_words(tree))
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            yield f"not arithmetic: {type(node).__name__}"
        elif isinstance(node, ast.Call) and (
            node.keywords or not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS
        ):
            yield f"not a call of one of {' '.join(FUNCTIONS)}"
        elif isinstance(node, ast.Name) and node.id in FUNCTIONS and node not in called:
            yield f"a function that is not called: {node.id}"
        elif isinstance(node, ast.Constant) and node not in words:
            yield from _problems_of_constant(node.value)


def _problems_of_constant(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield "text that is not compared with == or !="
    else:
        try:
            _number(value)
        except (TypeError, ValueError) as error:
            yield str(error)


def _words(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the texts that are only asked to be equal, as in ``a_memory == 'smem'``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and all(
            isinstance(by, ast.Eq | ast.NotEq) for by in node.ops
        ):
            for side in (node.left, *node.comparators):
                if isinstance(side, ast.Constant) and isinstance(side.value, str):
                    yield side


def evaluate(
    expression: str, names: Mapping[str, Any], *, path: str, file: str, operation: str = ""
) -> Any:
    """Return the value of `expression`.

    Raises
    ------
    InputError
        If a name is missing, or a number is none or beyond `LARGEST`.
    """
    import simpleeval

    evaluator = simpleeval.SimpleEval(operators=_OPERATORS, functions=FUNCTIONS, names=dict(names))
    try:
        return evaluator.eval(expression, previously_parsed=parsed(expression).body)
    except simpleeval.NameNotDefined as error:
        whose = f" for operation {short(operation)}" if operation else ""
        raise InputError(
            f"nothing named {short(error.name)}{whose} in {short(expression)}", path=path, file=file
        ) from None
    except (simpleeval.InvalidExpression, ArithmeticError, TypeError, ValueError) as error:
        raise InputError(f"{error} in {short(expression)}", path=path, file=file) from None


def to_cycles(value: object, *, path: str, file: str, operation: str = "") -> int:
    """Round a cost up to whole cycles.

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
