"""The dependence graph of the page, each node with its operation, by which the page links it.

Its layout has layers (Sugiyama): nodes in rows, long edges routed between them, nothing overlaps.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from twill.artifacts.schedule import Schedule
from twill.base.names import elided
from twill.show import Looks
from twill.studies.explore.pictures import look_of

# Pixels: of a character in a node, of a node's place at least, of a row.
NODE_CHARACTER, NODE, ROW = 6.6, 118, 70
# Height of a node in rows; half of its width, and the width of the place where a long edge passes a
# row, in distances of nodes.
HIGH, HALF, THIN = 0.62, 0.46, 0.22
SWEEPS = 24
Arc = tuple[str, str, int]  # producer, consumer, distance
Stop = str | tuple[int, int]  # a node's name, or the number of an arc and a row that it passes
Point = tuple[float, float]
Curve = list[tuple[str, list[Point]]]  # commands of an SVG path with their points


@dataclass(frozen=True)
class Node:
    """An operation, by its centre in pixels."""

    operation: str
    x: float
    y: float
    lines: tuple[str, ...]
    look: str


@dataclass(frozen=True)
class Edge:
    """A dependence: the path of an SVG, and where its distance is written, in pixels."""

    operations: tuple[str, str]
    path: str
    distance: int
    x: float
    y: float


@dataclass(frozen=True)
class Graph:
    """The dependence graph, in pixels."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: float
    height: float
    node_width: float
    node_height: float = HIGH * ROW


def graph(schedule: Schedule, looks: Looks) -> Graph:
    """Return the dependence graph."""
    group = schedule.assignment
    texts = _texts(schedule, looks)
    arcs = list(
        dict.fromkeys((d.producer, d.consumer, d.distance) for d in schedule.loop.dependences)
    )
    order = {name: number for number, name in enumerate(looks)}
    place = layout(list(texts), arcs, {name: order[group[name]] for name in texts})
    wide = max(NODE, NODE_CHARACTER * (2 + max(len(s) for lines in texts.values() for s in lines)))

    def pixels(at: Point) -> Point:
        return (at[0] + 0.15) * wide, (at[1] + 0.5) * ROW

    def path(curve: Curve) -> str:
        return " ".join(
            letter + " ".join("{:.1f},{:.1f}".format(*pixels(at)) for at in points)
            for letter, points in curve
        )

    return Graph(
        tuple(
            Node(name, *pixels(at), texts[name], look_of(looks, group[name]))
            for name, at in place.nodes.items()
        ),
        tuple(
            Edge(arc[:2], path(curve), arc[2], *pixels(beside))
            for arc, (curve, beside) in zip(arcs, curves(arcs, place), strict=True)
        ),
        (place.width + 0.3) * wide,
        place.rows * ROW,
        2 * HALF * wide,
    )


def _texts(schedule: Schedule, looks: Looks) -> dict[str, tuple[str, ...]]:
    """Return the lines of each node: letter and name, kind, units."""
    found = {}
    for operation in schedule.loop.operations:
        units = dict.fromkeys(step.unit for step in schedule.machine.cost(operation).steps)
        named = [unit for unit in units if unit != "issue"][:2]
        name = f"{looks[schedule.assignment[operation.name]].letter}: {operation.name}"
        found[operation.name] = tuple(map(elided, (name, operation.kind, " ".join(named))))
    return found


def curves(arcs: Sequence[Arc], place: Layout) -> Iterator[tuple[Curve, Point]]:
    """Yield the path of each arc, those of one pair side by side, and where its label goes."""
    pairs = [frozenset(arc[:2]) for arc in arcs]
    for n, (pair, route) in enumerate(zip(pairs, place.routes, strict=True)):
        if len(pair) > 1:
            aside = 0.24 * (pairs[:n].count(pair) - (pairs.count(pair) - 1) / 2)
            (x0, y0), *between, (x1, y1) = route
            yield bent(((x0 + aside, y0), *between, (x1 + aside, y1)))
        else:  # from a node to itself, at its right
            x, y = route[0]
            edge, out = x + HALF, x + 0.6
            bend = [(out, y - 0.3), (out, y + 0.3), (edge, y + 0.12)]
            yield [("M", [(edge, y - 0.12)]), ("C", bend)], (x + 0.535, y - 0.28)


