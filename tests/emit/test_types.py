"""One source serves fp16 and bf16: dumped, scheduled, emitted, emulated and compiled for either."""

from __future__ import annotations

from pathlib import Path

import pytest

import twill
from tests.support.solved import HOPPER, solved_once
from tests.validation.make_ttgir import HOPPER as SM90
from tests.validation.make_ttgir import SIGNATURES, Packaged, settings_of
from twill.compiled import check
from twill.emit import emitted
from twill.frontends.triton_dump import dump_kernel
from twill.frontends.ttgir.extraction import extract
from twill.sim.emulator import emulate

KERNELS = {
    "attention_forward": {"M": 64, "N": 128, "D": 128},
    "attention_forward_two_tiles": {"M": 64, "N": 128, "D": 128},
    "attention_forward_causal": {"M": 64, "N": 64, "D": 128},
    "attention_backward_two_tiles": {"M": 64, "N": 64, "D": 64, "SWAPPED": True},
    "gemm": {"M": 128, "N": 128, "K": 64},
    "gemm_pointers": {"M": 128, "N": 128, "K": 64},
    "gemm_persistent": {"M": 128, "N": 128, "K": 64},
}


def dumped(name: str, dtype: str) -> str:
    """Return the dump of a packaged kernel whose 16-bit arguments are of a type."""
    kernel = Packaged(name, SM90, KERNELS[name])
    signature = SIGNATURES.get(name) or SIGNATURES[kernel.source.stem]
    settings = settings_of(signature.replace("fp16", dtype), kernel.constants)
    return dump_kernel(f"{kernel.source}:{name}", settings, SM90)


@pytest.mark.slow
@pytest.mark.triton
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_of_either_type_is_right_and_compiles_as_written(
    name: str, dtype: str, tmp_path: Path
) -> None:
    text = dumped(name, dtype)
    assert ("xbf16" in text, "xf16" in text) == (dtype == "bf16", dtype == "fp16")
    loop = extract(text, name=f"{name}_{dtype}")
    schedule = solved_once(loop, twill.Machine.named(HOPPER), effort=0.5)
    file = tmp_path / "kernel.py"
    file.write_text(emitted(schedule))
    emulation = emulate(file, iterations=(3,))
    assert emulation.passed, emulation
    assert not check(file).findings
