"""An emulator of Triton Gluon kernels: runs kernel files as they are, without Triton or a GPU.

`emulate` executes a file's kernel for several trip counts, and delays each partition and each kind
of transfer and product in turn. The outputs are compared with the file's own reference. `stand_ins`
and `load` execute any function of any kernel file.

The emulator executes one block at a time: partitions, mbarriers, TMA, cp.async, wgmma, tcgen05,
shared and tensor memory, and the rules of `twill.sim.emulator.accesses`. Types are those of
Triton's front end: layouts of operands, variables of loops, handles of products, constants.
Threads, registers and time are not emulated; nor are clusters of blocks, and races in global
memory.
"""

from __future__ import annotations

from twill.sim.emulator.emulation import (
    LARGEST_ERROR,
    LARGEST_UNLIKE,
    Difference,
    Emulation,
    Run,
    emulate,
    failure,
)
from twill.sim.emulator.faults import FaultError, Place
from twill.sim.emulator.hosts import load, source_of, stand_ins

__all__ = [
    "LARGEST_ERROR",
    "LARGEST_UNLIKE",
    "Difference",
    "Emulation",
    "FaultError",
    "Place",
    "Run",
    "emulate",
    "failure",
    "load",
    "source_of",
    "stand_ins",
]
