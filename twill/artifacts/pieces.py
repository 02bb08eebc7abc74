"""Parts of a value that are all that each of its readers reads."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from twill.artifacts.base import by_identity
from twill.artifacts.loop import Loop, Operation, Tile

# Kinds of element-wise functions.
BY_ELEMENT = {
    *("add", "sub", "mul", "divide", "max", "min", "select", "fma"),
    *("exp2", "exp", "log2", "log", "sqrt", "rsqrt", "sin", "cos", "tanh"),
}


@by_identity(64)
def pieces(loop: Loop) -> dict[str, dict[tuple[str, int], Fraction]]:
    """Return which part of a value each of those reads that share it among them.

    They do where each applies an element-wise function and has fewer results than the value has
    elements, and all together have as many. Then each reads the elements of its results, and no
    other does.

    Returns: for each such value its readers, with the distance, and the part that each reads.
    """
    found: dict[str, dict[tuple[str, int], Fraction]] = defaultdict(dict)
    tiles = {operation.name: operation.result for operation in loop.operations}
    for dependence in loop.dependences:
        part = _part(tiles[dependence.producer], loop.operation(dependence.consumer))
        if dependence.kind == "data" and part is not None:
            found[dependence.producer][dependence.consumer, dependence.distance] = part
    return {value: parts for value, parts in found.items() if sum(parts.values()) == 1}


def _part(value: Tile | None, reader: Operation) -> Fraction | None:
    """Return the part of a value that makes a smaller result, element by element."""
    made = reader.result
    alike = reader.kind in BY_ELEMENT
    if value is None or made is None or not alike or made.elements >= value.elements:
        return None
    return Fraction(made.elements, value.elements)
