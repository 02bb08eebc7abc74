"""The packaged kernels compute what they say, in Triton's interpreter against NumPy.

All of them run there; the one thing that the interpreter of Triton 3.9 lacks, the reduce-add
through a TMA descriptor, is supplied by `tests.support.interpreted`.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.interpreted import Call, Tensor, run

# Earlier versions place some operations elsewhere in a line, and their interpreter fails with the
# scalars of NumPy 2.4; dumping works from 3.6 on.
pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
pytestmark = pytest.mark.triton
Array = npt.NDArray[Any]
Run = Callable[..., dict[str, Array]]
HEADS, SEQUENCE, DEPTH = 2, 96, 32
SCALE = DEPTH**-0.5


@pytest.fixture(scope="module")
def interpret() -> Iterator[Run]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as process:

            def interpreted(kernel: str, grid: tuple[int, ...], **given: Any) -> dict[str, Array]:
                return process.submit(run, Call(kernel, grid, given)).result()

            yield interpreted


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


def half(random: np.random.Generator, *shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float16)


def heads(array: Array) -> Array:
    """Rows of all heads -> heads x rows, in double precision."""
    return array.astype(np.float64).reshape(HEADS, SEQUENCE, DEPTH)


def close(got: Array, expected: Array, tolerance: float) -> bool:
    """Whether the largest error is small beside the largest value."""
    error = np.abs(got.astype(np.float64).reshape(expected.shape) - expected).max()
    return bool(error <= tolerance * np.abs(expected).max())


def probabilities(q: Array, k: Array, *, causal: bool = False) -> Array:
    scores = heads(q) @ heads(k).transpose(0, 2, 1) * SCALE
    if causal:
        scores[:, np.triu(np.ones((SEQUENCE, SEQUENCE), dtype=bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(2, keepdims=True))
    return np.asarray(weights / weights.sum(2, keepdims=True))


@pytest.mark.parametrize("kernel", ["gemm", "gemm_two_tiles", "gemm_persistent", "gemm_pointers"])
def test_matrix_products(kernel: str, interpret: Run, random: np.random.Generator) -> None:
    a, b, c = half(random, 64, 96), half(random, 96, 48), np.zeros((64, 48), np.float16)
    shape = {"M": 32, "N": 16, "K": 32, "depth": 96}
    if kernel == "gemm_pointers":
        strides = {"a_stride": 96, "b_stride": 48, "c_stride": 48}
        tensors = {"a_ptr": Tensor(a), "b_ptr": Tensor(b), "c_ptr": Tensor(c)}
        out = interpret("gemm:gemm_pointers", (2, 3), **tensors, **strides, **shape)["c_ptr"]
    else:
        grid = {"gemm": (2, 3), "gemm_two_tiles": (1, 3), "gemm_persistent": (4,)}[kernel]
        sizes = {"rows": 64, "columns": 48} if kernel == "gemm_persistent" else {}
        tensors = {"a_desc": Tensor(a, (32, 32)), "b_desc": Tensor(b, (32, 16))}
        tensors["c_desc"] = Tensor(c, (32, 16))
        out = interpret(f"gemm:{kernel}", grid, **tensors, **sizes, **shape)["c_desc"]
    assert close(out, a.astype(np.float64) @ b, 1e-3)


def test_gated_product(interpret: Run, random: np.random.Generator) -> None:
    from math import erf

    a, gate, up = (half(random, 32, 64), half(random, 64, 32), half(random, 64, 32))
    out = interpret(
        "gemm:gemm_geglu",
        (2, 1),
        a_desc=Tensor(a, (16, 32)),
        gate_desc=Tensor(gate, (32, 32)),
        up_desc=Tensor(up, (32, 32)),
        c_desc=Tensor(np.zeros((32, 32), np.float16), (16, 32)),
        depth=64, M=16, N=32, K=32,
    )["c_desc"]  # fmt: skip
    g, u = a.astype(np.float64) @ gate, a.astype(np.float64) @ up
    assert close(out, g * 0.5 * (1 + np.vectorize(erf)(g / np.sqrt(2))) * u, 1e-3)


def test_block_scaled_product(interpret: Run, random: np.random.Generator) -> None:
    rows, columns, depth = 256, 128, 256
    a, b = eight_bit_floats(random, rows, depth), eight_bit_floats(random, columns, depth)
    a_scale = random.integers(120, 129, (rows, depth // 32), np.uint8)
    b_scale = random.integers(120, 129, (columns, depth // 32), np.uint8)
    out = interpret(
        "block_scaled_gemm:block_scaled_gemm",
        (2, 1),
        a_desc=Tensor(a, (128, 128), "float8_e4m3fn"),
        b_desc=Tensor(b, (128, 128), "float8_e4m3fn"),
        a_scale_desc=Tensor(packed(a_scale), (1, 1, 1, 2, 256)),
        b_scale_desc=Tensor(packed(b_scale), (1, 1, 1, 2, 256)),
        c_desc=Tensor(np.zeros((rows, columns), np.float32), (128, 128)),
        depth=depth, M=128, N=128, K=128,
    )["c_desc"]  # fmt: skip
    assert close(out, scaled(a, a_scale) @ scaled(b, b_scale).T, 1e-3)


def eight_bit_floats(random: np.random.Generator, rows: int, columns: int) -> Array:
    """Signed values below 8, subnormal ones among them, so that no sum leaves the range of fp16."""
    size = random.integers(0, 80, (rows, columns), np.uint8)
    sign = random.integers(0, 2, (rows, columns), np.uint8)
    return np.asarray(size | sign << 7)


def scaled(bits: Array, exponents: Array) -> Array:
    """Decode e4m3 (bias 7, subnormal at exponent 0) and apply a power of two per 32 elements."""
    sign, exponent, fraction = 1.0 - (bits >> 7) * 2.0, (bits >> 3 & 15) * 1.0, (bits & 7) / 8
    size = np.where(exponent, (1 + fraction) * 2.0 ** (exponent - 7), fraction * 2.0**-6)
    return np.asarray(sign * size * np.repeat(2.0 ** (exponents - 127.0), 32, axis=1))


def packed(scales: Array) -> Array:
    """Place every scale by itself: 128 rows x 4 blocks are 512 bytes."""
    rows, blocks = scales.shape
    out = np.zeros((1, rows // 128, blocks // 4, 512), np.uint8)
    for (row, block), value in np.ndenumerate(scales):
        inside = row % 32 * 16 + row % 128 // 32 * 4 + block % 4
        out[0, row // 128, block // 4, inside] = value
    return out.reshape(1, rows // 128, blocks // 4, 2, 256)


@pytest.mark.parametrize(
    ("kernel", "rows"),
    [("attention_forward", 32), ("attention_forward_two_tiles", 16)],
)
def test_attention_forward(
    kernel: str, rows: int, interpret: Run, random: np.random.Generator
) -> None:
    q, k, v = (half(random, HEADS * SEQUENCE, DEPTH) for _ in range(3))
    out = forward(interpret, kernel, rows, q, k, v)
    assert close(out, probabilities(q, k) @ heads(v), 2e-3)


def test_causal_attention_forward(interpret: Run, random: np.random.Generator) -> None:
    q, k, v = (half(random, HEADS * SEQUENCE, DEPTH) for _ in range(3))
    out = forward(interpret, "attention_forward_causal", 32, q, k, v)
    assert close(out, probabilities(q, k, causal=True) @ heads(v), 2e-3)
    assert close(heads(out)[:, 0], heads(v)[:, 0], 1e-3)


def forward(interpret: Run, kernel: str, rows: int, q: Array, k: Array, v: Array) -> Array:
    return interpret(
        f"attention_forward:{kernel}",
        (SEQUENCE // 32, HEADS),
        q_desc=Tensor(q, (rows, DEPTH)),
        k_desc=Tensor(k, (16, DEPTH)),
        v_desc=Tensor(v, (16, DEPTH)),
        o_desc=Tensor(np.zeros_like(q), (rows, DEPTH)),
        scale=SCALE, sequence=SEQUENCE, M=rows, N=16, D=DEPTH,
    )["o_desc"]  # fmt: skip


def gradients(q: Array, k: Array, v: Array, do: Array) -> dict[str, Array]:
    p = probabilities(q, k)
    dp = heads(do) @ heads(v).transpose(0, 2, 1)
    ds = p * (dp - (dp * p).sum(2, keepdims=True)) * SCALE
    return {
        "dq": ds @ heads(k),
        "dk": ds.transpose(0, 2, 1) @ heads(q),
        "dv": p.transpose(0, 2, 1) @ heads(do),
    }


def test_the_expected_gradients_are_those_of_the_forward_pass(random: np.random.Generator) -> None:
    tensors = {name: random.standard_normal((HEADS * SEQUENCE, DEPTH)) for name in "qkv"}
    do = random.standard_normal((HEADS * SEQUENCE, DEPTH))
    expected = gradients(**tensors, do=do)
    for name in "qkv":
        direction = random.standard_normal((HEADS * SEQUENCE, DEPTH))

        def loss(step: float, name: str = name, direction: Array = direction) -> float:
            moved = tensors | {name: tensors[name] + step * direction}
            out = probabilities(moved["q"], moved["k"]) @ heads(moved["v"])
            return float((out * heads(do)).sum())

        slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
        assert slope == pytest.approx((expected[f"d{name}"] * heads(direction)).sum(), rel=1e-5)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("kernel", "keys"), [("attention_backward", 32), ("attention_backward_two_tiles", 16)]
)
def test_attention_backward(
    kernel: str, keys: int, swapped: bool, interpret: Run, random: np.random.Generator
) -> None:
    q, k, v, do = (half(random, HEADS * SEQUENCE, DEPTH) for _ in range(4))
    scores = heads(q) @ heads(k).transpose(0, 2, 1) * SCALE
    lse = np.log2(np.exp(scores).sum(2)).astype(np.float32)
    delta = (heads(do) * (probabilities(q, k) @ heads(v))).sum(2).astype(np.float32)
    out = interpret(
        f"attention_backward:{kernel}",
        (SEQUENCE // 32, HEADS),
        q_desc=Tensor(q, (16, DEPTH)),
        k_desc=Tensor(k, (keys, DEPTH)),
        v_desc=Tensor(v, (keys, DEPTH)),
        do_desc=Tensor(do, (16, DEPTH)),
        dq_desc=Tensor(np.zeros(q.shape, np.float32), (16, DEPTH)),
        dk_desc=Tensor(np.zeros_like(k), (keys, DEPTH)),
        dv_desc=Tensor(np.zeros_like(v), (keys, DEPTH)),
        lse_ptr=Tensor(lse),
        delta_ptr=Tensor(delta),
        scale=SCALE, sequence=SEQUENCE, M=16, N=keys, D=DEPTH, SWAPPED=swapped,
    )  # fmt: skip
    for name, expected in gradients(q, k, v, do).items():
        assert close(out[f"{name}_desc"], expected, 3e-3), name


def test_linear_attention(interpret: Run, random: np.random.Generator) -> None:
    q, k, v = (half(random, HEADS * SEQUENCE, DEPTH) for _ in range(3))
    out = interpret(
        "linear_attention:linear_attention",
        (HEADS,),
        q_desc=Tensor(q, (32, DEPTH)),
        k_desc=Tensor(k, (32, DEPTH)),
        v_desc=Tensor(v, (32, DEPTH)),
        o_desc=Tensor(np.zeros_like(q), (32, DEPTH)),
        sequence=SEQUENCE, C=32, D=DEPTH,
    )["o_desc"]  # fmt: skip
    assert close(out, np.tril(heads(q) @ heads(k).transpose(0, 2, 1)) @ heads(v), 2e-3)


def test_layer_norm(interpret: Run, random: np.random.Generator) -> None:
    x, weight, bias = half(random, 8, 192), half(random, 192), half(random, 192)
    x += np.float16(2)
    out = interpret(
        "layer_norm:layer_norm",
        (2,),
        x_ptr=Tensor(x),
        y_ptr=Tensor(np.zeros_like(x)),
        weight_ptr=Tensor(weight),
        bias_ptr=Tensor(bias),
        columns=192, epsilon=1e-5, R=4, N=64,
    )["y_ptr"]  # fmt: skip
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    normal = centred / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    assert close(out, normal * weight + bias, 2e-3)


def test_online_softmax(interpret: Run, random: np.random.Generator) -> None:
    x = half(random, 8, 192) * np.float16(8)
    out = interpret(
        "online_softmax:online_softmax",
        (2,),
        x_desc=Tensor(x, (4, 64)),
        y_desc=Tensor(np.zeros_like(x), (4, 64)),
        columns=192, R=4, N=64,
    )["y_desc"]  # fmt: skip
    weights = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    assert close(out, weights / weights.sum(1, keepdims=True), 1e-3)
