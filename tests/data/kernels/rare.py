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


@triton.jit
def left(a_desc, b_desc, c_desc, table_ptr, n, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Programs beyond the last tile, and those of no expert, have nothing to do."""
    tile = tl.program_id(0)
    if tile >= n:
        return
    expert = tl.load(table_ptr + tile)
    if expert == -1:
        return
    acc = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        a = a_desc.load([tile * M, k])
        acc = tl.dot(a, b_desc.load([expert * depth + k, 0]), acc)
    c_desc.store([tile * M, 0], acc.to(tl.float16))


@triton.jit
def halved(a_ptr, b_ptr, c_ptr, bias_desc, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PROGRAMS: tl.constexpr):
    """A persistent product as Triton's tutorial has it, with a bias; halves of a tile are stored."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [M, K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [n, k], [k, 1], [N, K])
    c_desc = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [M, N // 2])
    tiles_m, tiles_n = tl.cdiv(m, M), tl.cdiv(n, N)
    stored = tl.program_id(0) - PROGRAMS
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        acc = tl.zeros([M, N], tl.float32)
        for step in range(tl.cdiv(k, K)):
            a = a_desc.load([tile % tiles_m * M, step * K])
            b = b_desc.load([tile // tiles_m * N, step * K])
            acc = tl.dot(a, b.T, acc)
        stored += PROGRAMS
        row, column = stored % tiles_m * M, stored // tiles_m * N
        acc += bias_desc.load([column])[None, :].to(tl.float32)
        acc0, acc1 = tl.split(tl.permute(tl.reshape(acc, (M, 2, N // 2)), (0, 2, 1)))
        c_desc.store([row, column], acc0.to(tl.float16))
        c_desc.store([row, column + N // 2], acc1.to(tl.float16))


@triton.jit
def normed(a_desc, b_desc, c_desc, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Rows of a tile that is stored in parts, for want of memory, divided by their sums."""
    row = tl.program_id(0) * M
    acc = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, 0]), acc)
    c_desc.store([row, 0], acc / tl.sum(acc * acc, 1)[:, None])
