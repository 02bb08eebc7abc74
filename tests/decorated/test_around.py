"""Kernels of which a loop is only a part: all of it is emitted, or it is refused."""

from __future__ import annotations

import importlib.util
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
    said = {one.kernel: one.refused.rpartition(": ")[2] or one.form for one in found}
    assert said == {
        "summed": "it follows a loop over output tiles",
        "counted": "it follows a loop over output tiles",
        "chosen": "the loop is in it",
        "narrow": "warp groups multiply 64 rows or more, and no floats of 32 bits",
    }


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
    spec = importlib.util.spec_from_file_location("rare", FOLDER / "rare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr(answers, "schedule", partial(twill.schedule, model="paper", timeout=10.0))
    kernel = twill.jit(vars(module)[name], machine=machine, on_refusal="error")
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
