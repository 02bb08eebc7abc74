"""Every packaged kernel and every one of the gallery through `twill.jit`, emulated.

Arguments and references are written here by hand, in PyTorch; nothing is of an emitted file.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import twill
from tests.support.solved import BLACKWELL, HOPPER
from tests.validation.make_ttgir import BLACKWELL as SM100
from tests.validation.make_ttgir import PACKAGED, SIGNATURES, Packaged
from twill.decorated.devices import VARIABLE
from twill.traces import HERE

pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
torch: Any = pytest.importorskip("torch")
pytestmark = [pytest.mark.triton, pytest.mark.torch]
ROWS, HEADS = 384, 2
ERROR = 4e-3  # of the largest value of an output: two units of fp16
Tensors = dict[str, Any]


class Call(NamedTuple):
    """Programs, arguments by name (tensors of descriptors, too), and what they are to hold."""

    programs: tuple[int, ...]
    given: Mapping[str, Any]
    wanted: Mapping[str, Any]


def _drawn(*sizes: int, of: Any = None) -> Any:
    return torch.randn(*sizes).to(of or torch.float16)


def _empty(*sizes: int, of: Any = None) -> Any:
    return torch.full(sizes, float("nan"), dtype=of or torch.float16)


# -- attention: tensors are heads x rows x elements ------------------------------------------------


def _weights(scores: Any, seen: Any = None) -> tuple[Any, Any]:
    """Return the softmax of rows, and the logarithm to base 2 of their sums of exponentials."""
    if seen is not None:
        scores = scores.masked_fill(~seen, float("-inf"))
    return scores.softmax(-1), scores.logsumexp(-1) / torch.log(torch.tensor(2.0))


def _attention(name: str, tile: Mapping[str, int]) -> Call:
    d, group = tile["D"], 2 if name == "attention_grouped" else 1
    heads = HEADS * group
    rows = tile["M"] * (2 if name.endswith(("two_tiles", "persistent")) else 1)
    q, (k, v) = _drawn(heads, ROWS, d), (_drawn(HEADS, ROWS, d) for _ in range(2))
    scale, kept = d**-0.5, torch.ones(ROWS, ROWS, dtype=torch.bool)
    given = {"q_desc": q, "k_desc": k, "v_desc": v, "o_desc": _empty(heads, ROWS, d)}
    given |= {"scale": scale, "sequence": ROWS}
    keys, values = (one.double().repeat_interleave(group, 0) for one in (k, v))
    scores = q.double() @ keys.mT * scale
    if "causal" in name or "window" in name:
        kept = kept.tril()
    if "window" in name:
        given |= {"cap": 3.0, "window": 100}
        scores, kept = 3 * torch.tanh(scores / 3), kept.triu(-99)
    weights, logarithms = _weights(scores, kept)
    wanted = {"o_desc": weights @ values}
    if group > 1:
        given |= {"group": group, "lse_ptr": _empty(heads, ROWS, of=torch.float32)}
        wanted["lse_ptr"] = logarithms
    if name.endswith("persistent"):
        given["heads"] = heads
        return Call((3,), given, wanted)
    return Call((ROWS // rows, heads), given, wanted)


def _gradients(name: str, tile: Mapping[str, int]) -> Call:
    d, scale = tile["D"], tile["D"] ** -0.5
    q, k, v, do = (_drawn(HEADS, ROWS, d) for _ in range(4))
    exact = [one.double().requires_grad_() for one in (q, k, v)]
    weights, logarithms = _weights(exact[0] @ exact[1].mT * scale)
    out = weights @ exact[2]
    out.backward(do.double())
    lse, delta = (one.detach().float() for one in (logarithms, (out * do).sum(-1)))
    given = {"q_desc": q, "k_desc": k, "v_desc": v, "do_desc": do, "scale": scale, "sequence": ROWS}
    wanted = {
        name: one.grad for name, one in zip(("dq_desc", "dk_desc", "dv_desc"), exact, strict=True)
    }
    if name == "attention_query_gradient":
        given |= {"lse_ptr": lse, "delta_ptr": delta, "dq_desc": _empty(HEADS, ROWS, d)}
        return Call((ROWS // tile["M"], HEADS), given, {"dq_desc": wanted["dq_desc"]})
    given |= {"dq_desc": torch.zeros(HEADS, ROWS, d)}
    given |= {one: _empty(HEADS, ROWS, d) for one in ("dk_desc", "dv_desc")}
    if name.endswith("halves"):
        given |= {f"lse{n}_desc": lse for n in range(2)} | {
            f"delta{n}_desc": delta for n in range(2)
        }
    else:
        given |= {"lse_ptr": lse, "delta_ptr": delta}
    parts = 1 if name == "attention_backward" else 2
    return Call((ROWS // (parts * tile["N"]), HEADS), given, wanted)


def _decode(name: str, tile: Mapping[str, int]) -> Call:
    m, n, d = tile["M"], tile["N"], tile["D"]
    q, o, scale = _drawn(HEADS, m, d), _empty(HEADS, m, d), d**-0.5
    given: Tensors = {"q_desc": q, "o_desc": o, "scale": scale}
    if name == "paged_decode":
        pages = torch.randperm(12)[:10].reshape(HEADS, 5)
        k, v = _drawn(12, n, d), _drawn(12, n, d)
        given |= {"k_desc": k, "v_desc": v, "page_ptr": pages.int(), "pages": 5}
        keys, values = (one.double()[pages].reshape(HEADS, 5 * n, d) for one in (k, v))
        weights, _ = _weights(q.double() @ keys.mT * scale)
        return Call((HEADS,), given, {"o_desc": weights @ values})
    rope, cache = _drawn(HEADS, m, tile["R"]), _drawn(HEADS, ROWS, d)
    key_rope = _drawn(HEADS, ROWS, tile["R"])
    given |= {"rope_desc": rope, "cache_desc": cache, "key_rope_desc": key_rope}
    given |= {"sequence": ROWS, "heads": m}
    scores = q.double() @ cache.double().mT + rope.double() @ key_rope.double().mT
    weights, _ = _weights(scores * scale)
    return Call((1, HEADS), given, {"o_desc": weights @ cache.double()})


def _linear(name: str, tile: Mapping[str, int]) -> Call:
    d = tile["D"]
    q, k, v = (_drawn(HEADS, ROWS, d) / 4 for _ in range(3))
    given = {
        "q_desc": q,
        "k_desc": k,
        "v_desc": v,
        "o_desc": _empty(HEADS, ROWS, d),
        "sequence": ROWS,
    }
    apart = (torch.arange(ROWS)[:, None] - torch.arange(ROWS)[None, :]).double()
    decay = (apart >= 0).double()
    if name.endswith("decayed"):
        given["rate"] = 0.03125
        decay *= 2 ** (-0.03125 * apart)
    return Call((HEADS,), given, {"o_desc": (q.double() @ k.double().mT * decay) @ v.double()})


# -- products and rows -----------------------------------------------------------------------------


def _product(name: str, tile: Mapping[str, int]) -> Call:
    (m, n), rows, columns, depth = (tile["M"], tile["N"]), 256, 512, 320
    a, b = _drawn(rows, depth), _drawn(depth, columns)
    exact = a.double() @ b.double()
    form = "ptr" if name == "gemm_pointers" else "desc"
    given = {f"a_{form}": a, f"b_{form}": b, f"c_{form}": _empty(rows, columns), "depth": depth}
    programs: tuple[int, ...] = (rows // m, columns // n)
    if name == "gemm_pointers":
        given |= {"a_stride": depth, "b_stride": columns, "c_stride": columns}
    elif name == "gemm_persistent":
        given |= {"rows": rows, "columns": columns}
        programs = (3,)
    elif name == "gemm_two_tiles":
        programs = (rows // (2 * m), columns // n)
    elif name == "gemm_geglu":
        b /= 8
        up = _drawn(depth, columns)
        given |= {"gate_desc": given.pop("b_desc"), "up_desc": up}
        exact = torch.nn.functional.gelu(a.double() @ b.double()) * (a.double() @ up.double())
    elif name == "gemm_bias_gelu":
        b /= 16
        given["bias_ptr"] = _drawn(columns)
        exact = a.double() @ b.double() + given["bias_ptr"].double()
        exact = torch.nn.functional.gelu(exact, approximate="tanh")
    elif name == "gemm_grouped":
        b, chosen = _drawn(3, depth, columns), torch.tensor([2, 0, 2, 1])[: rows // m].int()
        given |= {"b_desc": b, "expert_ptr": chosen}
        exact = (a.double().reshape(-1, m, depth) @ b.double()[chosen.long()]).reshape(
            rows, columns
        )
    elif name == "rms_norm_gemm":
        given |= {"x_desc": given.pop("a_desc"), "w_desc": given.pop("b_desc"), "epsilon": 1e-3}
        exact *= (a.double().square().mean(1, keepdim=True) + 1e-3).rsqrt()
    return Call(
        programs,
        given,
        {next(one for one in given if one[0] == "c" and "stride" not in one): exact},
    )


def _scaled(name: str, tile: Mapping[str, int]) -> Call:
    rows, columns, depth = 256, 256, 512
    a, b = (_drawn(size, depth, of=torch.float8_e4m3fn) for size in (rows, columns))
    given: Tensors = {"a_desc": a, "b_desc": b, "depth": depth}
    programs = rows // tile["M"], columns // tile["N"]
    if name == "gemm_block_scaled":
        blocks, out = depth // 128, _empty(rows, columns, of=torch.bfloat16)
        by_rows, by_blocks = torch.rand(rows, blocks), torch.rand(columns // 128, blocks)
        given |= {"a_scale_ptr": by_rows, "b_scale_ptr": by_blocks, "blocks": blocks, "c_desc": out}
        factors = by_rows, by_blocks.repeat_interleave(128, 0)
    else:
        given["c_desc"] = _empty(rows, columns)
        bytes_ = [torch.randint(120, 128, (size, depth // 32)) for size in (rows, columns)]
        for one, found in zip("ab", bytes_, strict=True):
            packed = found.reshape(-1, 4, 32, depth // 128, 4).permute(0, 3, 2, 1, 4)
            packed = packed.reshape(1, len(found) // 128, depth // 128, 2, 256)
            given[f"{one}_scale_desc"] = packed.to(torch.uint8)
        factors = tuple(2.0 ** (one.double() - 127) for one in bytes_)
    exact = [
        one.double() * factor.double().repeat_interleave(depth // factor.shape[1], 1)
        for one, factor in zip((a, b), factors, strict=True)
    ]
    return Call(programs, given, {"c_desc": exact[0] @ exact[1].T})


def _by_rows(name: str, tile: Mapping[str, int]) -> Call:
    columns = 3 * tile["N"]
    x, y = _drawn(2 * tile["R"], columns), _empty(2 * tile["R"], columns)
    if name == "online_softmax":
        given: Tensors = {"x_desc": x, "y_desc": y, "columns": columns}
        return Call((2,), given, {"y_desc": x.double().softmax(1)})
    weight, bias = _drawn(columns), _drawn(columns)
    given = {"x_ptr": x, "y_ptr": y, "weight_ptr": weight, "bias_ptr": bias}
    exact = torch.nn.functional.layer_norm(
        x.double(), (columns,), weight.double(), bias.double(), 1e-3
    )
    return Call((2,), {**given, "columns": columns, "epsilon": 1e-3}, {"y_ptr": exact})


CALLS: tuple[tuple[str, Callable[[str, Mapping[str, int]], Call]], ...] = (
    ("attention_backward", _gradients),
    ("attention_query_gradient", _gradients),
    ("attention", _attention),
    ("linear_attention", _linear),
    ("mla_decode", _decode),
    ("paged_decode", _decode),
    ("gemm_block_scaled", _scaled),
    ("block_scaled_gemm", _scaled),
    ("gemm", _product),
    ("rms_norm_gemm", _product),
    ("", _by_rows),
)
FIRST = {p.kernel: p for p in reversed(PACKAGED) if not p.suffix}
"""The first packaged form of each kernel: on Hopper, where that multiplies its types."""
REFUSED = {
    "mla_decode": "always in flight, with its result in registers",
    "layer_norm": "2 loops to choose from",
    "online_softmax": "2 loops to choose from",
}
"""Why these have no kernel on Hopper."""
LATENT = next(p for p in PACKAGED if p.kernel == "mla_decode" and p.architecture == SM100)


def test_every_kernel_is_called() -> None:
    files = [file for room in ("kernels", "gallery") for file in (HERE / room).glob("*.py")]
    defined = {
        one.name
        for file in files
        for one in ast.parse(file.read_text()).body
        if isinstance(one, ast.FunctionDef)
    }
    assert defined - {"unpacked"} == {*FIRST}  # which another kernel calls


@pytest.mark.slow
@pytest.mark.parametrize("packaged", [*FIRST.values(), LATENT], ids=lambda p: p.file)
def test_a_kernel_computes_what_its_text_says(
    packaged: Packaged, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    monkeypatch.setenv(VARIABLE, "1")
    torch.manual_seed(0)
    machine = BLACKWELL if packaged.architecture == SM100 else HOPPER
    kernel = twill.jit(_function(packaged), machine=machine, on_refusal="error")
    tile = packaged.constants
    call = next(of for start, of in CALLS if packaged.kernel.startswith(start))(
        packaged.kernel, tile
    )
    kinds = SIGNATURES.get(packaged.kernel) or SIGNATURES[packaged.source.stem]
    boxes = dict(word.split("=") for word in kinds.split())
    given = {**call.given, **tile}
    for name in boxes:
        if name.endswith("_desc"):
            sizes = boxes[name].partition("[")[2].removesuffix("]").split(",")
            box = [tile.get(size) or int(size) for size in sizes]
            shown = given[name].flatten(0, -len(box))
            given[name] = TensorDescriptor(shown, list(shown.shape), list(shown.stride()), box)
    if machine == HOPPER and packaged.kernel in REFUSED:
        with pytest.raises(twill.RefusedError, match=REFUSED[packaged.kernel]):
            kernel[call.programs](**given)
        return
    kernel[call.programs](**given)
    for name, wanted in call.wanted.items():
        found = call.given[name].double()
        error = (found - wanted).abs().max() / wanted.abs().max()
        assert error < ERROR, (name, error)


def _function(packaged: Packaged) -> Any:
    spec = importlib.util.spec_from_file_location(Path(packaged.source).stem, packaged.source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)[packaged.kernel]
