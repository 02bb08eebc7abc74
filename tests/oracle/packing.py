"""Whether values have addresses in a memory, of which some must not share any."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model_helper import Literal

from twill.artifacts.hardware import SharedMemory, TensorMemory

HALVES = 2


class Undecided(Exception):  # noqa: N818 - an answer, not an error
    """The effort did not suffice."""


@dataclass(frozen=True)
class Block:
    """A slot: bytes of SMEM, or half columns of TMEM, and whether it takes half of the lanes."""

    size: int
    halved: bool = False


@dataclass(frozen=True)
class _Rectangle:
    """Where a slot is: first address, addresses, and which half of the lanes if not all."""

    address: cp_model.IntVar
    extent: int
    half: cp_model.IntVar | None


def packed(
    memory: SharedMemory | TensorMemory,
    values: Sequence[tuple[Block, int]],
    fixed: Sequence[Block],
    meet: Collection[tuple[int, int]],
    effort: float,
) -> bool:
    """Return whether there are addresses for so many slots of every value.

    Slots of a value share no address and lie in the same half, nor do those of two values that meet
    share one; what is fixed shares with nothing.

    Raises
    ------
    Undecided
        If the effort did not suffice.
    """
    capacity = available(memory)
    every = [*values, *((block, 1) for block in fixed)]
    if any(_extent(memory, block) > capacity for block, _ in every):
        return False
    grain = memory.swizzle.value if isinstance(memory, SharedMemory) else 1
    side_by_side = sum(-(-_extent(memory, b) // grain) * grain * slots for b, slots in every)
    if side_by_side <= capacity:
        return True
    model = cp_model.CpModel()
    places = [[_rectangle(model, memory, block) for _ in range(slots)] for block, slots in every]
    for slots in places:
        for one, other in itertools.combinations(slots, 2):
            _apart(model, one, other)
            if one.half is not None and other.half is not None:
                model.add(one.half == other.half)
    for a, b in itertools.combinations(range(len(every)), 2):
        together = (a, b) not in meet and b < len(values)
        for one, other in itertools.product(places[a], places[b]):
            if not together or (one.half is None) != (other.half is None):
                _apart(model, one, other, together=together)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = effort
    status = solver.solve(model)
    if status == cp_model.UNKNOWN:
        raise Undecided
    return status != cp_model.INFEASIBLE


def available(memory: SharedMemory | TensorMemory) -> int:
    """Return the bytes or columns for values: what is set aside of SMEM is not."""
    if isinstance(memory, SharedMemory) and memory.set_aside is not None:
        return memory.capacity - memory.set_aside.value
    return memory.capacity


def _extent(memory: SharedMemory | TensorMemory, block: Block) -> int:
    whole = isinstance(memory, TensorMemory) and not block.halved
    return block.size // HALVES if whole else block.size


def _grain(memory: SharedMemory | TensorMemory, block: Block) -> int:
    """Return what addresses are multiples of."""
    if isinstance(memory, TensorMemory):
        return 1
    wide = block.size >= memory.swizzle.value
    return memory.swizzle.value if wide else memory.alignment.value


def _rectangle(
    model: cp_model.CpModel, memory: SharedMemory | TensorMemory, block: Block
) -> _Rectangle:
    grain, extent, capacity = _grain(memory, block), _extent(memory, block), available(memory)
    place = model.new_int_var(0, (capacity - extent) // grain, "")
    address = model.new_int_var(0, capacity, "")
    model.add(address == place * grain)
    half = model.new_bool_var("") if block.halved else None
    return _Rectangle(address, extent, half)


def _apart(
    model: cp_model.CpModel, one: _Rectangle, other: _Rectangle, *, together: bool = False
) -> None:
    """Keep two slots apart; `together`: the first half of the lanes may be that of all of them."""
    before, after = model.new_bool_var(""), model.new_bool_var("")
    model.add(one.address + one.extent <= other.address).only_enforce_if(before)
    model.add(other.address + other.extent <= one.address).only_enforce_if(after)
    ways: list[Literal] = [before, after]
    if one.half is not None and other.half is not None:
        aside = model.new_bool_var("")
        model.add(one.half + other.half == 1).only_enforce_if(aside)
        ways.append(aside)
    if together:
        ways += [half.Not() for half in (one.half, other.half) if half is not None]
    model.add_bool_or(ways)
