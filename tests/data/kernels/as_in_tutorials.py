"""Kernels in the form of Triton's tutorials: tuned, specialized by their calls, launched below."""

import torch

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = triton.runtime.driver.active.get_active_torch_device()


def is_cuda():
    return triton.runtime.driver.active.get_current_target().backend == "cuda"


def stages():
    return [3, 4] if is_cuda() and torch.cuda.get_device_capability()[0] == 9 else [2]


@triton.autotune(
    configs=[
        triton.Config({"M": m, "N": 128, "K": 64, "GROUP": 8}, num_stages=s, num_warps=w)
        for m, w in ((128, 8), (64, 4))
        for s in stages()
    ],
    key=["m", "n", "k"],
)
@triton.heuristics({"EVEN": lambda args: args["k"] % args["K"] == 0})
@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, m, n, k,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, EVEN: tl.constexpr,
    ACTIVATION: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    in_group = GROUP * tl.cdiv(n, N)
    first = pid // in_group * GROUP
    size = min(tl.cdiv(m, M) - first, GROUP)
    row, column = first + pid % in_group % size, pid % in_group // size
    rows = (row * M + tl.arange(0, M)) % m
    columns = (column * N + tl.arange(0, N)) % n
    depth = tl.arange(0, K)
    a_ptrs = a_ptr + (rows[:, None] * stride_am + depth[None, :] * stride_ak)
    b_ptrs = b_ptr + (depth[:, None] * stride_bk + columns[None, :] * stride_bn)
    total = tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, K)):
        if EVEN:
            a, b = tl.load(a_ptrs), tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=depth[None, :] < k - step * K, other=0.0)
            b = tl.load(b_ptrs, mask=depth[:, None] < k - step * K, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += K * stride_ak
        b_ptrs += K * stride_bk
    if ACTIVATION == "relu":
        total = tl.maximum(total, 0.0)
    places = c_ptr + stride_cm * rows[:, None] + stride_cn * columns[None, :]
    tl.store(places, total.to(tl.float16), mask=(rows[:, None] < m) & (columns[None, :] < n))


def shaped(nargs):
    nargs["q_desc"].block_shape = [nargs["M"], nargs["D"]]
    nargs["k_desc"].block_shape = [nargs["N"], nargs["D"]]


def not_longer(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["N"] <= kwargs["sequence"]]


@triton.autotune(
    configs=[triton.Config({"M": 128, "N": n}, num_stages=2, pre_hook=shaped) for n in (256, 64)],
    key=["sequence"],
    prune_configs_by={"early_config_prune": not_longer},
)
@triton.jit
def scores(
    q_desc, k_desc, sums_ptr, scale, sequence, heads,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    q = q_desc.load([tl.program_id(0) * M, 0])
    sums = tl.zeros((M,), dtype=tl.float32)
    for start in range(0, sequence, N):
        k = k_desc.load([tl.program_id(1) // heads * sequence + start, 0])
        sums += tl.sum(tl.dot(q, k.T) * scale, 1)
    tl.store(sums_ptr + tl.program_id(0) * M + tl.arange(0, M), sums)


a = torch.randn((512, 512), device=DEVICE, dtype=torch.float16)
print(TensorDescriptor.from_tensor(a, [64, 64]))
