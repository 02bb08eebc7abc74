"""Steps: instructions as the simulated SM executes them, prepared once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from twill.base.errors import InputError
from twill.sim.machine_code.integers import effect_of
from twill.sim.machine_code.listing import Instruction
from twill.sim.machine_code.memory import memory_effect
from twill.sim.machine_code.registers import (
    NAMED,
    Effect,
    Reader,
    address_reader,
    predicate_reader,
)

# What executes an instruction; the first pattern that matches its operation.
PIPES = {
    "fma": r"FFMA2?|FMUL2?|FADD2?|IMAD|HFMA2|HADD2|HMUL2|FSWZADD|FMNMX3",
    "mufu": r"MUFU|F2I|I2F|I2FP",
    "shuffle": r"SHFL",
    "shared load": r"LDS|LDSM",
    "shared store": r"STS|STSM",
    "mbarrier": r"SYNCS|ARRIVES",
    "barrier": r"BAR",
    "product": r"HGMMA|QGMMA|IGMMA",
    "product wait": r"WARPGROUP",
    "bulk": r"UTMALDG|UTMASTG|UTMAREDG|UTMACMDFLUSH",
    "bulk wait": r"DEPBAR",
    "global": r"LDG|STG|LDGSTS|REDG?|ATOMG?",
    "local": r"LDL|STL",
    "fence": r"FENCE|MEMBAR",
    "registers": r"USETMAXREG",
    "branch": (
        r"BRA|BRX|EXIT|NOP|BSSY|BSYNC|BREAK|BMOV|WARPSYNC|ENDCOLLECTIVE|YIELD|CCTL|ERRBAR|UTMAPF|UTMACCTL|"
        r"LDGDEPBAR"
    ),
    "constant": r"LDC|LDCU|S2R|S2UR",
    "uniform": r"U\w+|R2UR|VOTEU|ELECT",
    "alu": (
        r"FMNMX|HMNMX2|F2FP|FSEL|FSETP|FSET|HSETP2|MOV|CS2R|R2P|P2R|VOTE|IADD3|LOP3|SHF|LEA|"
        r"PLOP3|PRMT|SEL|SGXT|VIADD\w*|VIMNMX\w*|IMNMX|ISETP|IABS"
    ),
}
_PIPES = {pipe: re.compile(rf"(?:{names})(?:\.|$)") for pipe, names in PIPES.items()}
# Instructions that a warp at a named barrier issues all the same.
GOES_ON = frozenset({"fma", "alu", "mufu", "uniform", "constant"})
# Floating-point instructions, whose results are not followed.
_FLOATING = re.compile(
    r"(?:FFMA2?|FMUL2?|FADD2?|HFMA2|HADD2|HMUL2|FSWZADD|MUFU|FMNMX3?|HMNMX2|F2FP|FSEL|FSET|F2F)\b"
)
_PRODUCT = re.compile(r"[HQI]GMMA\.(?:SP\.)?64x(\d+)x(\d+)")
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
    registers : bool
        Whether the left factor comes from registers.
    commits : bool
        Whether its group of products is complete with it.
    interval : float
        Cycles of the tensor core.
    share : float
        Part of these in which the product reads shared memory.
    issue : float
        Cycles until the warp's next product can be issued.
    """

    columns: int
    registers: bool
    commits: bool
    interval: float
    share: float
    issue: float


class Step:
    """An instruction, prepared for execution."""

    def __init__(self, one: Instruction) -> None:
        self.instruction = one
        self.address = one.address
        self.operation = one.operation
        self.pipe = pipe_of(one)
        self.stall = max(1, one.control.stall)
        self.written, self.read = one.control.written, one.control.read
        self.waits = one.control.waits
        self.guard: Reader | None = predicate_reader(one.guard) if one.guard else None
        self.target = one.target
        self.goes_on = self.pipe in GOES_ON
        self.width = 4 if _WIDE.search(one.operation) else 2 if _TWICE.search(one.operation) else 1
        self.effect: Effect | None = self._effect()
        self.place: Reader | None = self._place()
        self.product = product_of(one) if self.pipe == "product" else None
        self.left = self._left()
        self.slots = register_slots(one) if self.pipe in ("fma", "alu", "mufu") else 0.0

    def _effect(self) -> Effect | None:
        if self.pipe in ("shared load", "shared store", "local", "global"):
            return memory_effect(self.instruction)
        effect = effect_of(self.instruction)
        if effect is None and self.pipe in GOES_ON and not _FLOATING.match(self.operation):
            raise InputError(f"unknown instruction {self.instruction} at {self.address:#x}")
        return effect

    def _place(self) -> Reader | None:
        if self.pipe not in ("shared load", "shared store", "mbarrier"):
            return None
        named = next((text for text in self.instruction.operands if "[" in text), None)
        return address_reader(named) if named else None

    def _left(self) -> int:
        """Return how many groups of products or copies a wait leaves under way."""
        waits = "DEPBAR" in self.operation
        return int(self.instruction.operands[-1], 0) if waits else 0


def pipe_of(one: Instruction) -> str:
    """Return what executes an instruction.

    Raises
    ------
    InputError
        If the instruction is not known.
    """
    for pipe, known in _PIPES.items():
        if known.match(one.operation):
            return pipe
    raise InputError(f"unknown instruction {one} at {one.address:#x}")


def product_of(one: Instruction) -> Product:
    """Return the shape of a product, and what it costs the tensor core and shared memory."""
    shape = _PRODUCT.match(one.operation)
    if shape is None:
        raise InputError(f"unknown instruction {one} at {one.address:#x}")
    columns = int(shape[1])
    registers = not one.operands[1].startswith("gdesc")
    # 2,048 bytes of the left factor and 32 a column of the right one, at 128 bytes a cycle.
    fetch = columns / 4 + (0 if registers else 16)
    interval = max(columns / 2, fetch)
    return Product(
        columns=columns,
        registers=registers,
        commits="gsb0" in one.operands,
        interval=interval,
        share=fetch / interval,
        issue=max(4.0, columns / 8 - 4),
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
