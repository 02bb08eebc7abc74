"""A product of matrices on tcgen05: a persistent kernel, two accumulators, three slots."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    fence_async_shared,
    mbarrier,
    tcgen05_commit,
    tcgen05_mma,
    tma,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

OUTPUTS = ("c",)
TILES = 3
"""Tiles of every program."""


@gluon.jit
def epilogue(c_desc, c_smem, acc_tmem, acc_full, acc_empty, tiles):
    for t in range(0, tiles):
        mbarrier.wait(acc_full.index(t % 2), (t // 2) & 1)
        acc = acc_tmem.index(t % 2).load()
        mbarrier.arrive(acc_empty.index(t % 2))
        tma.store_wait(pendings=0)
        c_smem.store(acc.to(gl.float16))
        fence_async_shared()
        tma.async_store(c_desc, [0, (gl.program_id(0) + t * gl.num_programs(0)) * 64], c_smem)
    tma.store_wait(pendings=0)


@gluon.jit
def multiply(a_smem, b_smem, acc_tmem, full, empty, acc_full, acc_empty, tiles, n):
    for t in range(0, tiles):
        mbarrier.wait(acc_empty.index(t % 2), ((t // 2) + 1) & 1)
        for i in range(0, n):
            j = t * n + i
            mbarrier.wait(full.index(j % 3), (j // 3) & 1)
            tcgen05_mma(a_smem.index(j % 3), b_smem.index(j % 3), acc_tmem.index(t % 2), use_acc=i > 0, mbarriers=[empty.index(j % 3)])
        tcgen05_commit(acc_full.index(t % 2))


@gluon.jit
def load(a_desc, b_desc, a_smem, b_smem, full, empty, tiles, n):
    for t in range(0, tiles):
        column = (gl.program_id(0) + t * gl.num_programs(0)) * 64
        for i in range(0, n):
            j = t * n + i
            mbarrier.wait(empty.index(j % 3), ((j // 3) + 1) & 1)
            mbarrier.expect(full.index(j % 3), 24576)
            tma.async_load(a_desc, [0, i * 64], full.index(j % 3), a_smem.index(j % 3))
            tma.async_load(b_desc, [i * 64, column], full.index(j % 3), b_smem.index(j % 3))


@gluon.jit
def gemm(a_desc, b_desc, c_desc, tiles, n):
    a_smem = gl.allocate_shared_memory(gl.float16, [3, 128, 64], a_desc.layout)
    b_smem = gl.allocate_shared_memory(gl.float16, [3, 64, 64], b_desc.layout)
    c_smem = gl.allocate_shared_memory(gl.float16, [128, 64], c_desc.layout)
    acc_tmem = allocate_tensor_memory(gl.float32, [2, 128, 64], TensorMemoryLayout([128, 64], col_stride=1))
    full = mbarrier.allocate_mbarrier(batch=3)
    empty = mbarrier.allocate_mbarrier(batch=3)
    acc_full = mbarrier.allocate_mbarrier(batch=2)
    acc_empty = mbarrier.allocate_mbarrier(batch=2)
    for slot in gl.static_range(3):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    for slot in gl.static_range(2):
        mbarrier.init(acc_full.index(slot), count=1)
        mbarrier.init(acc_empty.index(slot), count=1)
    gl.warp_specialize([
        (epilogue, (c_desc, c_smem, acc_tmem, acc_full, acc_empty, tiles)),
        (multiply, (a_smem, b_smem, acc_tmem, full, empty, acc_full, acc_empty, tiles, n)),
        (load, (a_desc, b_desc, a_smem, b_smem, full, empty, tiles, n)),
    ], [1, 1], [24, 24])


def make_arguments(iterations, seed=0, device="cuda"):
    generator = torch.Generator(device=device).manual_seed(seed)
    columns = 2 * TILES * 64
    a = torch.randn(128, iterations * 64, generator=generator, device=device).to(torch.float16)
    b = torch.randn(iterations * 64, columns, generator=generator, device=device).to(torch.float16)
    c = torch.empty(128, columns, device=device, dtype=torch.float16)
    return {"a": a, "b": b, "c": c, "tiles": TILES, "n": iterations}, (2,)


def launch(arguments, grid):
    boxes = {"a": [128, 64], "b": [64, 64], "c": [128, 64]}
    descriptors = [
        TensorDescriptor.from_tensor(arguments[name], box, gl.NVMMASharedLayout.get_default_for(box, gl.float16))
        for name, box in boxes.items()
    ]
    gemm[grid](*descriptors, arguments["tiles"], arguments["n"], num_warps=4)


def reference(arguments, grid, exact):
    a, b = (arguments[name].double() if exact else arguments[name].float() for name in "ab")
    return {"c": a @ b if exact else (a @ b).to(torch.float16)}
