"""Floating-point operations of a loop, the clock, and the TFLOP/s that they make."""

from __future__ import annotations

import math

from twill.artifacts.loop import Loop, Operation
from twill.artifacts.machine import Machine
from twill.base.errors import InputError, short

MOST_MHZ = 100_000.0
CAPPED = "capped"
FLOP_OF_ONE_PRODUCT = 2  # a multiplication and an addition


def flop(operation: Operation) -> int:
    """Return the floating-point operations of a matrix product, 0 for anything else.

    `operation`: an ``mma`` of any kind counts 2 m n k; what softmax, rescaling and conversion do
    does not count, as everywhere in the literature on these kernels.
    """
    if not operation.kind.startswith("mma") or not operation.operands or operation.result is None:
        return 0
    depth = operation.operands[0].shape[-1:]
    return FLOP_OF_ONE_PRODUCT * math.prod((*operation.result.shape, *depth)) if depth else 0


def flop_per_iteration(loop: Loop) -> int:
    """Return the floating-point operations of one iteration of a loop, on one SM."""
    return sum(flop(operation) for operation in loop.operations)


def clock_of(machine: Machine, clock: float | str | None = None) -> tuple[float, str]:
    """Return a clock in MHz and where it comes from.

    `clock`: A stated clock, in MHz; or ``capped``, the one that a power limit leaves.

    Raises
    ------
    InputError
        If the clock is not above 0 and at most 100,000 MHz, or if the machine file has no capped
        one.
    """
    if clock is None:
        return machine.clock.value, f"{machine.name}: {machine.clock.source}"
    if clock == CAPPED:
        capped = machine.capped_clock
        if capped is None:
            raise InputError(
                f"{machine.name} has no [capped_clock]: state one in MHz", path="clock"
            )
        return capped.value, f"{machine.name}: {capped.source}"
    if not isinstance(clock, int | float) or not 0 < clock <= MOST_MHZ:
        raise InputError(
            f"a clock in MHz above 0 and at most {MOST_MHZ:g} (got {short(clock)})", path="clock"
        )
    return float(clock), "as stated"


def tflops(flop_count: float, cycles: float, multiprocessors: int, clock_mhz: float) -> float:
    """Return TFLOP/s of a chip on whose SMs all do the same.

    `flop_count`: floating-point operations that one SM does in `cycles`.
    `cycles`: clock cycles, more than 0.
    """
    return flop_count * multiprocessors * clock_mhz / cycles / 1e6
