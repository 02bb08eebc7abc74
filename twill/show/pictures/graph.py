"""The dependence graph, coloured by warp group (the paper's picture of its Blackwell strategy)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from twill.artifacts.schedule import Schedule
from twill.figures import EDGE, PICTURES, check_ending, new_figure, save
from twill.files import write_whole
from twill.show.pictures.layers import Layout, layout
from twill.show.pictures.look import legend, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path as Curve

ENDINGS = (*PICTURES, ".dot")
CHARACTER, ROW, FRAME = 0.08, 0.82, 1.0
"""Inches: of a character in a node, of a row, of what is around."""
LEAST_WIDTH, LEAST_FIGURE = 1.0, 5.0
HIGH = 0.62
"""Height of a node in rows."""
SOLID, DASHED = "solid", (0, (4, 2))
Point = tuple[float, float]


def draw_graph(schedule: Schedule, file: str) -> None:
    """Draw a schedule's dependence graph.

    Raises
    ------
    InputError
        If the ending is another one, or the file cannot be written.
    """
    if check_ending(file, ENDINGS) == ".dot":
        write_whole(file, dot(schedule))
        return
    place = graph_layout(schedule)
    texts = node_texts(schedule)
    longest = max(len(line) for text in texts.values() for line in text.split("\n"))
    unit = max(LEAST_WIDTH, CHARACTER * (longest + 2))
    width = max(LEAST_FIGURE, unit * place.width + 0.4)
    with new_figure(width, ROW * place.rows + FRAME) as figure:
        axes = figure.subplots()
        _draw(axes, schedule, place, texts, width / unit)
        title = f"{schedule.name} on {schedule.machine.name}: dependences"
        axes.set_title(f"{title}\ndashed: carried over iterations, [distance]", fontsize=10)
        legend(figure, schedule)
        save(figure, file, title)


def graph_layout(schedule: Schedule) -> Layout:
    """Return where the graph's nodes and edges lie."""
    order = {group.name: number for number, group in enumerate(schedule.groups)}
    rank = {name: order[group] for name, group in schedule.assignment.items()}
    return layout([o.name for o in schedule.loop.operations], _edges(schedule), rank)


def _edges(schedule: Schedule) -> list[tuple[str, str, int]]:
    found = {(d.producer, d.consumer, d.distance): None for d in schedule.loop.dependences}
    return list(found)


def node_texts(schedule: Schedule) -> dict[str, str]:
    """Return what stands in each node: letter and name, kind, units."""
    styles, group = looks(schedule), schedule.assignment
    found = {}
    for operation in schedule.loop.operations:
        units = dict.fromkeys(step.unit for step in schedule.machine.cost(operation).steps)
        named = [unit for unit in units if unit != "issue"][:2]
        letter = styles[group[operation.name]].letter
        found[operation.name] = f"{letter}: {operation.name}\n{operation.kind}\n{' '.join(named)}"
    return found


def _draw(
    axes: Axes, schedule: Schedule, place: Layout, texts: dict[str, str], wide: float
) -> None:
    from matplotlib.patches import FancyBboxPatch

    styles, group = looks(schedule), schedule.assignment
    edges = _edges(schedule)
    for (producer, consumer, distance), route, aside in zip(
        edges, place.routes, _asides(edges), strict=True
    ):
        (x0, y0), (x1, y1) = route[0], route[-1]
        moved = ((x0 + aside, y0), *route[1:-1], (x1 + aside, y1))
        _edge(axes, moved, distance, itself=producer == consumer)
    for name, (x, y) in place.nodes.items():
        look = styles[group[name]]
        axes.add_patch(
            FancyBboxPatch(
                (x - 0.46, y - HIGH / 2),
                0.92,
                HIGH,
                boxstyle="round,pad=0,rounding_size=0.08",
                facecolor=look.colour,
                edgecolor=EDGE,
                hatch=look.hatch,
                linewidth=0.8,
                zorder=3,
            )
        )
        axes.text(
            x,
            y,
            texts[name],
            ha="center",
            va="center",
            fontsize=7.5,
            zorder=4,
            linespacing=1.15,
            bbox={"facecolor": look.colour, "edgecolor": "none", "pad": 0.4}
            if look.hatch
            else None,
        )
    spare = max(0.3, wide - place.width) / 2
    axes.set_xlim(-spare, place.width + spare)
    axes.set_ylim(place.rows - 0.45, -0.55)
    axes.axis("off")


def _asides(edges: list[tuple[str, str, int]]) -> list[float]:
    """Return by how much each edge is moved aside, so that those of one pair do not coincide."""
    pairs = [frozenset(edge[:2]) for edge in edges]
    return [
        0.24 * (pairs[:n].count(pair) - (pairs.count(pair) - 1) / 2) if len(pair) > 1 else 0.0
        for n, pair in enumerate(pairs)
    ]


def _edge(axes: Axes, route: tuple[Point, ...], distance: int, *, itself: bool) -> None:
    """Draw an edge from node to node, bent where it passes rows."""
    from matplotlib.patches import FancyArrowPatch

    path, label = _around(route[0]) if itself else _bent(route)
    carried = distance > 0
    axes.add_patch(
        FancyArrowPatch(
            path=path,
            arrowstyle="-|>",
            mutation_scale=7,
            linewidth=0.9,
            color="0.35" if carried else "0.1",
            linestyle=DASHED if carried else SOLID,
            zorder=2,
        )
    )
    if carried:
        axes.text(
            *label,
            f"[{distance}]",
            fontsize=7,
            ha="center",
            va="center",
            zorder=2.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
        )


def _around(node: Point) -> tuple[Curve, Point]:
    """Return a path from a node to itself, at its right, and where its label goes."""
    from matplotlib.path import Path as Curve

    x, y = node
    points = [(x + 0.46, y - 0.12), (x + 0.6, y - 0.3), (x + 0.6, y + 0.3), (x + 0.46, y + 0.12)]
    return Curve(points, [Curve.MOVETO, *[Curve.CURVE4] * 3]), (x + 0.535, y - 0.28)


def _bent(route: tuple[Point, ...]) -> tuple[Curve, Point]:
    """Return a path, upright beside nodes and bent between rows, and where its label goes."""
    from matplotlib.path import Path as Curve

    (x0, y0), (x1, y1) = route[0], route[-1]
    if y0 == y1:
        side = 0.46 if x1 > x0 else -0.46
        points = [(x0 + side, y0), (x1 - side, y1)]
        middle = ((points[0][0] + points[1][0]) / 2, y0)
        return Curve(points, [Curve.MOVETO, Curve.LINETO]), middle
    down = 1 if y1 > y0 else -1
    reach = down * HIGH / 2
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
    styles, group, texts = looks(schedule), schedule.assignment, node_texts(schedule)
    lines = ["digraph schedule {", '  node [shape=box, style="rounded,filled", fontsize=10];']
    for name, text in texts.items():
        look = styles[group[name]]
        label = _quoted(text).replace("\n", "\\n")
        lines.append(f'  {_quoted(name)} [label={label}, fillcolor="{look.colour}"];')
    for producer, consumer, distance in _edges(schedule):
        carried = f' [style=dashed, label="[{distance}]", constraint=false]' if distance else ""
        lines.append(f"  {_quoted(producer)} -> {_quoted(consumer)}{carried};")
    lines += [
        f'  {{ rank=sink; "group {look.letter}" [label={_quoted(f"{look.letter}: {name}")}, '
        f'shape=plaintext, style=filled, fillcolor="{look.colour}"]; }}'
        for name, look in styles.items()
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
