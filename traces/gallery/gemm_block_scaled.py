"""C = A B^T of 8-bit floats with one scale for 128 elements of a row of A, and for 128 x 128 of B.

The products of one block of the depth are scaled and added in fp32, which the tensor core cannot
do by itself with scales that are no powers of two. A and B are row-major (rows x depth), as are
their scales (rows x blocks, and blocks of columns x blocks).
"""

import triton
import triton.language as tl


@triton.jit
def gemm_block_scaled(
    a_desc, b_desc, c_desc, a_scale_ptr, b_scale_ptr, depth, blocks,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    row = tl.program_id(0) * M
    column = tl.program_id(1) * N
    rows = row + tl.arange(0, M)
    c = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        a = a_desc.load([row, k])
        b = b_desc.load([column, k])
        a_scale = tl.load(a_scale_ptr + rows * blocks + k // K)
        b_scale = tl.load(b_scale_ptr + column // 128 * blocks + k // K)
        product = tl.dot(a, b.T)
        c += product * (a_scale * b_scale)[:, None]
    c_desc.store([row, column], c.to(c_desc.dtype))
