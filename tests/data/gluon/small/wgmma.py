@gluon.jit
def product(a_desc, b_desc, d_desc, IN_REGISTERS: gl.constexpr):
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    a_smem = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b_smem = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    mbarrier.expect(full, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(a_desc, [-16, 16], full, a_smem)
    tma.async_copy_global_to_shared(b_desc, [0, 0], full, b_smem)
    mbarrier.wait(full, phase=0)
    mbarrier.invalidate(full)
    a = a_smem
    if IN_REGISTERS:
        a = a_smem.load(gl.DotOperandLayout(0, None, 2))
    c = gl.full([64, 32], 1.0, gl.float32)
    d = warpgroup_mma(a, b_smem, c, is_async=True)
    d = warpgroup_mma(a, b_smem, d, is_async=True)
    # wait
    d = warpgroup_mma_wait(num_outstanding=0, deps=(d,))
    d_smem = gl.allocate_shared_memory(d_desc.dtype, d_desc.block_type.shape, d_desc.layout)
    d_smem.store(d)
    fence_async_shared()
    tma.async_copy_shared_to_global(d_desc, [32, 0], d_smem)
    tma.store_wait(pendings=0)

def main():
    A = torch.arange(64 * 32, dtype=torch.float16).reshape(64, 32) * 0.125
    B = torch.randn(32, 32).to(torch.float16)
    D = torch.zeros(80, 32)
    product[(1,)](box(A, [64, 32]), box(B, [32, 32]), box(D, [64, 32]), IN_REGISTERS=%s)
    return D
