"""Decoding with multi-head latent attention: all heads of a token share one latent cache.

Keys are the latent vectors (D elements) and rotary ones (R elements), values are the latent
vectors. Queries have been multiplied with the projection that absorbs the keys'. A program has M
heads of one sequence.
"""

import triton
import triton.language as tl


@triton.jit
def mla_decode(
    q_desc, rope_desc, cache_desc, key_rope_desc, o_desc, scale, sequence, heads,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, R: tl.constexpr,
):
    row = tl.program_id(1) * heads + tl.program_id(0) * M
    token = tl.program_id(1) * sequence
    q = q_desc.load([row, 0])
    rope = rope_desc.load([row, 0])
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, sequence, N):
        cache = cache_desc.load([token + start, 0])
        key_rope = key_rope_desc.load([token + start, 0])
        s = tl.dot(rope, key_rope.T, tl.dot(q, cache.T))
        n = tl.maximum(m, tl.max(s, 1) * log2_scale)
        p = tl.exp2(s * log2_scale - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(cache.dtype), cache, o * a[:, None])
        m = n
    o_desc.store([row, 0], (o / l[:, None]).to(o_desc.dtype))
