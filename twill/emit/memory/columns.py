"""Columns of tensor memory as Triton's allocator gives them (`TensorMemoryAllocation.cpp`).

It takes the first free columns in the order of allocation, and of tiles of 64 rows the first free
half of the lanes; the first factor of a product and its accumulator take the same half. What
partitions use lives as long as the kernel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from twill.base.errors import RefusedError
from twill.base.graphs import reached

ALIGNED = 4  # columns of which allocations begin at a multiple
HALF = 64  # rows of a tile that takes half of the lanes
MOST_ORDERS = 1000  # of allocations that are tried


class Columns(NamedTuple):
    """A tile, or several: its columns and rows, and where a schedule has it."""

    name: str
    columns: int
    rows: int
    place: Any


def fitting(
    allocations: Sequence[Columns], pairs: Collection[frozenset[str]], most: int
) -> list[Columns]:
    """Return allocations in an order that takes no more columns than there are.

    `pairs`: names of those that take the same half.

    Raises
    ------
    RefusedError
        If there is no such order among those that are tried.
    """
    by_place = sorted(allocations, key=lambda a: a.place)
    orders = itertools.chain([allocations, by_place], itertools.permutations(allocations))
    least = math.inf
    for order in itertools.islice(orders, MOST_ORDERS):
        columns = taken(order, pairs)
        if columns <= most:
            return list(order)
        least = min(least, columns)
    raise RefusedError(f"the kernel takes {least:.0f} columns of tensor memory, and has {most}")


def taken(order: Sequence[Columns], pairs: Collection[frozenset[str]]) -> int:
    """Return the columns that allocations take in an order."""
    cells: set[tuple[int, int]] = set()  # column and half
    halves: dict[str, int] = {}
    for allocation in order:
        partners, split = together(allocation.name, pairs), allocation.rows <= HALF
        known = {halves[p] for p in partners if p in halves} if split else set()
        rows = (known or (0, 1)) if split else (0,)
        for begin, first in ((c, r) for c in itertools.count(0, ALIGNED) for r in rows):
            columns = range(begin, begin + allocation.columns)
            wanted = set(itertools.product(columns, (first,) if split else (0, 1)))
            if not wanted & cells:
                cells |= wanted
                halves |= dict.fromkeys(partners, first)
                break
    return max((column for column, _ in cells), default=-1) + 1


def together(name: str, pairs: Collection[frozenset[str]]) -> set[str]:
    """Return the allocations that take the same half as one, itself among them."""
    return reached([name], lambda one: frozenset().union(*(p for p in pairs if one in p)))
