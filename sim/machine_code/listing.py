"""Listings of machine code: instructions with the control fields that time them.

A listing is what ``nvdisasm -c -hex`` writes (with ``-gi``, lines of the source too). Bits 105 to
125 of an instruction's 128 say how long its warp stalls, which of six scoreboards the instruction
sets, and which ones it waits for. The same bits hold for ``sm_90a`` and ``sm_100a``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from twill.base.errors import InputError

BYTES = 16  # of an instruction
NO_SCOREBOARD = 7
SCOREBOARDS = 6
_CONTROL = 105 - 64  # the first control bit, in the second word
_INSTRUCTION = re.compile(
    r"\s*/\*([0-9a-f]{4,})\*/\s+\{?\s*(?:@(!?U?P[T\d]+))?\s*([^\s;,]+),?\s*(.*?)\s*;?\s*\}?\s*;?"
    r"\s*/\* 0x([0-9a-f]{16}) \*/"
)
_SECOND_WORD = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/")
_LABEL = re.compile(r"(\.L\w+):")
_SOURCE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_TARGET = re.compile(r"`\((\.L\w+)\)")


@dataclass(frozen=True)
class Control:
    """Control fields of an instruction.

    Attributes
    ----------
    stall : int
        Cycles until the warp's next instruction.
    yields : bool
        Whether another warp is to be preferred for the next one.
    written, read : int
        Scoreboard that is released when results are written, or operands read; 7 if none is.
    waits : tuple of int
        Scoreboards that have to be free before the instruction is issued.
    reuse : int
        Operand slots whose register stays in the cache, as bits.
    """

    stall: int
    yields: bool
    written: int
    read: int
    waits: tuple[int, ...]
    reuse: int


@dataclass(frozen=True)
class Instruction:
    """An instruction, as text and control fields.

    Attributes
    ----------
    address : int
        Bytes from the kernel's entry.
    guard : str
        ``P0``, ``!UP1``; empty if nothing guards it.
    operation : str
        Its name with all modifiers.
    operands : tuple of str
        Operands as written.
    target : int
        Address that a branch names; -1 if it names none.
    line : tuple of str and int
        Source file and line, of the innermost function; an empty name if unknown.
    """

    address: int
    guard: str
    operation: str
    operands: tuple[str, ...]
    control: Control
    target: int = -1
    line: tuple[str, int] = ("", 0)

    @property
    def name(self) -> str:
        """The operation without modifiers."""
        return self.operation.partition(".")[0]

    @property
    def modifiers(self) -> frozenset[str]:
        """The words behind the name."""
        return frozenset(self.operation.split(".")[1:])

    def __str__(self) -> str:
        guard = f"@{self.guard} " if self.guard else ""
        return f"{guard}{self.operation} {', '.join(self.operands)}".strip()


def control_of(word: int) -> Control:
    """Return the control fields in the second 64 bits of an instruction."""
    bits = word >> _CONTROL
    mask = bits >> 11 & 63
    return Control(
        stall=bits & 15,
        yields=not bits >> 4 & 1,
        written=bits >> 5 & 7,
        read=bits >> 8 & 7,
        waits=tuple(n for n in range(SCOREBOARDS) if mask >> n & 1),
        reuse=bits >> 17 & 15,
    )


def read_listing(text: str) -> tuple[Instruction, ...]:
    """Read a kernel's listing.

    Raises
    ------
    InputError
        If it has no instructions, or lacks the hexadecimal words.
    """
    found: list[Instruction] = []
    labels: dict[str, int] = {}
    pending: list[str] = []
    line, told = ("", 0), False
    open_ = False  # whether the second word of the last instruction is still to come
    for row in text.splitlines():
        if open_ and (word := _SECOND_WORD.match(row)):
            found[-1] = replace(found[-1], control=control_of(int(word[1], 16)))
            open_ = False
            continue
        if source := _SOURCE.match(row):
            # Lines that follow say where the function is called; the innermost one stays.
            line, told = (line if told else (source[1].rsplit("/", 1)[-1], int(source[2]))), True
            continue
        told = False
        if label := _LABEL.match(row):
            pending.append(label[1])
        elif got := _INSTRUCTION.match(row):
            address = int(got[1], 16)
            labels.update(dict.fromkeys(pending, address))
            pending = []
            operands = split_operands(got[4])
            control = control_of(0)
            found.append(Instruction(address, got[2] or "", got[3], operands, control, line=line))
            open_ = True
    if not found or open_:
        raise InputError("no listing of machine code with hexadecimal words (nvdisasm -c -hex)")
    return tuple(_with_target(one, labels) for one in found)


def _with_target(one: Instruction, labels: dict[str, int]) -> Instruction:
    named = _TARGET.search(", ".join(one.operands)) if one.name == "BRA" else None
    return replace(one, target=labels[named[1]]) if named else one


def split_operands(text: str) -> tuple[str, ...]:
    """Return the operands of an instruction, which commas outside of brackets separate."""
    found, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "[(":
            depth += 1
        elif letter in "])":
            depth -= 1
        elif letter == "," and not depth:
            found.append(text[begin:place].strip())
            begin = place + 1
    found.append(text[begin:].strip())
    return tuple(one for one in found if one)
