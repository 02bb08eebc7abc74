"""What is said of how full memories and registers are."""

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
        What the machine has of it, or the group was given; absent where that is not limited.
    allocated : int
        What rings and invariants are given for the whole loop. Of registers, what the group is
        given.
    always : int
        What invariants occupy throughout; of registers also addresses and counters.
    peak : float
        The most that was occupied at once, invariants included.
    peak_cycle : float
        The first cycle at which it was.
    mean : float
        Over the cycles of the run.
    along_program : int, optional
        Of a group's registers, the most that is live between the instructions of its program,
        whatever the times are; what is always occupied is included.
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
        """Whether more is occupied, or given away, than there is.

        Of registers, whether more is live along the program: compilers do not look at the clock.
        """
        most = self.peak if self.along_program is None else self.along_program
        return self.capacity is not None and max(self.allocated, most) > self.capacity


class Share(NamedTuple):
    """What an instance of a value, or a part of it, occupies for some time.

    Attributes
    ----------
    place : str
        ``smem``, ``tmem`` or ``registers of GROUP``.
    value, iteration : str, int
        The operation whose result it is, and of which iteration.
    staged : bool
        Whether it is the staging in SMEM of a register value.
    slot : int
        Where it lies in its ring.
    warp : int
        Of the group; 0 for what all warps share.
    amount : Fraction
        In the units of `Occupied`.
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
