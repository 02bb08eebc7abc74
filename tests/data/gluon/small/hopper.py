
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
