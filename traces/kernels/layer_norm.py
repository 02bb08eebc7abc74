"""Layer norm of R rows: one pass for mean and variance, one to normalize, no tensor core."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(
    x_ptr, y_ptr, weight_ptr, bias_ptr, columns, epsilon,
    R: tl.constexpr, N: tl.constexpr,
):
    rows = tl.program_id(0) * R + tl.arange(0, R)
    sums = tl.zeros([R], tl.float32)
    squares = tl.zeros([R], tl.float32)
    for start in range(0, columns, N):
        places = rows[:, None] * columns + start + tl.arange(0, N)[None, :]
        x = tl.load(x_ptr + places).to(tl.float32)
        sums += tl.sum(x, 1)
        squares += tl.sum(x * x, 1)
    mean = sums / columns
    inverse = tl.rsqrt(squares / columns - mean * mean + epsilon)
    for again in range(0, columns, N):
        block = again + tl.arange(0, N)
        places = rows[:, None] * columns + block[None, :]
        weight = tl.load(weight_ptr + block).to(tl.float32)
        bias = tl.load(bias_ptr + block).to(tl.float32)
        x = tl.load(x_ptr + places).to(tl.float32)
        y = (x - mean[:, None]) * inverse[:, None] * weight[None, :] + bias[None, :]
        tl.store(y_ptr + places, y.to(y_ptr.dtype.element_ty))
