"""Each check of a compiled kernel, by a kernel that breaks it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.compiled.kernels import HOPPER, RECORDED, TEXTS, compiled_text, recorded
from twill.base.errors import InputError, MissingLibraryError
from twill.compiled import Compiled, Limits, check, judge, print_compiled
from twill.compiled.cubin import Cubin
from twill.compiled.order import read_roles

LOG = "ptxas info    : Used 255 registers, used 2 barriers"
SERIAL = (
    "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to ill formed pipeline stage in the function 'kernel'"
)


def judged(
    edit: tuple[str, str] = ("", ""), architecture: int = 90, text: str = "", **changes: object
) -> Compiled:
    """Return what is found in a recorded kernel in which a pattern is replaced once."""
    listing = (RECORDED / f"sm_{architecture}.sass").read_text()
    listing, edited = re.subn(*edit, listing, count=1, flags=re.DOTALL)
    assert edited == 1
    cubin = Cubin("kernel", architecture, 8, 16484, 0, LOG, listing)
    cubin = replace(cubin, **changes)  # type: ignore[arg-type]  # fields of it
    return judge(cubin, text or TEXTS[architecture], "kernel.py")


def checks(made: Compiled) -> list[str]:
    return [finding.check for finding in made.findings]


@pytest.mark.parametrize("architecture", [90, 100])
def test_a_kernel_as_it_is_written(architecture: int, capsys: pytest.CaptureFixture[str]) -> None:
    made = judged(architecture=architecture)
    assert checks(made) == []
    assert [(loop.role, loop.copies, loop.order) for loop in made.loops] == [
        ("compute", 1, None),
        ("load", 1, None),
    ]
    assert [loop.allocated for loop in made.loops] == [(256,), (24,)]
    print_compiled(made)
    printed = capsys.readouterr().out
    assert "kept" in printed
    assert "compiled as it is written" in printed
    assert json.loads(json.dumps(asdict(made)))["loops"][1]["role"] == "load"


ARRIVE = r'( //## File "kernel.py", line 21[^\n]*\n)?[^\n]*SYNCS.ARRIVE.TRANS64.A1T0[^\n]*\n'


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ((rf"({ARRIVE})", ""), ["order"]),
        ((r"([^\n]*WARPGROUP.DEPBAR[^\n]*\n)(.*?)([^\n]*A1T0[^\n]*\n)", r"\3\2\1"), ["order"]),
        ((r"UTMALDG.2D", "NOP"), ["order"]),
        ((r"(/\*06c0\*/[^\n]*\n)", r"\1 /*06c8*/ STL [R1], R4 ;\n"), ["spills"]),
        ((r"(DEALLOC.CTAPOOL 0x18.*?)(DEALLOC.CTAPOOL 0x)18", r"\1\g<2>28"), ["allocation"]),
        ((r"TRYWAIT P2, \[UR13\+0x4050\], R2", "TRYWAIT P2, [UR13+0x4050], R24"), ["registers"]),
    ],
    ids=["no arrival", "an arrival before the wait", "no transfer", "a spill",
         "another allocation", "a high register"],
)  # fmt: skip
def test_another_code_is_found(
    edit: tuple[str, str], found: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    made = judged(edit)
    assert sorted({*checks(made)}) == found
    print_compiled(made)
    printed = capsys.readouterr().out
    assert all(f.what in " ".join(printed.split()) for f in made.findings)


def test_spills_outside_steady_loops_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    made = judged((r"(\n.L_x_1:\n)", r"\1 /*0078*/ STL [R1], R4 ;\n"))
    assert (made.spills, checks(made)) == (1, [])
    print_compiled(made)
    assert "1 instruction of spills outside steady loops" in capsys.readouterr().out


def swapped(architecture: int) -> Iterator[tuple[int, int]]:
    """Yield the lines of each two calls that follow each other in a steady loop."""
    for role in read_roles(TEXTS[architecture]):
        for loop in role.loops:
            lines = sorted({mark.lines[0] for mark in loop.marks})
            yield from itertools.pairwise(lines)


@pytest.mark.parametrize(
    ("architecture", "first", "second"),
    [(architecture, *lines) for architecture in TEXTS for lines in swapped(architecture)],
)
def test_an_order_of_another_file_is_found(architecture: int, first: int, second: int) -> None:
    """Two calls change their places in the file; their instructions keep theirs."""
    text = TEXTS[architecture].split("\n")
    text[first - 1], text[second - 1] = text[second - 1], text[first - 1]
    listing = (RECORDED / f"sm_{architecture}.sass").read_text()
    other = {str(first): str(second), str(second): str(first)}
    listing = re.sub(
        rf'(?<="kernel.py", line )({first}|{second})\b', lambda line: other[line[0]], listing
    )
    made = judged(architecture=architecture, text="\n".join(text), listing=listing)
    assert checks(made) == ["order"]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"shared": 232_449}, ["shared"]),
        ({"shared": 232_448}, []),
        ({"tensor_columns": 544}, ["tensor_columns"]),
        ({"log": f"{LOG}\n{SERIAL}"}, ["serialized"]),
    ],
)
def test_what_the_compiler_says_is_found(changes: dict[str, object], found: list[str]) -> None:
    assert checks(judged(**changes)) == found  # type: ignore[arg-type]  # fields of a cubin


def test_a_missing_triton_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingLibraryError, match=r"pip install '\.\[triton\]'"):
        check(RECORDED / "sm_90.sass", 90)


def test_no_other_architecture() -> None:
    with pytest.raises(InputError, match="sm_90a, sm_100a"):
        check(RECORDED / "sm_90.sass", 80)


# -- what Triton compiles -------------------------------------------------------------------------


@pytest.mark.triton
@pytest.mark.parametrize("architecture", [90, 100])
def test_the_recorded_listings_are_what_triton_makes(architecture: int, tmp_path: Path) -> None:
    made = recorded(compiled_text(TEXTS[architecture], architecture, tmp_path))
    assert made == (RECORDED / f"sm_{architecture}.sass").read_text()


LOOP = HOPPER[HOPPER.index("    for i in range(0, n):") : HOPPER.index("    rows = ")]
# The product that c is made of is in flight where the loop ends.
IN_FLIGHT = HOPPER.replace(
    LOOP,
    """
    o = warpgroup_mma(a_smem.index(0), a_smem.index(0), c, use_acc=False, is_async=True)
    for i in range(0, n):
        mbarrier.wait(full.index(i % 2), (i // 2) & 1)
        a = a_smem.index(i % 2)
        s = warpgroup_mma(a, a, gl.zeros([64, 64], gl.float32, TILE), is_async=True)
        o = warpgroup_mma_wait(num_outstanding=1, deps=(o,))
        c = o * 2.0
        s = warpgroup_mma_wait(num_outstanding=0, deps=(s,))
        p = gl.convert_layout(s.to(gl.float16), gl.DotOperandLayout(0, TILE, 2))
        o = warpgroup_mma(p, a, c, is_async=True)
        mbarrier.arrive(empty.index(i % 2))
""",
)
TILES = range(8)
SPILLING = (
    HOPPER.replace(
        "    c = gl.zeros([64, 64], gl.float32, TILE)\n",
        "".join(f"    c{t} = gl.zeros([64, 64], gl.float32, TILE)\n" for t in TILES),
    )
    .replace(
        "        c = gl.maximum(c, s)\n",
        "".join(f"        c{t} = gl.maximum(c{t} * {t + 2}, s)\n" for t in TILES),
    )
    .replace("gl.max(c, axis=1)", f"gl.max({' + '.join(f'c{t}' for t in TILES)}, axis=1)")
)
FEW = (
    HOPPER.replace("(compute, (a_smem, full, empty, c_ptr, n)),\n", "")
    .replace(
        "(load, (a_smem, full, empty, a_desc, n)),\n",
        "(load, (a_smem, full, empty, a_desc, n)),\n"
        "        (compute, (a_smem, full, empty, c_ptr, n)),\n",
    )
    .replace("[1], [24]", "[4], [56]")
)
LARGE = HOPPER.replace("[2, 64, 64]", "[32, 64, 64]")


@pytest.mark.triton
@pytest.mark.parametrize(
    ("text", "found"),
    [(IN_FLIGHT, "serialized"), (SPILLING, "spills"), (FEW, "allocation"), (LARGE, "shared")],
    ids=["in flight over the end of the loop", "spilling", "few registers", "large"],
)
def test_a_broken_kernel_is_found(text: str, found: str, tmp_path: Path) -> None:
    assert text != HOPPER
    file = tmp_path / "kernel.py"
    file.write_text(text)
    assert found in checks(check(file, 90, Limits()))


@pytest.mark.triton
def test_what_the_host_needs_may_be_missing(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(f"import torch\n{HOPPER}".replace('"n": "i32"', '"n": "i32:16"'))
    assert checks(check(file, 90)) == []


@pytest.mark.triton
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SIGNATURE = {}\n", "AttributeError"),
        ("x = 1 +\n", "SyntaxError"),
        (HOPPER.replace("c = gl.maximum(c, s)", "c = nothing"), "nothing"),
        ("import os\nos.abort()\n", "crashed for sm_90a"),
    ],
    ids=["no entry", "no Python", "no Gluon", "a crash"],
)
def test_what_does_not_compile_is_told_in_a_line(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(text)
    with pytest.raises(InputError, match=r"kernel\.py") as refused:
        check(file, 90)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
