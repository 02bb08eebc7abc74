"""A disassembled kernel: instructions with pipe, source lines and registers; blocks and loops.

The listing is the output of ``nvdisasm -c -gi``. (``-plr``, which shows what each register holds,
refuses kernels of 255 registers.)
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from twill.base.graphs import reached

PIPES = {
    "tensor": r"[HIQ]GMMA|[HIQD]MMA|UTC\w*MMA|UTCCP",
    "fma": r"FFMA2?|FMUL2?|FADD2?|FSWZADD|HFMA2|HADD2|HMUL2",
    "alu": r"FMNMX3?|HMNMX2|F2FP|FSEL|FSETP|FSET",
    "mufu": r"MUFU",
    "shuffle": r"SHFL",
    "smem": r"LDS|STS|LDSM|STSM|ATOMS",
    "tmem": r"LDTM|STTM",
    "tma": r"UTMA\w+|UBLK\w+",
    "spill": r"LDL|STL",
    "global": r"LDG|STG|LDGSTS|LDGDEPBAR|REDG?|ATOMG?|LDC",
    "barrier": r"SYNCS|ARRIVES|WARPGROUP|UTCBAR|BAR|DEPBAR|MEMBAR|FENCE|ERRBAR|CCTL|USETMAXREG",
    "move": r"MOV|CS2R|IMAD\.MOV\S*|IMAD\.U32|S2R|R2P|P2R",
    "branch": r"BRA|BRXU?|BSSY|BSYNC|CALL|RET|EXIT|NOP|WARPSYNC|ELECT|YIELD|BREAK",
    "uniform": r"U\w+|R2UR|S2UR|LDCU|VOTEU|REDUX",
    "integer": r"I\w+|LOP3|SHF|LEA|PLOP3|PRMT|SEL|VOTE|SGXT|POPC|FLO|BMSK|LOP|VIADD\w*|VIMNMX\w*",
}
"""Operations, their modifiers left out, by the pipe that executes them; the first that matches."""
OTHER = "other"
ATTEMPT = "SYNCS.PHASECHK"
_PIPE = {pipe: re.compile(rf"(?:{names})(?:\.|$)") for pipe, names in PIPES.items()}
_INSTRUCTION = re.compile(
    r"\s*/\*[0-9a-f]{4,}\*/\s+\{?\s*(@!?U?P[T\d]+)?\s*(\S+?)(?:,|\s+(.*?))?\s*;"
)
_LABEL = re.compile(r"(\.L\w+):")
_SOURCE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_TARGET = re.compile(r"`\((\.L\w+)\)")
_TARGETS = re.compile(r'BRANCH_TARGETS ([^"]+)"')
_REGISTER = re.compile(r"\bR(\d+)(\.64)?\b")
_ADDRESS = re.compile(r"\[[^\]]*\]")
_PRODUCT = re.compile(r"[HIQ]GMMA\.(?:SP\.)?64x(\d+)x\d+\.(?:F(32|16))?")
_TENSOR_MEMORY = re.compile(r"(?:LDTM|STTM)(?:\.16dp(\d+)bit)?\S*?\.x(\d+)")
_TWO = re.compile(r"F(?:FMA|ADD|MUL)2\b|\S+\.(?:64|WIDE)\b")
_FOUR = re.compile(r"\S+\.(?:128|M88\.4|MT88\.4)\b")
Frames = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Instruction:
    """An instruction of a warp.

    `predicate`: ``@P0``, ``@!UP1``; empty if it is always executed.
    `operation`: its name with all modifiers, ``SYNCS.PHASECHK.TRANS64.TRYWAIT``.
    `operands`: the rest of its text.
    `lines`: name of a source file and line, from the innermost function to the one that calls it.
    """

    predicate: str
    operation: str
    operands: str
    lines: Frames

    @property
    def pipe(self) -> str:
        """The pipe that executes the instruction, a key of `PIPES` or ``other``."""
        return next((p for p, known in _PIPE.items() if known.match(self.operation)), OTHER)

    @property
    def registers(self) -> int:
        """Registers needed: the number of the highest one that it reads or writes, plus one."""
        found = [0]
        for part in _ADDRESS.findall(self.operands):
            found += [int(n) + (2 if wide else 1) for n, wide in _REGISTER.findall(part)]
        named = _REGISTER.findall(_ADDRESS.sub("", self.operands))
        first, rest = self._widths
        found += [int(n) + (rest if i else first) for i, (n, _) in enumerate(named)]
        return max(found)

    @property
    def _widths(self) -> tuple[int, int]:
        """Registers of its first operand in registers, and of each other one."""
        if product := _PRODUCT.match(self.operation):
            return int(product[1]) * int(product[2] or 32) // 64, 4
        if memory := _TENSOR_MEMORY.match(self.operation):
            return (int(memory[1] or 32) + 32) // 64 * int(memory[2]), 1
        width = 4 if _FOUR.match(self.operation) else 2 if _TWO.match(self.operation) else 1
        return width, width


@dataclass(frozen=True)
class Block:
    """Instructions that are executed one after the other, and the blocks that follow, by number."""

    instructions: tuple[Instruction, ...]
    successors: tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """A natural loop: the block where it begins, and its blocks, by number."""

    header: int
    blocks: frozenset[int]


@dataclass(frozen=True)
class Listing:
    """The code of a kernel; execution begins with block 0."""

    blocks: tuple[Block, ...]

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The blocks that are reached, each before those that follow it on a way without loops."""
        left, found, way = {0}, list[int](), [(0, iter(self.blocks[0].successors))]
        while way:
            block, rest = way[-1]
            following = next((b for b in rest if b not in left), None)
            if following is None:
                found.append(block)
                way.pop()
            else:
                left.add(following)
                way.append((following, iter(self.blocks[following].successors)))
        return tuple(reversed(found))

    @cached_property
    def predecessors(self) -> dict[int, tuple[int, ...]]:
        """Of each block that is reached, the blocks that it follows."""
        found: dict[int, list[int]] = {block: [] for block in self.order}
        for block in self.order:
            for following in self.blocks[block].successors:
                found[following].append(block)
        return {block: tuple(before) for block, before in found.items()}

    @cached_property
    def _dominators(self) -> dict[int, int]:
        """Of each block, as bits, the blocks that are on every way to it."""
        every = (1 << len(self.blocks)) - 1
        found = dict.fromkeys(self.order, every) | {0: 1}
        changed = True
        while changed:
            changed = False
            for block in self.order[1:]:
                common = every
                for before in self.predecessors[block]:
                    common &= found[before]
                common |= 1 << block
                changed |= common != found[block]
                found[block] = common
        return found

    def dominates(self, first: int, second: int) -> bool:
        """Whether every way to a block leads through another one, or it is that one."""
        return bool(self._dominators[second] >> first & 1)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The natural loops; those of one header are one."""
        found: dict[int, set[int]] = {}
        for block in self.order:
            for header in self.blocks[block].successors:
                if self.dominates(header, block):
                    # On a way back from its end that does not lead through the header.
                    before = self.predecessors | {header: ()}
                    found.setdefault(header, {header}).update(reached([block], before.__getitem__))
        return tuple(Loop(header, frozenset(blocks)) for header, blocks in found.items())

    def instructions(self, blocks: frozenset[int]) -> Iterator[Instruction]:
        """Yield the instructions of some blocks, in `order`."""
        for block in self.order:
            if block in blocks:
                yield from self.blocks[block].instructions


def read_listing(text: str) -> Listing:
    """Read a kernel's disassembly.

    `text`: output of ``nvdisasm -c -gi``, with ``-hex`` or without, for a cubin with one kernel.
    """
    code: list[Instruction] = []
    starts: dict[str, int] = {}
    frames: Frames = ()
    told = False  # whether the line before was one of the source too
    for line in text.splitlines():
        if source := _SOURCE.match(line):
            frame = source[1].rsplit("/", 1)[-1], int(source[2])
            frames = (*frames, frame) if told else (frame,)
        elif label := _LABEL.match(line):
            starts[label[1]] = len(code)
        elif found := _INSTRUCTION.match(line):
            predicate, operation, operands = (part or "" for part in found.groups())
            code.append(Instruction(predicate, operation, operands, frames))
        told = source is not None
    return Listing(tuple(_blocks(_placed(code, starts), starts)))


def _placed(code: list[Instruction], starts: dict[str, int]) -> list[Instruction]:
    """Give instructions that ptxas gives no line, and so seem to be of the one before, their own.

    A product has that of the fence before it; the first attempt of a wait, that of the next one,
    which follows or stands out of the way.
    """
    placed = list(code)
    fence: Frames = ()
    for i, instruction in enumerate(code):
        if instruction.operation == "WARPGROUP.ARRIVE":
            fence = instruction.lines
        elif instruction.operation.startswith(("HGMMA", "IGMMA", "QGMMA")) and fence:
            placed[i] = replace(instruction, lines=fence)
        elif instruction.operation.startswith(ATTEMPT):
            again = _attempted_again(code, starts, i)
            placed[i] = replace(instruction, lines=again.lines if again else instruction.lines)
    return placed


def _attempted_again(
    code: list[Instruction], starts: dict[str, int], first: int
) -> Instruction | None:
    """Return the next attempt of a wait, which asks the same barrier behind a branch."""
    end = next((i for i in range(first, len(code)) if _leaves(code[i])), len(code) - 1)
    for start in (
        *(starts[t] for t in _TARGET.findall(code[end].operands) if t in starts),
        end + 1,
    ):
        for later in itertools.islice(code, start, None):
            if later.operation.startswith(ATTEMPT):
                if _ADDRESS.findall(later.operands) == _ADDRESS.findall(code[first].operands):
                    return later
                break
            if _leaves(later):
                break
    return None


def _blocks(code: list[Instruction], starts: dict[str, int]) -> Iterator[Block]:
    ends = {i + 1 for i, instruction in enumerate(code) if _leaves(instruction)}
    bounds = sorted({0, *starts.values(), *ends} - {len(code)})
    numbers = {start: number for number, start in enumerate(bounds)}
    for number, (start, end) in enumerate(zip(bounds, [*bounds[1:], len(code)], strict=True)):
        last = code[end - 1]
        named = [
            *(_TARGET.findall(last.operands) if _leaves(last) else ()),
            *(name for names in _TARGETS.findall(last.operands) for name in names.split(",")),
        ]
        after = [numbers[starts[name]] for name in named if starts.get(name) in numbers]
        if _goes_on(last) and number + 1 < len(bounds):
            after.append(number + 1)
        yield Block(tuple(code[start:end]), tuple(dict.fromkeys(after)))


def _leaves(instruction: Instruction) -> bool:
    return instruction.operation.split(".")[0] in ("BRA", "BRX", "BRXU", "JMP", "EXIT", "RET")


def _goes_on(instruction: Instruction) -> bool:
    """Whether the instruction behind this one may be executed next."""
    if not _leaves(instruction) or instruction.predicate:
        return True
    return instruction.operation.startswith("BRA") and not instruction.operands.startswith("`")
