
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
