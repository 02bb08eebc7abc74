"""Linear attention with a decay by chunks of C rows, as in RetNet: O = (D * Q K^T) V.

D is 2^(-rate (i - j)) where j <= i and else 0. A state of D x D carries what was before the chunk.
"""

import triton
import triton.language as tl


@triton.jit
def linear_attention_decayed(
    q_desc, k_desc, v_desc, o_desc, rate, sequence,
    C: tl.constexpr, D: tl.constexpr,
):
    head = tl.program_id(0) * sequence
    rows = tl.arange(0, C)
    causal = rows[:, None] >= rows[None, :]
    since = tl.exp2(-rate * rows)
    until = tl.exp2(rate * rows)
    to_end = tl.exp2(-rate * (C - rows)).to(v_desc.dtype)
    chunk = tl.exp2(-rate * C)
    state = tl.zeros([D, D], tl.float32)
    for start in range(0, sequence, C):
        row = head + start
        q = q_desc.load([row, 0])
        k = k_desc.load([row, 0])
        v = v_desc.load([row, 0])
        s = tl.dot(q, k.T) * since[:, None] * until[None, :]
        s = tl.where(causal, s, 0.0)
        o = tl.dot(q, state.to(q.dtype)) * since[:, None]
        o = tl.dot(s.to(v.dtype), v, o)
        state = tl.dot(k.T, v * to_end[:, None], state * chunk)
        o_desc.store([row, 0], o.to(o_desc.dtype))
