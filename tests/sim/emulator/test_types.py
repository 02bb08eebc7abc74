"""What Triton's front end refuses, the emulator refuses: types of variables, layouts, constants."""

from __future__ import annotations

import importlib
import importlib.util
import textwrap
from pathlib import Path

import pytest

from tests.sim.emulator.test_rules import HEAD
from twill.sim.emulator import FaultError, load, stand_ins

LAYOUTS = """
from triton.experimental.gluon.language.nvidia.hopper import warpgroup_mma_init

A = gl.constexpr(gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0]))
B = gl.constexpr(gl.BlockedLayout([1, 2], [2, 16], [4, 1], [1, 0]))
ROWS = gl.constexpr(gl.SliceLayout(1, A))
COLUMNS = gl.constexpr(gl.SliceLayout(0, A))
MMA = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16]))
SHARED = gl.constexpr(gl.NVMMASharedLayout(128, 16, 2))

@gluon.jit
def tested(out, n):
"""
MAIN = """
def main():
    tested[(1,)](torch.zeros(4096), 2, num_warps=4)
"""
PRODUCT = """
    a = gl.allocate_shared_memory(gl.float16, [64, 64], SHARED)
    a.store(gl.zeros([64, 64], gl.float16, A))
    fence_async_shared()
    c = gl.zeros([64, 64], gl.float32, MMA)
"""

WRONG = {
    "a sum of two layouts": ("x = ZERO + OTHER",
                             "different layouts"),
    "a choice of two layouts": (
        "x = ZERO\ny = gl.where(x > 0, x, OTHER)",
        "different layouts"),
    "a row where a column is wanted": (
        "x = ZERO + gl.arange(0, 8, COLUMNS)[:, None]", "no dimension"),
    "a sum that lies along the other dimension": (
        "x = ZERO\ny = gl.sum(x, 1) + gl.arange(0, 8, COLUMNS)",
        "different layouts"),
    "a tile that begins as a number": (
        "x = 0.0\nfor i in range(n):\n    x = x + ZERO",
        "x is a number of float before the loop, and a tile of float32"),
    "a tile that changes its layout": (
        "x = ZERO\nfor i in range(n):\n    x = gl.convert_layout(x, B)",
        "x is a tile of float32"),
    "a tile that changes its type": (
        "x = ZERO\nfor i in range(n):\n    x = x.to(gl.float16)",
        "x is a tile of float32"),
    "a whole number that becomes a fraction": (
        "x = 0\nfor i in range(n):\n    x = x + 0.5", "x is a number of int before"),
    "a handle that is used as a tile": (
        PRODUCT + "x = warpgroup_mma_init(c).to(gl.float16)", "used before its wait"),
    "a tile that becomes a handle": (
        PRODUCT + "for i in range(n):\n    c = warpgroup_mma(a, a, c, is_async=True)\n"
        "warpgroup_mma_wait(0, deps=(c,))",
        "c is a tile of float32.* handle of a product"),
    "a handle that is made a handle": (
        PRODUCT + "d = warpgroup_mma(a, a, c, is_async=True)\nd = warpgroup_mma_init(d)\n"
        "warpgroup_mma_wait(0, deps=(d,))",
        "was given a handle"),
    "a tile as long as an argument says": (
        "x = gl.arange(0, n, ROWS)", "a constant is wanted"),
    "a range that is unrolled as often as an argument says": (
        "for i in gl.static_range(n):\n    pass", "a constant is wanted"),
}  # fmt: skip
RIGHT = {
    "alike": "x = ZERO + ZERO",
    "beside a row and a column": "x = ZERO\n"
    "y = x + gl.sum(x, 1)[:, None] * gl.arange(0, 8, COLUMNS)[None, :]",
    "converted": "x = ZERO\ny = x + gl.convert_layout(OTHER, A)",
    "numbers": "x = 0\nfor i in range(n):\n    x = x + i",
    "made in the loop": "for i in range(n):\n    x = ZERO\n    x = gl.convert_layout(x, B)",
    "a handle in all rounds": PRODUCT + "c = warpgroup_mma_init(c)\nfor i in range(n):\n"
    "    c = warpgroup_mma(a, a, c, is_async=True)\n"
    "c = warpgroup_mma_wait(0, deps=(c,))\nx = c.to(gl.float16)",
    "waited for in each round": PRODUCT
    + "for i in range(n):\n    d = warpgroup_mma(a, a, c, is_async=True)\n"
    "    c = warpgroup_mma_wait(0, deps=(d,))",
}


def execute(body: str, folder: Path) -> None:
    file = folder / "kernel.py"
    file.write_text(HEAD + LAYOUTS + textwrap.indent(body, "    ") + "\n" + MAIN)
    with stand_ins():
        load(file).main()


def body_of(text: str) -> str:
    """Return a body with the product in front of it on the same level, and its tiles."""
    text = text.replace(PRODUCT, textwrap.dedent(PRODUCT).strip() + "\n")
    text = text.replace("ZERO", "gl.zeros([8, 8], gl.float32, A)")
    return text.replace("OTHER", "gl.zeros([8, 8], gl.float32, B)")


@pytest.mark.parametrize("name", list(WRONG))
def test_what_triton_refuses_is_a_fault(name: str, tmp_path: Path) -> None:
    body, message = WRONG[name]
    with pytest.raises(FaultError, match=message):
        execute(body_of(body), tmp_path)


@pytest.mark.parametrize("name", list(RIGHT))
def test_what_triton_takes_is_none(name: str, tmp_path: Path) -> None:
    execute(body_of(RIGHT[name]), tmp_path)


@pytest.mark.triton
@pytest.mark.parametrize("name", [*WRONG, *RIGHT])
def test_triton_says_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton's own front end, for Hopper, of the same text."""
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    body = WRONG[name][0] if name in WRONG else RIGHT[name]
    file = tmp_path / "kernel.py"
    head = HEAD.replace("import torch\n", "").replace(
        "float2, fma2,\n    get_tmem_reg_layout, ", ""
    )
    file.write_text(head + LAYOUTS + textwrap.indent(body_of(body), "    ") + "\n")
    spec = importlib.util.spec_from_file_location("typed", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    runtime = importlib.import_module("triton.experimental.gluon._runtime")
    triton = importlib.import_module("triton")
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)
    source = runtime.GluonASTSource(module.tested, {"out": "*fp32", "n": "i32"}, {}, {})
    if name in RIGHT:
        triton.compile(source, target=target, options={"num_warps": 4})
        return
    errors = importlib.import_module("triton.compiler.errors")
    with pytest.raises(errors.CompilationError):
        triton.compile(source, target=target, options={"num_warps": 4})
