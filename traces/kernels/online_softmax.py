"""Softmax of R rows in blocks of N columns: one pass for maximum and sum, one for the quotients."""

import triton
import triton.language as tl


@triton.jit
def online_softmax(
    x_desc, y_desc, columns,
    R: tl.constexpr, N: tl.constexpr,
):
    row = tl.program_id(0) * R
    m = tl.full([R], float("-inf"), tl.float32)
    l = tl.zeros([R], tl.float32)
    for start in range(0, columns, N):
        x = x_desc.load([row, start]).to(tl.float32) * 1.44269504
        n = tl.maximum(m, tl.max(x, 1))
        l = l * tl.exp2(m - n) + tl.sum(tl.exp2(x - n[:, None]), 1)
        m = n
    for again in range(0, columns, N):
        x = x_desc.load([row, again]).to(tl.float32) * 1.44269504
        y = tl.exp2(x - m[:, None]) / l[:, None]
        y_desc.store([row, again], y.to(y_desc.dtype))
