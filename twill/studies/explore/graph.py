"""The dependence graph of the page, each node with its operation, by which the page links it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twill.artifacts.schedule import Schedule
from twill.show import Looks
from twill.show.graph import HALF, HIGH, curves, graph_edges, graph_layout, node_texts
from twill.studies.explore.pictures import look_of

if TYPE_CHECKING:
    from matplotlib.path import Path as Curve

# Pixels: of a character in a node, of a node's place at least, of a row.
NODE_CHARACTER, NODE, ROW = 6.6, 118, 70


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
    place, edges, texts = graph_layout(schedule), graph_edges(schedule), node_texts(schedule)
    longest = max(len(line) for text in texts.values() for line in text.split("\n"))
    wide = max(NODE, NODE_CHARACTER * (longest + 2))

    def pixels(x: float, y: float) -> tuple[float, float]:
        return (x + 0.15) * wide, (y + 0.5) * ROW

    group = schedule.assignment
    return Graph(
        tuple(
            Node(name, *pixels(*at), tuple(texts[name].split("\n")), look_of(looks, group[name]))
            for name, at in place.nodes.items()
        ),
        tuple(
            Edge(edge[:2], _svg_path(path, pixels(0, 0), (wide, ROW)), edge[2], *pixels(*beside))
            for edge, (path, beside) in zip(edges, curves(edges, place), strict=True)
        ),
        (place.width + 0.3) * wide,
        place.rows * ROW,
        2 * HALF * wide,
    )


def _svg_path(path: Curve, origin: tuple[float, float], scale: tuple[float, float]) -> str:
    letters = {path.MOVETO: "M", path.LINETO: "L", path.CURVE4: "C"}
    found = []
    for points, code in path.iter_segments(simplify=False):
        numbers = points.reshape(-1, 2) * scale + origin
        found.append(letters[code] + " ".join(f"{x:.1f},{y:.1f}" for x, y in numbers))
    return " ".join(found)
