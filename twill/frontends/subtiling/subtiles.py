"""A loop's independent rows as sub-tiles that share what is streamed, and tiles of other sizes."""

from __future__ import annotations

from functools import partial

from twill.artifacts.loop import MOST_EXTENT, Loop, Tile
from twill.artifacts.machine import Machine
from twill.base.errors import InputError, RefusedError, short
from twill.frontends.loops import machine_of, threads_per_warp
from twill.frontends.subtiling.dimensions import Dimension, dimension_classes, extent, with_tiles
from twill.frontends.subtiling.plan import (
    Plan,
    Role,
    along_dimension,
    choices,
    dimension,
    impossible_product,
    indivisible,
    without_instruction,
)
from twill.frontends.subtiling.rewrite import Rewriter

__all__ = ["Plan", "Rewriter", "Role", "impossible_product", "plan_subtiles", "subtile"]


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
    best, *others = (
        choices(loop, factor) if along is None else [along_dimension(loop, factor, along)]
    )
    refusal = _refusal(best, machine)
    if refusal is None:
        return best
    fitting = [other.along for other in others if _refusal(other, machine) is None]
    raise RefusedError(refusal + (f"; possible is along {' or '.join(fitting)}" if fitting else ""))


def _refusal(plan: Plan, machine: Machine | None) -> str | None:
    """Return why a plan cannot be carried out, None if it can."""
    refusal = indivisible(plan)
    if refusal is None and machine is not None:
        parts = Rewriter(plan, machine.threads_per_warp.value).parts
        refusal = without_instruction(plan, parts, machine)
    return refusal


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
    plan = plan_subtiles(loop, factor, along=along, machine=machine)
    return Rewriter(plan, threads_per_warp(loop, machine)).loop()


def resize(loop: Loop, along: str, size: int) -> Loop:
    """Return a loop in which one dimension of its tiles, wherever it occurs, has another size.

    Costs follow from the machine's rules. What an iteration does changes with it: compare work per
    time, not intervals.

    `loop`: A loop whose dependences say along which axes values are read.

    Raises
    ------
    InputError
        If there is no such dimension, or the size is out of range.
    RefusedError
        If an operation uses the dimension in a way that does not say what another size means.
    """
    if not 1 <= size <= MOST_EXTENT:
        raise InputError(f"from 1 to {MOST_EXTENT} elements (got {short(size)})", path="tile")
    wanted = dimension(loop, along)
    classes = dimension_classes(loop)
    members = classes.members_with(wanted)
    for coupling in classes.couplings(members):
        operation = loop.operations[coupling.operation]
        if operation.kind != "reduce" or operation.cost is not None:
            raise RefusedError(
                f"{loop.name}: cannot resize {along}: {operation.name} {coupling.reason}"
            )
    before = extent(loop, wanted)

    def changed(owner: int, place: int, tile: Tile) -> Tile:
        alike = (axis for axis, elements in enumerate(tile.shape) if elements == before)
        axes = {axis for axis in alike if Dimension(owner, place, axis) in members}
        return _resized(loop, tile, axes, before, size) if axes else tile

    operations = tuple(with_tiles(o, partial(changed, i)) for i, o in enumerate(loop.operations))
    invariants = tuple(
        v.model_copy(update={"tile": changed(-1 - i, 0, v.tile)})
        for i, v in enumerate(loop.invariants)
    )
    changes = {"operations": operations, "invariants": invariants, "source": None}
    return loop.model_copy(update=changes)


def _resized(loop: Loop, tile: Tile, axes: set[int], before: int, size: int) -> Tile:
    shape = tuple(size if axis in axes else n for axis, n in enumerate(tile.shape))
    each = tile.elements_per_thread
    if each is not None:
        scaled, rest = divmod(each * size ** len(axes), before ** len(axes))
        if rest or not scaled:
            raise RefusedError(
                f"{loop.name}: {each} elements of a thread cannot become {size} / {before} as many"
            )
        each = scaled
    return tile.model_copy(update={"shape": shape, "elements_per_thread": each})
