"""The packaged dumps, and what is written into a dump's text."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import twill
from tests.support.sampled import sampled
from twill.frontends.triton_dump import dump_kernel
from twill.frontends.triton_dump.listing import Listing, annotated, source_of, without_locations
from twill.frontends.ttgir.reader import Dump, integer, name_of, string

ROOT = Path(__file__).parents[2]
DUMPS = sorted((ROOT / "traces" / "ttgir").glob("*.mlir"))
TEXT = """\
#loc = loc("/k (1).py":1:1)
#loc4 = loc("/k.py":4:5)
"builtin.module"() ({
  %a:2 = "scf.for"(%n) ({
  ^bb0(%i: i32 loc("i"(#loc4)), %x: i32 loc("x"(#loc))):
    %y = "arith.addi"(%x, %i) <{o = 1 : i32}> : (i32, i32) -> i32 loc(#loc2)
    "tt.store"(%y) {known = true} : (i32) -> () loc(callsite(#loc at #loc4))
    "scf.yield"(%y) : (i32) -> () loc(#loc4)
  }) : (i32) -> (i32, i32) loc(#loc3)
}) : () -> () loc(#loc)
#loc2 = loc("y"(#loc4))
#loc3 = loc("x"("b"(#loc4)))
"""


def test_a_text_is_taken_apart() -> None:
    listing = Listing(TEXT)
    assert [(e.line, e.operation, e.variable, e.place) for e in listing.operations] == [
        (3, "arith.addi", "y", "k.py:4:5"),
        (4, "tt.store", "", "k.py:4:5"),
        (5, "scf.yield", "", "k.py:4:5"),
        (6, "scf.for", "i", "k.py:4:5"),
        (7, "builtin.module", "", "k (1).py:1:1"),
    ]
    assert listing.lines[2] == "  ^bb0(%i: i32, %x: i32):"
    assert without_locations('a loc("x)("(#loc)) b loc(#l)') == "a b"
    assert source_of('callsite("f"("/a.py":1:2) at "g"("/b.py":3:4))') == ("g", "b.py:3:4")


def test_attributes_are_added_to_those_there_are() -> None:
    scheduled = TEXT.replace("{known = true}", "{loop.cluster = 2 : i32, loop.stage = 1 : i32}")
    text, remark = annotated(Listing(TEXT), Listing(scheduled))
    assert remark == ""
    assert '"tt.store"(%y) {known = true, sched.location = "k.py:4:5", sched.stage = 1 : i32, ' in (
        text
    )
    assert '<{o = 1 : i32}> {sched.location = "k.py:4:5", sched.name = "y"} : (i32, i32)' in text
    assert '}) {sched.location = "k.py:4:5", sched.name = "i"} : (i32) -> (i32, i32)' in text
    assert '"scf.yield"(%y) : (i32) -> ()' in text
    assert "loc(" not in text


def test_operations_of_the_schedule_alone_are_named() -> None:
    staged = "{loop.cluster = 2 : i32, loop.stage = 1 : i32}"
    extra = f'    "tt.new"(%y) {staged} : (i32) -> () loc(#loc4)\n    "scf.yield"'
    _, remark = annotated(Listing(TEXT), Listing(TEXT.replace('    "scf.yield"', extra)))
    assert remark == "only in Triton's schedule: tt.new at k.py:4:5"


def test_there_are_dumps_of_every_kind() -> None:
    names = {file.name.removesuffix(".mlir") for file in DUMPS}
    assert len(names) == len(DUMPS) == 36
    both = {name.removesuffix(".sm90") for name in names if name.endswith(".sm90")}
    assert {name.removesuffix(".sm100") for name in names if name.endswith(".sm100")} == {
        *(
            both
            - {"attention_backward_halves", "attention_forward_causal_two_tiles"}
            - {"attention_forward_causal_persistent"}
        ),
        "attention_backward_m64",
        "attention_backward_m64_d64",
        "block_scaled_gemm",
    }
    assert sum(file.stat().st_size for file in DUMPS) < 1_000_000


@pytest.mark.parametrize("file", sampled(DUMPS, 3), ids=lambda file: file.stem)
def test_everything_in_a_packaged_loop_has_a_place(file: Path) -> None:
    text = file.read_text()
    dump = Dump(text, file.name)
    assert "only in Triton's schedule" not in text.split("\n", 1)[0]
    for loop in dump.loops():
        assert re.fullmatch(r"\w+\.py:\d+:\d+", string(loop, "sched.location") or "")
        assert string(loop, "sched.name") in {"start", "diagonal", "k", "tile", "again"}
        body = list(loop.regions[0].blocks[0].ops)[:-1]
        assert all(string(operation, "sched.location") for operation in body)
        staged = [o for o in body if integer(o, "sched.stage") is not None]
        # Triton schedules innermost loops with products, whole.
        inner = not any(name_of(o) == "scf.for" for o in body)
        products = any("dot" in name_of(o) or "mma" in name_of(o) for o in body)
        assert len(staged) == (len(body) if inner and products else 0)
        assert all(integer(o, "sched.cluster") is not None for o in staged)


@pytest.mark.parametrize("architecture", [90, 100])
@pytest.mark.parametrize(("variant", "tiles"), [("", 1), ("_two_tiles", 2)])
@pytest.mark.parametrize("depth", ["", "_d64"])
def test_attention_backward_has_five_products_and_one_exponential_a_tile(
    architecture: int, variant: str, tiles: int, depth: str
) -> None:
    name = f"attention_backward{variant}{depth}.sm{architecture}.mlir"
    dump = Dump((ROOT / "traces" / "ttgir" / name).read_text(), name)
    (loop,) = dump.loops()
    count = Counter(name_of(o) for o in loop.walk())
    assert count["ttng.warp_group_dot"] + count["ttng.tc_gen5_mma"] == 5 * tiles
    assert count["math.exp2"] == tiles
    assert count["tt.descriptor_reduce"] == 1
    assert (count["tt.descriptor_load"], count["tt.load"]) == (2, 2)


def test_triton_schedules_hopper_in_two_stages_apart() -> None:
    text = (ROOT / "traces" / "ttgir" / "gemm.sm90.mlir").read_text()
    (loop,) = Dump(text).loops()
    stages = {name_of(o): integer(o, "sched.stage") for o in loop.regions[0].blocks[0].ops}
    assert stages["tt.descriptor_load"] == 0
    assert stages["ttng.warp_group_dot"] == 2


def test_without_triton_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(twill.TwillError, match=r"pip install '\.\[triton\]'"):
        dump_kernel("kernel.py:kernel", {}, 90)


@pytest.mark.parametrize(
    ("architecture", "warps", "problem"),
    [
        (80, 4, "architecture: no extraction point for sm_80 (there are sm_90, sm_100)"),
        (90, 3, "num_warps: 3 is not one of 1, 2, 4, 8, 16, 32"),
    ],
)
def test_targets_are_checked_first(architecture: int, warps: int, problem: str) -> None:
    with pytest.raises(twill.InputError) as caught:
        dump_kernel("none.py:kernel", {}, architecture, warps)
    assert str(caught.value) == problem


def test_the_makefile_installs_the_triton_of_the_dumps() -> None:
    (version,) = re.findall(r"^TRITON := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    firsts = {file.read_text().split(",")[0] for file in DUMPS}
    assert firsts == {f"// triton {version}"}
