"""Kernels that tests call through `twill.jit`."""

import triton
import triton.language as tl


def bound(arguments):
    return arguments["M"] * 2


@triton.autotune(
    configs=[
        triton.Config({"M": 128, "N": 256}, num_warps=8, num_ctas=2),
        triton.Config({"M": 64, "N": 64}, num_stages=2),
    ],
    key=["depth"],
)
@triton.heuristics({"BOUND": bound})
@triton.jit
def tuned(
    a_ptr, b_ptr, c_ptr, depth, a_stride, b_stride, c_stride,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BOUND: tl.constexpr,
):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    steps = tl.arange(0, K)
    a_tile = a_ptr + rows[:, None] * a_stride + steps[None, :]
    b_tile = b_ptr + steps[:, None] * b_stride + columns[None, :]
    c = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        c = tl.dot(tl.load(a_tile), tl.load(b_tile), c)
        a_tile += K
        b_tile += K * b_stride
    tl.store(c_ptr + rows[:, None] * c_stride + columns[None, :], (c + BOUND).to(tl.float16))


@triton.jit
def halved(x_ptr, n):
    while n > 1:
        tl.store(x_ptr + n, tl.load(x_ptr + n) / 2)
        n = n // 2


@triton.jit
def hiding(x_ptr, load, N: tl.constexpr):
    total = tl.zeros([N], tl.float32)
    for start in range(0, load, N):
        total += tl.load(x_ptr + start + tl.arange(0, N))
    tl.store(x_ptr + tl.arange(0, N), total)


@triton.jit
def hidden(part, i, tile, tile_, begin, N: tl.constexpr):
    total = tl.zeros([N], tl.float32)
    for start in range(0, i, N):
        total += tl.load(part + start + tl.arange(0, N)) * tile
    if begin > 0:
        tl.store(tile_ + begin + tl.arange(0, N), total)


@triton.jit
def listed(a_ptr, b_ptr, c_ptr, rows_ptr, count_ptr, depth, N: tl.constexpr):
    """A product of listed rows, as many as memory says."""
    first = tl.program_id(0) * 64
    if first >= tl.load(count_ptr):
        return
    rows = tl.load(rows_ptr + first + tl.arange(0, 64))
    steps, columns = tl.arange(0, 64), tl.arange(0, N)
    total = tl.zeros([64, N], tl.float32)
    for k in range(0, depth, 64):
        a = tl.load(a_ptr + rows[:, None] * depth + k + steps[None, :])
        b = tl.load(b_ptr + (k + steps)[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16))


FACTOR = tl.constexpr(2)


@triton.jit
def constant(x_ptr, n, N: tl.constexpr):
    total = tl.zeros([N], tl.float32)
    for start in range(0, n, N):
        total += tl.load(x_ptr + start + tl.arange(0, N)) * FACTOR
    tl.store(x_ptr + tl.arange(0, N), total)
