"""Attention forward of other shapes: lengths that no tile divides, and keys wider than values."""

import triton
import triton.language as tl


@triton.jit
def attention_undivided(
    q_desc,
    k_desc,
    v_desc,
    o_desc,
    scale,
    length,
    group,
    M: tl.constexpr,
    N: tl.constexpr,
    D: tl.constexpr,
):
    """Any number of keys: descriptors of heads x length x D fill up with zeros, which are masked."""
    head = tl.program_id(1)
    row = tl.program_id(0) * M
    q = q_desc.load([head, row, 0]).reshape([M, D])
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, length, N):
        k = k_desc.load([head // group, start, 0]).reshape([N, D])
        v = v_desc.load([head // group, start, 0]).reshape([N, D])
        s = tl.dot(q, k.T)
        keys = start + tl.arange(0, N)
        s = tl.where(keys[None, :] < length, s, float("-inf"))
        n = tl.maximum(m, tl.max(s, 1) * log2_scale)
        p = tl.exp2(s * log2_scale - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(v.dtype), v, o * a[:, None])
        m = n
    o = (o / l[:, None]).to(o_desc.dtype)
    o_desc.store([head, row, 0], o.reshape([1, M, D]))


@triton.jit
def attention_varied(
    q_desc,
    k_desc,
    v_desc,
    o_ptr,
    lengths_ptr,
    scale,
    stride,
    M: tl.constexpr,
    N: tl.constexpr,
    D: tl.constexpr,
):
    """Sequences of various lengths lie below each other; `lengths_ptr` are their running sums."""
    first = tl.load(lengths_ptr + tl.program_id(2))
    length = tl.load(lengths_ptr + tl.program_id(2) + 1) - first
    column = tl.program_id(1) * D
    row = tl.program_id(0) * M
    q = q_desc.load([first + row, column])
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, length, N):
        k = k_desc.load([first + start, column])
        v = v_desc.load([first + start, column])
        s = tl.dot(q, k.T)
        keys = start + tl.arange(0, N)
        s = tl.where(keys[None, :] < length, s, float("-inf"))
        n = tl.maximum(m, tl.max(s, 1) * log2_scale)
        p = tl.exp2(s * log2_scale - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(v.dtype), v, o * a[:, None])
        m = n
    rows = row + tl.arange(0, M)
    places = o_ptr + (first + rows[:, None]) * stride + column + tl.arange(0, D)[None, :]
    o = (o / l[:, None]).to(o_ptr.dtype.element_ty)
    tl.store(places, o, mask=rows[:, None] < length)


@triton.jit
def attention_wide_keys(
    q_desc,
    k_desc,
    q_rest_desc,
    k_rest_desc,
    v_desc,
    o_desc,
    scale,
    sequence,
    M: tl.constexpr,
    N: tl.constexpr,
    D: tl.constexpr,
    REST: tl.constexpr,
):
    """Keys of D + REST elements, as 128 + 64 of DeepSeek; values have D."""
    head = tl.program_id(1) * sequence
    row = head + tl.program_id(0) * M
    q = q_desc.load([row, 0])
    q_rest = q_rest_desc.load([row, D])
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    for start in range(0, sequence, N):
        k = k_desc.load([head + start, 0])
        k_rest = k_rest_desc.load([head + start, D])
        v = v_desc.load([head + start, 0])
        s = tl.dot(q_rest, k_rest.T, tl.dot(q, k.T))
        n = tl.maximum(m, tl.max(s, 1) * log2_scale)
        p = tl.exp2(s * log2_scale - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(v.dtype), v, o * a[:, None])
        m = n
    o_desc.store([row, 0], (o / l[:, None]).to(o_desc.dtype))
