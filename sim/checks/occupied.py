"""Occupancy of memories and registers, as reported."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from pydantic import NonNegativeFloat, NonNegativeInt

from twill.artifacts.base import Part


class Occupied(Part):
    """How full one memory, or the registers of one group, are.

    Attributes
    ----------
    unit : str
        ``bytes``, ``columns`` or ``registers per thread``; ``registers`` of the register file.
    capacity : int, optional
        Size of the memory, or registers of the group; absent where that is not limited.
    allocated : int
        Memory that rings and invariants have for the whole loop; registers that the group has.
    always : int
        Amount that invariants occupy throughout; for registers also addresses and counters.
    peak : float
        The most that was occupied at once, invariants included.
    peak_cycle : float
        The first cycle at which the peak was reached.
    mean : float
        Mean over the cycles of the run.
    along_program : int, optional
        The most registers of a group that are live between the instructions of its program,
        whatever the times are; those that are always occupied are included.
    """

    unit: str
    capacity: NonNegativeInt | None
    allocated: NonNegativeInt
    always: NonNegativeInt
    peak: NonNegativeFloat
    peak_cycle: NonNegativeFloat
    mean: NonNegativeFloat
    along_program: NonNegativeInt | None = None

    @property
    def exceeded(self) -> bool:
        """Whether more is occupied, or allocated, than there is.

        Registers count along the program, since compilers do not look at the clock.
        """
        most = self.peak if self.along_program is None else self.along_program
        return self.capacity is not None and max(self.allocated, most) > self.capacity


class Share(NamedTuple):
    """Memory or registers that an instance of a value, or a part of it, occupies for some time.

    Attributes
    ----------
    place : str
        ``smem``, ``tmem`` or ``registers of GROUP``.
    value, iteration : str, int
        The operation whose result it is, and of which iteration.
    staged : bool
        Whether it is the staging in SMEM of a register value.
    slot : int
        Its slot in the ring.
    warp : int
        Number in the group; 0 for a value that all warps share.
    amount : Fraction
        Amount in the units of `Occupied`.
    begin, end : float
        Cycles.
    """

    place: str
    value: str
    iteration: int
    staged: bool
    slot: int
    warp: int
    amount: Fraction
    begin: float
    end: float
