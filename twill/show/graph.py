"""The dependence graph, coloured by warp group (the paper's picture of its Blackwell strategy).

Its layout has layers (Sugiyama): nodes in rows, long edges routed between them, nothing overlaps.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from twill.artifacts.schedule import Schedule
from twill.base.figures import PICTURES, check_ending, new_figure, save
from twill.base.files import write_whole
from twill.base.names import elided
from twill.show import groups_legend, label, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path as Curve

# Inches: of a character in a node, of a row, of what is around.
CHARACTER, ROW, FRAME = 0.08, 0.82, 1.0
LEAST_WIDTH, LEAST_FIGURE = 1.0, 5.0
# Height of a node in rows; half of its width, and the width of the place where a long edge passes a
# row, in distances of nodes.
HIGH, HALF, THIN = 0.62, 0.46, 0.22
SOLID, DASHED = "solid", (0, (4, 2))
SWEEPS = 24
Edge = tuple[str, str, int]  # producer, consumer, distance
Node = str | tuple[int, int]  # a node's name, or the number of an edge and a row that it passes
Point = tuple[float, float]


def draw_graph(schedule: Schedule, file: str) -> None:
    """Draw a schedule's dependence graph.

    Raises
    ------
    InputError
        If the ending is another one, or the file cannot be written.
    """
    if check_ending(file, (*PICTURES, ".dot")) == ".dot":
        write_whole(file, dot(schedule))
        return
    place = graph_layout(schedule)
    texts = node_texts(schedule)
    longest = max(len(line) for text in texts.values() for line in text.split("\n"))
    unit = max(LEAST_WIDTH, CHARACTER * (longest + 2))
    width = max(LEAST_FIGURE, unit * place.width + 0.4)
    with new_figure(width, ROW * place.rows + FRAME) as figure:
        axes = figure.subplots()
        _draw_edges(axes, graph_edges(schedule), place)
        _draw_nodes(axes, schedule, place, texts)
        spare = max(0.3, width / unit - place.width) / 2
        axes.set_xlim(-spare, place.width + spare)
        axes.set_ylim(place.rows - 0.45, -0.55)
        axes.axis("off")
        title = f"{schedule.name} on {schedule.machine.name}: dependences"
        axes.set_title(f"{title}\ndashed: carried over iterations, [distance]", fontsize=10)
        groups_legend(figure, schedule)
        save(figure, file, title)


def graph_layout(schedule: Schedule) -> Layout:
    """Return where the graph's nodes and edges lie."""
    order = {group.name: number for number, group in enumerate(schedule.groups)}
    rank = {name: order[group] for name, group in schedule.assignment.items()}
    return layout([o.name for o in schedule.loop.operations], graph_edges(schedule), rank)


def graph_edges(schedule: Schedule) -> list[Edge]:
    """Return the graph's edges: producer, consumer and distance."""
    loop = schedule.loop
    return list(dict.fromkeys((d.producer, d.consumer, d.distance) for d in loop.dependences))


def node_texts(schedule: Schedule) -> dict[str, str]:
    """Return what stands in each node: letter and name, kind, units."""
    styles, group = looks(schedule), schedule.assignment
    found = {}
    for operation in schedule.loop.operations:
        units = dict.fromkeys(step.unit for step in schedule.machine.cost(operation).steps)
        named = [unit for unit in units if unit != "issue"][:2]
        name = f"{styles[group[operation.name]].letter}: {operation.name}"
        lines = (name, operation.kind, " ".join(named))
        found[operation.name] = "\n".join(map(elided, lines))
    return found


def _draw_nodes(axes: Axes, schedule: Schedule, place: Layout, texts: dict[str, str]) -> None:
    from matplotlib.patches import FancyBboxPatch

    styles, group = looks(schedule), schedule.assignment
    for name, (x, y) in place.nodes.items():
        style, corner = styles[group[name]], (x - HALF, y - HIGH / 2)
        round_ = "round,pad=0,rounding_size=0.08"
        node = FancyBboxPatch(corner, 2 * HALF, HIGH, boxstyle=round_, linewidth=0.8, zorder=3)
        node.set(**style.patch)
        axes.add_patch(node)
        box = style.colour if style.hatch else ""
        label(axes, (x, y), texts[name], 7.5, box, zorder=4, linespacing=1.15)


def _draw_edges(axes: Axes, edges: list[Edge], place: Layout) -> None:
    """Draw edges from node to node, bent where they pass rows."""
    from matplotlib.patches import FancyArrowPatch

    for (_, _, distance), (path, beside) in zip(edges, curves(edges, place), strict=True):
        arrow = FancyArrowPatch(path=path, arrowstyle="-|>", mutation_scale=7, zorder=2)
        colour, style = ("0.35", DASHED) if distance else ("0.1", SOLID)
        arrow.set(color=colour, linestyle=style, linewidth=0.9)
        axes.add_patch(arrow)
        if distance:
            label(axes, beside, f"[{distance}]", 7, "white", pad=0.3, zorder=2.5)


def curves(edges: Sequence[Edge], place: Layout) -> Iterator[tuple[Curve, Point]]:
    """Yield the path of each edge, those of one pair side by side, and where its label goes."""
    pairs = [frozenset(edge[:2]) for edge in edges]
    for n, (pair, route) in enumerate(zip(pairs, place.routes, strict=True)):
        if len(pair) > 1:
            aside = 0.24 * (pairs[:n].count(pair) - (pairs.count(pair) - 1) / 2)
            (x0, y0), *between, (x1, y1) = route
            yield _bent(((x0 + aside, y0), *between, (x1 + aside, y1)))
        else:
            yield _around(route[0])


