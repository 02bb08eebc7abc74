"""Loops that reach memory through pointers, from kernels to dependences."""

from __future__ import annotations

from pathlib import Path

import pytest

import twill
from twill.frontends.triton_dump import dump_kernel
from twill.frontends.ttgir import extract

pytestmark = pytest.mark.triton
pytest.importorskip("triton")

KERNELS = """
import triton
import triton.language as tl


@triton.jit
def scatter(x_ptr, idx_ptr, n, C: tl.constexpr):
    columns = tl.arange(0, C)
    for i in range(0, n):
        j = tl.load(idx_ptr + i * C + columns)
        x = tl.load(x_ptr + j)
        tl.store(x_ptr + j, x * 2)


@triton.jit
def waiting(x_ptr, n):
    i = 0
    while i < n:
        tl.store(x_ptr + i, 0.0)
        i += tl.load(x_ptr).to(tl.int32)
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)
    return file


def test_pointers_that_change_their_layout_still_lead_to_their_argument(kernels: Path) -> None:
    settings = {"x_ptr": "*fp32", "idx_ptr": "*i32", "n": "i32", "C": "1024"}
    loop = extract(dump_kernel(f"{kernels}:scatter", settings, architecture=90))
    edges = {(d.producer, d.consumer, d.distance, d.kind) for d in loop.dependences}
    store = next(o.name for o in loop.operations if o.kind == "store")
    assert {("x", store, 0, "order"), (store, "x", 1, "order"), ("j", "x", 0, "data")} < edges
    # Every access can be costed: what moves pointers about belongs to it.
    twill.schedule(loop, twill.Machine.named("hopper_h100"))


def test_a_while_loop_is_said_to_be_one(kernels: Path) -> None:
    text = dump_kernel(f"{kernels}:waiting", {"x_ptr": "*fp32", "n": "i32"}, architecture=90)
    with pytest.raises(twill.RefusedError, match="no loop but a while loop, which cannot be"):
        extract(text)
