"""Occupancy of memories and registers, as reported."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from pydantic import NonNegativeFloat, NonNegativeInt

from twill.artifacts.base import Part


class Occupied(Part):
    """How full one memory, or the registers of one group, are.

    `unit`: ``bytes``, ``columns`` or ``registers per thread``; ``registers`` of the register file.
    `capacity`: size of the memory, or registers of the group; absent where that is not limited.
    `allocated`: memory that rings and invariants have for the whole loop; registers that the group
    has.
    `always`: amount that invariants occupy throughout; for registers also addresses and counters.
    `peak`: the most that was occupied at once, invariants included.
    `peak_cycle`: the first cycle at which the peak was reached.
    `along_program`: the most registers of a group that are live between the instructions of its
    program, whatever the times are; those that are always occupied are included.
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
    """Memory or registers that an instance of a value, or a part of it, occupies for some time."""

    place: str  # ``smem``, ``tmem`` or ``registers of GROUP``
    # The operation whose result it is, and of which iteration.
    value: str
    iteration: int
    staged: bool  # whether it is the staging in SMEM of a register value
    slot: int  # its slot in the ring
    warp: int  # number in the group; 0 for a value that all warps share
    amount: Fraction  # amount in the units of `Occupied`
    # Cycles.
    begin: float
    end: float
