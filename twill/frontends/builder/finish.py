"""From what was recorded to a `Loop`: names, spreads, dependences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pydantic import ValidationError

from twill.artifacts.loop import (
    Dependence,
    Folded,
    Invariant,
    Loop,
    Operation,
    Origin,
    Read,
    Tile,
    zero_distance_cycle,
)
from twill.errors import short
from twill.frontends.builder.values import Node, Value, Variable
from twill.names import unused

if TYPE_CHECKING:
    from twill.frontends.builder import LoopBuilder


def finish(builder: LoopBuilder) -> Loop:
    """Return the loop that was recorded.

    Parameters
    ----------
    builder : LoopBuilder
        The builder.

    Raises
    ------
    InputError
        If a carried variable was never assigned or has no producer, if the spread of a reduced
        tile is unknown, or if the loop is empty.
    """
    return _Finishing(builder).loop()


class _Finishing:
    def __init__(self, builder: LoopBuilder) -> None:
        self.builder = builder
        if not builder.nodes:
            raise builder.error("the loop has no operations")
        self.producers = {variable: self._producer(variable) for variable in builder.variables}
        self.names = self._names()
        self.spreads = self._spreads()

    def loop(self) -> Loop:
        dependences = self._dependences()
        cycle = zero_distance_cycle(dependences)
        if cycle:
            raise self.builder.error(
                "a cycle of distance 0 can never execute: " + " -> ".join(cycle),
                self.builder.orders[-1].location,
            )
        return Loop(
            name=self.builder.name,
            description=self.builder.description,
            operations=tuple(self._operation(node) for node in self.builder.nodes),
            dependences=tuple(dependences),
            invariants=tuple(self._invariants()),
            folded=tuple(self._folded()),
            origin=Origin(kernel=self.builder.name),
        )

    def _producer(self, variable: Variable) -> tuple[Node, int]:
        """Return the operation whose result a variable holds, and how many iterations before."""
        distance, seen = variable.distance, {variable}
        value = variable.value
        while value is not None and isinstance(value.source, Variable):
            if value.source in seen:
                raise self._wrong(variable, "only ever holds its own earlier value")
            seen.add(value.source)
            distance += value.source.distance
            value = value.source.value
        if value is None:
            raise self._wrong(variable, "is never assigned")
        if not isinstance(value.source, Node):
            raise self._wrong(variable, "is assigned a value that no operation of the loop makes")
        return value.source, distance

    def _wrong(self, variable: Variable, what: str) -> Exception:
        return self.builder.error(f"carried {short(variable.name)} {what}", variable.location)

    def _names(self) -> dict[Node, str]:
        """Name operations as given, else after the variable or operation that they help to make."""
        roots = self._roots()
        names = {node: node.name for node in self.builder.nodes if node.name is not None}
        completing = {node for node, name in self._completed().items() if node not in names}
        for node in sorted(self.builder.nodes, key=lambda node: node not in completing):
            if node not in names:
                root = roots.get(node)
                helper = f"{root}.{node.kind}" if root else node.kind
                base = root if root and node in completing else helper
                names[node] = unused(base, set(names.values()))
        return names

    def _roots(self) -> dict[Node, str]:
        """Return for each operation the name of the first named one that its result leads to."""
        completed = self._completed()
        roots: dict[Node, str] = {}
        for node in reversed(self.builder.nodes):
            name = node.name or completed.get(node) or roots.get(node)
            if name is None:
                continue
            roots[node] = name
            for value in node.operands:
                if isinstance(value.source, Node):
                    roots[value.source] = name
        return roots

    def _completed(self) -> dict[Node, str]:
        """Return the variables whose last values operations make."""
        return {
            variable.value.source: variable.name
            for variable in reversed(self.builder.variables)
            if variable.value is not None and isinstance(variable.value.source, Node)
        }

    def _spreads(self) -> dict[Node, Spread]:
        """Follow spreads through the body until those of carried variables are known too."""
        known: dict[Node, Spread] = {}
        while True:
            found = dict(known)
            for node in self.builder.nodes:
                spread = self._spread(node, found)
                if spread is not None:
                    found[node] = spread
            if found == known:
                return known
            known = found

    def _spread(self, node: Node, known: Mapping[Node, Spread]) -> Spread | None:
        if node.tile is None or node.tile.memory != "registers":
            return None
        if node.kind == "mma":
            return accumulator(node.warps)
        if node.kind == "tmem_load" and len(node.tile.shape) == 2:
            return rows(node.warps)
        if node.kind == "reduce" and node.axis is not None:
            whole = self._spread_of(node.operands[0], known)
            return whole.without(node.axis) if whole else None
        if node.elementwise:
            same = (v for v in node.operands if v.shape == node.tile.shape)
            return next((s for v in same if (s := self._spread_of(v, known))), None)
        return None

    def _spread_of(self, value: Value, known: Mapping[Node, Spread]) -> Spread | None:
        node = self._node(value)
        spread = known.get(node) if node is not None else None
        return spread if spread is not None and len(spread.lanes) == len(value.shape) else None

    def _node(self, value: Value) -> Node | None:
        """Return the operation that makes a value, in this iteration or an earlier one."""
        if isinstance(value.source, Variable):
            return self.producers[value.source][0]
        return value.source if isinstance(value.source, Node) else None

    def _operation(self, node: Node) -> Operation:
        try:
            return Operation(
                name=self.names[node],
                kind=node.kind,
                warps=node.warps,
                operands=tuple(self._read(node, value) for value in node.operands),
                result=self._made(node),
                elementwise=node.elementwise,
                attributes=self._attributes(node),
                location=node.location,
                cost=node.cost,
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise self.builder.error(
                f"operation {short(self.names[node])}: {first['loc'][0]}: {first['msg']} "
                f"(got {short(first['input'])})",
                node.location,
            ) from None

    def _made(self, node: Node) -> Tile | None:
        return _spread_tile(node.tile, self.spreads.get(node), node.warps)

    def _read(self, node: Node, value: Value) -> Tile:
        """Return an operand's tile; what is broadcast is held as widely as the result."""
        producer = self._node(value)
        if node.elementwise and node.tile and value.shape and value.shape != node.tile.shape:
            made = self._made(node)
            return value.tile.model_copy(
                update={
                    "shape": node.tile.shape,
                    "elements_per_thread": made.elements_per_thread if made else None,
                }
            )
        if producer is None or producer.tile is None or value.views:
            return value.tile
        made = self._made(producer)
        spread = made.elements_per_thread if made else None
        return value.tile.model_copy(update={"elements_per_thread": spread})

    def _attributes(self, node: Node) -> dict[str, str | bool | int | float]:
        if node.kind != "reduce" or node.axis is None or node.cost is not None:
            return node.attributes
        spread = self._spread_of(node.operands[0], self.spreads)
        if spread is None and not {"lanes", "lane_warps"} <= node.attributes.keys():
            raise self.builder.error(
                f"reduce {short(self.names[node])}: how its tile is spread over threads is not "
                "known; give lanes and lane_warps",
                node.location,
            )
        implied = (
            {"lanes": spread.lanes[node.axis], "lane_warps": spread.warps[node.axis]}
            if spread
            else {}
        )
        implied["axis"] = node.axis
        return {**node.attributes, **{k: v for k, v in implied.items() if k not in node.attributes}}

    def _dependences(self) -> list[Dependence]:
        found: dict[tuple[str, str, int, bool, tuple[int, ...], int | None], Dependence] = {}
        for node in self.builder.nodes:
            for operand, value in enumerate(node.operands):
                producer, distance = self._from(value)
                if producer is None:
                    continue
                in_place = operand == node.in_place
                # A product's factors are not interchangeable, the operands of others may be one.
                factor = operand if node.kind == "mma" else None
                names = self.names[producer], self.names[node]
                key = (*names, distance, in_place, value.axes, factor)
                found.setdefault(
                    key,
                    Dependence(
                        producer=key[0],
                        consumer=key[1],
                        distance=distance,
                        operand=operand,
                        axes=_unless_alike(value.axes),
                        in_place=in_place,
                    ),
                )
        return [
            *found.values(),
            *(self._ordered(index) for index in range(len(self.builder.orders))),
        ]

    def _from(self, value: Value) -> tuple[Node | None, int]:
        if isinstance(value.source, Variable):
            return self.producers[value.source]
        return self._node(value), 0

    def _ordered(self, index: int) -> Dependence:
        order = self.builder.orders[index]
        return Dependence(
            producer=self.names[order.first],
            consumer=self.names[order.then],
            distance=order.distance,
            kind=order.kind,
            delay=order.delay,
            blocking=order.blocking,
        )

    def _invariants(self) -> list[Invariant]:
        return [
            Invariant(
                name=outside.name,
                tile=outside.tile,
                used_by=tuple(
                    self.names[node]
                    for node in self.builder.nodes
                    if any(value.source is outside for value in node.operands)
                ),
                reads=tuple(
                    Read(
                        operation=self.names[node],
                        operand=operand,
                        axes=_unless_alike(value.axes),
                    )
                    for node in self.builder.nodes
                    for operand, value in enumerate(node.operands)
                    if value.source is outside
                ),
            )
            for outside in self.builder.outside
            if outside.invariant
        ]

    def _folded(self) -> list[Folded]:
        users: dict[tuple[str, str], list[str]] = {}
        for node in self.builder.nodes:
            for value in node.operands:
                for view in value.views:
                    into = users.setdefault((f"{self._source_name(value)}.{view}", view), [])
                    if self.names[node] not in into:
                        into.append(self.names[node])
        return [Folded(name=n, kind=k, into=tuple(into)) for (n, k), into in users.items()]

    def _source_name(self, value: Value) -> str:
        return self.names[value.source] if isinstance(value.source, Node) else value.source.name


