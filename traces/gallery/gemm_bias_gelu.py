"""C = GELU(A B + bias), in the approximation by a hyperbolic tangent that transformers use.

A, B and C are row-major; the bias is one number a column.
"""

import triton
import triton.language as tl


@triton.jit
def gemm_bias_gelu(
    a_desc, b_desc, c_desc, bias_ptr, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    row = tl.program_id(0) * M
    column = tl.program_id(1) * N
    c = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        a = a_desc.load([row, k])
        b = b_desc.load([k, column])
        c = tl.dot(a, b, c)
    bias = tl.load(bias_ptr + column + tl.arange(0, N))
    c += bias[None, :].to(tl.float32)
    inner = 0.7978845608 * (c + 0.044715 * c * c * c)
    tanh = 1 - 2 / (tl.exp2(2.885390082 * inner) + 1)
    c_desc.store([row, column], (0.5 * c * (1 + tanh)).to(c_desc.dtype))
