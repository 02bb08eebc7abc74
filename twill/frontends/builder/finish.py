"""From what was recorded to a `Loop`: names, layouts, dependences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
from twill.base.errors import short
from twill.base.names import unused
from twill.frontends.builder.recorder import Recorder
from twill.frontends.builder.values import Node, Value, Variable
from twill.frontends.shared import NEGATED, complaint
from twill.frontends.types import Layout, blocked, elements_per_thread, lanes_per_warp, sharing


def accumulator(warps: int) -> Layout:
    """Return how a product lies in the registers of `warps` warps: four lanes share a row.

    Source: PTX ISA 9.0, wgmma.mma_async, register fragment of the accumulator D.
    """
    return blocked(lanes=(8, 4), warps=(warps, 1))


def rows(warps: int) -> Layout:
    """Return how a tile lies that `warps` warps read from tensor memory: a row a thread.

    Source: PTX ISA 9.0, tcgen05.ld, shape 32x32b: lane i of a warp reads row i of its quarter.
    """
    return blocked(lanes=(32, 1), warps=(warps, 1))


class Finishing:
    """Names, layouts and dependences of recorded operations, on their way to a loop."""

    def __init__(self, builder: Recorder) -> None:
        self.builder = builder
        if not builder.nodes:
            raise builder.error("the loop has no operations")
        self.fused: list[tuple[Node, Node]] = []
        self._fuse_products()
        self.producers = {variable: self._producer(variable) for variable in builder.variables}
        self.names = self._names()
        self.layouts = self._layouts()

    def loop(self) -> Loop:
        """Return the loop."""
        builder = self.builder
        dependences = [*self._dependences(), *self._orders()]
        cycle = zero_distance_cycle(dependences)
        if cycle:
            raise builder.error(
                "a cycle of distance 0 can never execute: " + " -> ".join(cycle),
                builder.orders[-1].location,
            )
        return Loop(
            name=builder.name,
            description=builder.description,
            operations=tuple(self._operation(node) for node in builder.nodes),
            dependences=tuple(dependences),
            invariants=tuple(self._invariants()),
            folded=tuple(self._folded()),
            origin=Origin(kernel=builder.name),
        )

    def _fuse_products(self) -> None:
        """Make one operation of a float product and the sum or difference that alone reads it.

        As `twill.frontends.ttgir.passes.fuse_products`; a product with a name stays as it is.
        """
        for total in [n for n in self.builder.nodes if n.kind in ("add", "sub") and n.elementwise]:
            places = [n for n, value in enumerate(total.operands) if self._is_fused(total, value)]
            if not places:
                continue
            product = total.operands.pop(places[0]).source
            assert isinstance(product, Node)
            if total.kind == "sub" and total.operands:
                total.attributes["negated"] = NEGATED[places[0]]
            total.kind, total.operands = "fma", [*product.operands, *total.operands]
            self.builder.nodes.remove(product)
            self.fused.append((product, total))

    def _is_fused(self, total: Node, value: Value) -> bool:
        """Whether the value is a product with a single reader, read element by element."""
        builder, product = self.builder, value.source
        if not isinstance(product, Node) or product.tile is None or total.cost is not None:
            return False
        kept = {v.value.source for v in builder.variables if v.value is not None}
        kept |= {end for order in builder.orders for end in (order.first, order.then)}
        reads = [v for node in builder.nodes for v in node.operands if v.source is product]
        return (
            (product.kind, product.elementwise) == ("mul", True)
            and (product.name, product.cost) == (None, None)
            and product not in kept
            and len(reads) == 1
            and not value.views
            and not product.tile.dtype.startswith("i")
            and (product.tile, product.warps) == (total.tile, total.warps)
        )

    def _producer(self, variable: Variable) -> tuple[Node, int]:
        """Return the operation whose result a variable holds, and how many iterations before."""
        distance, seen, value = variable.distance, {variable}, variable.value
        while value is not None and isinstance(value.source, Variable) and value.source not in seen:
            seen.add(value.source)
            distance += value.source.distance
            value = value.source.value
        match value and value.source:
            case Node() as node:
                return node, distance
            case None:
                wrong = "is never assigned"
            case Variable():
                wrong = "only ever holds its own earlier value"
            case _:
                wrong = "is assigned a value that no operation of the loop makes"
        raise self.builder.error(f"carried {short(variable.name)} {wrong}", variable.location)

    def _source(self, value: Value) -> tuple[Node | None, int]:
        """Return the operation that makes a value, and how many iterations before."""
        if isinstance(value.source, Variable):
            return self.producers[value.source]
        return (value.source if isinstance(value.source, Node) else None), 0

    def _names(self) -> dict[Node, str]:
        """Name operations as given, else after the variable or operation that they help to make."""
        nodes = self.builder.nodes
        names = {node: node.name for node in nodes if node.name is not None}
        completed = {
            variable.value.source: variable.name
            for variable in reversed(self.builder.variables)
            if variable.value is not None and isinstance(variable.value.source, Node)
        }
        roots: dict[Node, str] = {}
        for node in reversed(nodes):
            name = node.name or completed.get(node) or roots.get(node)
            if name is not None:
                made_of = (value.source for value in node.operands)
                roots |= {n: name for n in (node, *made_of) if isinstance(n, Node)}
        for node in sorted(nodes, key=lambda node: node in names or node not in completed):
            if node not in names:
                root = roots.get(node)
                helper = f"{root}.{node.kind}" if root else node.kind
                names[node] = unused(completed.get(node, helper), set(names.values()))
        return names

    def _layouts(self) -> dict[Node, Layout]:
        """Follow layouts through the body until those of carried variables are known too."""
        known: dict[Node, Layout] = {}
        before = None
        while known != before:
            before = dict(known)
            for node in self.builder.nodes:
                layout = self._layout(node, known)
                if layout is not None:
                    known[node] = layout
        return known

    def _layout(self, node: Node, known: Mapping[Node, Layout]) -> Layout | None:
        """Return how the result of an operation is spread over threads, if that is known."""
        if node.tile is None or node.tile.memory != "registers":
            return None
        rank = len(node.tile.shape)
        if node.kind == "mma":
            return accumulator(node.warps)
        if node.kind == "tmem_load" and rank == 2:
            return rows(node.warps)
        if node.kind == "reduce" and node.axis is not None:
            whole = node.operands[0]
            layout = self._layout_of(whole, known) if len(whole.shape) == rank + 1 else None
            return layout and Layout("slice", {"dim": node.axis, "parent": layout})
        if node.elementwise:
            same = (v for v in node.operands if v.shape == node.tile.shape)
            return next((s for v in same if (s := self._layout_of(v, known))), None)
        return None

    def _layout_of(self, value: Value, known: Mapping[Node, Layout]) -> Layout | None:
        node, _ = self._source(value)
        if node is None or node.tile is None or len(node.tile.shape) != len(value.shape):
            return None
        return known.get(node)

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
            raise self.builder.error(
                f"operation {short(self.names[node])}: {complaint(error)}", node.location
            ) from None

    def _made(self, node: Node) -> Tile | None:
        """Return a result with its elements per thread where these are not an even spread."""
        tile, layout = node.tile, self.layouts.get(node)
        if tile is None or layout is None or tile.elements_per_thread is not None:
            return tile
        held = elements_per_thread(layout, tile.shape)
        even = held == tile.elements_each(node.warps * lanes_per_warp(layout))
        return tile if even else tile.model_copy(update={"elements_per_thread": held})

    def _read(self, node: Node, value: Value) -> Tile:
        """Return an operand's tile; what is broadcast is held as widely as the result."""
        producer, _ = self._source(value)
        changes: dict[str, object] = {}
        if node.elementwise and node.tile and value.shape and value.shape != node.tile.shape:
            producer, changes = node, {"shape": node.tile.shape}
        elif producer is None or producer.tile is None or value.views:
            return value.tile
        made = self._made(producer)
        changes["elements_per_thread"] = made.elements_per_thread if made else None
        return value.tile.model_copy(update=changes)

    def _attributes(self, node: Node) -> dict[str, str | bool | int | float]:
        if node.kind != "reduce" or node.axis is None or node.cost is not None:
            return node.attributes
        layout = self._layout_of(node.operands[0], self.layouts)
        shared = None if layout is None else sharing(layout, node.axis)
        implied = {"axis": node.axis}
        if shared is not None:
            implied = {"lanes": shared[0], "lane_warps": shared[1], **implied}
        elif not {"lanes", "lane_warps"} <= node.attributes.keys():
            raise self.builder.error(
                f"reduce {short(self.names[node])}: how its tile is spread over threads is not "
                "known; give lanes and lane_warps",
                node.location,
            )
        return {**node.attributes, **{k: v for k, v in implied.items() if k not in node.attributes}}

    def _dependences(self) -> list[Dependence]:
        found: dict[tuple[object, ...], Dependence] = {}
        for node in self.builder.nodes:
            for operand, value in enumerate(node.operands):
                producer, distance = self._source(value)
                if producer is None:
                    continue
                dependence = Dependence(
                    producer=self.names[producer],
                    consumer=self.names[node],
                    distance=distance,
                    operand=operand,
                    axes=_unless_alike(value.axes),
                    in_place=operand == node.in_place,
                )
                # A product's factors are not interchangeable, the operands of others may be one.
                factor = operand if node.kind in ("mma", "fma") else None
                key = (producer, node, distance, dependence.in_place, value.axes, factor)
                found.setdefault(key, dependence)
        return list(found.values())

    def _orders(self) -> Iterator[Dependence]:
        for order in self.builder.orders:
            producer, consumer = self.names[order.first], self.names[order.then]
            yield Dependence(producer=producer, consumer=consumer, **order.said)

    def _invariants(self) -> Iterator[Invariant]:
        for outside in self.builder.invariants:
            reads = tuple(
                Read(operation=self.names[node], operand=operand, axes=_unless_alike(value.axes))
                for node in self.builder.nodes
                for operand, value in enumerate(node.operands)
                if value.source is outside
            )
            used_by = tuple(dict.fromkeys(read.operation for read in reads))
            yield Invariant(name=outside.name, tile=outside.tile, used_by=used_by, reads=reads)

    def _folded(self) -> Iterator[Folded]:
        users: dict[tuple[str, str], dict[str, None]] = {}
        for node in self.builder.nodes:
            for value in node.operands:
                of = value.source
                source = self.names[of] if isinstance(of, Node) else of.name
                for view in value.views:
                    users.setdefault((f"{source}.{view}", view), {})[self.names[node]] = None
        for (name, kind), into in users.items():
            yield Folded(name=name, kind=kind, into=tuple(into))
        for product, total in self.fused:
            name = self.names[total].removesuffix(".fma")
            yield Folded(
                name=f"{name}.{product.kind}", kind=product.kind, into=(self.names[total],)
            )


def _unless_alike(axes: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if axes == tuple(range(len(axes))) else axes
