"""What `emulate` reports, and what it refuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.house.test_house import ROOT
from tests.support.commands import TWILL, in_process
from twill.base.errors import InputError
from twill.sim.emulator import emulate, load, stand_ins

GEMM = ROOT / "tests" / "data" / "gluon" / "gemm_tcgen05.py"


def test_runs_are_those_without_a_victim_and_then_with_each() -> None:
    found = emulate(GEMM, iterations=(1, 2))
    victims = [run.victim for run in found.runs if run.iterations == 2]
    assert [run.iterations for run in found.runs] == [1] * len(victims) + [2] * len(victims)
    assert victims[0] is None
    assert set(victims[1:]) == {
        *("epilogue", "multiply", "load"),
        *("loads of a_smem", "loads of b_smem", "products of multiply", "stores of c_smem"),
    }
    assert [run.victim for run in emulate(GEMM, iterations=(2,), victims=False).runs] == [None]


def test_the_same_seed_gives_the_same() -> None:
    one, again, other = (
        emulate(GEMM, iterations=(3,), victims=False, seed=n).runs[0] for n in (5, 5, 6)
    )
    assert one == again
    assert one.differences != other.differences


def test_an_output_that_is_not_written_is_not_passed(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(GEMM.read_text().replace('"tiles": TILES', '"tiles": TILES - 1'))
    (run,) = emulate(file, iterations=(1,)).runs
    assert not run.passed
    assert np.isnan(run.differences[0].exact)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "kernel.py: defines no make_arguments"),
        ("x = (", "kernel.py: '(' was never closed"),
        ("import torch\ntorch.fft", "kernel.py: line 2: AttributeError: module 'torch' has no"),
        ("import numba_of_nobody", "kernel.py: line 1: ModuleNotFoundError: No module named"),
        ("raise BaseException('x')", "kernel.py: line 1: BaseException: x"),
        ("raise SystemExit(0)", "kernel.py: line 1: SystemExit: 0"),
        ("class E(Exception):\n __str__ = None\nraise E", "kernel.py: line 3: E, which cannot be"),
        ("\ufeffx = 1", "kernel.py: begins with a byte order mark"),
        ("x = '\udce9'", "kernel.py: not UTF-8: byte 5"),
        ("x = '\0'", "kernel.py: "),
    ],
)
def test_a_file_that_cannot_be_run_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        emulate(tmp_path / "kernel.py")
    assert said in str(caught.value)
    done = in_process(*TWILL, "run-kernel", "kernel.py", "--emulate", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


@pytest.mark.parametrize(
    ("raised", "said"), [("SystemExit(0)", "SystemExit: 0"), ("GeneratorExit", "GeneratorExit")]
)
@pytest.mark.parametrize(
    "function", ["load", "multiply", "gemm", "make_arguments", "launch", "reference"]
)
def test_a_kernel_that_ends_is_no_success(
    function: str, raised: str, said: str, tmp_path: Path
) -> None:
    text, count = re.subn(
        rf"(def {function}\((?:[^()]|\([^()]*\))*\)[^\n]*:\n)",
        rf"\1    raise {raised}\n",
        GEMM.read_text(),
    )
    assert count == 1
    (tmp_path / "kernel.py").write_text(text)
    done = in_process(*TWILL, "run-kernel", "kernel.py", "--emulate", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert re.fullmatch(rf"twill: kernel.py: line \d+: {said}\n", done.stderr)


def test_nothing_that_is_compared_is_no_success(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    text = GEMM.read_text()
    assert text.count('OUTPUTS = ("c",)') == 1
    file.write_text(text.replace('OUTPUTS = ("c",)', "OUTPUTS = ()"))
    with pytest.raises(InputError, match="OUTPUTS: names no output"):
        emulate(file, iterations=(1,))


def test_an_output_that_no_kernel_writes_is_no_success(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(COPY)
    assert emulate(file, iterations=(1, 2)).passed
    # What is there before is right by chance.
    for unwritten in ("gl.store(y + at, gl.load(x + at))", "kernel[grid](x, y)"):
        file.write_text(COPY.replace(unwritten, "pass"))
        found = emulate(file, iterations=(1, 2))
        assert [str(run.fault) for run in found.runs] == [
            "unwritten: no kernel writes the output y"
        ] * 2


@pytest.mark.parametrize(
    ("kind", "unit", "units", "passed"),
    [
        ("bfloat16", 2**-7, 1, True),
        ("bfloat16", 2**-7, 2, False),
        ("float16", 2**-10, 2, True),
        ("float16", 2**-10, 3, False),
    ],
)
def test_an_output_may_be_off_by_a_rounding_of_its_type(
    kind: str, unit: float, units: int, passed: bool, tmp_path: Path
) -> None:
    made = COPY.replace("torch.zeros(64)", f"torch.ones(64).to(torch.{kind})")
    apart = f'{{"y": arguments["x"] + (0 if exact else {units * unit})}}'
    file = tmp_path / "kernel.py"
    file.write_text(made.replace('{"y": arguments["x"]}', apart))
    (run,) = emulate(file, iterations=(1,), victims=False).runs
    assert run.passed is passed


COPY = """
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

@gluon.jit
def kernel(x, y):
    at = gl.arange(0, 64)
    gl.store(y + at, gl.load(x + at))

def make_arguments(iterations, seed=0, device="cuda"):
    return {"x": torch.zeros(64), "y": torch.zeros(64)}, (1,)

def launch(arguments, grid):
    x, y = arguments["x"], arguments["y"]
    kernel[grid](x, y)

def reference(arguments, grid, exact=True):
    return {"y": arguments["x"]}

OUTPUTS = ("y",)
"""


@pytest.mark.parametrize("counts", ["²", "0", "", "1,,2", "-1", "1e3", "9" * 5000, "٣"])
def test_trip_counts_are_positive_numbers(counts: str) -> None:
    done = in_process(*TWILL, "run-kernel", str(GEMM), "--emulate", "--iterations", counts)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert re.search(r"--iterations: (a whole number|at least 1) \(got ", done.stderr)
    assert len(done.stderr) < 200


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing.py: no such Python file"):
        emulate(tmp_path / "nothing.py")


def test_a_file_is_what_it_says_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytecode that Python keeps is taken for that of any file of the same time and size."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "kernel.py"
    for said in ("1", "2"):
        file.write_text(f"said = {said}\n")
        os.utime(file, (0, 0))
        with stand_ins():
            assert load(file).said == int(said)


def test_what_is_stood_in_for_is_there_again_afterwards() -> None:
    def stood_in_for() -> dict[str, object]:
        names = ("pytest", "torch", "triton")
        return {n: module for n, module in sys.modules.items() if n.split(".")[0] in names}

    before = stood_in_for()
    with stand_ins():
        load(GEMM)
        assert sys.modules["pytest"] is not before["pytest"]
    assert stood_in_for() == before


def test_a_kernel_is_launched_within_stand_ins_only() -> None:
    with stand_ins():
        module = load(GEMM)
        arguments, grid = module.make_arguments(1)
    with pytest.raises(InputError, match="a kernel is launched outside of stand_ins"):
        module.launch(arguments, grid)


def test_neither_triton_nor_torch_is_imported() -> None:
    code = "import sys, twill.sim.emulator; print({'torch', 'triton'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
