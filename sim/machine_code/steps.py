"""Steps: instructions as the simulated SM executes them, prepared once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from twill.base.errors import InputError
from twill.sim.machine_code.costs import Costs
from twill.sim.machine_code.integers import effect_of
from twill.sim.machine_code.listing import Instruction
from twill.sim.machine_code.memory import memory_effect
from twill.sim.machine_code.registers import (
    NAMED,
    Effect,
    Reader,
    address_reader,
    predicate_reader,
    reader,
)

# Instructions that a warp at a named barrier issues all the same.
GOES_ON = frozenset({"fma", "alu", "mufu", "uniform", "constant"})
# Floating-point instructions, whose results are not followed.
_FLOATING = re.compile(
    r"(?:FFMA2?|FMUL2?|FADD2?|HFMA2|HADD2|HMUL2|FSWZADD|MUFU|FMNMX3?|HMNMX2|F2FP|FSEL|FSET|F2F|FHADD|CREDUX)\b"
)
_PRODUCT = re.compile(r"[HQI]GMMA\.(?:SP\.)?64x(\d+)x(\d+)")
_PACKED = frozenset({"FFMA2", "FMUL2", "FADD2"})  # two elements of FP32
_ROWS = 64  # of a product of a group
_COPY = re.compile(r"^UTCCP.*\.(?:\d+x)?(\d+)dp(\d+)bit")
_FETCHED = 32  # bytes of a row of a factor
_DESCRIPTOR = re.compile(r"idesc\[(UR\d+)\]")
# Lanes and bits of what a warp moves, 32 lanes and bits if it says neither, and how many of them.
_TENSOR = re.compile(r"(?:\.16dp(\d+)bit)?\.x(\d+)$")
TENSOR = ("tensor_load", "tensor_store")
_WIDE = re.compile(r"\.128|M88\.4|MT88\.4")
_TWICE = re.compile(r"\.64\b|M88\.2|MT88\.2")
_NOT_READ = 2  # operands of a comparison that are predicates


@dataclass(frozen=True)
class Product:
    """The part of a step that concerns the tensor core.

    Attributes
    ----------
    columns : int
        Columns of the product of 64 rows.
    inside : bool
        Whether the left factor comes from registers or tensor memory.
    slots : bool
        Whether the result in registers takes register slots.
    commits : bool
        Whether its group of products is complete with it.
    interval : float
        Cycles of the tensor core.
    share : float
        Part of these in which the product reads shared memory.
    issue : float
        Cycles until the warp's next product can be issued.
    tail : float
        Cycles from its end until who waits can know.
    """

    columns: int
    inside: bool
    slots: bool
    commits: bool
    interval: float
    share: float
    issue: float
    tail: float


class Step:
    """An instruction, prepared for execution."""

    def __init__(self, one: Instruction, costs: Costs) -> None:
        self.instruction = one
        self.address = one.address
        self.operation = one.operation
        self.pipe = pipe_of(one, costs)
        self.stall = max(1, one.control.stall)
        self.written, self.read = one.control.written, one.control.read
        self.waits = one.control.waits
        self.guard: Reader | None = _guard(one)
        self.target = one.target
        self.goes_on = self.pipe in GOES_ON
        self.width = 4 if _WIDE.search(one.operation) else 2 if _TWICE.search(one.operation) else 1
        self.effect: Effect | None = self._effect()
        self.place: Reader | None = self._place()
        self.product = product_of(one, costs) if self.pipe == "product" else None
        described = _DESCRIPTOR.search(", ".join(one.operands))
        self.shape: Reader | None = reader(described[1]) if described else None
        if self.pipe == "product" and self.product is None and self.shape is None:
            raise _unknown(one)
        self.tensor_registers = _tensor_registers(one) if self.pipe in TENSOR else 0
        self.left = self._left()
        self.slots = register_slots(one) if self.pipe in ("fma", "alu", "mufu") else 0.0
        self.apart = _apart(one, costs)

    @property
    def unknown(self) -> InputError:
        """The error that names an instruction which is not known."""
        return _unknown(self.instruction)

    def _effect(self) -> Effect | None:
        if self.pipe in ("shared_load", "shared_store", "local", "global"):
            return memory_effect(self.instruction)
        effect = effect_of(self.instruction)
        if effect is None and self.pipe in GOES_ON and not _FLOATING.match(self.operation):
            raise self.unknown
        return effect

    def _place(self) -> Reader | None:
        if self.pipe not in ("shared_load", "shared_store", "mbarrier", "commit"):
            return None
        named = next((text for text in self.instruction.operands if "[" in text), None)
        return address_reader(named) if named else None

    def _left(self) -> int:
        """Return how many groups of products or copies a wait leaves under way."""
        waits = "DEPBAR" in self.operation
        return int(self.instruction.operands[-1], 0) if waits else 0


def _unknown(one: Instruction) -> InputError:
    return InputError(f"unknown instruction {one} at {one.address:#x}")


def pipe_of(one: Instruction, costs: Costs) -> str:
    """Return what executes an instruction.

    Raises
    ------
    InputError
        If the instruction is not known.
    """
    for pipe, known in costs.opcodes:
        if known.match(one.operation):
            return pipe
    raise _unknown(one)


def _guard(one: Instruction) -> Reader | None:
    """Return what reads the guard of an instruction, which is an operand of a uniform branch."""
    guard = one.operands[0] if one.operation == "BRA.U" else one.guard
    return predicate_reader(guard) if guard else None


def _tensor_registers(one: Instruction) -> int:
    """Return the registers of a thread that a load from tensor memory writes, or a store reads."""
    found = _TENSOR.search(one.operation)
    if found is None:
        raise _unknown(one)
    return int(found[2]) * max(1, int(found[1] or "0") // 64)


def _apart(one: Instruction, costs: Costs) -> float:
    """Return the cycles between an instruction of the FP32 pipe and the next one, alone."""
    if one.name == "IMAD" and "MOV" not in one.modifiers:
        return costs.fma_integer
    return costs.fma_packed if one.name in _PACKED else 1.0


def product_of(one: Instruction, costs: Costs) -> Product | None:
    """Return a product of wgmma or a copy; None for tcgen05, whose shape is in a register."""
    shape = _PRODUCT.match(one.operation)
    if shape is None:
        return _copy(one, costs)
    columns = int(shape[1])
    registers = not one.operands[1].startswith("gdesc")
    return shaped(
        costs, _ROWS, columns, inside=registers, slots=True, commits="gsb0" in one.operands
    )


def _copy(one: Instruction, costs: Costs) -> Product | None:
    """Return a copy of some lanes and bits to tensor memory, which is in the queue of products."""
    size = _COPY.search(one.operation)
    if size is None:
        return None
    interval = costs.product_fetch * int(size[1]) * int(size[2]) / (8 * _FETCHED)
    return Product(
        columns=0,
        inside=False,
        slots=False,
        commits=True,
        interval=interval,
        share=1.0,
        issue=costs.product_issue,
        tail=costs.product_tail,
    )


def tensor_product(costs: Costs, word: int, *, inside: bool) -> Product:
    """Return a product of tcgen05 by its descriptor, which has N / 8 and M / 16 in some bits."""
    return shaped(costs, 16 * (word >> 24 & 31), 8 * (word >> 17 & 63), inside=inside)


def shaped(
    costs: Costs,
    rows: int,
    columns: int,
    *,
    inside: bool,
    slots: bool = False,
    commits: bool = True,
) -> Product:
    """Return a product of some rows and columns; see `Product`."""
    # Both factors are fetched in rows of 32 bytes.
    fetch = costs.product_fetch * (columns + (0 if inside else rows))
    interval = max(columns * costs.product_column, fetch)
    more = columns * costs.product_issue_column - costs.product_issue_free
    tail = costs.product_tail_rows if rows <= _ROWS else costs.product_tail
    return Product(
        columns=columns,
        inside=inside,
        slots=slots,
        commits=commits,
        interval=interval,
        share=fetch / interval,
        issue=max(costs.product_issue, more),
        tail=costs.product_tail_inside if inside else tail,
    )


def register_slots(one: Instruction) -> float:
    """Return the cycles for which an instruction's registers occupy the two banks' ports."""
    skipped = _NOT_READ if "SETP" in one.operation else 1
    numbers = set()
    for text in one.operands[skipped:]:
        named = NAMED.match(text)
        if named and named[2] == "R" and named[3] != "Z":
            numbers.add(int(named[3]))
    banks = [sum(number & 1 == bank for number in numbers) for bank in (0, 1)]
    both = sum(banks)
    return float(max(banks)) if both <= 2 else both / 2
