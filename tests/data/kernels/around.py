"""Kernels whose loop is in another statement, and one whose products are no warp group's."""

import triton
import triton.language as tl


@triton.jit
def summed(x_ptr, w_ptr, out_ptr, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros([M], tl.float32)
    for tile in range(0, count, N):
        acc = tl.zeros([M, N], tl.float32)
        for k in range(0, 256, K):
            x = tl.load(x_ptr + rows[:, None] * 256 + k + steps[None, :])
            w = tl.load(w_ptr + (tile + columns)[None, :] * 256 + k + steps[:, None])
            acc = tl.dot(x, w, acc)
        total += tl.sum(acc, 1)
    tl.store(out_ptr + rows, total)


@triton.jit
def counted(x_ptr, w_ptr, y_ptr, ends_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    for tile in range(tl.program_id(0), n, 4):
        acc = tl.zeros([M, N], tl.float32)
        for k in range(0, 256, K):
            x = tl.load(x_ptr + rows[:, None] * 256 + k + steps[None, :])
            w = tl.load(w_ptr + (tile * N + columns)[None, :] * 256 + k + steps[:, None])
            acc = tl.dot(x, w, acc)
        tl.store(y_ptr + rows[:, None] * n * N + (tile * N + columns)[None, :], acc)
    tl.atomic_add(ends_ptr, 1)


@triton.jit
def chosen(x_ptr, w_ptr, y_ptr, given_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    if tl.load(given_ptr + tl.program_id(0)) != 0:
        acc = tl.zeros([M, N], tl.float32)
        for k in range(0, n, K):
            x = tl.load(x_ptr + rows[:, None] * 256 + k + steps[None, :])
            w = tl.load(w_ptr + columns[None, :] * 256 + k + steps[:, None])
            acc = tl.dot(x, w, acc)
        tl.store(y_ptr + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def narrow(x_ptr, w_ptr, y_ptr, n, N: tl.constexpr, K: tl.constexpr):
    rows, columns, steps = tl.arange(0, 16), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros([16, N], tl.float32)
    for k in range(0, n, K):
        x = tl.load(x_ptr + rows[:, None] * n + k + steps[None, :])
        w = tl.load(w_ptr + columns[None, :] * n + k + steps[:, None])
        acc = tl.dot(x, w, acc)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def emptied(x_ptr, w_ptr, y_ptr, given_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    if tl.load(given_ptr + tl.program_id(0)) == 0:
        tl.store(y_ptr + rows[:, None] * N + columns[None, :], tl.zeros([M, N], tl.float32))
        return
    acc = tl.zeros([M, N], tl.float32)
    for k in range(0, n, K):
        x = tl.load(x_ptr + rows[:, None] * 256 + k + steps[None, :])
        w = tl.load(w_ptr + columns[None, :] * 256 + k + steps[:, None])
        acc = tl.dot(x, w, acc)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], acc)
