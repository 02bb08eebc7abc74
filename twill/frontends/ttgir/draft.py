"""A loop between TTGIR and the artifact: operations and flows that passes rewrite."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace

from twill.artifacts.loop import Dependence, DependenceKind, Folded, Operation, Tile
from twill.base.names import unused

Axes = tuple[int | None, ...]
OWN = ("key", "source", "transposed")  # what a node has and an operation of the artifact has not


@dataclass(frozen=True)
class Node:
    """An operation as in the artifact; `source` is what the IR calls it.

    Keys follow program order; inserted operations get fractions. An allocation in shared memory and
    a load by TMA know whether their tile lies transposed there.
    """

    key: float
    name: str
    source: str
    kind: str
    warps: int
    operands: tuple[Tile, ...] = ()
    result: Tile | None = None
    elementwise: bool = False
    attributes: dict[str, str | bool | int | float] = field(default_factory=dict)
    location: str | None = None
    transposed: bool | None = None


@dataclass(frozen=True)
class Flow:
    """The node `consumer` reads, as operand `operand`, what `producer` made `distance` ago.

    `axes` are the dimensions of the operand along which those of the producer's result lie, None
    where views mixed all of them. An `address` is used as such only.
    """

    producer: float
    consumer: float
    distance: int
    operand: int | None = None
    axes: Axes | None = None
    kind: DependenceKind = "data"
    in_place: bool = False
    address: bool = False


@dataclass(frozen=True)
class Outside:
    """The node `consumer` reads the invariant number `value` as operand `operand`."""

    value: int
    consumer: float
    operand: int
    axes: Axes | None


@dataclass
class Draft:
    """Operations by key, flows, reads of invariants and the record of what was folded."""

    nodes: dict[float, Node]
    threads_per_warp: int
    flows: list[Flow] = field(default_factory=list)
    outside: list[Outside] = field(default_factory=list)
    folded: list[Folded] = field(default_factory=list)
    gone: dict[float, tuple[str, ...]] = field(default_factory=dict)  # into what, by key
    renamed: list[Flow] = field(default_factory=list)
    carried: frozenset[float] = frozenset()  # nodes whose results the next iteration begins with

    def reads_of(self, key: float) -> list[Flow]:
        """Return the flows that read the result of node `key`."""
        return [flow for flow in self.flows if flow.producer == key and flow.kind == "data"]

    def reads_by(self, key: float) -> list[Flow]:
        """Return the flows that node `key` reads."""
        return [flow for flow in self.flows if flow.consumer == key and flow.kind == "data"]

    def merge(self) -> None:
        """Keep one of flows that are alike."""
        kinds = ("mma", "fma")
        products = {key for key, node in self.nodes.items() if node.kind.startswith(kinds)}
        self.flows = distinct(self.flows, products)
        self.renamed = distinct(self.renamed, products)

    def leave_told(self) -> None:
        """Leave out reads of the second of joined loops where the first reads the same."""
        told = {(f.producer, f.consumer, f.distance) for f in self.flows if f.operand is not None}
        self.flows = [
            f
            for f in self.flows
            if (f.operand, f.kind) != (None, "data")
            or (f.producer, f.consumer, f.distance) not in told
        ]

    def remove(self, key: float, into: Iterable[str]) -> None:
        """Remove a node and what touches it, and record it as folded, with what it had taken in."""
        node, names = self.nodes.pop(key), tuple(sorted(into))
        self.flows = [f for f in self.flows if key not in (f.producer, f.consumer)]
        self.renamed = [f for f in self.renamed if key not in (f.producer, f.consumer)]
        self.outside = [o for o in self.outside if o.consumer != key]
        self.folded = [
            f.model_copy(update={"into": _instead(f.into, node.name, names)}) for f in self.folded
        ]
        self.gone = {k: _instead(taken, node.name, names) for k, taken in self.gone.items()}
        self.gone[key] = names
        self.folded.append(Folded(name=node.name, kind=node.source, into=names))

    def update(self, key: float, **changes: object) -> None:
        """Replace attributes of a node."""
        self.nodes[key] = replace(self.nodes[key], **changes)  # type: ignore[arg-type] # by name

    def insert(
        self, beside: Node, offset: float, kind: str, tiles: tuple[Tile, Tile], warps: int
    ) -> float:
        """Add an access to shared memory that the IR does not have next to a node; return its key.

        `tiles`: what it reads and what it makes.
        """
        (read, made), key = tiles, beside.key + offset
        name = self.unused(f"{beside.name}.{kind}")
        self.nodes[key] = Node(
            key, name, f"ttg.{kind}", kind, warps, (read,), made, location=beside.location
        )
        return key

    def unused(self, name: str) -> str:
        """Return `name`, numbered if it is taken."""
        return unused(name, {node.name for node in self.nodes.values()})

    @staticmethod
    def axes_of(axes: Axes | None, made: Tile | None) -> Axes | None:
        """Return axes as the artifact has them: none where tiles are laid out alike."""
        rank = len(made.shape) if made is not None else 0
        if axes is None:
            return (None,) * rank or None
        # Several results are one tile, side by side along a first dimension.
        axes = (None,) * (rank - len(axes)) + axes
        return None if axes == tuple(range(rank)) else axes

    def operations(self) -> tuple[Operation, ...]:
        """Return the operations in program order."""
        return tuple(
            Operation(**{key: value for key, value in vars(node).items() if key not in OWN})
            for _, node in sorted(self.nodes.items())
        )

    def dependences(self, flows: Iterable[Flow]) -> tuple[Dependence, ...]:
        """Return flows as dependences, sorted by producer and consumer in program order."""
        return tuple(
            Dependence(
                producer=self.nodes[flow.producer].name,
                consumer=self.nodes[flow.consumer].name,
                distance=flow.distance,
                kind=flow.kind,
                operand=flow.operand,
                axes=None
                if flow.operand is None
                else self.axes_of(flow.axes, self.nodes[flow.producer].result),
                in_place=flow.in_place,
            )
            for flow in sorted(flows, key=lambda f: (f.producer, f.consumer, f.distance, f.kind))
        )


def _instead(names: tuple[str, ...], old: str, new: tuple[str, ...]) -> tuple[str, ...]:
    """Return names with one of them replaced by others."""
    return tuple(sorted({*names, *new} - {old})) if old in names else names


def distinct(flows: Iterable[Flow], products: Set[float]) -> list[Flow]:
    """Return flows without repetitions.

    Of flows between the same nodes the first remains, unless they lie along different axes or are
    different operands of a product.
    """
    found: dict[tuple[float, float, int, str, Axes | None, int | None], Flow] = {}
    for flow in flows:
        operand = flow.operand if flow.consumer in products else None
        key = (flow.producer, flow.consumer, flow.distance, flow.kind, flow.axes, operand)
        known = found.setdefault(key, flow)
        if (flow.in_place and not known.in_place) or (known.address and not flow.address):
            found[key] = flow
    return list(found.values())
