"""Lattices of whole vectors, and what is left of a vector modulo one: Hermite's normal form."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

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

    def witness(self, vector: Vector) -> tuple[Fraction, ...] | None:
        """Return weights with which all of the lattice comes to whole numbers, a vector does not.

        Parameters
        ----------
        vector : tuple of int
            The vector.

        Returns
        -------
        tuple of Fraction or None
            None if no weights tell the vector by one of the basis alone: it is of the lattice, or
            no multiple of it is.
        """
        for first in sorted(self._basis, reverse=True):
            weights = self._dual(first, len(vector))
            found = sum((a * b for a, b in zip(weights, vector, strict=True)), Fraction(0))
            if found.denominator != 1:
                return tuple(weights)
        return None

    def _dual(self, chosen: int, size: int) -> list[Fraction]:
        """Return weights with which one vector of the basis comes to 1, and all others to 0."""
        weights = [Fraction(0)] * size
        for first in sorted(self._basis, reverse=True):
            known = self._basis[first]
            behind = sum((known[k] * weights[k] for k in range(first + 1, size)), Fraction(0))
            weights[first] = (int(first == chosen) - behind) / known[first]
        return weights
