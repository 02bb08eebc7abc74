"""Matrix product C = A B, and two of its relatives. A, B and C are row-major, K is the depth step.

The tile of C stays in one accumulator while tiles of A and B stream by.
"""

import triton
import triton.language as tl


@triton.jit
def gemm(
    a_desc, b_desc, c_desc, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    row = tl.program_id(0) * M
    column = tl.program_id(1) * N
    c = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        a = a_desc.load([row, k])
        b = b_desc.load([k, column])
        c = tl.dot(a, b, c)
    c_desc.store([row, column], c.to(c_desc.dtype))


@triton.jit
def gemm_two_tiles(
    a_desc, b_desc, c_desc, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    """Two row sub-tiles share B, one for each warp group."""
    row = tl.program_id(0) * (2 * M)
    column = tl.program_id(1) * N
    c0 = tl.zeros([M, N], tl.float32)
    c1 = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        a0 = a_desc.load([row, k])
        a1 = a_desc.load([row + M, k])
        b = b_desc.load([k, column])
        c0 = tl.dot(a0, b, c0)
        c1 = tl.dot(a1, b, c1)
    c_desc.store([row, column], c0.to(c_desc.dtype))
    c_desc.store([row + M, column], c1.to(c_desc.dtype))


@triton.jit
def gemm_pointers(
    a_ptr, b_ptr, c_ptr, depth, a_stride, b_stride, c_stride,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    """Loads through pointers, which become asynchronous copies where they are wide enough."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    steps = tl.arange(0, K)
    a_tile = a_ptr + rows[:, None] * a_stride + steps[None, :]
    b_tile = b_ptr + steps[:, None] * b_stride + columns[None, :]
    c = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        a = tl.load(a_tile)
        b = tl.load(b_tile)
        c = tl.dot(a, b, c)
        a_tile += K
        b_tile += K * b_stride
    tl.store(c_ptr + rows[:, None] * c_stride + columns[None, :], c.to(c_ptr.dtype.element_ty))


@triton.jit
def gemm_persistent(
    a_desc, b_desc, c_desc, rows, columns, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    """As many programs as SMs; each computes every n-th tile of C."""
    across = columns // N
    for tile in range(tl.program_id(0), rows // M * across, tl.num_programs(0)):
        row = tile // across * M
        column = tile % across * N
        c = tl.zeros([M, N], tl.float32)
        for k in range(0, depth, K):
            a = a_desc.load([row, k])
            b = b_desc.load([k, column])
            c = tl.dot(a, b, c)
        c_desc.store([row, column], c.to(c_desc.dtype))


@triton.jit
def gemm_geglu(
    a_desc, gate_desc, up_desc, c_desc, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    """C = GELU(A gate) * (A up): two products that share A."""
    row = tl.program_id(0) * M
    column = tl.program_id(1) * N
    g = tl.zeros([M, N], tl.float32)
    u = tl.zeros([M, N], tl.float32)
    for k in range(0, depth, K):
        a = a_desc.load([row, k])
        gate = gate_desc.load([k, column])
        up = up_desc.load([k, column])
        g = tl.dot(a, gate, g)
        u = tl.dot(a, up, u)
    c = 0.5 * g * (1 + tl.erf(g * 0.70710678)) * u
    c_desc.store([row, column], c.to(c_desc.dtype))
