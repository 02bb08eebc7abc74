"""Kernels of which a loop is only a part: all of it is emitted, or it is refused."""

from __future__ import annotations

import importlib.util
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.solved import BLACKWELL, HOPPER
from twill.decorated import answers
from twill.decorated.ahead import diagnosed
from twill.decorated.devices import VARIABLE

pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
pytestmark = pytest.mark.triton
FOLDER = Path(__file__).parents[1] / "data/kernels"
TILE = {"M": 64, "N": 64, "K": 64}


def test_what_an_emitted_kernel_would_leave_out_is_refused() -> None:
    sizes = {name: str(size) for name, size in TILE.items()}
    found = diagnosed(str(FOLDER / "around.py"), sizes, twill.Machine.named(HOPPER))
    said = {one.kernel: re.split(": |end, ", one.refused)[-1] or one.form for one in found}
    assert said == {
        "summed": "it follows a loop over output tiles",
        "counted": "it follows a loop over output tiles",
        "chosen": "as written",
        "emptied": "after statements of its own, has no template for kernels",
        "narrow": "warp groups multiply 64 rows or more, and no floats of 32 bits",
    }


def _jit(name: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a kernel whose static schedule will do, to be emulated."""
    file = "around" if name == "chosen" else "rare"
    spec = importlib.util.spec_from_file_location(file, FOLDER / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr(answers, "schedule", partial(twill.schedule, model="paper", timeout=10.0))
    return twill.jit(vars(module)[name], machine=machine, on_refusal="error")


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "machine"),
    [
        ("left", HOPPER),
        ("chosen", HOPPER),
        ("halved", HOPPER),
        ("halved", BLACKWELL),
        ("normed", BLACKWELL),
    ],
)
def test_what_is_around_a_loop_is_right(
    name: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some programs return early; a program loads after its loops, and splits tiles."""
    torch: Any = pytest.importorskip("torch")
    from triton.tools.tensor_descriptor import TensorDescriptor

    kernel = _jit(name, machine, monkeypatch)
    torch.manual_seed(0)
    a, b = torch.randn(256, 256).half(), torch.randn(512, 256).half()
    c = torch.full((256, 256), float("nan"), dtype=torch.float16)
    wanted = c.float()

    def described(tensor: Any, *box: int) -> Any:
        return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), list(box))

    if name == "left":
        c, table = c[:, :64].contiguous(), torch.tensor([1, -1, 0, 1]).int()
        wanted = c.float()
        b = b[:, :64].contiguous()
        for tile, first in ((0, 256), (2, 0)):
            rows = slice(64 * tile, 64 * tile + 64)
            wanted[rows] = a[rows].float() @ b[first : first + 256].float()
        kernel[4,](*(described(one, 64, 64) for one in (a, b, c)), table, 3, 256, **TILE)
    elif name == "chosen":
        c, wanted = c[:64, :64].float(), a[:64].float() @ b[:64].float().T
        for given, expected in ((0, c.clone()), (1, wanted)):
            kernel[1,](a, b, c, torch.tensor([given]).int(), 256, **TILE)
            assert torch.allclose(c, expected, rtol=1e-2, atol=1e-2, equal_nan=True)
    elif name == "halved":
        b, bias = b[:256], torch.randn(256).half()
        wanted = a[:200].float() @ b.float().T + bias.float()
        c = c[:200]
        sizes = {"M": 64, "N": 128, "K": 64, "PROGRAMS": 3}
        kernel[3,](a, b, c, described(bias, 128), 200, 256, 256, **sizes)
    else:
        c = c.float()
        wanted = a.float() @ b[:256].float()
        wanted = wanted / wanted.square().sum(1, keepdim=True)
        boxes = (described(a, 128, 64), described(b, 64, 256), described(c, 128, 256))
        kernel[2,](*boxes, 256, M=128, N=256, K=64)
    assert torch.equal(c.isnan(), wanted.isnan())
    assert (c - wanted).nan_to_num().abs().max() < 2e-3 * wanted.nan_to_num().abs().max()


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "machine"),
    [("scaled", HOPPER), ("shifted", HOPPER), ("lowered", BLACKWELL), ("recurring", HOPPER)],
)
def test_rare_forms_of_loads_and_products_are_right(
    name: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a factor in registers Triton makes several products; a mask hides negative places.

    A tile that goes from tensor memory to tensor memory meets a row, and a loop reads its stores.
    """
    torch: Any = pytest.importorskip("torch")
    kernel = _jit(name, machine, monkeypatch)
    torch.manual_seed(0)
    kind = torch.float8_e4m3fn if name == "shifted" else torch.float16
    x, w = (torch.randn(64, 256).to(kind) for _ in range(2))
    y, wanted = torch.full((64, 64), float("nan")), x.float() @ w.float().T
    if name == "scaled":
        kernel[1,](x, torch.full((256,), 0.5).half(), w, y, 256, **TILE)
        wanted *= 0.5
    elif name == "shifted":
        kernel[1,](x, w, y, 256, 5, **TILE)
        wanted = torch.cat([torch.zeros(5, 64), wanted[:-5]])
    elif name == "recurring":
        x, w, y = (
            x.reshape(4, 64, 64) / 16,
            w[:, :64].contiguous() / 16,
            torch.zeros(5, 64, 64).half(),
        )
        kernel[1,](x, w, y, 4, **TILE)
        wanted = torch.zeros(5, 64, 64).half()
        for k in range(4):
            wanted[k + 1] = wanted[k].float() @ w.float() + x[k].float()
    else:
        x, w, d = x[:, :64].contiguous(), w.reshape(256, 64), torch.randn(256)
        kernel[1,](x, w, d, y, 256, **TILE)
        wanted = (x.float() @ w.float().T - d).half().float() @ w.float()
    assert (y - wanted).abs().max() < 2e-3 * wanted.abs().max()
