"""Which numbers go into which, as expressions that are shared wherever they are equal.

An expression is a number into a table: a tile from outside, an operation on other expressions, or a
mixture of several tiles. (Mixtures are tiles written by halves, or by warps that disagree.) Equal
expressions compute equal tiles: two executions agree if their expressions do. NumPy is needed only
for the rest.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

import numpy as np

from twill.artifacts.loop import Axes, Dependence, Loop, Operation, Tile
from twill.base.errors import InputError
from twill.base.graphs import reached
from twill.sim.checks.tiles import (
    TYPES,
    Array,
    Function,
    Inputs,
    anything,
    function_of,
    operands_between,
    placed,
    rounded,
    unknown,
)

SCALAR = Tile(shape=(1,), dtype="f32")
NOTHING = 0  # the expression of a slot that holds nothing; computing with it gives no number


@dataclass(frozen=True)
class Source:
    """Where one operand of an operation comes from."""

    kind: str  # ``made`` in the loop, ``invariant``, ``constant``, ``zero`` or ``factor``
    name: str = ""  # of the value or the invariant
    distance: int = 0  # the instance of so many iterations before
    axes: Axes | None = None  # see `twill.artifacts.loop.Dependence`


class Dataflow:
    """The operations of a loop as functions of their sources.

    `stand_ins`: whether each operation but loads computes an arbitrary function of all its
    operands, which distinguishes them but means nothing.

    Raises
    ------
    InputError
        If an operation does not define its computation, or its operands.
    """

    def __init__(self, loop: Loop, *, stand_ins: bool = False) -> None:
        self.loop = loop
        self.operations = {operation.name: operation for operation in loop.operations}
        self._between = {o.name: self._arithmetic(o) for o in loop.operations}
        self.sources: dict[str, tuple[Source, ...]] = {}
        self.functions: dict[str, Function] = {}
        self.stand_ins = stand_ins
        self.silent: str | None = None  # why there are stand-ins
        for operation in loop.operations:
            if stand_ins and operation.kind != "load":
                self._stand_in(operation)
                continue
            name = operation.name
            self.sources[name] = self._sources(operation)
            if operation.kind != "load":
                self.functions[name] = function_of(operation, self._between[name])

    @classmethod
    def of(cls, loop: Loop) -> Dataflow:
        """Return a loop's dataflow, with stand-ins if it does not say what it computes."""
        try:
            return cls(loop)
        except InputError as error:
            found = cls(loop, stand_ins=True)
            found.silent = str(error)
            return found

    def _stand_in(self, operation: Operation) -> None:
        """Let an operation compute something of all that it reads."""
        name, shape = operation.name, operation.result.shape if operation.result else (1,)
        found = [
            Source("made", dependence.producer, dependence.distance)
            for dependence in self.loop.dependences
            if dependence.consumer == name and dependence.kind == "data"
        ]
        found += [Source("invariant", i.name) for i in self.loop.invariants if name in i.used_by]
        self.sources[name] = tuple(found) or (Source("factor"),)
        self.functions[name] = functools.partial(anything, shape)

    def _arithmetic(self, operation: Operation) -> list[str]:
        """Return the operations that are folded between the load and the store of one operation."""
        count = operation.attributes.get("arithmetic", 0)
        into = [folded.kind for folded in self.loop.folded if operation.name in folded.into]
        return into[-count:] if isinstance(count, int) and count else []

    def _sources(self, operation: Operation) -> tuple[Source, ...]:
        tiles = [*operation.operands, *([operation.result] if operation.result else [])]
        for tile in tiles:
            if tile.dtype not in TYPES and not self.stand_ins:
                raise unknown(operation, f"NumPy has no element type {tile.dtype}")
        if operation.kind == "load":
            if operation.result is None:
                raise unknown(operation, "a load without a result")
            return ()
        made = {
            dependence.operand: dependence
            for dependence in reversed(self.loop.dependences)
            if dependence.consumer == operation.name and dependence.kind == "data"
        }
        if None in made and operation.operands:
            raise unknown(operation, f"as which operand it reads {made[None].producer} is not said")
        found = [self._source(operation, n, made.get(n)) for n in range(len(operation.operands))]
        more = operands_between(self._between[operation.name])
        if more and len(found) == 1:
            found += [Source("constant")] * more
        elif more != len(found) - 1 and self._between[operation.name]:
            raise unknown(operation, "which of its operands are constants does not show")
        return tuple(found)

    def operand(self, operation: str, number: int) -> Tile:
        """Return the tile of an operand; a constant between load and store is like the first."""
        operands = self.operations[operation].operands or (SCALAR,)
        return operands[number if number < len(operands) else 0]

    def _source(self, operation: Operation, number: int, dependence: Dependence | None) -> Source:
        tile = operation.operands[number]
        if dependence is not None:
            result = self.operations[dependence.producer].result
            if result is None:
                raise unknown(operation, f"{dependence.producer} leaves nothing that could be read")
            axes, name = dependence.axes, dependence.producer
            found, shape = Source("made", name, dependence.distance, axes), result.shape
        else:
            reads = [
                (invariant, read)
                for invariant in self.loop.invariants
                for read in invariant.reads
                if (read.operation, read.operand) == (operation.name, number)
            ]
            if not reads:
                if operation.kind != "mma":
                    return Source("constant")
                return Source("zero" if number == 2 else "factor")
            invariant, read = reads[0]
            found, shape = Source("invariant", invariant.name, 0, read.axes), invariant.tile.shape
        if not _fits(shape, found.axes, tile.shape):
            raise unknown(
                operation, f"operand {number} is a view of {found.name} that mixes its dimensions"
            )
        return found

    def results(self, iterations: int) -> list[tuple[str, int]]:
        """Return the results that leave the loop, as operations and iterations.

        Results are the tiles of every store, and the last instances of values that the next
        iteration would read, or that nothing reads.
        """
        read = {d.producer for d in self.loop.dependences if d.kind == "data"}
        found = []
        for name, operation in self.operations.items():
            count = self._carried.get(name, int(name not in read))
            count = iterations if operation.result is None else count
            found += [(name, i) for i in range(max(0, iterations - count), iterations)]
        return found

    def carried(self, iterations: int) -> list[tuple[str, int]]:
        """Return the last instances of values that the next iteration would read."""
        return [(name, iterations - 1) for name in self._carried]

    @functools.cached_property
    def _carried(self) -> dict[str, int]:
        """For how many iterations values are read later than in their own."""
        last: dict[str, int] = {}
        for d in self.loop.dependences:
            if d.kind == "data" and d.distance:
                last[d.producer] = max(last.get(d.producer, 0), d.distance)
        return last


