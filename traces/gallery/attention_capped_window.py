"""Attention as in Gemma 2: a query sees the `window` keys up to its own, and scores are capped softly.

A score s becomes cap * tanh(s / cap).
"""

import triton
import triton.language as tl


@triton.jit
def attention_capped_window(
    q_desc, k_desc, v_desc, o_desc, scale, cap, sequence, window,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):
    head = tl.program_id(1) * sequence
    row = tl.program_id(0) * M
    q = q_desc.load([head + row, 0])
    queries = row + tl.arange(0, M)
    m = tl.full([M], -1e30, tl.float32)
    l = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    first = tl.maximum(row - window, 0) // N * N
    twice = scale * 2.885390082 / cap
    log2_cap = cap * 1.44269504
    for start in range(first, row + M, N):
        k = k_desc.load([head + start, 0])
        v = v_desc.load([head + start, 0])
        s = tl.dot(q, k.T)
        s = log2_cap - 2 * log2_cap / (tl.exp2(s * twice) + 1)
        keys = start + tl.arange(0, N)
        apart = queries[:, None] - keys[None, :]
        s = tl.where((apart >= 0) & (apart < window), s, -1e30)
        n = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(v.dtype), v, o * a[:, None])
        m = n
    o_desc.store([head + row, 0], (o / l[:, None]).to(o_desc.dtype))
