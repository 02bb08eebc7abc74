"""Changes of a kernel's arithmetic: an operand, a mask, an offset, a constant, a comparison."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Change = tuple[str, ast.expr, str]  # its kind, what is replaced, and by what

CONTROL = ("mbarrier.", "tl.range", "range", "gl.static_range", "fence_", "tcgen05_commit")
SHAPES = ("gl.arange", "gl.SliceLayout", "gl.zeros", "gl.convert_layout", "gl.permute", "gl.full")
OTHER = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "*"}
EITHER = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.BitAnd, ast.BitOr)
COMPARED = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "=="}
FUNCTIONS = ("gl.exp2", "gl.exp", "gl.log2", "gl.log", "gl.sqrt", "gl.rsqrt", "gl.erf")
LIKE = {
    "gl.maximum": "gl.minimum",
    "gl.minimum": "gl.maximum",
    "gl.max": "gl.min",
    "gl.sum": "gl.max",
}
TRANSFERS = ("tma.async_load", "tma.async_store", "tma.async_atomic_add")
OPTIONAL = ("mask", "other")


def changes(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield every change of a partition's arithmetic."""
    for statement in _statements(function.body):
        value = getattr(statement, "value", None)
        if isinstance(value, ast.expr):
            for node in _arithmetic(value):
                yield from _of(node)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.For | ast.If):
            yield from _statements([*statement.body, *statement.orelse])


def _arithmetic(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions of data and of places, without slots, parities, shapes and flags."""
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    if name.startswith(CONTROL) or name.endswith(".index"):
        return
    yield node
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield from _arithmetic(node.func.value)
        if name not in SHAPES:
            keywords = [k.value for k in node.keywords if k.arg in OPTIONAL]
            for one in [*node.args, *keywords]:
                yield from _arithmetic(one)
        elif name in ("gl.convert_layout", "gl.permute", "gl.full"):
            yield from _arithmetic(node.args[1 if name == "gl.full" else 0])
        return
    if isinstance(node, ast.Subscript):
        yield from _arithmetic(node.value)
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _arithmetic(child)


def _of(node: ast.expr) -> Iterator[Change]:
    text = ast.unparse
    if isinstance(node, ast.BinOp):
        left, right = f"({text(node.left)})", f"({text(node.right)})"
        if isinstance(node.op, EITHER):
            yield "right operand left out", node, left
            yield "left operand left out", node, right
        if (sign := OTHER.get(type(node.op))) is not None:
            yield "operator changed", node, f"({left} {sign} {right})"
        for part in (node.left, node.right):
            if isinstance(part, ast.Constant):
                yield "constant changed", part, text(ast.Constant(_changed(part.value)))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = text(node.left), text(node.comparators[0])
        sign = COMPARED[type(node.ops[0])]
        yield "comparison turned", node, f"({left} {sign} {right})"
        yield "comparison moved", node, text(node).replace(right, f"({right} + 9)")
    elif isinstance(node, ast.Call):
        yield from _calls(node)


def _changed(number: object) -> float:
    assert isinstance(number, int | float)
    return number + 1 if isinstance(number, int) else 1.5 * number + 0.1


def _calls(node: ast.Call) -> Iterator[Change]:
    name, text = ast.unparse(node.func), ast.unparse
    if name in ("gl.maximum", "gl.minimum", "gl.where"):
        for one in node.args[-2:]:
            yield "choice left out", node, f"({text(one)})"
    if name in LIKE:
        yield "function changed", node.func, LIKE[name]
    if name in FUNCTIONS:
        yield "function left out", node, f"({text(node.args[0])})"
    yield from _of_memory(node, name)


def _of_memory(node: ast.Call, name: str) -> Iterator[Change]:
    text = ast.unparse
    if name in TRANSFERS and isinstance(node.args[1], ast.List):
        for place in node.args[1].elts:
            if text(place) != "0":
                yield "coordinate left out", place, "0"
    if any(keyword.arg == "mask" for keyword in node.keywords):
        kept = [k for k in node.keywords if k.arg not in OPTIONAL]
        given = [*map(text, node.args), *(f"{k.arg}={text(k.value)}" for k in kept)]
        yield "mask left out", node, f"{name}({', '.join(given)})"