def _fits(shape: Sequence[int], axes: Axes | None, wanted: Sequence[int]) -> bool:
    """Return whether a value can be laid out as an operand."""
    where = tuple(range(len(shape))) if axes is None else axes
    kept = [(axis, extent) for axis, extent in zip(where, shape, strict=False) if axis is not None]
    dropped = [e for axis, e in zip(where, shape, strict=False) if axis is None]
    return (
        len(where) == len(shape)
        and len({axis for axis, _ in kept}) == len(kept)
        and all(extent == 1 for extent in dropped)
        and all(axis < len(wanted) and extent in (1, wanted[axis]) for axis, extent in kept)
    )


Expression = tuple[object, ...]


class Expressions:
    """A table of expressions over one loop."""

    def __init__(self, dataflow: Dataflow) -> None:
        self.dataflow = dataflow
        self._table: list[Expression] = [("nothing",)]
        self._numbers: dict[Expression, int] = {("nothing",): NOTHING}

    def number(self, *expression: object) -> int:
        """Return the number of an expression.

        `*expression`: ``load``, ``first``, ``invariant``, ``constant`` or ``factor`` with its
        subject. Or ``made`` with the operation and its operands' numbers, ``mixed`` with two
        numbers, ``warps`` with a number for each of several warps.
        """
        found = self._numbers.get(expression)
        if found is None:
            found = self._numbers[expression] = len(self._table)
            self._table.append(expression)
        return found

    def made(self, operation: str, iteration: int, of: Sequence[int]) -> int:
        """Return the expression of an operation's result in an iteration.

        `of`: the expressions that were read for its operands from the loop, in order.
        """
        if operation not in self.dataflow.functions:
            return self.number("load", operation, iteration)
        given = iter(of)
        operands = [
            next(given) if source.kind == "made" else self._outside(operation, n, source, iteration)
            for n, source in enumerate(self.dataflow.sources[operation])
        ]
        return self.number("made", operation, *operands)

    def _outside(self, operation: str, number: int, source: Source, iteration: int) -> int:
        if source.kind == "invariant":
            return self.number("invariant", source.name)
        when = (iteration,) if source.kind == "factor" else ()
        return self.number(source.kind, operation, number, *when)

    def mixed(self, first: int, second: int) -> int:
        """Return a tile whose first half is of one expression and whose second of another."""
        return first if first == second else self.number("mixed", first, second)

    def of_warps(self, parts: Sequence[int]) -> int:
        """Return a tile of which every warp holds a part."""
        return parts[0] if len(set(parts)) == 1 else self.number("warps", *parts)

    def written(self, iterations: int) -> dict[tuple[str, int], int]:
        """Return the expressions of all results in the loop as written."""
        made: dict[tuple[str, int], int] = {}
        for iteration in range(iterations):
            for name in self._in_order():
                of = [
                    made[source.name, iteration - source.distance]
                    if iteration >= source.distance
                    else self.number("first", source.name, source.distance - iteration)
                    for source in self.dataflow.sources[name]
                    if source.kind == "made"
                ]
                made[name, iteration] = self.made(name, iteration, of)
        return made

    def _in_order(self) -> list[str]:
        """Return the operations so that each follows what it reads of its own iteration."""
        before = {
            name: [s.name for s in sources if s.kind == "made" and not s.distance]
            for name, sources in self.dataflow.sources.items()
        }
        return list(TopologicalSorter(before).static_order())

    # -- numbers ------------------------------------------------------------------------------

    def evaluate(self, wanted: Iterable[int], inputs: Inputs) -> dict[int, Array]:
        """Return the tiles of some expressions; each tile is kept until its last use."""
        wanted = set(wanted)
        needed = reached(wanted, self._operands)
        uses = Counter(n for number in needed for n in self._operands(number))
        tiles: dict[int, Array] = {}
        for number in sorted(needed):
            tiles[number] = self._tile(number, tiles, inputs)
            for operand in self._operands(number):
                uses[operand] -= 1
                if not uses[operand] and operand not in wanted:
                    tiles.pop(operand, None)
        return {number: tiles[number] for number in wanted}

    def _operands(self, number: int) -> set[int]:
        kind, *rest = self._table[number]
        compound = kind in ("made", "mixed", "warps")
        return {n for n in rest if isinstance(n, int)} if compound else set()

    def _tile(self, number: int, tiles: dict[int, Array], inputs: Inputs) -> Array:
        kind, *rest = self._table[number]
        of = [n for n in rest if isinstance(n, int)]
        match kind:
            case "nothing":
                return np.asarray(np.nan)
            case "mixed" | "warps":
                return _spliced([tiles[n] for n in of])
            case "made":
                return self._made(str(rest[0]), [tiles[n] for n in of])
        return self._given(str(kind), str(rest[0]), of, inputs)

    def _given(self, kind: str, name: str, of: Sequence[int], inputs: Inputs) -> Array:
        """Return a tile from outside."""
        if kind == "invariant":
            tile = next(i.tile for i in self.dataflow.loop.invariants if i.name == name)
            return rounded(inputs.invariant(name, tile), tile.dtype)
        operation = self.dataflow.operations[name]
        if kind in ("load", "first"):
            give = inputs.load if kind == "load" else inputs.first
            tile = operation.result or SCALAR
            return rounded(give(name, of[0], tile), tile.dtype)
        tile = self.dataflow.operand(name, of[0])
        if kind == "zero":
            return np.zeros(tile.shape, TYPES[tile.dtype])
        if kind == "factor":
            return rounded(inputs.factor(name, of[0], of[1], tile), tile.dtype)
        return rounded(inputs.constant(name, of[0], tile), tile.dtype)

    def _made(self, name: str, operands: Sequence[Array]) -> Array:
        operation = self.dataflow.operations[name]
        if self.dataflow.stand_ins:
            return np.asarray(self.dataflow.functions[name](*operands))
        sources = zip(operands, self.dataflow.sources[name], strict=True)
        given = [
            _as_operand(value, source.axes, self.dataflow.operand(name, number))
            for number, (value, source) in enumerate(sources)
        ]
        with np.errstate(all="ignore"):
            made = self.dataflow.functions[name](*given)
            result = operation.result
            return np.asarray(made) if result is None else rounded(made, result.dtype)


def _as_operand(value: Array, axes: Axes | None, tile: Tile) -> Array:
    """Lay a value out as an operand; a value that does not fit the tile becomes all NaN."""
    try:
        with np.errstate(all="ignore"):
            return rounded(placed(value, axes, tile.shape), tile.dtype)
    except ValueError:
        return rounded(np.full(tile.shape, np.nan), tile.dtype)


def _spliced(parts: Sequence[Array]) -> Array:
    """Return one tile of as many equal stretches as there are parts, one from each."""
    shape = max((part.shape for part in parts), key=len)
    flat = [np.broadcast_to(part, shape).reshape(-1) for part in parts]
    size = flat[0].size
    cuts = itertools.pairwise(size * k // len(flat) for k in range(len(flat) + 1))
    pieces = [values[a:b] for values, (a, b) in zip(flat, cuts, strict=True)]
    return np.concatenate(pieces).reshape(shape)
