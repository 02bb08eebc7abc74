"""Kernels with rare forms of loads and products."""

import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, g_ptr, w_ptr, y_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros([M, N], tl.float32)
    for k in range(0, n, K):
        x = tl.load(x_ptr + rows[:, None] * n + k + steps[None, :])
        g = tl.load(g_ptr + k + steps)
        w = tl.load(w_ptr + columns[None, :] * n + k + steps[:, None])
        acc = tl.dot((x * g[None, :]).to(x.dtype), w, acc)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def shifted(x_ptr, w_ptr, y_ptr, n, shift, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Rows before the first one are zeros, as the padding of a convolution."""
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros([M, N], tl.float32)
    above = tl.program_id(0) * M + rows - shift
    for k in range(0, n, K):
        x = tl.load(x_ptr + above[:, None] * n + k + steps[None, :], above[:, None] >= 0, 0.0)
        w = tl.load(w_ptr + columns[None, :] * n + k + steps[:, None])
        acc = tl.dot(x, w, acc)
    here = tl.program_id(0) * M + rows
    tl.store(y_ptr + here[:, None] * N + columns[None, :], acc.to(y_ptr.dtype.element_ty))


@triton.jit
def lowered(x_ptr, w_ptr, d_ptr, y_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A row is subtracted between two products, as in the backward pass of attention."""
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros([M, N], tl.float32)
    x = tl.load(x_ptr + rows[:, None] * K + steps[None, :])
    for k in range(0, n, N):
        w = tl.load(w_ptr + (k + columns)[:, None] * K + steps[None, :])
        d = tl.load(d_ptr + k + columns)
        p = tl.dot(x, w.T) - d[None, :]
        acc = tl.dot(p.to(w.dtype), w, acc)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def recurring(x_ptr, w_ptr, y_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """What an iteration stores the next one loads."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    w = tl.load(w_ptr + columns[:, None] * N + columns[None, :])
    place = rows[:, None] * N + columns[None, :]
    for k in range(0, n):
        y = tl.dot(tl.load(y_ptr + k * M * N + place), w)
        y += tl.load(x_ptr + k * M * N + place).to(tl.float32)
        tl.store(y_ptr + (k + 1) * M * N + place, y.to(tl.float16))