def bent(route: tuple[Point, ...]) -> tuple[Curve, Point]:
    """Return a path, upright along nodes and bent between rows, and where its label goes."""
    (x0, y0), (x1, y1) = route[0], route[-1]
    if y0 == y1:
        side = HALF if x1 > x0 else -HALF
        curve = [("M", [(x0 + side, y0)]), ("L", [(x1 - side, y1)])]
        return curve, ((x0 + x1) / 2, y0)
    reach = (1 if y1 > y0 else -1) * HIGH / 2
    stops = [(x0, y0 + reach)]
    for x, y in route[1:-1]:
        stops += [(x, y - reach), (x, y + reach)]
    stops.append((x1, y1 - reach))
    curve = [("M", stops[:1])]
    for number, ((ax, ay), (bx, by)) in enumerate(itertools.pairwise(stops)):
        bend = (by - ay) * 0.6
        straight = ("L", [(bx, by)])
        curve.append(
            straight if number % 2 else ("C", [(ax, ay + bend), (bx, by - bend), (bx, by)])
        )
    middle = route[len(route) // 2] if len(route) > 2 else ((x0 + x1) / 2, (y0 + y1) / 2)
    return curve, middle


# -- layout -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """Where nodes and edges lie: x in distances of nodes, y in rows from the top.

    A route leads from its producer's centre to its consumer's, of an edge from a node to itself
    twice through the same.
    """

    nodes: dict[str, Point]
    routes: tuple[tuple[Point, ...], ...]
    width: float
    rows: int


def layout(names: Sequence[str], edges: Sequence[Arc], rank: Mapping[str, int]) -> Layout:
    """Lay a graph out; nodes of one rank are kept together where nothing else decides."""
    level = levels(names, edges)
    layers = _Layers([[] for _ in range(max(level.values(), default=0) + 1)])
    for name in sorted(names, key=lambda n: (rank[n], names.index(n))):
        layers.add(name, level[name])
    chains: list[list[Stop]] = []
    for number, (producer, consumer, _) in enumerate(edges):
        top, bottom = sorted((producer, consumer), key=lambda name: level[name])
        between = [(number, row) for row in range(level[top] + 1, level[bottom])]
        for node in between:
            layers.add(node, node[1])
        chain: list[Stop] = [top, *between, bottom]
        layers.join(chain)
        chains.append(chain if top == producer else chain[::-1])
    layers.order()
    x = layers.positions()
    least = min(x.values(), default=0.0)
    at = {node: (x[node] - least + 0.5, float(y)) for node, y in layers.row.items()}
    return Layout(
        {name: at[name] for name in names},
        tuple(tuple(at[node] for node in chain) for chain in chains),
        max(x.values(), default=0.0) - least + 1,
        len(layers.rows),
    )


def levels(names: Sequence[str], edges: Iterable[Arc]) -> dict[str, int]:
    """Return a row for each node, below all that it needs in its own iteration.

    A node without predecessors is directly above its first consumer.
    """
    before: dict[str, set[str]] = {name: set() for name in names}
    for producer, consumer, distance in edges:
        if distance == 0 and producer != consumer:
            before[consumer].add(producer)
    level = dict.fromkeys(names, 0)
    for name in TopologicalSorter(before).static_order():
        level[name] = max((level[p] + 1 for p in before[name]), default=0)
    for name in names:
        after = [level[c] for c in names if name in before[c]]
        if not before[name] and after:
            level[name] = min(after) - 1
    return level


class _Layers:
    """Rows of nodes, with each node's neighbours in adjacent rows."""

    def __init__(self, rows: list[list[Stop]]) -> None:
        self.rows = rows
        self.row: dict[Stop, int] = {}
        self.near: dict[Stop, list[Stop]] = defaultdict(list)

    def add(self, node: Stop, row: int) -> None:
        self.rows[row].append(node)
        self.row[node] = row

    def join(self, chain: list[Stop]) -> None:
        for a, b in itertools.pairwise(chain):
            self.near[a].append(b)
            self.near[b].append(a)

    def _sweeps(self) -> Iterator[Iterator[tuple[list[Stop], int]]]:
        """Yield, for downwards and upwards in turn, each row with the number of the one before."""
        count = len(self.rows)
        for sweep in range(SWEEPS):
            step = 1 if sweep % 2 == 0 else -1
            yield ((self.rows[y], y - step) for y in range(count)[::step])

    def order(self) -> None:
        """Sort rows by where neighbours in the row before are; keep the fewest crossings."""
        best, fewest = [list(row) for row in self.rows], self._crossings()
        for sweep in self._sweeps():
            for row, before in sweep:
                if not 0 <= before < len(self.rows):
                    continue
                place = {node: n for n, node in enumerate(self.rows[before])}
                centre = {}
                for n, node in enumerate(row):
                    near = [place[m] for m in self.near[node] if self.row[m] == before]
                    centre[node] = sum(near) / len(near) if near else float(n)
                row.sort(key=centre.__getitem__)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
        self.rows[:] = best

    def _crossings(self) -> int:
        count = 0
        for row, below in itertools.pairwise(self.rows):
            place = {node: n for n, node in enumerate(below)}
            ends = [
                (n, place[m]) for n, node in enumerate(row) for m in self.near[node] if m in place
            ]
            count += sum(
                (a - c) * (b - d) < 0 for (a, b), (c, d) in itertools.combinations(ends, 2)
            )
        return count

    def positions(self) -> dict[Stop, float]:
        """Move every node to the mean of its neighbours as far as its row allows, repeatedly."""
        x: dict[Stop, float] = {}
        for row in self.rows:
            x.update(zip(row, _room(row), strict=True))
        for sweep in self._sweeps():
            for row, _ in sweep:
                wanted = []
                for node in row:
                    close = [x[m] for m in self.near[node] if self.row[m] != self.row[node]]
                    wanted.append(sum(close) / len(close) if close else x[node])
                x.update(zip(row, _apart(row, wanted), strict=True))
        return x


def _room(row: list[Stop]) -> list[float]:
    """Return the least places of a row's nodes, from left to right."""
    gaps = [0.58 if isinstance(node, str) else THIN / 2 for node in row]
    between = (a + b for a, b in itertools.pairwise(gaps))
    return list(itertools.accumulate(between, initial=0.0))[: len(row)]


def _apart(row: list[Stop], wanted: list[float]) -> list[float]:
    """Return places closest to those wanted (least squares) that keep order and gaps.

    Pool adjacent violators, on places less the room that those to the left need.
    """
    room = _room(row)
    pools: list[tuple[float, int]] = []
    for want, taken in zip(wanted, room, strict=True):
        mean, count = want - taken, 1
        while pools and pools[-1][0] > mean:
            other, many = pools.pop()
            mean = (mean * count + other * many) / (count + many)
            count += many
        pools.append((mean, count))
    means = [mean for mean, count in pools for _ in range(count)]
    return [mean + taken for mean, taken in zip(means, room, strict=True)]
