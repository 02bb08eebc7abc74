"""Attention forward on wgmma: two tiles of 64 rows, whose products of two iterations overlap."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

L = gl.constexpr(gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16]))
OUTPUTS = ("o",)


@gluon.jit
def attend(q_smem, k_smem, v_smem, k_full, k_empty, v_full, v_empty, o_desc, scale, n, row):
    m = gl.full([64], float("-inf"), gl.float32, gl.SliceLayout(1, L))
    l = gl.full([64], 0.0, gl.float32, gl.SliceLayout(1, L))
    o = gl.zeros([64, 64], gl.float32, L)
    # prologue
    mbarrier.wait(k_full.index(0), 0)
    s = warpgroup_mma(q_smem, k_smem.index(0).permute((1, 0)), o, use_acc=False, is_async=True)
    s = warpgroup_mma_wait(num_outstanding=0, deps=(s,))
    mbarrier.arrive(k_empty.index(0))
    next_m = gl.maximum(m, gl.max(s, axis=1) * scale)
    p = gl.exp2(s * scale - next_m[:, None])
    alpha = gl.exp2(m - next_m)
    m = next_m
    # steady state
    for i in range(1, n):
        mbarrier.wait(k_full.index(i % 2), (i // 2) & 1)
        s = warpgroup_mma(q_smem, k_smem.index(i % 2).permute((1, 0)), s, use_acc=False, is_async=True)
        mbarrier.wait(v_full.index((i - 1) % 2), ((i - 1) // 2) & 1)
        l = l * alpha + gl.sum(p, axis=1)
        a = gl.convert_layout(p.to(gl.float16), gl.DotOperandLayout(0, L, 2))
        o = warpgroup_mma(a, v_smem.index((i - 1) % 2), o * alpha[:, None], is_async=True)
        s = warpgroup_mma_wait(num_outstanding=1, deps=(s,))
        mbarrier.arrive(k_empty.index(i % 2))
        next_m = gl.maximum(m, gl.max(s, axis=1) * scale)
        p = gl.exp2(s * scale - next_m[:, None])
        alpha = gl.exp2(m - next_m)
        m = next_m
        o = warpgroup_mma_wait(num_outstanding=0, deps=(o,))
        mbarrier.arrive(v_empty.index((i - 1) % 2))
    # epilogue
    mbarrier.wait(v_full.index((n - 1) % 2), ((n - 1) // 2) & 1)
    l = l * alpha + gl.sum(p, axis=1)
    a = gl.convert_layout(p.to(gl.float16), gl.DotOperandLayout(0, L, 2))
    o = warpgroup_mma(a, v_smem.index((n - 1) % 2), o * alpha[:, None], is_async=True)
    o = warpgroup_mma_wait(num_outstanding=0, deps=(o,))
    mbarrier.arrive(v_empty.index((n - 1) % 2))
    q_smem.store((o / l[:, None]).to(gl.float16))
    fence_async_shared()
    tma.async_store(o_desc, [row, 0], q_smem)
    tma.store_wait(pendings=0)


@gluon.jit
def compute0(q_smem, k_smem, v_smem, k_full, k_empty, v_full, v_empty, o_desc, scale, n, row):
    attend(q_smem.index(0), k_smem, v_smem, k_full, k_empty, v_full, v_empty, o_desc, scale, n, row)


@gluon.jit
def compute1(q_smem, k_smem, v_smem, k_full, k_empty, v_full, v_empty, o_desc, scale, n, row):
    attend(q_smem.index(1), k_smem, v_smem, k_full, k_empty, v_full, v_empty, o_desc, scale, n, row + 64)


@gluon.jit
def load(k_smem, v_smem, k_full, k_empty, v_full, v_empty, k_desc, v_desc, n):
    for i in range(0, n):
        mbarrier.wait(k_empty.index(i % 2), ((i // 2) + 1) & 1)
        mbarrier.expect(k_full.index(i % 2), 8192)
        tma.async_load(k_desc, [i * 64, 0], k_full.index(i % 2), k_smem.index(i % 2))
        mbarrier.wait(v_empty.index(i % 2), ((i // 2) + 1) & 1)
        mbarrier.expect(v_full.index(i % 2), 8192)
        tma.async_load(v_desc, [i * 64, 0], v_full.index(i % 2), v_smem.index(i % 2))


@gluon.jit
def attention(q_desc, k_desc, v_desc, o_desc, scale, n):
    q_smem = gl.allocate_shared_memory(gl.float16, [2, 64, 64], q_desc.layout)
    k_smem = gl.allocate_shared_memory(gl.float16, [2, 64, 64], k_desc.layout)
    v_smem = gl.allocate_shared_memory(gl.float16, [2, 64, 64], v_desc.layout)
    q_full = mbarrier.allocate_mbarrier()
    mbarrier.init(q_full, count=1)
    k_full = mbarrier.allocate_mbarrier(batch=2)
    k_empty = mbarrier.allocate_mbarrier(batch=2)
    v_full = mbarrier.allocate_mbarrier(batch=2)
    v_empty = mbarrier.allocate_mbarrier(batch=2)
    for slot in gl.static_range(2):
        mbarrier.init(k_full.index(slot), count=1)
        mbarrier.init(k_empty.index(slot), count=2)
        mbarrier.init(v_full.index(slot), count=1)
        mbarrier.init(v_empty.index(slot), count=2)
    row = gl.program_id(0) * 128
    mbarrier.expect(q_full, 16384)
    tma.async_load(q_desc, [row, 0], q_full, q_smem.index(0))
    tma.async_load(q_desc, [row + 64, 0], q_full, q_smem.index(1))
    mbarrier.wait(q_full, 0)
    scale = scale * 1.44269504
    gl.warp_specialize([
        (compute0, (q_smem, k_smem, v_smem, k_full, k_empty, v_full, v_empty, o_desc, scale, n, row)),
        (compute1, (q_smem, k_smem, v_smem, k_full, k_empty, v_full, v_empty, o_desc, scale, n, row)),
        (load, (k_smem, v_smem, k_full, k_empty, v_full, v_empty, k_desc, v_desc, n)),
    ], [4, 1], [240, 24])


def make_arguments(iterations, seed=0, device="cuda"):
    generator = torch.Generator(device=device).manual_seed(seed)
    sizes = {"q": 256, "k": iterations * 64, "v": iterations * 64}
    arguments = {
        name: torch.randn(size, 64, generator=generator, device=device, dtype=torch.float32).to(torch.float16)
        for name, size in sizes.items()
    }
    arguments["o"] = torch.empty(256, 64, device=device, dtype=torch.float16)
    return {**arguments, "scale": 0.125, "n": iterations}, (2,)


def launch(arguments, grid):
    layout = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    descriptors = [
        TensorDescriptor(x, list(x.shape), list(x.stride()), [64, 64], layout)
        for x in (arguments[name] for name in "qkvo")
    ]
    attention[grid](*descriptors, arguments["scale"], arguments["n"], num_warps=4)


def reference(arguments, grid, exact):
    q, k, v = (arguments[name].double() if exact else arguments[name].float() for name in "qkv")
    s = q @ k.T * arguments["scale"]
    p = torch.exp(s - torch.amax(s, dim=1, keepdim=True))
    l = torch.sum(p, dim=1)
    o = (p if exact else p.to(torch.float16).float()) @ v / l[:, None]
    return {"o": o if exact else o.to(torch.float16)}
