"""Numbers of iterations in a pipelined program, and the slots and phases that they use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Iteration:
    """A number of an iteration: a constant, or relative to the counter i or the trip count n.

    An `early` number may be negative: there is no such iteration, and nothing to wait for.
    """

    base: Literal["", "i", "n"]
    offset: int
    early: bool = False

    def __str__(self) -> str:
        if not self.base:
            return str(self.offset)
        return f"{self.base}{self.offset:+d}" if self.offset else self.base

    def minus(self, distance: int) -> Iteration:
        """Return the iteration so many before."""
        return Iteration(self.base, self.offset - distance)


def slot(iteration: Iteration, slots: int | None) -> str:
    """Return the index of an iteration's slot; each has one of its own where there is no number."""
    if slots is None:
        return str(iteration)
    if slots == 1:
        return "0"
    if not iteration.base:
        return str(iteration.offset % slots)
    return f"{_bracketed(not_negative(iteration, slots)[0])} % {slots}"


def not_negative(iteration: Iteration, slots: int) -> tuple[Iteration, int]:
    """Move an iteration by turns of the ring until it is not negative; also return the turns.

    C and Triton truncate: quotient and remainder of a negative number would be wrong.
    """
    turns = max(0, -(iteration.offset // slots)) if iteration.early else 0
    return iteration.minus(-turns * slots), turns


def ring(iteration: Iteration, slots: int | None) -> str:
    """Return the index of an iteration's slot in brackets; nothing where there is one slot."""
    return "" if slots == 1 else f"[{slot(iteration, slots)}]"


def phase(iteration: Iteration, slots: int) -> str:
    """Return the parity of a barrier's phase of an iteration."""
    if not iteration.base:
        return str(iteration.offset // slots & 1)
    later, turns = not_negative(iteration, slots)
    if slots == 1:
        return f"{_bracketed(later if turns % 2 == 0 else later.minus(-1))} & 1"
    turn = f"{_bracketed(later)} // {slots}"
    return f"({turn}{' + 1' if turns % 2 else ''}) & 1"


def _bracketed(iteration: Iteration) -> str:
    return f"({iteration})" if iteration.offset else str(iteration)
