"""How tiles are spread over the threads of a warp group, as far as costs depend on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Spread:
    """Lanes of a warp, and warps, along each dimension of a tile.

    Attributes
    ----------
    lanes, warps : tuple of int
        One entry for each dimension.
    """

    lanes: tuple[int, ...]
    warps: tuple[int, ...]

    def per_thread(self, shape: tuple[int, ...]) -> int:
        """Return the elements of a tile that one thread holds, replicas counted.

        Parameters
        ----------
        shape : tuple of int
            The tile's shape.
        """
        threads = [lanes * warps for lanes, warps in zip(self.lanes, self.warps, strict=True)]
        return math.prod(-(-extent // count) for extent, count in zip(shape, threads, strict=True))

    def without(self, axis: int) -> Self:
        """Return the spread of what a reduction along `axis` leaves.

        Parameters
        ----------
        axis : int
            The reduced dimension.
        """
        return type(self)(
            self.lanes[:axis] + self.lanes[axis + 1 :], self.warps[:axis] + self.warps[axis + 1 :]
        )


def accumulator(warps: int) -> Spread:
    """Return the spread of a product in registers: four lanes share a row.

    Source: PTX ISA 9.0, wgmma.mma_async, register fragment of the accumulator D.

    Parameters
    ----------
    warps : int
        Warps that execute the product.
    """
    return Spread(lanes=(8, 4), warps=(warps, 1))


def rows(warps: int) -> Spread:
    """Return the spread of a tile read from tensor memory: a thread holds a whole row.

    Source: PTX ISA 9.0, tcgen05.ld, shape 32x32b: lane i of a warp reads row i of its quarter.

    Parameters
    ----------
    warps : int
        Warps that read it.
    """
    return Spread(lanes=(32, 1), warps=(warps, 1))
