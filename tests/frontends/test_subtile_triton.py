"""Sub-tiles of kernels that are dumped for the test, against those sub-tiled by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import twill
from tests.support.loop_graphs import same_graph
from twill.frontends.ttgir import load_ttgir
from twill.traces import make_ttgir as kernels

pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
pytestmark = pytest.mark.triton
BLACKWELL = kernels.BLACKWELL


@pytest.mark.parametrize(
    ("whole", "by_hand"),
    [
        (kernels.attention(BLACKWELL, "forward", 128, 128),
         kernels.attention(BLACKWELL, "forward_two_tiles", 64, 128)),
        (kernels.attention(BLACKWELL, "forward", 256, 128),
         kernels.attention(BLACKWELL, "forward_two_tiles", 128, 128)),
        (kernels.attention(BLACKWELL, "backward", 128, 256, 64),
         kernels.attention(BLACKWELL, "backward_two_tiles", 128, 128, 64)),
        (kernels.gemm(BLACKWELL, "", 256, 256, 64),
         kernels.gemm(BLACKWELL, "_two_tiles", 128, 256, 64)),
    ],
    ids=["forward 2 x 64", "forward 2 x 128", "backward 2 x 128", "gemm 2 x 128"],
)  # fmt: skip
def test_is_the_kernel_that_was_sub_tiled_by_hand(
    whole: kernels.Packaged, by_hand: kernels.Packaged, tmp_path: Path
) -> None:
    loops = []
    for name, one in (("whole", whole), ("by_hand", by_hand)):
        file = tmp_path / f"{name}.mlir"
        file.write_text(one.text())
        loops.append(load_ttgir(str(file)))
    blackwell = twill.Machine.named("blackwell_b200")
    assert same_graph(twill.subtile(loops[0], 2), loops[1], blackwell)
    assert not same_graph(loops[0], loops[1], blackwell)
