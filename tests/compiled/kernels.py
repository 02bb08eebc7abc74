"""Small kernel files of two roles, as text: a product a round on either architecture.

``python -m tests.compiled.kernels`` writes their listings into `tests/data/compiled`.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from twill.compiled.cubin import Cubin, compile_file

HOPPER = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier, tma, warpgroup_mma, warpgroup_mma_wait)

TILE = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16]))
SIGNATURE = {"a_desc": "tensordesc<fp16[64,64]>", "c_ptr": "*fp32", "n": "i32"}
KERNEL = "kernel"


@gluon.jit
def compute(a_smem, full, empty, c_ptr, n):
    c = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(0, n):
        mbarrier.wait(full.index(i % 2), (i // 2) & 1)
        zeros = gl.zeros([64, 64], gl.float32, TILE)
        a = a_smem.index(i % 2)
        s = warpgroup_mma(a, a, zeros, use_acc=False, is_async=True)
        s = warpgroup_mma_wait(num_outstanding=0, deps=(s,))
        mbarrier.arrive(empty.index(i % 2))
        c = gl.maximum(c, s)
    rows = gl.arange(0, 64, gl.SliceLayout(1, TILE))
    gl.store(c_ptr + rows, gl.max(c, axis=1))


@gluon.jit
def load(a_smem, full, empty, a_desc, n):
    for i in range(0, n):
        mbarrier.wait(empty.index(i % 2), ((i // 2) + 1) & 1)
        mbarrier.expect(full.index(i % 2), 8192)
        tma.async_load(a_desc, [i * 64, 0], full.index(i % 2), a_smem.index(i % 2))


@gluon.jit
def kernel(a_desc, c_ptr, n):
    a_smem = gl.allocate_shared_memory(gl.float16, [2, 64, 64], a_desc.layout)
    full = mbarrier.allocate_mbarrier(batch=2)
    empty = mbarrier.allocate_mbarrier(batch=2)
    for slot in gl.static_range(2):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    gl.warp_specialize([
        (compute, (a_smem, full, empty, c_ptr, n)),
        (load, (a_smem, full, empty, a_desc, n)),
    ], [1], [24])
"""
BLACKWELL = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout, allocate_tensor_memory, mbarrier, tcgen05_mma, tma)

SIGNATURE = {"a_desc": "tensordesc<fp16[128,64]>", "n": "i32"}
KERNEL = "kernel"


@gluon.jit
def compute(a_smem, c_tmem, full, empty, n):
    for i in range(0, n):
        mbarrier.wait(full.index(i % 2), (i // 2) & 1)
        a = a_smem.index(i % 2)
        tcgen05_mma(a, a.permute((1, 0)), c_tmem, use_acc=i > 0, mbarriers=[empty.index(i % 2)])


@gluon.jit
def load(a_smem, full, empty, a_desc, n):
    for i in range(0, n):
        mbarrier.wait(empty.index(i % 2), ((i // 2) + 1) & 1)
        mbarrier.expect(full.index(i % 2), 16384)
        tma.async_load(a_desc, [i * 128, 0], full.index(i % 2), a_smem.index(i % 2))


@gluon.jit
def kernel(a_desc, n):
    a_smem = gl.allocate_shared_memory(gl.float16, [2, 128, 64], a_desc.layout)
    c_layout: gl.constexpr = TensorMemoryLayout([128, 128], col_stride=1)
    c_tmem = allocate_tensor_memory(gl.float32, [128, 128], c_layout)
    full = mbarrier.allocate_mbarrier(batch=2)
    empty = mbarrier.allocate_mbarrier(batch=2)
    for slot in gl.static_range(2):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    gl.warp_specialize([
        (compute, (a_smem, c_tmem, full, empty, n)),
        (load, (a_smem, full, empty, a_desc, n)),
    ], [1], [24])
"""

RECORDED = Path(__file__).parents[1] / "data" / "compiled"
TEXTS = {90: HOPPER, 100: BLACKWELL}


def recorded(cubin: Cubin) -> str:
    """Return a listing as it is kept: without words, folders of source files, columns of spaces."""
    plain = re.sub(r"^\s*/\* 0x\w+ \*/\n| */\* 0x\w+ \*/", "", cubin.listing, flags=re.MULTILINE)
    short = re.sub(r'"[^"\n]*/(\w+\.py)"', r'"\1"', plain)
    return re.sub(r"[ \t]+", " ", re.sub(r"[ \t]+$", "", short, flags=re.MULTILINE))


def compiled_text(text: str, architecture: int, folder: Path) -> Cubin:
    file = folder / "kernel.py"
    file.write_text(text)
    return compile_file(file, architecture)


if __name__ == "__main__":
    for architecture, text in TEXTS.items():
        with tempfile.TemporaryDirectory() as made:
            listing = recorded(compiled_text(text, architecture, Path(made)))
        (RECORDED / f"sm_{architecture}.sass").write_text(listing)
