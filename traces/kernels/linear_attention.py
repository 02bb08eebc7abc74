"""Causal linear attention by chunks of C rows: O = tril(Q K^T) V, without a softmax.

A state of D x D carries everything before the chunk, so that the work grows with the sequence and
not with its square.
"""

import triton
import triton.language as tl


@triton.jit
def linear_attention(
    q_desc, k_desc, v_desc, o_desc, sequence,
    C: tl.constexpr, D: tl.constexpr,
):
    head = tl.program_id(0) * sequence
    state = tl.zeros([D, D], tl.float32)
    causal = tl.arange(0, C)[:, None] >= tl.arange(0, C)[None, :]
    for start in range(0, sequence, C):
        row = head + start
        q = q_desc.load([row, 0])
        k = k_desc.load([row, 0])
        v = v_desc.load([row, 0])
        s = tl.where(causal, tl.dot(q, k.T), 0)
        o = tl.dot(q, state.to(q.dtype))
        o = tl.dot(s.to(v.dtype), v, o)
        state = tl.dot(k.T, v, state)
        o_desc.store([row, 0], o.to(o_desc.dtype))
