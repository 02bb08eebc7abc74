import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, factor, B: tl.constexpr = 128, T: tl.constexpr = tl.float16):
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        tl.store(y_ptr + i, (tl.load(x_ptr + i) * factor).to(T))


@triton.autotune(configs=[triton.Config({"B": 64})], key=["n"])
@triton.jit
def tuned(x_ptr, n, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 0.0)


@triton.jit
def ranged(x, B: tl.constexpr):
    return x + tl.arange(0, B)


@triton.jit
def caller(x_ptr, B: tl.constexpr):
    x = x_ptr
    tl.store(ranged(x, B), 0.0)


@triton.jit
def undefined(x_ptr):
    tl.store(x_ptr, nothing)


def plain(x):
    return x
