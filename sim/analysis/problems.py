"""Problems that a kernel around a loop solves: output tiles, and the iterations of each.

The loop determines an output tile: the rows and columns of its accumulators. An iteration's share
of the other sequence, or of a product's depth, follows from the loop too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from twill.artifacts.base import Part
from twill.artifacts.loop import Loop, Operation
from twill.base.errors import InputError, short
from twill.sim.analysis.rates import FLOP_OF_ONE_PRODUCT, flop_per_iteration

MOST = 1 << 24
LEFT, RIGHT = 0, 1  # the factors of a product, as which operands it reads them


class Problem(Part):
    """A problem in the tiles of a loop.

    `sizes`: its sizes by name: ``sequence``, ``batch``, ``heads``; or ``rows``, ``columns``,
    ``depth``.
    `trips`: iterations of the loop for an output tile, and how many tiles have so many, the most
    iterations first.
    `flop`: 2 m n k of all products, without what tiles compute beyond the problem's edges.
    """

    sizes: dict[str, int]
    trips: tuple[tuple[int, int], ...]
    flop: float

    @property
    def tiles(self) -> int:
        """Output tiles in all."""
        return sum(number for _, number in self.trips)

    @property
    def iterations(self) -> int:
        """Iterations of the loop for the tile that has most."""
        return self.trips[0][0]


def attention(
    loop: Loop,
    sequence: int,
    tokens: int,
    heads: int,
    *,
    causal: bool = False,
    window: int | None = None,
) -> Problem:
    """Return the problem of a loop over one sequence for tiles of another one of equal length.

    `tokens`: the batch is tokens over length, at least 1.
    `causal`: whether each row only sees what is not behind it: half of the FLOP, as in the
    literature, and for each tile the iterations up to its last row. `window`: how many rows of the
    other sequence before its own a row sees, and unless causal as many behind it.

    Raises
    ------
    InputError
        If a number is out of range, the loop is a matrix product, or the rows of a tile or of an
        iteration do not follow from it.
    """
    _check(sequence=sequence, tokens=tokens, heads=heads)
    if window is not None:
        _check(window=window)
    if is_product(loop):
        wrong = f"{loop.name} is a matrix product, which has none; its problem is --size MxNxK"
        raise InputError(wrong, path="sequence")
    rows, step = tile_rows(loop), streamed_rows(loop)
    batch = max(1, tokens // sequence)
    flop = flop_per_iteration(loop) * sequence / step * sequence / rows
    sees = sequence if window is None else window
    needed = []
    for first in range(0, sequence, rows):
        begin = max(0, first - sees) // step
        end = min(first + rows + (0 if causal else sees), sequence)
        needed.append(-(-end // step) - begin)
    seen = 0.5 if causal else 1.0
    if window is not None:
        behind = 0 if causal else window
        pairs = (
            min(row + behind, sequence - 1) - max(0, row - window) + 1 for row in range(sequence)
        )
        seen = sum(pairs) / sequence**2
    return Problem(
        sizes={"sequence": sequence, "batch": batch, "heads": heads},
        trips=_trips({n: batch * heads * tiles for n, tiles in Counter(needed).items()}),
        flop=flop * batch * heads * seen,
    )


def product(loop: Loop, rows: int, columns: int, depth: int, *, splits: int = 1) -> Problem:
    """Return the problem of a loop that multiplies two matrices, rows x depth and depth x columns.

    `splits`: parts of the depth that have output tiles of their own.

    Raises
    ------
    InputError
        If a number is out of range, or the loop computes anything else.
    """
    _check(rows=rows, columns=columns, depth=depth, splits=splits)
    height, width, step = product_tile(loop)
    tiles, iterations = -(-rows // height) * -(-columns // width), -(-depth // step)
    if splits > iterations:
        raise InputError(f"at most {iterations}, the iterations (got {splits})", path="splits")
    each, more = divmod(iterations, splits)
    return Problem(
        sizes={"rows": rows, "columns": columns, "depth": depth},
        trips=_trips({each + 1: tiles * more, each: tiles * (splits - more)}),
        flop=float(FLOP_OF_ONE_PRODUCT * rows * columns * depth),
    )


def _trips(numbers: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(((n, tiles) for n, tiles in numbers.items() if tiles), reverse=True))


def _check(**numbers: int) -> None:
    for path, number in numbers.items():
        if not isinstance(number, int) or not 1 <= number <= MOST:
            raise InputError(f"a whole number from 1 to {MOST} (got {short(number)})", path=path)


# -- what a loop's tiles are ----------------------------------------------------------------------


def accumulators(loop: Loop) -> list[Operation]:
    """Return the products that update in place, and whose result goes on to the next iteration."""
    updating = {d.consumer for d in loop.dependences if d.in_place}
    carried = {d.producer for d in loop.dependences if d.distance > 0}
    return [o for o in loop.operations if o.kind == "mma" and o.name in updating & carried]


def is_product(loop: Loop) -> bool:
    """Return whether a loop does nothing but add up products of what it loads."""
    found = accumulators(loop)
    return bool(found) and all(o.kind == "load" or o in found for o in loop.operations)


def tile_rows(loop: Loop) -> int:
    """Return the rows of an output tile: those of all accumulators that share a streaming load.

    Raises
    ------
    InputError
        If there are none.
    """
    loads = {o.name for o in loop.operations if o.kind == "load"}
    sharing: dict[str, int] = dict.fromkeys(loads, 0)
    for o in accumulators(loop):
        assert o.result is not None
        for load in loads & {d.producer for d in loop.dependences if d.consumer == o.name}:
            sharing[load] += o.result.shape[0]
    if not any(sharing.values()):
        raise InputError("no accumulator tells the rows of an output tile", path="rows")
    return max(sharing.values())


def streamed_rows(loop: Loop) -> int:
    """Return the rows of the other sequence in an iteration: those of the largest streaming load.

    Raises
    ------
    InputError
        If there is none.
    """
    fed = {d.consumer for d in loop.dependences if d.kind == "data"}
    shapes = [
        o.result.shape
        for o in loop.operations
        if o.kind == "load" and o.name not in fed and o.result is not None
    ]
    rows = [shape[0] for shape in shapes if len(shape) > 1]
    if not rows:
        raise InputError("no streaming load tells the rows of an iteration", path="step")
    return max(rows)


def product_tile(loop: Loop) -> tuple[int, int, int]:
    """Return the rows and columns of an output tile, and the depth of an iteration.

    Sub-tiles that share the right factor are stacked by rows; sub-tiles that share the left factor
    are adjacent by columns.

    Raises
    ------
    InputError
        If the loop does anything but add up products of what it loads.
    """
    if not is_product(loop):
        raise InputError(
            f"{loop.name} is no matrix product; attention has --sequence N", path="size"
        )
    rows = _extent(loop, RIGHT, lambda shape: shape[0])
    columns = _extent(loop, LEFT, lambda shape: shape[1])
    return rows, columns, flop_per_iteration(loop) // (FLOP_OF_ONE_PRODUCT * rows * columns)


def _extent(loop: Loop, shared: int, extent: Callable[[tuple[int, ...]], int]) -> int:
    """Return the extents of all accumulators that share a factor, added up."""
    factors = {d.consumer: d.producer for d in loop.dependences if d.operand == shared}
    found: dict[str | None, int] = defaultdict(int)
    for o in accumulators(loop):
        assert o.result is not None
        found[factors.get(o.name)] += extent(o.result.shape)
    return max(found.values())
