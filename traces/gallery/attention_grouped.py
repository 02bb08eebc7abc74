"""Attention forward where a group of heads shares keys and values; it also writes what backward needs.

Queries of all heads lie below each other, and so do keys and values. `lse` is the logarithm to base 2
of every row's sum of exponentials.
"""

import triton
import triton.language as tl


@triton.jit
def attention_grouped(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, scale, sequence, group,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):
    row = tl.program_id(1) * sequence + tl.program_id(0) * M
    shared = tl.program_id(1) // group * sequence
    q = q_desc.load([row, 0])
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, sequence, N):
        k = k_desc.load([shared + start, 0])
        v = v_desc.load([shared + start, 0])
        s = tl.dot(q, k.T)
        n = tl.maximum(m, tl.max(s, 1) * log2_scale)
        p = tl.exp2(s * log2_scale - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(v.dtype), v, o * a[:, None])
        m = n
    o_desc.store([row, 0], (o / l[:, None]).to(o_desc.dtype))
    tl.store(lse_ptr + row + tl.arange(0, M), m + tl.log2(l))
