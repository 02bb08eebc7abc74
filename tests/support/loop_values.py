"""Evaluate a loop's dataflow graph with NumPy, to see whether two loops compute the same."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from twill.artifacts.loop import Axes, Dependence, Loop, Operation

Array = npt.NDArray[np.float64]
Key = tuple[str, str, int]
ONE_OPERAND = (
    "cast", "convert_layout", "local_load", "local_store", "store", "tmem_load", "tmem_store",
)  # fmt: skip


@dataclass(frozen=True)
class Outside:
    """What a loop takes from outside: loaded tiles, first values, invariants, constants.

    `value(kind, name, number, shape)` gives them: ``load`` of an iteration, ``first`` of so many
    iterations before, ``invariant``, ``constant`` operand of so many.
    """

    value: Callable[[str, str, int, tuple[int, ...]], Array]


def random_outside(seed: int) -> Outside:
    """Return random tiles, the same for the same name, from -1 to 1."""

    @functools.cache
    def value(kind: str, name: str, number: int, shape: tuple[int, ...]) -> Array:
        key = [seed, number, *kind.encode(), *name.encode()]
        return np.random.default_rng(key).uniform(-1, 1, shape)

    return Outside(value)


def parts_outside(
    whole: Outside, original: Loop, factor: int, legend: Mapping[str, tuple[str, int]]
) -> Outside:
    """Return the parts of `whole` that the copies of a sub-tiled loop take.

    `legend` names the operation or invariant that a copy is of, and the number of the copy.
    """
    shapes = {("invariant", i.name): i.tile.shape for i in original.invariants}
    for operation in original.operations:
        shapes |= {(str(n), operation.name): t.shape for n, t in enumerate(operation.operands)}
        shapes["result", operation.name] = operation.result.shape if operation.result else ()

    def value(kind: str, name: str, number: int, shape: tuple[int, ...]) -> Array:
        source, copy = legend.get(name, (name, 0))
        place = {"invariant": "invariant", "constant": str(number)}.get(kind, "result")
        full = whole.value(kind, source, number, shapes[place, source])
        for axis, (part, extent) in enumerate(zip(shape, full.shape, strict=True)):
            if part != extent:
                assert part * factor == extent
                full = full.take(range(copy * part, (copy + 1) * part), axis)
        return full

    return Outside(value)


def evaluate(loop: Loop, iterations: int, outside: Outside) -> dict[tuple[str, int], Array]:
    """Return what every operation makes in every iteration; a store makes what it stores.

    Operations run in the order in which they are listed.
    """
    made: dict[tuple[str, int], Array] = {}
    sources: dict[tuple[str, int], list[Dependence]] = {}
    for dependence in loop.dependences:
        if dependence.kind == "data" and dependence.operand is not None:
            sources.setdefault((dependence.consumer, dependence.operand), []).append(dependence)
    read = {(r.operation, r.operand): (i, r) for i in loop.invariants for r in i.reads}

    def operand(operation: Operation, number: int, iteration: int) -> Array:
        shape = operation.operands[number].shape
        key = (operation.name, number)
        if key in sources:
            (source,) = sources[key]
            return placed(value_of(source, iteration), source.axes, shape)
        if key in read:
            invariant, how = read[key]
            tile = outside.value("invariant", invariant.name, 0, invariant.tile.shape)
            return placed(tile, how.axes, shape)
        return outside.value("constant", operation.name, number, shape)

    def value_of(source: Dependence, iteration: int) -> Array:
        before = iteration - source.distance
        if before >= 0:
            return made[source.producer, before]
        result = loop.operation(source.producer).result
        assert result is not None
        return outside.value("first", source.producer, -before, result.shape)

    for iteration in range(iterations):
        for operation in loop.operations:
            operands = [operand(operation, n, iteration) for n in range(len(operation.operands))]
            made[operation.name, iteration] = (
                outside.value("load", operation.name, iteration, operation.result.shape)
                if operation.kind == "load" and operation.result
                else computed(operation, operands)
            )
    return made


def placed(value: Array, axes: Axes | None, shape: tuple[int, ...]) -> Array:
    """Return a value as an operand: its dimensions along `axes`, repeated along the others."""
    where = tuple(range(value.ndim)) if axes is None else axes
    kept = [(axis, n) for n, axis in enumerate(where) if axis is not None]
    assert all(value.shape[n] == 1 for n, axis in enumerate(where) if axis is None)
    order = [n for _, n in sorted(kept)]
    value = value.squeeze(tuple(n for n, axis in enumerate(where) if axis is None))
    rank = {n: position for position, n in enumerate(sorted(order))}
    value = value.transpose([rank[n] for n in order])
    extents = iter(value.shape)
    taken = {axis for axis, _ in kept}
    return np.broadcast_to(
        value.reshape([next(extents) if axis in taken else 1 for axis in range(len(shape))]), shape
    )


_FUSED: dict[object, Callable[..., Any]] = {
    None: lambda left, right, addend: left * right + addend,
    "addend": lambda left, right, addend: left * right - addend,
    "product": lambda left, right, addend: addend - left * right,
}


def computed(operation: Operation, x: list[Array]) -> Array:
    """Return an operation's result; what is not known exactly is any function of its kind."""
    if operation.kind in ONE_OPERAND:
        return x[0]
    if operation.kind == "mma":
        return np.asarray(x[0] @ x[1] + sum(x[2:]))
    if operation.kind == "reduce":
        axis = operation.attributes["axis"]
        assert isinstance(axis, int)
        largest = operation.attributes["combine"] == "max"
        return np.asarray(x[0].max(axis) if largest else x[0].sum(axis))
    functions: dict[str, Callable[..., Any]] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "fma": _FUSED[operation.attributes.get("negated")],
        "max": np.maximum,
        "exp2": lambda value: np.exp2(np.clip(value, -4, 4)),
        "compare": lambda value, other: (value > other).astype(float),
        "select": lambda choice, value, other: np.where(choice > 0, value, other),
        "tmem_update": lambda value, *others: np.tanh(sum(others, value)),
        "tmem_drain": lambda value, *others: np.tanh(sum(others, value)),
    }
    return np.asarray(functions[operation.kind](*x), dtype=np.float64)
