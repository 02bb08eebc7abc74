import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy as cp
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait)
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout, TensorMemoryScalesLayout, allocate_tensor_memory, float2, fma2,
    get_tmem_reg_layout, tcgen05_commit, tcgen05_copy, tcgen05_mma, tcgen05_mma_scaled)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

def box(x, shape):
    layout = gl.NVMMASharedLayout.get_default_for(shape, gl.float16)
    return TensorDescriptor.from_tensor(x, shape, layout)
