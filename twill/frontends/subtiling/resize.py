"""The same loop with tiles of another size."""

from __future__ import annotations

from twill.artifacts.loop import MOST_EXTENT, Loop, Tile
from twill.errors import InputError, RefusedError, short
from twill.frontends.subtiling.classes import RESULT, extent
from twill.frontends.subtiling.plan import dimension
from twill.frontends.subtiling.relations import dimension_classes


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
    (members,) = (members for members in classes.members() if wanted in members)
    for coupling in classes.couplings(members):
        operation = loop.operations[coupling.operation]
        if operation.kind != "reduce" or operation.cost is not None:
            raise RefusedError(
                f"{loop.name}: cannot resize {along}: {operation.name} {coupling.reason}"
            )
    before = extent(loop, wanted)
    axes: dict[tuple[int, int], set[int]] = {}
    for member in members:
        if extent(loop, member) == before:
            axes.setdefault((member.owner, member.place), set()).add(member.axis)

    def changed(owner: int, place: int, tile: Tile) -> Tile:
        found = axes.get((owner, place), set())
        return tile if not found else _resized(loop, tile, found, before, size)

    operations = tuple(
        o.model_copy(
            update={
                "operands": tuple(changed(i, place, t) for place, t in enumerate(o.operands)),
                "result": None if o.result is None else changed(i, RESULT, o.result),
            }
        )
        for i, o in enumerate(loop.operations)
    )
    invariants = tuple(
        v.model_copy(update={"tile": changed(-1 - i, 0, v.tile)})
        for i, v in enumerate(loop.invariants)
    )
    return loop.model_copy(update={"operations": operations, "invariants": invariants})


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
