"""Matrix product of 8-bit floats that share a scale of powers of two in blocks of 32 (MXFP8).

A is rows x depth and B columns x depth, both row-major. Scales come packed as Blackwell's tensor
core reads them: 128 rows by 4 blocks are 512 consecutive bytes, in the order (row % 32, row // 32,
block), and a row of the descriptor holds those of all blocks of the depth for 128 rows.
"""

import triton
import triton.language as tl


@triton.jit
def unpacked(scale, ROWS: tl.constexpr, BLOCKS: tl.constexpr):
    """Return packed scales as rows x blocks."""
    scale = scale.reshape([ROWS // 128, BLOCKS // 4, 32, 4, 4])
    return scale.trans(0, 3, 2, 1, 4).reshape([ROWS, BLOCKS])


@triton.jit
def block_scaled_gemm(
    a_desc, b_desc, a_scale_desc, b_scale_desc, c_desc, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    row = tl.program_id(0) * M
    column = tl.program_id(1) * N
    c = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        a = a_desc.load([row, k])
        b = b_desc.load([column, k])
        a_packed = a_scale_desc.load([0, row // 128, k // 128, 0, 0])
        b_packed = b_scale_desc.load([0, column // 128, k // 128, 0, 0])
        a_scale = unpacked(a_packed, M, K // 32)
        b_scale = unpacked(b_packed, N, K // 32)
        c = tl.dot_scaled(a, a_scale, "e4m3", b.T, b_scale, "e4m3", c)
    c_desc.store([row, column], c.to(c_desc.dtype))
