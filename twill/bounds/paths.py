"""Longest paths through dependences, and what they say of the length of an iteration."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from twill.problem import Problem

NO_PATH = -(1 << 62)


def longest_paths(problem: Problem, interval: int) -> NDArray[np.int64] | None:
    """Return D with M(v) - M(u) >= D[u, v] in every schedule (see `longest`)."""
    return longest(len(problem.operations), delays(problem, interval))


def delays(problem: Problem, interval: int) -> list[tuple[int, int, int]]:
    """Return (u, v, weight) of every dependence: M(v) - M(u) >= weight."""
    return [
        (e.producer, e.consumer, problem.least_delay(i) - e.distance * interval)
        for i, e in enumerate(problem.edges)
    ]


def longest(size: int, arcs: Iterable[tuple[int, int, int]]) -> NDArray[np.int64] | None:
    """Return D with M(v) - M(u) >= D[u, v] wherever arcs (u, v, weight) hold.

    Returns: `NO_PATH` where nothing is implied; None if the arcs contradict each other.
    """
    matrix = np.full((size, size), NO_PATH, dtype=np.int64)
    np.fill_diagonal(matrix, 0)
    for u, v, weight in arcs:
        matrix[u, v] = max(matrix[u, v], weight)
    return closure(matrix)


def closure(matrix: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the longest paths of a graph, or None if a cycle is longer than 0.

    `matrix`: the longest arc from node to node, `NO_PATH` where there is none, at least 0 from a
    node to itself.
    """
    matrix = matrix.copy()
    for k in range(len(matrix)):
        via = matrix[:, k, None] + matrix[None, k, :]
        reachable = (matrix[:, k, None] > NO_PATH) & (matrix[None, k, :] > NO_PATH)
        np.maximum(matrix, np.where(reachable, via, NO_PATH), out=matrix)
    return None if (np.diagonal(matrix) > 0).any() else matrix


def least_length(problem: Problem, interval: int) -> int:
    """Return the least time that an iteration takes whatever the resources."""
    paths = longest_paths(problem, interval)
    cycles = [o.cycles for o in problem.operations]
    return max(cycles) if paths is None else int((paths.max(axis=0) + cycles).max())


def least_stages(problem: Problem, interval: int) -> int:
    """Return how many intervals an iteration takes at least."""
    return max(1, -(-least_length(problem, interval) // interval))
