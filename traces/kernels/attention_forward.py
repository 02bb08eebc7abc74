"""Attention forward with the online softmax of one head, streaming tiles of N keys and values.

m is the running maximum and l the running sum of exponentials, in powers of two. In
`attention_forward_two_tiles` both sub-tiles share the streamed tiles, and neither reads the other's
state, so that a scheduler may run the softmax of one beside the products of the other.
"""

import triton
import triton.language as tl


@triton.jit
def attention_forward_two_tiles(
    q_desc, k_desc, v_desc, o_desc, scale, sequence,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):
    head = tl.program_id(1) * sequence
    row = head + tl.program_id(0) * (2 * M)
    q0 = q_desc.load([row, 0])
    q1 = q_desc.load([row + M, 0])
    m0 = tl.full([M], float("-inf"), tl.float32)
    m1 = tl.full([M], float("-inf"), tl.float32)
    l0 = tl.zeros([M], tl.float32)
    l1 = tl.zeros([M], tl.float32)
    o0 = tl.zeros([M, D], tl.float32)
    o1 = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, sequence, N):
        k = k_desc.load([head + start, 0])
        v = v_desc.load([head + start, 0])
        s0 = tl.dot(q0, k.T)
        s1 = tl.dot(q1, k.T)

        n0 = tl.maximum(m0, tl.max(s0, 1) * log2_scale)
        p0 = tl.exp2(s0 * log2_scale - n0[:, None])
        a0 = tl.exp2(m0 - n0)
        l0 = l0 * a0 + tl.sum(p0, 1)
        o0 = tl.dot(p0.to(v.dtype), v, o0 * a0[:, None])
        m0 = n0

        n1 = tl.maximum(m1, tl.max(s1, 1) * log2_scale)
        p1 = tl.exp2(s1 * log2_scale - n1[:, None])
        a1 = tl.exp2(m1 - n1)
        l1 = l1 * a1 + tl.sum(p1, 1)
        o1 = tl.dot(p1.to(v.dtype), v, o1 * a1[:, None])
        m1 = n1
    o_desc.store([row, 0], (o0 / l0[:, None]).to(o_desc.dtype))
    o_desc.store([row + M, 0], (o1 / l1[:, None]).to(o_desc.dtype))


@triton.jit
def attention_forward(
    q_desc, k_desc, v_desc, o_desc, scale, sequence,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):
    head = tl.program_id(1) * sequence
    row = head + tl.program_id(0) * M
    q = q_desc.load([row, 0])
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, sequence, N):
        k = k_desc.load([head + start, 0])
        v = v_desc.load([head + start, 0])
        s = tl.dot(q, k.T)
        n = tl.maximum(m, tl.max(s, 1) * log2_scale)
        p = tl.exp2(s * log2_scale - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(v.dtype), v, o * a[:, None])
        m = n
    o_desc.store([row, 0], (o / l[:, None]).to(o_desc.dtype))


@triton.jit
def attention_forward_causal(
    q_desc, k_desc, v_desc, o_desc, scale, sequence,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):
    """A query sees no later key: whole tiles left of the diagonal, masked ones on it."""
    head = tl.program_id(1) * sequence
    row = tl.program_id(0) * M
    q = q_desc.load([head + row, 0])
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, row, N):
        k = k_desc.load([head + start, 0])
        v = v_desc.load([head + start, 0])
        s = tl.dot(q, k.T)
        n = tl.maximum(m, tl.max(s, 1) * log2_scale)
        p = tl.exp2(s * log2_scale - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(v.dtype), v, o * a[:, None])
        m = n
    queries = row + tl.arange(0, M)
    for diagonal in range(row, row + M, N):
        k = k_desc.load([head + diagonal, 0])
        v = v_desc.load([head + diagonal, 0])
        s = tl.dot(q, k.T)
        keys = diagonal + tl.arange(0, N)
        s = tl.where(queries[:, None] >= keys[None, :], s, float("-inf"))
        n = tl.maximum(m, tl.max(s, 1) * log2_scale)
        p = tl.exp2(s * log2_scale - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(v.dtype), v, o * a[:, None])
        m = n
    o_desc.store([head + row, 0], (o / l[:, None]).to(o_desc.dtype))


