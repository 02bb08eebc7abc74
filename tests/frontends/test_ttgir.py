"""From TTGIR dumps to loops."""

from __future__ import annotations

import contextlib
import importlib.resources
import random

import pytest

import twill
from tests.support.static import static_schedule
from twill.frontends.ttgir import extract
from twill.frontends.ttgir.draft import Flow, distinct


@pytest.fixture(scope="module")
def dump() -> str:
    folder = importlib.resources.files("twill.traces").joinpath("ttgir")
    return folder.joinpath("attention_forward_two_tiles.sm90.mlir").read_text()


def test_attention_has_the_counts_that_triton_gives(attention: twill.Loop) -> None:
    origin = attention.origin
    assert origin is not None
    assert (origin.nodes_as_written, origin.edges_as_written) == (46, 61)
    assert (origin.nodes_after_folding, origin.edges_after_folding) == (34, 48)
    # Each TMA load and the allocation it fills are one operation, and four products are fused.
    assert (len(attention.operations), len(attention.dependences)) == (28, 42)


def test_operations_are_named_after_the_kernels_variables(attention: twill.Loop) -> None:
    names = [operation.name for operation in attention.operations]
    assert names[:4] == ["k", "v", "s0", "s1"] or names[:4] == ["v", "k", "s0", "s1"]
    assert {"n0", "p0", "a0", "l0", "o0", "o0.mul", "o0.cast"} <= set(names)
    assert attention.operation("p0").location == "attention_forward.py:35:14"


def test_recurrences_and_accumulators(attention: twill.Loop) -> None:
    edges = {(d.producer, d.consumer, d.distance): d for d in attention.dependences}
    assert edges["o0.mul", "o0", 0].in_place
    assert not edges["o0", "o0.mul", 1].in_place
    # alpha = m_old - m_new reads both instances of the running maximum.
    assert ("n0", "a0.sub", 0) in edges
    assert ("n0", "a0.sub", 1) in edges


def test_loads_fill_shared_memory_and_queries_stay_there(attention: twill.Loop) -> None:
    load = attention.operation("k")
    assert load.result is not None
    assert (load.kind, load.warps, load.result.memory, load.result.bytes) == (
        "load", 1, "smem", 32768,
    )  # fmt: skip
    assert [(i.name, i.tile.memory, i.tile.bytes) for i in attention.invariants] == [
        ("q0", "smem", 16384),
        ("q1", "smem", 16384),
    ]


def test_free_operations_are_folded_and_recorded(attention: twill.Loop) -> None:
    records = {(record.kind, record.into) for record in attention.folded}
    assert ("ttg.memdesc_trans", ("s0", "s1")) in records
    assert ("ttg.convert_layout", ("o0",)) in records
    assert ("tt.broadcast", ("p0.fma",)) in records
    assert ("arith.addi", ("k", "v")) in records


def test_a_loop_without_names_still_has_unique_ones(dump: str) -> None:
    import re

    anonymous = re.sub(r", sched\.name = \"\w+\"", "", dump)
    loop = extract(anonymous)
    names = [operation.name for operation in loop.operations]
    assert len(set(names)) == len(names) == 28


def test_an_unknown_operation_is_named_when_it_is_costed(dump: str, hopper: twill.Machine) -> None:
    loop = extract(dump.replace('"math.exp2"', '"math.atan"'), name="wave")
    with pytest.raises(twill.InputError) as caught:
        static_schedule(loop, hopper)
    assert (
        "no cost rule for kind 'math.atan' (operation 'p0' at attention_forward.py:35:14)"
        in str(caught.value)
    )


def test_inner_control_flow_is_refused_with_its_place(dump: str) -> None:
    text = dump.replace('"math.exp2"', '"scf.if"', 1)
    with pytest.raises(twill.RefusedError) as caught:
        extract(text, file="k.mlir")
    assert str(caught.value).startswith(
        "k.mlir: the loop body contains scf.if at attention_forward"
    )


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "module {}", "// only a comment\n"])
def test_text_that_is_no_dump(text: str) -> None:
    with pytest.raises(twill.TwillError) as caught:
        extract(text, file="k.mlir")
    assert str(caught.value).startswith("k.mlir: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("count", [12, pytest.param(60, marks=pytest.mark.slow)])
def test_damaged_dumps_end_in_an_error_or_a_loop(dump: str, count: int) -> None:
    generator = random.Random(0)
    lines = dump.splitlines(keepends=True)
    loops = 0
    for _ in range(count):
        broken = list(lines)
        match generator.randrange(3):
            case 0:
                broken = broken[: generator.randrange(len(broken))]
            case 1:
                del broken[generator.randrange(len(broken))]
            case _:
                place = generator.randrange(len(broken))
                broken[place] = broken[place][: len(broken[place]) // 2] + "\n"
        with contextlib.suppress(twill.TwillError):
            extract("".join(broken), file="k.mlir")
            loops += 1
    assert 0 < loops < count / 2


def test_an_invariant_lies_along_the_axes_that_views_outside_the_loop_leave() -> None:
    folder = importlib.resources.files("twill.traces").joinpath("ttgir")
    text = folder.joinpath("attention_backward_d64.sm90.mlir").read_text()
    k, v = extract(text, file="k.mlir").invariants
    # K^T is a view taken before the loop: 64 x 128 as a factor of dQ^T, where K is 128 x 64.
    assert k.tile.shape == (128, 64)
    assert [(read.operation, read.operand, read.axes) for read in k.reads] == [
        ("s", 0, None),
        ("dq", 0, (1, 0)),
    ]
    assert v.reads[0].axes is None


def test_both_factors_of_a_product_are_recorded_when_they_are_one_value() -> None:
    factors = [Flow(0, 1, 0, operand, (0, 1)) for operand in (0, 1)]
    assert distinct(factors, products={1}) == factors
    assert distinct(factors, products=set()) == factors[:1]
