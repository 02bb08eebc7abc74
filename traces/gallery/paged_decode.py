"""Decoding with a paged cache: a table says where each N keys and values of a sequence lie.

A program has one sequence and the M query heads that share one head of the cache.
"""

import triton
import triton.language as tl


@triton.jit
def paged_decode(
    q_desc, k_desc, v_desc, o_desc, page_ptr, scale, pages,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):
    row = tl.program_id(0) * M
    table = page_ptr + tl.program_id(0) * pages
    q = q_desc.load([row, 0])
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for i in range(pages):
        page = tl.load(table + i)
        k = k_desc.load([page * N, 0])
        v = v_desc.load([page * N, 0])
        s = tl.dot(q, k.T)
        n = tl.maximum(m, tl.max(s, 1) * log2_scale)
        p = tl.exp2(s * log2_scale - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(v.dtype), v, o * a[:, None])
        m = n
    o_desc.store([row, 0], (o / l[:, None]).to(o_desc.dtype))
