"""Attention backward in one pass: a tile of N keys and values stays, tiles of M query rows stream.

With S = Q K^T, P = exp2(S * log2(e) * scale - lse) and dP = dO V^T:

    dS = P * (dP - delta),  dV = P^T dO,  dK = scale dS^T Q,  dQ = scale dS K

`lse` is the logarithm to base 2 of every row's sum of exponentials, `delta` the row sums of dO * O.
Scores are computed transposed, N x M, so that P^T and dS^T are left operands as they are. dQ is
summed in global memory, because every program adds to all its rows; if SWAPPED it is computed as
(K^T dS^T)^T, so that the tensor core reads dS from shared memory where it would otherwise have to
be transposed in registers.
"""

import triton
import triton.language as tl


@triton.jit
def attention_backward(
    q_desc, k_desc, v_desc, do_desc, dq_desc, dk_desc, dv_desc, lse_ptr, delta_ptr, scale, sequence,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, SWAPPED: tl.constexpr,
):
    head = tl.program_id(1) * sequence
    key = head + tl.program_id(0) * N
    k = k_desc.load([key, 0])
    v = v_desc.load([key, 0])
    dk = tl.zeros([N, D], tl.float32)
    dv = tl.zeros([N, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, sequence, M):
        row = head + start
        q = q_desc.load([row, 0])
        do = do_desc.load([row, 0])
        lse = tl.load(lse_ptr + row + tl.arange(0, M))
        delta = tl.load(delta_ptr + row + tl.arange(0, M))
        s = tl.dot(k, q.T)
        dp = tl.dot(v, do.T)
        p = tl.exp2(s * log2_scale - lse[None, :])
        dv = tl.dot(p.to(do.dtype), do, dv)
        ds = (p * (dp - delta[None, :])).to(do.dtype)
        dk = tl.dot(ds, q, dk)
        if SWAPPED:
            dq = tl.dot(k.T, ds).T
        else:
            dq = tl.dot(ds.T, k)
        dq_desc.atomic_add([row, 0], dq * scale)
    dk_desc.store([key, 0], (dk * scale).to(dk_desc.dtype))
    dv_desc.store([key, 0], dv.to(dv_desc.dtype))


@triton.jit
def attention_backward_two_tiles(
    q_desc, k_desc, v_desc, do_desc, dq_desc, dk_desc, dv_desc, lse_ptr, delta_ptr, scale, sequence,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, SWAPPED: tl.constexpr,
):
    """Two key sub-tiles of N rows share the streamed tiles; dQ is one chain over both."""
    head = tl.program_id(1) * sequence
    key = head + tl.program_id(0) * (2 * N)
    k0 = k_desc.load([key, 0])
    k1 = k_desc.load([key + N, 0])
    v0 = v_desc.load([key, 0])
    v1 = v_desc.load([key + N, 0])
    dk0 = tl.zeros([N, D], tl.float32)
    dk1 = tl.zeros([N, D], tl.float32)
    dv0 = tl.zeros([N, D], tl.float32)
    dv1 = tl.zeros([N, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, sequence, M):
        row = head + start
        q = q_desc.load([row, 0])
        do = do_desc.load([row, 0])
        lse = tl.load(lse_ptr + row + tl.arange(0, M))
        delta = tl.load(delta_ptr + row + tl.arange(0, M))

        s0 = tl.dot(k0, q.T)
        dp0 = tl.dot(v0, do.T)
        p0 = tl.exp2(s0 * log2_scale - lse[None, :])
        dv0 = tl.dot(p0.to(do.dtype), do, dv0)
        ds0 = (p0 * (dp0 - delta[None, :])).to(do.dtype)
        dk0 = tl.dot(ds0, q, dk0)

        s1 = tl.dot(k1, q.T)
        dp1 = tl.dot(v1, do.T)
        p1 = tl.exp2(s1 * log2_scale - lse[None, :])
        dv1 = tl.dot(p1.to(do.dtype), do, dv1)
        ds1 = (p1 * (dp1 - delta[None, :])).to(do.dtype)
        dk1 = tl.dot(ds1, q, dk1)

        if SWAPPED:
            dq = tl.dot(k1.T, ds1, tl.dot(k0.T, ds0)).T
        else:
            dq = tl.dot(ds1.T, k1, tl.dot(ds0.T, k0))
        dq_desc.atomic_add([row, 0], dq * scale)
    dk_desc.store([key, 0], (dk0 * scale).to(dk_desc.dtype))
    dk_desc.store([key + N, 0], (dk1 * scale).to(dk_desc.dtype))
    dv_desc.store([key, 0], dv0.to(dv_desc.dtype))
    dv_desc.store([key + N, 0], dv1.to(dv_desc.dtype))


@triton.jit
def attention_backward_halves(
    q_desc, k_desc, v_desc, do_desc, dq_desc, dk_desc, dv_desc, lse0_desc, lse1_desc,
    delta0_desc, delta1_desc, scale, sequence,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, H: tl.constexpr,
):
    """Two key sub-tiles whose groups lack no registers: q, k, dk and dq are in halves of H columns.

    Each half of dQ is one chain over both sub-tiles, and can be either group's. P is read again
    from its fp16, which takes half as many registers. Row sums are loaded for each sub-tile, by
    boxes of one dimension, which take no registers of the group that loads.
    """
    head = tl.program_id(1) * sequence
    key = head + tl.program_id(0) * (2 * N)
    k00 = k_desc.load([key, 0])
    k01 = k_desc.load([key, H])
    k10 = k_desc.load([key + N, 0])
    k11 = k_desc.load([key + N, H])
    v0 = v_desc.load([key, 0])
    v1 = v_desc.load([key + N, 0])
    dk00 = tl.zeros([N, H], tl.float32)
    dk01 = tl.zeros([N, H], tl.float32)
    dk10 = tl.zeros([N, H], tl.float32)
    dk11 = tl.zeros([N, H], tl.float32)
    dv0 = tl.zeros([N, D], tl.float32)
    dv1 = tl.zeros([N, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, sequence, M):
        row = head + start
        q0 = q_desc.load([row, 0])
        q1 = q_desc.load([row, H])
        do = do_desc.load([row, 0])
        lse0 = lse0_desc.load([row])
        lse1 = lse1_desc.load([row])
        delta0 = delta0_desc.load([row])
        delta1 = delta1_desc.load([row])

        s0 = tl.dot(k01, q1.T, tl.dot(k00, q0.T))
        dp0 = tl.dot(v0, do.T)
        p0 = tl.exp2(s0 * log2_scale - lse0[None, :]).to(do.dtype)
        dv0 = tl.dot(p0, do, dv0)
        ds0 = (p0.to(tl.float32) * (dp0 - delta0[None, :])).to(do.dtype)
        dk00 = tl.dot(ds0, q0, dk00)
        dk01 = tl.dot(ds0, q1, dk01)

        s1 = tl.dot(k11, q1.T, tl.dot(k10, q0.T))
        dp1 = tl.dot(v1, do.T)
        p1 = tl.exp2(s1 * log2_scale - lse1[None, :]).to(do.dtype)
        dv1 = tl.dot(p1, do, dv1)
        ds1 = (p1.to(tl.float32) * (dp1 - delta1[None, :])).to(do.dtype)
        dk10 = tl.dot(ds1, q0, dk10)
        dk11 = tl.dot(ds1, q1, dk11)

        dq0 = tl.dot(k10.T, ds1, tl.dot(k00.T, ds0)).T
        dq1 = tl.dot(k11.T, ds1, tl.dot(k01.T, ds0)).T
        dq_desc.atomic_add([row, 0], dq0 * scale)
        dq_desc.atomic_add([row, H], dq1 * scale)
    dk_desc.store([key, 0], (dk00 * scale).to(dk_desc.dtype))
    dk_desc.store([key, H], (dk01 * scale).to(dk_desc.dtype))
    dk_desc.store([key + N, 0], (dk10 * scale).to(dk_desc.dtype))
    dk_desc.store([key + N, H], (dk11 * scale).to(dk_desc.dtype))
    dv_desc.store([key, 0], dv0.to(dv_desc.dtype))
    dv_desc.store([key + N, 0], dv1.to(dv_desc.dtype))