def _spread_tile(tile: Tile | None, spread: Spread | None, warps: int) -> Tile | None:
    """Return the tile with its elements per thread where these are not an even spread."""
    if tile is None or spread is None or tile.elements_per_thread is not None:
        return tile
    held = spread.per_thread(tile.shape)
    return (
        tile
        if held == tile.elements_each(warps * spread.threads_per_warp)
        else tile.model_copy(update={"elements_per_thread": held})
    )


def _unless_alike(axes: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if axes == tuple(range(len(axes))) else axes


@dataclass(frozen=True)
class Spread:
    """Lanes of a warp, and warps, along each dimension of a tile.

    Attributes
    ----------
    lanes, warps : tuple of int
        One entry for each dimension.
    threads_per_warp : int
        All lanes of a warp; where a dimension was reduced, more than those along the others.
    """

    lanes: tuple[int, ...]
    warps: tuple[int, ...]
    threads_per_warp: int

    def per_thread(self, shape: tuple[int, ...]) -> int:
        """Return the elements of a tile that one thread holds, replicas counted.

        Parameters
        ----------
        shape : tuple of int
            The tile's shape.
        """
        threads = [lanes * warps for lanes, warps in zip(self.lanes, self.warps, strict=True)]
        return math.prod(-(-extent // count) for extent, count in zip(shape, threads, strict=True))

    def without(self, axis: int) -> Self:
        """Return the spread of what a reduction along `axis` leaves.

        Parameters
        ----------
        axis : int
            The reduced dimension.
        """
        lanes, warps = list(self.lanes), list(self.warps)
        del lanes[axis], warps[axis]
        return type(self)(tuple(lanes), tuple(warps), self.threads_per_warp)


def accumulator(warps: int) -> Spread:
    """Return the spread of a product in registers: four lanes share a row.

    Source: PTX ISA 9.0, wgmma.mma_async, register fragment of the accumulator D.

    Parameters
    ----------
    warps : int
        Warps that execute the product.
    """
    return Spread(lanes=(8, 4), warps=(warps, 1), threads_per_warp=8 * 4)


def rows(warps: int) -> Spread:
    """Return the spread of a tile read from tensor memory: a thread holds a whole row.

    Source: PTX ISA 9.0, tcgen05.ld, shape 32x32b: lane i of a warp reads row i of its quarter.

    Parameters
    ----------
    warps : int
        Warps that read it.
    """
    return Spread(lanes=(32, 1), warps=(warps, 1), threads_per_warp=32)
