"""Potentials of a directed graph: what its edges add up to, in whichever direction they are taken.

Between two vertices of a component edges add up to the difference of their potentials, but for what
the component's cycles add up to, which is a lattice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from twill.joint.lattice import Lattice, Vector


class Edge(NamedTuple):
    """An edge.

    Attributes
    ----------
    before, after : int
        Vertices.
    label : tuple of int
        What it adds.
    """

    before: int
    after: int
    label: Vector


class Potentials:
    """Components of a graph, potentials and lattices.

    Parameters
    ----------
    edges : iterable of Edge
        Edges.
    size : int
        Of their labels.
    vertices : iterable of int
        Vertices that may have no edges.

    Attributes
    ----------
    place : dict
        The component of each vertex.
    of : dict
        The potential of each vertex; nothing at the first of each component.
    lattices : list of Lattice
        For each component what its cycles add up to.
    """

    def __init__(self, edges: Iterable[Edge], size: int, vertices: Iterable[int] = ()) -> None:
        self.place: dict[int, int] = {}
        self.of: dict[int, Vector] = {}
        self.lattices: list[Lattice] = []
        beside: dict[int, list[Edge]] = {vertex: [] for vertex in vertices}
        for edge in edges:
            beside.setdefault(edge.before, []).append(edge)
            beside.setdefault(edge.after, []).append(edge)
        for vertex in beside:
            if vertex not in self.place:
                self._gather(vertex, beside, size)

    def across(self, edge: Edge) -> Vector:
        """Return what an edge adds beyond the difference of potentials.

        Parameters
        ----------
        edge : Edge
            The edge, between vertices of the graph.
        """
        before, after = self.of[edge.before], self.of[edge.after]
        return tuple(a + b - c for a, b, c in zip(before, edge.label, after, strict=True))

    def _gather(self, first: int, beside: dict[int, list[Edge]], size: int) -> None:
        """Find a component from one of its vertices on."""
        self.place[first], self.of[first] = len(self.lattices), (0,) * size
        left, cycles = [first], set[Vector]()
        while left:
            vertex = left.pop()
            mine = self.of[vertex]
            for edge in beside[vertex]:
                forward = edge.before == vertex
                other = edge.after if forward else edge.before
                if other in self.place:
                    if forward:
                        cycles.add(self.across(edge))
                    continue
                sign = 1 if forward else -1
                self.of[other] = tuple(a + sign * b for a, b in zip(mine, edge.label, strict=True))
                self.place[other] = len(self.lattices)
                left.append(other)
        self.lattices.append(Lattice(sorted(cycles)))
