"""C = RMSNorm(X) W in one loop: the sums of squares of X's rows are taken on the way.

The norm's factor is the same for a whole row, so that it may follow the product; its weights are
part of W. X, W and C are row-major.
"""

import triton
import triton.language as tl


@triton.jit
def rms_norm_gemm(
    x_desc, w_desc, c_desc, epsilon, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    row = tl.program_id(0) * M
    column = tl.program_id(1) * N
    squares = tl.zeros([M], tl.float32)
    c = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        x = x_desc.load([row, k])
        w = w_desc.load([k, column])
        c = tl.dot(x, w, c)
        wide = x.to(tl.float32)
        squares += tl.sum(wide * wide, 1)
    factor = tl.rsqrt(squares / depth + epsilon)
    c_desc.store([row, column], (c * factor[:, None]).to(c_desc.dtype))
