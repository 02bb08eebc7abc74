"""How the parts of a tile are spread over threads.

A tile is spread over threads by rows and columns. Half the rows are half of what a thread holds,
as long as it holds more than one; from there on threads share rows, so that each holds fewer
columns of the tile and of every vector along its columns.
"""

from __future__ import annotations

from collections.abc import Mapping

from twill.artifacts.loop import THREADS_PER_WARP, Operation, Tile

Attributes = Mapping[str, str | bool | int | float]


def part_of(tile: Tile, axis: int, factor: int) -> Tile:
    """Return one of `factor` equal parts of a tile."""
    shape = tuple(e // factor if i == axis else e for i, e in enumerate(tile.shape))
    held = tile.elements_per_thread
    return tile.model_copy(
        update={
            "shape": shape,
            "elements_per_thread": None if held is None else max(1, -(-held // factor)),
        }
    )


def reduction_attributes(whole: Operation, part: Operation) -> Attributes:
    """Return the attributes of a sub-tile's reduction: more lanes share a row if rows run out."""
    lanes, warps = whole.attributes.get("lanes"), whole.attributes.get("lane_warps")
    if not isinstance(lanes, int) or not isinstance(warps, int):
        return whole.attributes
    columns, fewer = _along_the_row(whole), _along_the_row(part)
    if not fewer or columns % fewer or columns == fewer:
        return whole.attributes
    wanted = lanes * (columns // fewer)
    fitting = min(wanted, THREADS_PER_WARP)
    return {**whole.attributes, "lanes": fitting, "lane_warps": warps * (wanted // fitting)}


def _along_the_row(reduction: Operation) -> int:
    """Elements of one row that a thread reduces."""
    assert reduction.result is not None
    whole = reduction.operands[0].per_thread(reduction.warps)
    return whole // reduction.result.per_thread(reduction.warps)


def shared_vector(vector: Tile, whole: Tile, part: Tile, factor: int) -> Tile:
    """Return what a thread holds of a vector along the columns of a tile whose rows were split.

    `vector`: the vector, of which a thread holds the columns that it has of the tile.
    `whole`, `part`: the tile before and after, both with their elements per thread.
    """
    columns = vector.elements_per_thread
    before, after = whole.elements_per_thread, part.elements_per_thread
    if columns is None or before is None or after is None or before % columns:
        return vector
    rows = max(1, before // columns // factor)
    return vector.model_copy(update={"elements_per_thread": max(1, min(columns, after // rows))})
