"""Kernels of integers, scans, atomic updates and descriptors, none of which a packaged loop has."""

import triton
import triton.language as tl


@triton.jit
def dropout(x_desc, y_desc, rows, seed, M: tl.constexpr, D: tl.constexpr):
    """Random numbers by Philox."""
    first = tl.program_id(0) * rows
    for r in range(0, rows, M):
        x = x_desc.load([first + r, 0]).to(tl.float32)
        at = (first + r + tl.arange(0, M))[:, None] * D + tl.arange(0, D)[None, :]
        keep = tl.rand(seed, at) > 0.25
        y_desc.store([first + r, 0], tl.where(keep, x / 0.75, 0.0).to(tl.float16))


@triton.jit
def running_sums(x_desc, y_desc, rows, M: tl.constexpr, D: tl.constexpr):
    """Sums of each row up to every element."""
    first = tl.program_id(0) * rows
    for r in range(0, rows, M):
        x = x_desc.load([first + r, 0]).to(tl.float32)
        y_desc.store([first + r, 0], tl.cumsum(x, 1).to(tl.float16))


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _linear(a, x, b, y):
    return a * b, b * x + y


@triton.jit
def recurrence(x_desc, y_desc, rows, M: tl.constexpr, D: tl.constexpr):
    """A scan of two values by a function of its own: h = a h + x."""
    first = tl.program_id(0) * rows
    for r in range(0, rows, M):
        x = x_desc.load([first + r, 0]).to(tl.float32)
        a = 1.0 / (1.0 + tl.exp(-x))
        _, h = tl.associative_scan((a, x), 1, _linear)
        y_desc.store([first + r, 0], h.to(tl.float16))


@triton.jit
def suffix_maxima(x_desc, y_desc, rows, M: tl.constexpr, D: tl.constexpr):
    """The largest of each row from every element on."""
    first = tl.program_id(0) * rows
    for r in range(0, rows, M):
        x = x_desc.load([first + r, 0]).to(tl.float32)
        y_desc.store(
            [first + r, 0], tl.associative_scan(x, 1, _larger, reverse=True).to(tl.float16)
        )


@triton.jit
def quotients(x_desc, y_desc, rows, M: tl.constexpr, D: tl.constexpr):
    """Quotients and rests of integers by constants."""
    first = tl.program_id(0) * rows
    for r in range(0, rows, M):
        x = x_desc.load([first + r, 0])
        y = x // 7 + x % 5 - x // 8
        u = x.to(tl.uint32, bitcast=True)
        y_desc.store([first + r, 0], y + (u % 11).to(tl.int32) + (u // 6 >> 3).to(tl.int32))


@triton.jit
def four_bits(a_desc, b_desc, c_desc, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A product whose right factor is two 4-bit integers a byte: low and high columns."""
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    low = tl.zeros([M, N], tl.float32)
    high = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        a = a_desc.load([m, k])
        b = b_desc.load([k, n])
        low = tl.dot(a, ((b << 4) >> 4).to(tl.float16), low)
        high = tl.dot(a, (b >> 4).to(tl.float16), high)
    c_desc.store([m, 2 * n], low.to(tl.float16))
    c_desc.store([m, 2 * n + N], high.to(tl.float16))


@triton.jit
def eight_bits(a_desc, b_desc, c_desc, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A product of integers of eight bits."""
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    acc = tl.zeros([M, N], tl.int32)
    for k in range(0, depth, K):
        a = a_desc.load([m, k])
        b = b_desc.load([n, k])
        acc = tl.dot(a, b.T, acc)
    c_desc.store([m, n], acc)


@triton.jit
def split_depth(
    a_desc, b_desc, c_ptr, depth, columns, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    """Programs add their parts of the depth to the result, the last column left out."""
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    begin = tl.program_id(2) * depth
    acc = tl.zeros([M, N], tl.float32)
    for k in range(begin, begin + depth, K):
        a = a_desc.load([m, k])
        b = b_desc.load([n, k])
        acc = tl.dot(a, b.T, acc)
    rows = m + tl.arange(0, M)
    cols = n + tl.arange(0, N)
    at = c_ptr + rows[:, None] * columns + cols[None, :]
    tl.atomic_add(at, acc, mask=cols[None, :] < columns - 1)


@triton.jit
def batched_product(
    a_ptr, b_ptr, c_ptr, rows, columns, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    """Products of a batch, by descriptors of matrices that each program finds."""
    batch = tl.program_id(2).to(tl.int64)
    a = tl.make_tensor_descriptor(a_ptr + batch * rows * depth, [rows, depth], [depth, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [depth, columns], [columns, 1], [K, N])
    c = tl.make_tensor_descriptor(
        c_ptr + batch * rows * columns, [rows, columns], [columns, 1], [M, N]
    )
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        acc = tl.dot(a.load([row, k]), b.load([k, column]), acc)
    c.store([row, column], acc.to(c.dtype))


@triton.jit
def product_of_tiles(
    a_ptr, b_ptr, c_ptr, rows, columns, depth, PROGRAMS: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    """A product whose programs count the tiles that they store, which Triton makes one loop."""
    a = tl.make_tensor_descriptor(a_ptr, [rows, depth], [depth, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [depth, columns], [columns, 1], [K, N])
    c = tl.make_tensor_descriptor(c_ptr, [rows, columns], [columns, 1], [M, N])
    across, first = tl.cdiv(columns, N), tl.program_id(0)
    stored = first - PROGRAMS
    for tile in tl.range(first, tl.cdiv(rows, M) * across, PROGRAMS, flatten=True):
        acc = tl.zeros((M, N), tl.float32)
        for k in range(0, depth, K):
            acc = tl.dot(a.load([tile // across * M, k]), b.load([k, tile % across * N]), acc)
        stored += PROGRAMS
        c.store([stored // across * M, stored % across * N], acc.to(c.dtype))
