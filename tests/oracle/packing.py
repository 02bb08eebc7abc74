"""Whether values have addresses in a memory, of which some must not share any."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from tests.oracle.facts import COPY, SWIZZLE


class Undecided(Exception):  # noqa: N818 - an answer, not an error
    """The effort did not suffice."""


@dataclass(frozen=True)
class Block:
    """So many slots of one size: bytes of SMEM, or columns of 64 lanes of TMEM."""

    size: int
    lanes: int
    slots: int


def packed(
    memory: str,
    capacity: int,
    values: Sequence[Block],
    fixed: Sequence[Block],
    meet: Collection[tuple[int, int]],
    effort: float,
) -> bool:
    """Return whether there are addresses: slots of a value, and of values that meet, are apart.

    Raises
    ------
    Undecided
        If the effort did not suffice.
    """
    every = [*values, *fixed]
    pairs = set(meet)
    for a in range(len(values), len(every)):
        pairs |= {(b, a) for b in range(a)}
    model = cp_model.CpModel()
    rectangles: list[list[tuple[cp_model.IntVar, int, cp_model.IntVar | None]]] = []
    for block in every:
        rectangles.append([])
        for _ in range(block.slots):
            if memory == "smem":
                grain, half, extent = SWIZZLE if block.size >= SWIZZLE else COPY, None, block.size
            else:
                grain, extent = 1, block.size * 64 // block.lanes
                half = model.new_bool_var("") if block.lanes == 64 else None
            if extent > capacity:
                return False
            place = model.new_int_var(0, (capacity - extent) // grain, "")
            scaled = model.new_int_var(0, capacity, "")
            model.add(scaled == place * grain)
            rectangles[-1].append((scaled, extent, half))
    for a, one in enumerate(rectangles):
        for n, first in enumerate(one):
            for second in one[:n]:
                _apart(model, first, second)
            for b in range(a):
                if (b, a) in pairs or (a, b) in pairs:
                    for second in rectangles[b]:
                        _apart(model, first, second)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = effort
    status = solver.solve(model)
    if status == cp_model.UNKNOWN:
        raise Undecided
    return status != cp_model.INFEASIBLE


def _apart(
    model: cp_model.CpModel,
    one: tuple[cp_model.IntVar, int, cp_model.IntVar | None],
    other: tuple[cp_model.IntVar, int, cp_model.IntVar | None],
) -> None:
    before, after = model.new_bool_var(""), model.new_bool_var("")
    model.add(one[0] + one[1] <= other[0]).only_enforce_if(before)
    model.add(other[0] + other[1] <= one[0]).only_enforce_if(after)
    ways = [before, after]
    if one[2] is not None and other[2] is not None:
        aside = model.new_bool_var("")
        model.add(one[2] + other[2] == 1).only_enforce_if(aside)
        ways.append(aside)
    model.add_bool_or(ways)
