"""Kernels that no package has: a product with bias, attention in a window, two layers in one."""

import triton
import triton.language as tl


@triton.jit
def product_with_bias(
    a_desc, b_desc, c_desc, bias_ptr, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    """C = max(A B + bias, 0), the bias one number a column."""
    row = tl.program_id(0) * M
    column = tl.program_id(1) * N
    c = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        a = a_desc.load([row, k])
        b = b_desc.load([k, column])
        c = tl.dot(a, b, c)
    bias = tl.load(bias_ptr + column + tl.arange(0, N))
    c = tl.maximum(c + bias[None, :], 0.0)
    c_desc.store([row, column], c.to(tl.float16))


@triton.jit
def attention_in_a_window(
    q_desc,
    k_desc,
    v_desc,
    o_desc,
    scale,
    sequence,
    group,
    window,
    M: tl.constexpr,
    N: tl.constexpr,
    D: tl.constexpr,
):
    """Heads share keys in groups; a query sees no key that is `window` or more away."""
    head = tl.program_id(1) * sequence
    shared = tl.program_id(1) // group * sequence
    row = tl.program_id(0) * M
    q = q_desc.load([head + row, 0])
    m = tl.full([M], -1e30, tl.float32)
    l = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    log2_scale = scale * 1.44269504
    queries = row + tl.arange(0, M)
    for start in range(0, sequence, N):
        k = k_desc.load([shared + start, 0])
        v = v_desc.load([shared + start, 0])
        s = tl.dot(q, k.T) * log2_scale
        keys = start + tl.arange(0, N)
        apart = queries[:, None] - keys[None, :]
        s = tl.where((apart < window) & (apart > -window), s, -1e30)
        n = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - n[:, None])
        a = tl.exp2(m - n)
        l = l * a + tl.sum(p, 1)
        o = tl.dot(p.to(tl.float16), v, o * a[:, None])
        m = n
    o_desc.store([head + row, 0], (o / l[:, None]).to(tl.float16))


@triton.jit
def two_layers(
    x_desc,
    first_desc,
    second_desc,
    y_desc,
    width,
    M: tl.constexpr,
    N: tl.constexpr,
    D: tl.constexpr,
):
    """Y = max(X first, 0) second, N columns of the hidden layer at a time."""
    row = tl.program_id(0) * M
    x = x_desc.load([row, 0])
    y = tl.zeros([M, D], tl.float32)
    for hidden in range(0, width, N):
        first = first_desc.load([0, hidden])
        second = second_desc.load([hidden, 0])
        h = tl.maximum(tl.dot(x, first), 0.0)
        y = tl.dot(h.to(tl.float16), second, y)
    y_desc.store([row, 0], y.to(tl.float16))


