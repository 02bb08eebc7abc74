"""Kernels whose tiles are split in Triton's IR, against loops that are split after extraction."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import twill
from tests.support.pages import ROOT
from tests.validation.make_ttgir import PACKAGED, SIGNATURES, Packaged, settings_of
from twill.frontends.triton_dump import dump_kernel
from twill.frontends.triton_dump.split import Split, split_of
from twill.frontends.ttgir.extraction import extract
from twill.frontends.ttgir.reader import Dump, name_of
from twill.traces import HERE

triton = pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
pytestmark = pytest.mark.triton
COUPLED = """
import triton
import triton.language as tl


@triton.jit
def coupled(x_ptr, y_ptr, n, HOW: tl.constexpr):
    rows, columns = tl.arange(0, 128), tl.arange(0, 64)
    tile = rows[:, None] * 64 + columns[None, :]
    square = rows[:, None] * 128 + rows[None, :]
    total = tl.zeros([128, 128], tl.float32)
    for start in range(0, n):
        x = tl.load(x_ptr + tile)
        y = tl.trans(x) if HOW == "square" else tl.load(y_ptr + tl.trans(tile))
        total = tl.dot(x, y, total)
    total = tl.cumsum(total, 0) if HOW == "scan" else total
    if HOW == "reshape":
        tl.store(y_ptr + tl.arange(0, 128 * 128), tl.reshape(total, [128 * 128]))
    else:
        tl.store(y_ptr + square, total)
"""


def _split(packaged: Packaged, how: Split) -> str:
    signature = SIGNATURES.get(packaged.kernel) or SIGNATURES[packaged.source.stem]
    settings = settings_of(signature, packaged.constants)
    where = f"{packaged.source}:{packaged.kernel}"
    return dump_kernel(where, settings, packaged.architecture, split=how)


def _operations(loop: twill.Loop) -> Counter[tuple[str, tuple[int, ...] | None, int]]:
    return Counter(
        (o.kind, None if o.result is None else o.result.shape, len(o.operands))
        for o in loop.operations
    )


@pytest.mark.parametrize(
    "file",
    [
        "ttgir/attention_forward.sm90.mlir",
        pytest.param("ttgir/attention_backward_d64.sm90.mlir", marks=pytest.mark.slow),
        pytest.param("ttgir/attention_forward.sm100.mlir", marks=pytest.mark.slow),
        pytest.param("ttgir/gemm_pointers.sm90.mlir", marks=pytest.mark.slow),
    ],
)
def test_a_loop_is_as_if_it_was_split_after_extraction(file: str) -> None:
    """Of attention backward, products that sum over the split keys are chained."""
    packaged = next(one for one in PACKAGED if one.file == file)
    before = extract((HERE / file).read_text())
    found, wanted = extract(_split(packaged, Split(2))), twill.subtile(before, 2)
    assert _operations(found) == _operations(wanted)
    assert len(found.dependences) == len(wanted.dependences)


def test_the_whole_kernel_is_split() -> None:
    """Each part loads its queries and stores its rows, at an offset from its tile's."""
    packaged = next(o for o in PACKAGED if o.file == "ttgir/attention_forward.sm90.mlir")
    text = _split(packaged, Split(2, "s:0"))
    dump = Dump(text)
    assert len(re.findall(r'"tt.descriptor_store"\(%o_desc', text)) == 2
    assert len(re.findall(r'"tt.descriptor_load"\(%q_desc', text)) == 2
    stores = [o for o in dump.operations() if name_of(o) == "tt.descriptor_store"]
    first, second = (store.operands[2] for store in stores)
    offset = second.owner.operands  # type: ignore[union-attr]
    assert offset[0] is first
    assert re.search(r"tensordesc<64x128xf16, #shared>, i32", text)
    assert "dense<0xFF800000> : tensor<64xf32" in text  # minus infinity, where maxima begin
    assert [dump.loop_name(loop) for loop in dump.loops()] == ["start"]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("scan", r"total:0 \(tt\.scan at coupled\.py:\d+:\d+ scans along it\)"),
        ("reshape", r"total:0 \(tt\.reshape at coupled\.py:\d+:\d+ may mix elements of it\)"),
        ("square", r"total:0 \(a tile has it along two dimensions\)"),
    ],
)
def test_what_cannot_be_split_is_named(tmp_path: Path, how: str, reason: str) -> None:
    file = tmp_path / "coupled.py"
    file.write_text(COUPLED)
    settings = {"x_ptr": "*fp16", "y_ptr": "*fp16", "n": "i32", "HOW": repr(how)}
    with pytest.raises(twill.RefusedError, match=reason):
        dump_kernel(f"{file}:coupled", settings, 90, split=Split(2))


def test_only_products_that_can_be_split_are_taken() -> None:
    packaged = next(o for o in PACKAGED if o.file == "ttgir/attention_forward.sm90.mlir")
    with pytest.raises(twill.RefusedError, match=r"'k:0' can be .*; possible is s:0"):
        _split(packaged, Split(2, "k:0"))
    assert split_of("2:s:0") == Split(2, "s:0")
    with pytest.raises(twill.InputError, match="--subtiles: 2 or 4 parts"):
        split_of("3")


@pytest.mark.parametrize("first", ["", "if rows == 0:\n        return\n    "])
def test_a_descriptor_that_is_made_has_smaller_tiles(tmp_path: Path, first: str) -> None:
    """Of a kernel that returns early, too."""
    settings = dict.fromkeys(("rows", "columns", "depth"), "i32:16")
    settings |= dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16")
    settings |= {"M": "128", "N": "64", "K": "64"}
    source = (ROOT / "tests/data/kernels/integers.py").read_text()
    file, begins = tmp_path / "integers.py", "batch = tl.program_id(2)"
    file.write_text(source.replace(begins, first + begins))
    text = dump_kernel(f"{file}:batched_product", settings, 90, split=Split(2, "acc:0"))
    made = re.findall(r'make_tensor_descriptor".*tensordesc<(\w+),', text)
    assert made == ["64x64xf16"] * 3
    assert len(re.findall('"tt.descriptor_store"', text)) == 2
