"""What is read of a disassembled kernel."""

from __future__ import annotations

import pytest

from tests.compiled.kernels import RECORDED
from twill.compiled.sass import PIPES, Instruction, read_listing


@pytest.mark.parametrize(
    ("text", "registers"),
    [
        ("HGMMA.64x128x16.F32 R88, R152, gdesc[UR8].tnspB, R88, gsb0", 156),
        ("HGMMA.64x128x16.F32 R24, gdesc[UR4], RZ, !UPT", 88),
        ("HGMMA.64x128x16.F16 R24, gdesc[UR4], RZ, !UPT", 56),
        ("LDTM.x64 R4, tmem[UR6+0x40]", 68),
        ("STTM.16dp256bit.x4 tmem[UR6], R8", 24),
        ("STS.128 [R3+UR8+0x30000], R20", 24),
        ("LDG.E.64 R2, desc[UR4][R10.64]", 12),
        ("FFMA2 R4, R6, R8, R10", 12),
        ("FFMA R4, R6, R8, RZ", 9),
        ("UIADD3 UR4, UPT, UPT, UR4, 0x1, URZ", 0),
    ],
)
def test_wide_operands_take_several_registers(text: str, registers: int) -> None:
    operation, operands = text.split(None, 1)
    assert Instruction("", operation, operands, ()).registers == registers


@pytest.mark.parametrize(
    ("operation", "pipe"),
    [
        ("FFMA.FTZ", "fma"),
        ("FMNMX3", "alu"),
        ("F2FP.F16.F32.PACK_AB", "alu"),
        ("MUFU.EX2", "mufu"),
        ("SHFL.BFLY", "shuffle"),
        ("STS.128", "smem"),
        ("LDTM.x64", "tmem"),
        ("UTCHMMA", "tensor"),
        ("UTMALDG.2D", "tma"),
        ("SYNCS.ARRIVE.TRANS64", "barrier"),
        ("IMAD.MOV.U32", "move"),
        ("IMAD.WIDE", "integer"),
        ("USHF.R.U32.HI", "uniform"),
        ("BRA.U", "branch"),
        ("STL", "spill"),
        ("BPT.TRAP", "other"),
    ],
)
def test_each_operation_has_a_pipe(operation: str, pipe: str) -> None:
    assert Instruction("", operation, "", ()).pipe == pipe


@pytest.mark.parametrize("architecture", [90, 100])
def test_a_recorded_kernel(architecture: int) -> None:
    """All is reached but what traps; the loops are those of two roles, of workers and of waits."""
    text = (RECORDED / f"sm_{architecture}.sass").read_text()
    listing = read_listing(text)
    every = [i for block in listing.blocks for i in block.instructions]
    assert len(every) == text.count("/*0") + text.count("/*1")
    assert {i.pipe for i in every} <= {*PIPES, "other"}
    reached = [i for b in listing.order for i in listing.blocks[b].instructions]
    assert not any(i.operation.startswith("BPT") for i in reached)
    assert sum(i.operation.startswith("USETMAXREG") for i in reached) >= 6
    product = {90: "HGMMA.64x64x16.F32", 100: "UTCHMMA"}[architecture]
    found = [{i.operation for i in listing.instructions(loop.blocks)} for loop in listing.loops]
    assert sum(product in names for names in found) == 1
    assert sum("UTMALDG.2D" in names for names in found) == 2


@pytest.mark.parametrize("branch", ["BRX R2", "BRXU UR4"])
def test_a_branch_table_names_its_targets(branch: str) -> None:
    listing = read_listing(
        f"""
 /*0000*/ LDC R2, c[0x2][R5] ;
 /*0010*/ {branch} -0x20 (*"BRANCH_TARGETS .L_x_1,.L_x_2"*);
.L_x_1:
 /*0020*/ @P0 EXIT ;
 /*0030*/ BRA.U UP1, `(.L_x_1) ;
.L_x_2:
 /*0040*/ BRA `(.L_x_1) ;
"""
    )
    assert [block.successors for block in listing.blocks] == [(1, 3), (2,), (1, 3), (1,)]
    assert listing.blocks[0].instructions[-1].pipe == "branch"
    assert listing.order[0] == 0
    assert len(listing.loops) == 1


def test_a_source_line_has_its_callers() -> None:
    listing = read_listing(
        """
 //## File "/lib/standard.py", line 5 inlined at "/home/kernel.py", line 7
 //## File "/home/kernel.py", line 7 inlined at "/home/kernel.py", line 30
 //## File "/home/kernel.py", line 30
 /*0000*/ FADD R1, R2, R3 ;
 //## File "/home/kernel.py", line 8
 /*0010*/ EXIT ;
"""
    )
    first, second = listing.blocks[0].instructions
    assert first.lines == (("standard.py", 5), ("kernel.py", 7), ("kernel.py", 30))
    assert second.lines == (("kernel.py", 8),)
