"""Split a loop into sub-tiles."""

from __future__ import annotations

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.errors import InputError, RefusedError, short
from twill.frontends.subtiling import plan as plans
from twill.frontends.subtiling.plan import Plan
from twill.frontends.subtiling.rewrite import Rewriter
from twill.frontends.subtiling.sizes import check_divisible, check_products, machine_of

MOST_SUBTILES = 64


def plan_subtiles(
    loop: Loop, factor: int, *, along: str | None = None, machine: Machine | None = None
) -> Plan:
    """Decide what to split and check that it can be.

    Raises
    ------
    InputError, RefusedError
        As `subtile` does.
    """
    if not 2 <= factor <= MOST_SUBTILES:
        raise InputError(f"must be from 2 to {MOST_SUBTILES} (got {short(factor)})", path="factor")
    machine = machine or machine_of(loop)
    if along is not None:
        plan = plans.along(loop, factor, along)
        _check(plan, machine)
        return plan
    plan, *others = plans.choices(loop, factor)
    try:
        _check(plan, machine)
    except RefusedError as error:
        fitting = [other.along for other in others if _fits(other, machine)]
        if not fitting:
            raise
        raise RefusedError(f"{error}; possible is along {' or '.join(fitting)}") from None
    return plan


def _check(plan: Plan, machine: Machine | None) -> None:
    check_divisible(plan)
    if machine is not None:
        check_products(plan, Rewriter(plan).parts, machine)


def _fits(plan: Plan, machine: Machine | None) -> bool:
    try:
        _check(plan, machine)
    except RefusedError:
        return False
    return True


def subtile(
    loop: Loop, factor: int, *, along: str | None = None, machine: Machine | None = None
) -> Loop:
    """Split independent rows of a loop into sub-tiles that share the streamed operands.

    Every sub-tile gets a copy of each operation on its rows; what does not have these rows stays
    shared. A product that sums over them becomes a chain of products, each adding in place to the
    one before.

    `loop`: A loop whose dependences say as which operand, and along which axes, values are read.
    `along`: ``operation:dimension``, the dimension of that operation's result to split. Without it:
    one that splits no load if there is such, with most of the multiplications, and the fewest
    chains.
    `machine`: whose matrix product instructions limit the sizes; without it a packaged machine of
    the architecture that the loop was compiled for, and none if it does not say.

    Raises
    ------
    InputError
        If the factor or `along` is none that the loop can have.
    RefusedError
        If rows depend on each other in any other way than through sums of products, or the sizes
        are none that the machine has instructions for; names the operation.
    """
    return Rewriter(plan_subtiles(loop, factor, along=along, machine=machine)).loop()
