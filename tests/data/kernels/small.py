import triton
import triton.language as tl


@triton.jit
def gemm(
    a_desc, b_desc, c_desc, K,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, BRANCH: tl.constexpr = False,
):
    acc = tl.zeros([M, N], tl.float32)
    for k in range(0, K, D):
        a = a_desc.load([0, k])
        b = b_desc.load([k, 0])
        acc = tl.dot(a, b, acc)
        if BRANCH:
            if k % 128 == 0:
                c_desc.store([0, k], acc.to(tl.float16))
    c_desc.store([0, 0], acc.to(tl.float16))


@triton.jit
def ahead(a_desc, b_desc, c_desc, K, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    acc = tl.zeros([M, N], tl.float32)
    a = a_desc.load([0, 0])
    for k in range(0, K, D):
        b = b_desc.load([k, 0])
        acc = tl.dot(a, b, acc)
        a = a_desc.load([0, k])
    c_desc.store([0, 0], acc.to(tl.float16))


@triton.jit
def scatter(x_ptr, idx_ptr, n, C: tl.constexpr):
    columns = tl.arange(0, C)
    for i in range(0, n):
        j = tl.load(idx_ptr + i * C + columns)
        x = tl.load(x_ptr + j)
        tl.store(x_ptr + j, x * 2)


@triton.jit
def waiting(x_ptr, n):
    i = 0
    while i < n:
        tl.store(x_ptr + i, 0.0)
        i += tl.load(x_ptr).to(tl.int32)
