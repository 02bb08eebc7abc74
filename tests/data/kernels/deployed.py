"""A kernel of a program that calls it through `twill.jit`."""

import triton
import triton.language as tl

import twill


@twill.jit(machine="hopper_h100")
@triton.jit
def product(
    a_ptr, b_ptr, c_ptr, depth, stride,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr = 64,
):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    steps = tl.arange(0, K)
    a_tile = a_ptr + rows[:, None] * depth + steps[None, :]
    b_tile = b_ptr + steps[:, None] * stride + columns[None, :]
    c = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        c = tl.dot(tl.load(a_tile), tl.load(b_tile), c)
        a_tile += K
        b_tile += K * stride
    tl.store(c_ptr + rows[:, None] * stride + columns[None, :], c.to(tl.float16))
