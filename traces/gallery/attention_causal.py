"""Causal attention forward in one loop: every tile is masked, and the loop ends at the diagonal."""

import triton
import triton.language as tl


@triton.jit
def attention_causal(
    q_desc, k_desc, v_desc, o_desc, scale, sequence,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):
    head = tl.program_id(1) * sequence
    row = tl.program_id(0) * M
    q = q_desc.load([head + row, 0])
    queries = row + tl.arange(0, M)
    m = tl.full([M], -1e30, tl.float32)
    l = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, row + M, N):
        k = k_desc.load([head + start, 0])
        v = v_desc.load([head + start, 0])
        s = tl.dot(q, k.T) * log2_scale
        keys = start + tl.arange(0, N)
        s = tl.where(queries[:, None] >= keys[None, :], s, -1e30)
        n = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(v.dtype), v, o * a[:, None])
        m = n
    o_desc.store([head + row, 0], (o / l[:, None]).to(o_desc.dtype))
