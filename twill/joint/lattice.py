"""Lattices of whole vectors, and what is left of a vector modulo one: Hermite's normal form."""

from __future__ import annotations

from collections.abc import Iterable

Vector = tuple[int, ...]


class Lattice:
    """All sums of multiples of some vectors of one length.

    Parameters
    ----------
    vectors : iterable of tuple of int
        What it has, beside all that follows from it.
    """

    def __init__(self, vectors: Iterable[Vector] = ()) -> None:
        self._basis: dict[int, list[int]] = {}
        for vector in vectors:
            self.add(vector)

    def __bool__(self) -> bool:
        """Return whether it has more than the origin."""
        return bool(self._basis)

    @property
    def basis(self) -> list[Vector]:
        """Vectors of which it is made, each with more zeros in front than the one before."""
        return [tuple(self._basis[first]) for first in sorted(self._basis)]

    def add(self, vector: Vector) -> None:
        """Let the lattice have a vector as well.

        Parameters
        ----------
        vector : tuple of int
            The vector.
        """
        left = list(self.remainder(vector))
        for first in range(len(left)):
            if not left[first]:
                continue
            known = self._basis.get(first)
            if known is None:
                self._basis[first] = left if left[first] > 0 else [-n for n in left]
                return
            while left[first]:
                times = known[first] // left[first]
                known = [a - times * b for a, b in zip(known, left, strict=True)]
                known, left = left, known
            self._basis[first] = known if known[first] > 0 else [-n for n in known]

    def remainder(self, vector: Vector) -> Vector:
        """Return what stands for all vectors that differ from this one by one of the lattice.

        Parameters
        ----------
        vector : tuple of int
            The vector.
        """
        left = vector
        for first in sorted(self._basis):
            known = self._basis[first]
            times = left[first] // known[first]
            if times:
                left = tuple(a - times * b for a, b in zip(left, known, strict=True))
        return left
