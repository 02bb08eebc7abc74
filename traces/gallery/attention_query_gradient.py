"""The half of attention backward that makes dQ: a tile of queries stays, keys and values stream.

With P = exp2(S * log2(e) * scale - lse) and dS = P * (dO V^T - delta), dQ = scale dS K. `lse` is the
logarithm to base 2 of every row's sum of exponentials, `delta` the row sums of dO * O.
"""

import triton
import triton.language as tl


@triton.jit
def attention_query_gradient(
    q_desc, k_desc, v_desc, do_desc, dq_desc, lse_ptr, delta_ptr, scale, sequence,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):
    head = tl.program_id(1) * sequence
    row = head + tl.program_id(0) * M
    rows = row + tl.arange(0, M)
    q = q_desc.load([row, 0])
    do = do_desc.load([row, 0])
    lse = tl.load(lse_ptr + rows)
    delta = tl.load(delta_ptr + rows)
    dq = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, sequence, N):
        k = k_desc.load([head + start, 0])
        v = v_desc.load([head + start, 0])
        p = tl.exp2(tl.dot(q, k.T) * log2_scale - lse[:, None])
        dp = tl.dot(do, v.T)
        ds = p * (dp - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq)
    dq_desc.store([row, 0], (dq * scale).to(dq_desc.dtype))