def _around(node: Point) -> tuple[Curve, Point]:
    """Return a path from a node to itself, at its right, and where its label goes."""
    from matplotlib.path import Path as Curve

    x, y = node
    edge, out = x + HALF, x + 0.6
    points = [(edge, y - 0.12), (out, y - 0.3), (out, y + 0.3), (edge, y + 0.12)]
    return Curve(points, [Curve.MOVETO, *[Curve.CURVE4] * 3]), (x + 0.535, y - 0.28)


def _bent(route: tuple[Point, ...]) -> tuple[Curve, Point]:
    """Return a path, upright beside nodes and bent between rows, and where its label goes."""
    from matplotlib.path import Path as Curve

    (x0, y0), (x1, y1) = route[0], route[-1]
    if y0 == y1:
        side = HALF if x1 > x0 else -HALF
        points = [(x0 + side, y0), (x1 - side, y1)]
        middle = ((points[0][0] + points[1][0]) / 2, y0)
        return Curve(points, [Curve.MOVETO, Curve.LINETO]), middle
    reach = (1 if y1 > y0 else -1) * HIGH / 2
    stops = [(x0, y0 + reach)]
    for x, y in route[1:-1]:
        stops += [(x, y - reach), (x, y + reach)]
    stops.append((x1, y1 - reach))
    points, kinds = [stops[0]], [Curve.MOVETO]
    for number, ((ax, ay), (bx, by)) in enumerate(itertools.pairwise(stops)):
        if number % 2:
            points.append((bx, by))
            kinds.append(Curve.LINETO)
        else:
            bend = (by - ay) * 0.6
            points += [(ax, ay + bend), (bx, by - bend), (bx, by)]
            kinds += [Curve.CURVE4] * 3
    middle = route[len(route) // 2] if len(route) > 2 else ((x0 + x1) / 2, (y0 + y1) / 2)
    return Curve(points, kinds), middle


def dot(schedule: Schedule) -> str:
    """Return the graph in Graphviz's language."""
    styles, group = looks(schedule), schedule.assignment
    lines = ["digraph schedule {", '  node [shape=box, style="rounded,filled", fontsize=10];']
    for name, text in node_texts(schedule).items():
        said = _quoted(text).replace("\n", "\\n")
        colour = styles[group[name]].colour
        lines.append(f'  {_quoted(name)} [label={said}, fillcolor="{colour}"];')
    for producer, consumer, distance in graph_edges(schedule):
        carried = f' [style=dashed, label="[{distance}]", constraint=false]' if distance else ""
        lines.append(f"  {_quoted(producer)} -> {_quoted(consumer)}{carried};")
    lines += [
        f'  {{ rank=sink; "group {style.letter}" [label={_quoted(f"{style.letter}: {name}")}, '
        f'shape=plaintext, style=filled, fillcolor="{style.colour}"]; }}'
        for name, style in styles.items()
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


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


def layout(names: Sequence[str], edges: Sequence[Edge], rank: Mapping[str, int]) -> Layout:
    """Lay a graph out; nodes of one rank are kept together where nothing else decides."""
    level = levels(names, edges)
    layers = _Layers([[] for _ in range(max(level.values(), default=0) + 1)])
    for name in sorted(names, key=lambda n: (rank[n], names.index(n))):
        layers.add(name, level[name])
    chains: list[list[Node]] = []
    for number, (producer, consumer, _) in enumerate(edges):
        top, bottom = sorted((producer, consumer), key=lambda name: level[name])
        between = [(number, row) for row in range(level[top] + 1, level[bottom])]
        for node in between:
            layers.add(node, node[1])
        chain: list[Node] = [top, *between, bottom]
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


def levels(names: Sequence[str], edges: Iterable[Edge]) -> dict[str, int]:
    """Return a row for each node, below all that it needs in its own iteration.

    What needs nothing is directly above the first that needs it.
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
    """Rows of nodes, with what is near to what in the rows beside."""

    def __init__(self, rows: list[list[Node]]) -> None:
        self.rows = rows
        self.row: dict[Node, int] = {}
        self.near: dict[Node, list[Node]] = defaultdict(list)

    def add(self, node: Node, row: int) -> None:
        self.rows[row].append(node)
        self.row[node] = row

    def join(self, chain: list[Node]) -> None:
        for a, b in itertools.pairwise(chain):
            self.near[a].append(b)
            self.near[b].append(a)

    def _sweeps(self) -> Iterator[Iterator[tuple[list[Node], int]]]:
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

    def positions(self) -> dict[Node, float]:
        """Move every node to the mean of its neighbours as far as its row allows, repeatedly."""
        x: dict[Node, float] = {}
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


def _room(row: list[Node]) -> list[float]:
    """Return the least places of a row's nodes beside each other."""
    gaps = [0.58 if isinstance(node, str) else THIN / 2 for node in row]
    between = (a + b for a, b in itertools.pairwise(gaps))
    return list(itertools.accumulate(between, initial=0.0))[: len(row)]


def _apart(row: list[Node], wanted: list[float]) -> list[float]:
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