@triton.jit
def masked_gemm(a_ptr, b_ptr, c_ptr, k, stride, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A product through pointers whose last tile along K is masked."""
    rows, cols, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for i in range(0, tl.cdiv(k, K)):
        left = ks < k - i * K
        a = tl.load(a_ptr + rows[:, None] * stride + i * K + ks[None, :], mask=left[None, :], other=0.0)
        b = tl.load(b_ptr + (i * K + ks)[:, None] * N + cols[None, :], mask=left[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc.to(tl.float16))


@triton.jit
def product_by_strides(
    a_ptr,
    b_ptr,
    c_ptr,
    depth,
    rows,
    a_row,
    a_column,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    STRIDE: tl.constexpr = 0,
    DIVISOR: tl.constexpr = 1,
):
    """C = A B, masked along the depth; rows of A beyond the last begin again.

    A has two strides: the second is STRIDE if that is not 0; DIVISOR divides where rows begin.
    """
    row = (tl.program_id(0) * M + tl.arange(0, M)) % rows
    column, ks = tl.arange(0, N), tl.arange(0, K)
    if STRIDE:
        a_column = STRIDE
    at = row[:, None] * a_row
    if DIVISOR > 1:
        at = tl.multiple_of(at, [1, DIVISOR])
    a_ptrs = a_ptr + at + ks[None, :] * a_column
    b_ptrs = b_ptr + ks[:, None] * N + column[None, :]
    c = tl.zeros([M, N], tl.float32)
    for k in range(0, tl.cdiv(depth, K)):
        a = tl.load(a_ptrs, mask=ks[None, :] < depth - k * K, other=0.0)
        b = tl.load(b_ptrs, mask=depth - k * K > ks[:, None], other=0.0)
        c = tl.dot(a, b, c)
        a_ptrs += K * a_column
        b_ptrs += K * N
    at = tl.program_id(0) * M * N + tl.arange(0, M)[:, None] * N + column[None, :]
    tl.store(c_ptr + at, c.to(tl.float16))


@triton.jit
def seen_blocks(
    total,
    sums,
    maxima,
    q,
    k_desc,
    v_desc,
    begin,
    block,
    scale,
    queries,
    MASKED: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
):
    """Blocks of keys before a block of queries, or those that are partly masked."""
    if MASKED:
        first, end = tl.multiple_of(block * M, M), (block + 1) * M
    else:
        first, end = 0, block * M
    row = begin + first
    for start in tl.range(first, end, N):
        s = tl.dot(q, k_desc.load([row, 0]).T)
        if MASKED:
            seen = queries[:, None] >= (start + tl.arange(0, N)[None, :])
            s = s * scale + tl.where(seen, 0, -1.0e6)
            larger = tl.maximum(maxima, tl.max(s, 1))
            s -= larger[:, None]
        else:
            larger = tl.maximum(maxima, tl.max(s, 1) * scale)
            s = s * scale - larger[:, None]
        p = tl.exp2(s)
        rescaling = tl.exp2(maxima - larger)
        sums = sums * rescaling + tl.sum(p, 1)
        v = v_desc.load([row, 0])
        total = tl.dot(p.to(tl.float16), v, total * rescaling[:, None])
        maxima = larger
        row += N
    return total, sums, maxima


@triton.jit
def causal_by_stages(
    scale,
    logarithms,
    heads,
    q_desc,
    k_desc,
    v_desc,
    o_desc,
    length,
    M: tl.constexpr,
    N: tl.constexpr,
    D: tl.constexpr,
):
    """Causal attention as Triton's tutorial has it: the mask is added, and rows are counted on."""
    block, head = tl.program_id(0), tl.program_id(1)
    begin = head // heads * (length * heads) + head % heads * length
    queries = block * M + tl.arange(0, M)
    maxima = tl.full([M], float("-inf"), tl.float32)
    sums = tl.full([M], 1.0, tl.float32)
    total = tl.zeros([M, D], tl.float32)
    scale *= 1.44269504
    q = q_desc.load([begin + block * M, 0])
    for masked in tl.static_range(2):
        total, sums, maxima = seen_blocks(
            total,
            sums,
            maxima,
            q,
            k_desc,
            v_desc,
            begin,
            block,
            scale,
            queries,
            masked,
            M,
            N,
        )
    tl.store(logarithms + head * length + queries, maxima + tl.log2(sums))
    o_desc.store([begin + block * M, 0], (total / sums[:, None]).to(tl.float16))


@triton.jit
def described(tensor, rows, M: tl.constexpr, D: tl.constexpr):
    if isinstance(tensor, tl.tensor_descriptor):
        return tensor
    return tl.make_tensor_descriptor(tensor, [rows, D], [D, 1], [M, D])


@triton.jit
def causal_by_pointers(
    scale, logarithms, heads, q, k, v, o, length,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):
    """The same by pointers, or descriptors."""
    rows = tl.num_programs(1) * length
    q, o = described(q, rows, M, D), described(o, rows, M, D)
    k, v = described(k, rows, N, D), described(v, rows, N, D)
    causal_by_stages(scale, logarithms, heads, q, k, v, o, length, M, N, D)
