"""What broken dumps are told; whole ones are read quickly. `test_fuzz` breaks hundreds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import twill
from tests.support.fuzzing import limited
from tests.support.mutations import PACKAGED, mutations
from twill.frontends.ttgir import extract

ROOT = Path(__file__).parents[2]
LONGEST_SECONDS = 10


def test_a_seed_gives_the_same_dumps() -> None:
    assert list(mutations(5, 40)) == list(mutations(5, 40))
    assert list(mutations(5, 40)) != list(mutations(6, 40))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('sched.name = "k"', 'sched.name = "k\\"', "line 27 has a string without an end"),
        ('sched.name = "k"', 'sched.name = "k\\q"', "line 27 has a string without an end"),
        ("128x256xf32", "1000000007x256xf32", "a tensor of more than 1048576 elements"),
        ("128x256xf32", "4096x4096xf32", "a tensor of more than 1048576 elements"),
        ("128x256xf32", f"{'9' * 5000}xf32", "a tensor of more than 1048576 elements"),
        ("versionMajor = 3", f"versionMajor = {'3, a = ' * 4000}3", "a type of more than 10000"),
        ("sizePerThread = [1, 8]", "sizePerThread = [0, 8]", "not a layout (got '#ttg.blocked"),
        ("sizePerThread = [1, 8], ", "", "not a layout (got '#ttg.blocked"),
        ("(%a_6, %b_7, %c_5)", "(%a_6)", "not a TTGIR dump"),
        ("128x256xf32", "128x256xcomplex<f32>", "not a TTGIR dump"),
        ("#mma = ", "#mma = #mma\n#other = ", "not a TTGIR dump in MLIR's generic form: "),
    ],
)
def test_what_a_broken_dump_is_told(old: str, new: str, problem: str) -> None:
    text = (ROOT / "traces" / "ttgir" / "gemm.sm90.mlir").read_text()
    assert old in text
    with pytest.raises(twill.InputError) as caught, limited(LONGEST_SECONDS):
        extract(text.replace(old, new), file="k.mlir")
    assert str(caught.value).startswith(f"k.mlir: {problem}")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            '"ttng.warp_group_dot"',
            '"ttng.tc_gen5_mma"',
            "ttng.tc_gen5_mma at gemm.py:21:13 has 3 operands, needs 5",
        ),
        (
            '"tt.descriptor_load"',
            '"tt.reduce"',
            "tt.reduce at gemm.py:19:13 has no body",
        ),
        (
            "!ttg.memdesc<128x64xf16,",
            "!ttg.memdesc<128x64xf8E8M0FNU,",
            "ttg.local_alloc at gemm.py:19:13 has a tile of unknown size ('!ttg.memdesc<128x64x",
        ),
    ],
)
def test_what_an_operation_lacks(old: str, new: str, problem: str) -> None:
    text = (ROOT / "traces" / "ttgir" / "gemm.sm90.mlir").read_text()
    with pytest.raises(twill.TwillError) as caught:
        extract(text.replace(old, new), file="k.mlir")
    assert str(caught.value).startswith(f"k.mlir: {problem}")


MEASURED = """
import json, sys, time
from tests.support.fuzzing import peak_bytes
from twill.frontends.ttgir import extract

times = {}
for file in sys.argv[1:]:
    text = open(file).read()
    start = time.process_time()
    try:
        extract(text, file=file, loop="0")
    except Exception:
        extract(text, file=file, loop="1")
    times[file] = time.process_time() - start
print(json.dumps({"seconds": times, "bytes": peak_bytes()}))
"""


@pytest.mark.slow
@pytest.mark.sample
def test_packaged_dumps_are_read_in_a_second_and_200_megabytes() -> None:
    command = [sys.executable, "-c", MEASURED, *map(str, PACKAGED)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert len(measured["seconds"]) == len(PACKAGED)
    assert max(measured["seconds"].values()) < 1
    assert 20_000_000 < measured["bytes"] < 200_000_000
