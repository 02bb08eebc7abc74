"""A layered layout (Sugiyama): nodes in rows, long edges routed between them, nothing overlaps."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SWEEPS = 24
THIN = 0.22
"""Width of the place where a long edge passes a row, in widths of a node."""
Node = str | tuple[int, int]
"""A node's name, or the number of an edge and a row that it passes."""


@dataclass(frozen=True)
class Layout:
    """Where nodes and edges lie; x in widths of a node, y in rows from the top.

    Attributes
    ----------
    nodes : dict
        Centres of nodes by name.
    routes : tuple
        For each edge its points from producer to consumer, both ends at the nodes' centres;
        two equal ones for an edge from a node to itself.
    width, rows : float, int
        What all of it takes.
    """

    nodes: dict[str, tuple[float, float]]
    routes: tuple[tuple[tuple[float, float], ...], ...]
    width: float
    rows: int


def layout(
    names: Sequence[str], edges: Sequence[tuple[str, str, int]], rank: Mapping[str, int]
) -> Layout:
    """Lay a graph out.

    `rank`: A number for each node; nodes of one number are kept together where nothing else
    decides.
    """
    level = levels(names, edges)
    chains = [_chain(number, edge, level) for number, edge in enumerate(edges)]
    rows: list[list[Node]] = [[] for _ in range(max(level.values(), default=0) + 1)]
    for name in sorted(names, key=lambda n: (rank[n], names.index(n))):
        rows[level[name]].append(name)
    near: dict[Node, list[Node]] = defaultdict(list)
    for chain in chains:
        for node in chain:
            if not isinstance(node, str):
                rows[node[1]].append(node)
        for a, b in itertools.pairwise(chain):
            near[a].append(b)
            near[b].append(a)
    row_of: dict[Node, int] = {node: y for y, row in enumerate(rows) for node in row}
    _order(rows, near, row_of)
    x = _positions(rows, near, row_of)
    least = min(x.values(), default=0.0)
    at = {node: (x[node] - least + 0.5, float(y)) for node, y in row_of.items()}
    return Layout(
        {name: at[name] for name in names},
        tuple(tuple(at[node] for node in _directed(chain, edge[0]))
              for chain, edge in zip(chains, edges, strict=True)),
        max(x.values(), default=0.0) - least + 1,
        len(rows),
    )  # fmt: skip


def levels(names: Sequence[str], edges: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """Return a row for each node, below all that it needs in its own iteration.

    What needs nothing is directly above the first that needs it.
    """
    before: dict[str, set[str]] = {name: set() for name in names}
    for producer, consumer, distance in edges:
        if distance == 0 and producer != consumer:
            before[consumer].add(producer)
    level = dict.fromkeys(names, 0)
    for _ in names:
        changed = False
        for name in names:
            row = max((level[p] + 1 for p in before[name]), default=0)
            if row > level[name] and row < len(names):
                level[name], changed = row, True
        if not changed:
            break
    for name in names:
        after = [level[c] for c in names if name in before[c]]
        if not before[name] and after:
            level[name] = min(after) - 1
    return level


def _chain(number: int, edge: tuple[str, str, int], level: Mapping[str, int]) -> list[Node]:
    """Return the nodes of an edge from top to bottom, with where it passes rows."""
    top, bottom = sorted(edge[:2], key=lambda name: level[name])
    between = range(level[top] + 1, level[bottom])
    return [top, *((number, row) for row in between), bottom]


def _directed(chain: list[Node], producer: str) -> list[Node]:
    return chain if chain[0] == producer else chain[::-1]


def _order(
    rows: list[list[Node]], near: Mapping[Node, list[Node]], row_of: Mapping[Node, int]
) -> None:
    """Sort rows by where neighbours in the row before are; keep the fewest crossings."""
    best, fewest = [list(row) for row in rows], _crossings(rows, near, row_of)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for y in range(len(rows)) if down else reversed(range(len(rows))):
            other = y - 1 if down else y + 1
            if not 0 <= other < len(rows):
                continue
            place = {node: n for n, node in enumerate(rows[other])}
            own = {node: n for n, node in enumerate(rows[y])}
            centre = {}
            for node in rows[y]:
                found = [place[m] for m in near[node] if row_of[m] == other]
                centre[node] = sum(found) / len(found) if found else float(own[node])
            rows[y].sort(key=lambda node, centre=centre, own=own: (centre[node], own[node]))  # type: ignore[misc]
        crossings = _crossings(rows, near, row_of)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    rows[:] = best


def _crossings(
    rows: list[list[Node]], near: Mapping[Node, list[Node]], row_of: Mapping[Node, int]
) -> int:
    count = 0
    for y in range(len(rows) - 1):
        place = {node: n for n, node in enumerate(rows[y + 1])}
        ends = [
            (n, place[m]) for n, node in enumerate(rows[y]) for m in near[node]
            if row_of[m] == y + 1
        ]  # fmt: skip
        count += sum(
            (a - c) * (b - d) < 0 for i, (a, b) in enumerate(ends) for c, d in ends[i + 1 :]
        )
    return count


def _positions(
    rows: list[list[Node]], near: Mapping[Node, list[Node]], row_of: Mapping[Node, int]
) -> dict[Node, float]:
    """Move every node to the mean of its neighbours as far as its row allows, again and again."""
    x: dict[Node, float] = {}
    for row in rows:
        for n, node in enumerate(row):
            x[node] = x[row[n - 1]] + _gap(row[n - 1], node) if n else 0.0
    for sweep in range(SWEEPS):
        for y in range(len(rows)) if sweep % 2 == 0 else reversed(range(len(rows))):
            wanted = []
            for node in rows[y]:
                close = [x[m] for m in near[node] if row_of[m] != y]
                wanted.append(sum(close) / len(close) if close else x[node])
            x.update(zip(rows[y], _apart(rows[y], wanted), strict=True))
    return x


def _gap(left: Node, right: Node) -> float:
    return sum(0.58 if isinstance(node, str) else THIN / 2 for node in (left, right))


def _apart(row: list[Node], wanted: list[float]) -> list[float]:
    """Return places closest to those wanted (least squares) that keep order and gaps.

    Pool adjacent violators, on places less the room that those to the left need.
    """
    room = [0.0]
    for left, right in itertools.pairwise(row):
        room.append(room[-1] + _gap(left, right))
    pools: list[tuple[float, int]] = []
    for want, taken in zip(wanted, room, strict=False):
        mean, count = want - taken, 1
        while pools and pools[-1][0] > mean:
            other, many = pools.pop()
            mean = (mean * count + other * many) / (count + many)
            count += many
        pools.append((mean, count))
    means = [mean for mean, count in pools for _ in range(count)]
    return [mean + taken for mean, taken in zip(means, room, strict=False)]
