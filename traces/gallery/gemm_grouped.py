"""A matrix product for each expert of a mixture: C[rows of e] = A[rows of e] B[e].

Tokens are sorted by expert and each expert's rows padded to whole tiles, so that a tile of rows has
one expert, which a table names. The factors of all experts lie below each other.
"""

import triton
import triton.language as tl


@triton.jit
def gemm_grouped(
    a_desc, b_desc, c_desc, expert_ptr, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    tile = tl.program_id(0)
    column = tl.program_id(1) * N
    first = tl.load(expert_ptr + tile) * depth
    c = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        a = a_desc.load([tile * M, k])
        b = b_desc.load([first + k, column])
        c = tl.dot(a, b, c)
    c_desc.store([tile * M, column], c.to(c_desc.dtype))