@triton.jit
def attention_forward_causal_two_tiles(
    q_desc, k_desc, v_desc, o_desc, scale, sequence,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):
    """A query sees no later key, in two sub-tiles."""
    head = tl.program_id(1) * sequence
    row = tl.program_id(0) * (2 * M)
    q0 = q_desc.load([head + row, 0])
    q1 = q_desc.load([head + row + M, 0])
    m0 = tl.full([M], float("-inf"), tl.float32)
    m1 = tl.full([M], float("-inf"), tl.float32)
    l0 = tl.zeros([M], tl.float32)
    l1 = tl.zeros([M], tl.float32)
    o0 = tl.zeros([M, D], tl.float32)
    o1 = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, row, N):
        k = k_desc.load([head + start, 0])
        v = v_desc.load([head + start, 0])
        s0 = tl.dot(q0, k.T)
        s1 = tl.dot(q1, k.T)

        n0 = tl.maximum(m0, tl.max(s0, 1) * log2_scale)
        p0 = tl.exp2(s0 * log2_scale - n0[:, None])
        a0 = tl.exp2(m0 - n0)
        l0 = l0 * a0 + tl.sum(p0, 1)
        o0 = tl.dot(p0.to(v.dtype), v, o0 * a0[:, None])
        m0 = n0

        n1 = tl.maximum(m1, tl.max(s1, 1) * log2_scale)
        p1 = tl.exp2(s1 * log2_scale - n1[:, None])
        a1 = tl.exp2(m1 - n1)
        l1 = l1 * a1 + tl.sum(p1, 1)
        o1 = tl.dot(p1.to(v.dtype), v, o1 * a1[:, None])
        m1 = n1
    queries = row + tl.arange(0, M)
    for diagonal in range(row, row + 2 * M, N):
        k = k_desc.load([head + diagonal, 0])
        v = v_desc.load([head + diagonal, 0])
        s0 = tl.dot(q0, k.T)
        s1 = tl.dot(q1, k.T)
        keys = diagonal + tl.arange(0, N)
        s0 = tl.where(queries[:, None] >= keys[None, :], s0, float("-inf"))
        s1 = tl.where(queries[:, None] + M >= keys[None, :], s1, float("-inf"))

        n0 = tl.maximum(m0, tl.max(s0, 1) * log2_scale)
        p0 = tl.exp2(s0 * log2_scale - n0[:, None])
        a0 = tl.exp2(m0 - n0)
        l0 = l0 * a0 + tl.sum(p0, 1)
        o0 = tl.dot(p0.to(v.dtype), v, o0 * a0[:, None])
        m0 = n0

        n1 = tl.maximum(m1, tl.max(s1, 1) * log2_scale)
        p1 = tl.exp2(s1 * log2_scale - n1[:, None])
        a1 = tl.exp2(m1 - n1)
        l1 = l1 * a1 + tl.sum(p1, 1)
        o1 = tl.dot(p1.to(v.dtype), v, o1 * a1[:, None])
        m1 = n1
    o_desc.store([head + row, 0], (o0 / l0[:, None]).to(o_desc.dtype))
    o_desc.store([head + row + M, 0], (o1 / l1[:, None]).to(o_desc.dtype))


@triton.jit
def attention_forward_causal_persistent(
    q_desc, k_desc, v_desc, o_desc, scale, sequence, heads,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr,
):
    """As many programs as SMs; of `HEADS` heads, whose keys fit the L2, the last rows come first.

    These take longest, so that programs end at about the same time.
    """
    log2_scale = scale * 1.44269504
    rows = sequence // (2 * M)
    for tile in range(tl.program_id(0), heads * rows, tl.num_programs(0)):
        first = tile // (rows * HEADS) * HEADS
        together = tl.minimum(heads - first, HEADS)
        place = tile % (rows * HEADS)
        head = (first + place % together) * sequence
        row = tl.maximum(rows - 1 - place // together, 0) * (2 * M)
        q0 = q_desc.load([head + row, 0])
        q1 = q_desc.load([head + row + M, 0])
        m0 = tl.full([M], float("-inf"), tl.float32)
        m1 = tl.full([M], float("-inf"), tl.float32)
        l0 = tl.zeros([M], tl.float32)
        l1 = tl.zeros([M], tl.float32)
        o0 = tl.zeros([M, D], tl.float32)
        o1 = tl.zeros([M, D], tl.float32)
        for start in range(0, row, N):
            k = k_desc.load([head + start, 0])
            v = v_desc.load([head + start, 0])
            s0 = tl.dot(q0, k.T)
            s1 = tl.dot(q1, k.T)
            n0 = tl.maximum(m0, tl.max(s0, 1) * log2_scale)
            p0 = tl.exp2(s0 * log2_scale - n0[:, None])
            a0 = tl.exp2(m0 - n0)
            l0 = l0 * a0 + tl.sum(p0, 1)
            o0 = tl.dot(p0.to(v.dtype), v, o0 * a0[:, None])
            m0 = n0
            n1 = tl.maximum(m1, tl.max(s1, 1) * log2_scale)
            p1 = tl.exp2(s1 * log2_scale - n1[:, None])
            a1 = tl.exp2(m1 - n1)
            l1 = l1 * a1 + tl.sum(p1, 1)
            o1 = tl.dot(p1.to(v.dtype), v, o1 * a1[:, None])
            m1 = n1
        queries = row + tl.arange(0, M)
        for diagonal in range(row, row + 2 * M, N):
            k = k_desc.load([head + diagonal, 0])
            v = v_desc.load([head + diagonal, 0])
            s0 = tl.dot(q0, k.T)
            s1 = tl.dot(q1, k.T)
            keys = diagonal + tl.arange(0, N)
            s0 = tl.where(queries[:, None] >= keys[None, :], s0, float("-inf"))
            s1 = tl.where(queries[:, None] + M >= keys[None, :], s1, float("-inf"))
            n0 = tl.maximum(m0, tl.max(s0, 1) * log2_scale)
            p0 = tl.exp2(s0 * log2_scale - n0[:, None])
            a0 = tl.exp2(m0 - n0)
            l0 = l0 * a0 + tl.sum(p0, 1)
            o0 = tl.dot(p0.to(v.dtype), v, o0 * a0[:, None])
            m0 = n0
            n1 = tl.maximum(m1, tl.max(s1, 1) * log2_scale)
            p1 = tl.exp2(s1 * log2_scale - n1[:, None])
            a1 = tl.exp2(m1 - n1)
            l1 = l1 * a1 + tl.sum(p1, 1)
            o1 = tl.dot(p1.to(v.dtype), v, o1 * a1[:, None])
            m1 = n1
        o_desc.store([head + row, 0], (o0 / l0[:, None]).to(o_desc.dtype))
        o_desc.store([head + row + M, 0], (o1 / l1[:, None]).to(o_desc.dtype))
