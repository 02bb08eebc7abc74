"""Dependences of small loops, each against the graph that its program has by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.sampled import sampled
from tests.support.snippets import (
    float_of,
    in_registers,
    in_smem,
    load,
    loop_of,
    pointer_load,
    pointer_store,
    product,
    reduce,
    reduce_add,
    store,
    tma_load,
    tma_store,
)
from tests.support.static import static_schedule
from twill.artifacts.loop import Tile
from twill.frontends import load_loop, packaged_loops
from twill.frontends.ttgir import extract, load_ttgir
from twill.sim.checks.dataflow import Dataflow

PACKAGED = Path(__file__).parents[2] / "traces" / "ttgir"
GALLERY = PACKAGED.parent / "gallery"
LAST = "%t: @token = %acc#1 -> %u#1"
FIRST = "%first: i1 = %no -> %yes"


@dataclass(frozen=True)
class Case:
    """A loop, its dependences in words, and the anti-dependences that renaming removes.

    ``a > b @1`` reads: b of an iteration depends on a of the iteration before.
    """

    text: str
    dependences: str
    renamed: str = ""


def case(body: list[str], dependences: str, renamed: str = "", **more: Any) -> Case:
    return Case(loop_of("\n".join(body), **more), dependences, renamed)


AGAIN = "c > u @0, u > s @0"
KEPT = f"{AGAIN}, c > c @1 in place, u > c @1 anti"
IN_TMEM = {
    "use_d is false: the buffer is only used again": case(
        [product("c", "%no", "%t"), load("u", "%c"), reduce("s", "%u#0")],
        AGAIN, "u > c @1", carried=LAST,
    ),
    "use_d is true: an accumulator": case(
        [product("c", "%yes", "%t"), load("u", "%c"), reduce("s", "%u#0")],
        KEPT, carried=LAST,
    ),
    "use_d is false at first, then true": case(
        [product("c", "%first", "%t"), load("u", "%c"), reduce("s", "%u#0")],
        KEPT, carried=f"{LAST}\n{FIRST}",
    ),
    "use_d is true at first, then false": case(
        [product("c", "%first", "%t"), load("u", "%c"), reduce("s", "%u#0")],
        AGAIN, "u > c @1", carried=f"{LAST}\n%first: i1 = %yes -> %no",
    ),
    "use_d alternates: it may accumulate": case(
        [product("c", "%left", "%t"), load("u", "%c"), reduce("s", "%u#0")],
        KEPT, carried=f"{LAST}\n%left: i1 = %no -> %right\n%right: i1 = %yes -> %left",
    ),
    "use_d is computed: it may accumulate": case(
        [
            '%even = "arith.cmpi"(%i, %zero) <{predicate = 0 : i64}> : (i32, i32) -> i1',
            product("c", "%even", "%t"), load("u", "%c"), reduce("s", "%u#0"),
        ],
        KEPT, carried=LAST,
    ),
    "no tokens, used again": case(
        [product("c", "%no"), load("u"), reduce("s", "%u")], AGAIN, "u > c @1"
    ),
    "no tokens, accumulated": case([product("c", "%yes"), load("u"), reduce("s", "%u")], KEPT),
    "a product that may be left out keeps what there is": case(
        [product("c", "%no", predicate="%flag"), load("u"), reduce("s", "%u")], KEPT
    ),
    "two loads of one buffer": case(
        [
            product("c", "%yes"), load("u"), reduce("s", "%u"),
            load("v1"), reduce("s1", "%v1"),
        ],
        f"{KEPT}, c > v1 @0, v1 > s1 @0, v1 > c @1 anti",
    ),
    "two loads of one buffer, used again": case(
        [
            product("c", "%no"), load("u"), reduce("s", "%u"),
            load("v1"), reduce("s1", "%v1"),
        ],
        f"{AGAIN}, c > v1 @0, v1 > s1 @0", "u > c @1, v1 > c @1",
    ),
    "a load before the product reads what the last iteration left": case(
        [load("u"), reduce("s", "%u"), product("c", "%yes")],
        "c > u @1, u > s @0, c > c @1 in place, u > c @0 anti",
    ),
    "two buffers do not meet": case(
        [
            product("c", "%yes"), load("u"), reduce("s", "%u"),
            product("o", "%yes", buffer="%rest#0"),
        ],
        f"{KEPT}, o > o @1 in place",
    ),
    "rescaled where it lies": case(
        [load("u"), float_of("arith.mulf", "h", "%u", "%w"), store("%h"), product("c", "%yes")],
        "store > c @0 in place, c > store @1 in place",
    ),
    "rescaled where it lies, and by nobody else": case(
        [load("u"), float_of("arith.mulf", "h", "%u", "%w"), store("%h")],
        "store > store @1 in place",
    ),
    "rescaled where it lies after another reader": case(
        [
            load("v1"), reduce("s1", "%v1"),
            load("u"), float_of("arith.mulf", "h", "%u", "%w"), store("%h"), product("c", "%yes"),
        ],
        "c > v1 @1, v1 > s1 @0, v1 > store @0 anti, store > c @0 in place, c > store @1 in place",
    ),
    "a store that may be left out keeps what there is": case(
        [store("%w", "%flag"), product("c", "%yes"), load("u"), reduce("s", "%u")],
        f"{AGAIN}, c > store @1 in place, store > c @0 in place, u > store @1 anti",
    ),
    "a store that is always done begins anew": case(
        [store("%w"), product("c", "%yes"), load("u"), reduce("s", "%u")],
        f"{AGAIN}, store > c @0 in place", "u > store @1, c > store @1",
    ),
    "a buffer of each iteration, filled when it is allocated": case(
        [
            float_of("arith.addf", "h", "%w", "%w"),
            '%f = "ttng.tmem_alloc"(%h) : (@wide) -> @tmem',
            product("c", "%yes", buffer="%f"), load("u", buffer="%f"), reduce("s", "%u"),
        ],
        f"{AGAIN}, h > f @0, f > c @0 in place",
    ),
    "half of a buffer, changed where it lies": case(
        [
            '%part = "ttng.tmem_subslice"(%acc#0) <{offset = 0 : i32}> : (@tmem) -> @left',
            load("u", buffer="%part").replace("(@tmem) -> @wide", "(@left) -> @narrow"),
            float_of("arith.addf", "h", "%u", "%u", kind="@narrow"),
            store("%h", buffer="%part").replace("(@tmem, @wide", "(@left, @narrow"),
            product("c", "%yes"),
        ],
        "c > store @1 in place, store > c @0 in place",
    ),
    "a buffer handed on unchanged": case(
        [product("c", "%yes", buffer="%same"), load("u"), reduce("s", "%u")],
        KEPT, carried="%same: @tmem = %acc#0 -> %same",
    ),
}  # fmt: skip
STATE = '%c = "ttng.warp_group_dot"(%a, %b, %state) DOT : (@smem, @smem, @mma) -> @mma'
CHANGED = '%c = "ttng.warp_group_dot"(%a, %b, %state, %no) DOT : (@smem, @smem, @mma, i1) -> @mma'
IN_REGISTERS = {
    "an accumulator that is read before": case(
        [in_registers("h", "%state"), STATE],
        "c > h @1, c > c @1 in place, h > c @0 anti", carried="%state: @mma = %m -> %c",
    ),
    "an accumulator that is read after": case(
        [STATE, in_registers("h", "%c")],
        "c > h @0, c > c @1 in place, h > c @1 anti", carried="%state: @mma = %m -> %c",
    ),
    "an accumulator that is needed later than its update is copied": case(
        [STATE, float_of("arith.addf", "h", "%c", "%state", kind="@mma")],
        "c > h @0, c > h @1, c > c @1", carried="%state: @mma = %m -> %c",
    ),
    "a product that begins anew does not read its accumulator": case(
        [CHANGED, in_registers("h", "%c")], "c > h @0", carried="%state: @mma = %m -> %c",
    ),
    "a product that begins anew only at first does": case(
        [CHANGED.replace("%no", "%first"), in_registers("h", "%c")],
        "c > h @0, c > c @1 in place, h > c @1 anti",
        carried=f"%state: @mma = %m -> %c\n{FIRST}",
    ),
    "read at distances 0 and 1": case(
        [
            float_of("arith.maximumf", "top", "%old", "%r", kind="@row"),
            float_of("arith.subf", "alpha", "%old", "%top", kind="@row"),
        ],
        "top > top @1, top > alpha @0, top > alpha @1", carried="%old: @row = %r -> %top",
    ),
    "read two iterations later": case(
        [float_of("arith.addf", "h", "%older", "%r", kind="@row")],
        "h > h @2", carried="%old: @row = %r -> %h\n%older: @row = %r -> %old",
    ),
    "values that change places come from outside": case(
        [float_of("arith.addf", "h", "%left", "%right", kind="@row")],
        "", carried="%left: @row = %r -> %right\n%right: @row = %r -> %left",
    ),
    "a scalar recurrence of floats": case(
        [
            '%from = "tt.addptr"(%p, %i) : (@ptr, i32) -> @ptr',
            '%f = "tt.load"(%from) LOAD : (@ptr) -> f32',
            float_of("arith.addf", "sum", "%total", "%f", kind="f32"),
        ],
        "f > sum @0, sum > sum @1", carried="%total: f32 = %scale -> %sum",
    ),
    "a reduction uses what its region captures": case(
        [
            float_of("arith.addf", "top", "%total", "%scale", kind="f32"),
            reduce("s", "%w").replace("%right_s) F", "%top) F"),
        ],
        "top > top @1, top > s @0", carried="%total: f32 = %scale -> %top",
    ),
}  # fmt: skip
CHOSEN = """\
%either = "arith.select"(%flag, %lanes_p, %lanes_q) : (i1, @pointers, @pointers) -> @pointers"""
EXCHANGE = """\
%f = "tt.atomic_rmw"(%p, %scale, %yes) <{atomic_rmw_op = 10 : i32, scope = 1 : i32, sem = 4 : i32}>
: (@ptr, f32, i1) -> f32"""
TABLE = """\
%table = "tt.bitcast"(%p) : (@ptr) -> !tt.ptr<i32>
%entries = "tt.splat"(%table) : (!tt.ptr<i32>) -> @entries"""
GATHER = """\
%rows = "tt.load"(%entries) LOAD : (@entries) -> @indices
%f = "tt.descriptor_gather"(%z, %rows, %i) : (@one, @indices, i32) -> @gathered
"tt.descriptor_scatter"(%z, %rows, %i, %f) {sched.name = "to"}
: (@one, @indices, i32, @gathered) -> ()"""
ADVANCED = "%from: @pointers = %lanes_p -> %next"
IN_GLOBAL_MEMORY = {
    "a pointer that advances by itself is no work": case(
        [
            pointer_load("f", "%from"),
            '%next = "tt.addptr"(%from, %lanes) : (@pointers, @ints) -> @pointers',
            float_of("arith.addf", "sum", "%total", "%f", kind="@floats"),
        ],
        "f > sum @0, sum > sum @1",
        carried=f"{ADVANCED}\n%total: @floats = %zeros -> %sum",
    ),
    "loaded from and stored to one argument": case(
        [pointer_load("f", "%lanes_p"), pointer_store("to", "%lanes_p", "%f")],
        "f > to @0, f > to @0 order, to > f @1 order, to > to @1 order",
    ),
    "loaded from one argument, stored to another": case(
        [pointer_load("f", "%lanes_q"), pointer_store("to", "%lanes_p", "%f")],
        "f > to @0, to > to @1 order",
    ),
    "one argument, by two pointers that advance": case(
        [
            pointer_load("f", "%from"), pointer_store("to", "%other", "%f"),
            '%next = "tt.addptr"(%from, %lanes) : (@pointers, @ints) -> @pointers',
            '%then = "tt.addptr"(%other, %lanes) : (@pointers, @ints) -> @pointers',
        ],
        "f > to @0, f > to @0 order, to > f @1 order, to > to @1 order",
        carried=f"{ADVANCED}\n%other: @pointers = %lanes_p -> %then",
    ),
    "two arguments that change places": case(
        [pointer_load("f", "%from"), pointer_store("to", "%other", "%f")],
        "f > to @0, f > to @0 order, to > f @1 order, to > to @1 order",
        carried="%from: @pointers = %lanes_p -> %other\n%other: @pointers = %lanes_q -> %from",
    ),
    "one of two arguments": case(
        [
            CHOSEN,
            pointer_load("f", "%lanes_q"), pointer_store("to", "%either", "%f"),
        ],
        "f > to @0, either > to @0, f > to @0 order, to > f @1 order, to > to @1 order",
    ),
    "by one descriptor": case(
        [tma_load("f", "%x"), tma_store("to", "%x", "%h")],
        "f > to @0 order, to > f @1 order, to > to @1 order, to.local_store > to @0",
        before=in_registers("h", "%w"),
    ),
    "by two descriptors": case(
        [tma_load("f", "%x"), tma_store("to", "%y", "%h")],
        "to > to @1 order, to.local_store > to @0", before=in_registers("h", "%w"),
    ),
    "by two descriptors of one argument": case(
        [tma_load("f", "%made1"), tma_store("to", "%made2", "%h")],
        "f > to @0 order, to > f @1 order, to > to @1 order, to.local_store > to @0",
        before="\n".join((
            in_registers("h", "%w"),
            '%halves = "tt.bitcast"(%p) : (@ptr) -> !tt.ptr<f16>',
            '%stride = "arith.extsi"(%n) : (i32) -> i64',
            '%unit = "arith.constant"() <{value = 1 : i64}> : () -> i64',
            *(
                f'%made{i} = "tt.make_tensor_descriptor"(%halves, %n, %n, %stride, %unit) '
                "<{operandSegmentSizes = array<i32: 1, 2, 2>, padding = 1 : i32}> : "
                "(!tt.ptr<f16>, i32, i32, i64, i64) -> @desc"
                for i in (1, 2)
            ),
        )),
    ),
    "sums commute": case(
        [reduce_add("to", "%x", "%h"), reduce_add("more", "%x", "%h")],
        "to.local_store > to @0, more.local_store > more @0", before=in_registers("h", "%w"),
    ),
    "a sum and a maximum do not": case(
        [reduce_add("to", "%x", "%h"), reduce_add("most", "%x", "%h", kind=3)],
        "to.local_store > to @0, most.local_store > most @0, to > most @0 order, "
        "most > to @1 order",
        before=in_registers("h", "%w"),
    ),
    "a sum and a load do not": case(
        [reduce_add("to", "%x", "%h"), tma_load("f", "%x")],
        "to.local_store > to @0, to > f @0 order, f > to @1 order",
        before=in_registers("h", "%w"),
    ),
    "an exchange does not commute with itself": case(
        [
            EXCHANGE,
        ],
        "f > f @1 order",
    ),
    "rows that are gathered by indices from memory": case(
        [
            GATHER,
        ],
        "rows > f @0, rows > to @0, f > f.local_load @0, f.local_load > to.local_store @0, "
        "to.local_store > to @0, f > to @0 order, to > f @1 order, to > to @1 order",
        before=TABLE,
    ),
}  # fmt: skip
FILLED = "f > c @0, c > c @1 in place"
FROM_TMA = {
    "a tile that is only used in shared memory": case(
        [tma_load("f", "%x"), in_smem("g", "%f"), product("c", "%yes").replace("%a,", "%g,")],
        FILLED,
    ),
    "a tile in shared memory and in registers": case(
        [
            tma_load("f", "%x"), in_smem("g", "%f"),
            product("c", "%yes").replace("%a,", "%g,"),
            float_of("arith.addf", "h", "%f", "%f", kind="@loaded"),
        ],
        f"{FILLED}, f > f.local_load @0, f.local_load > h @0",
    ),
    "a tile that is allocated twice": case(
        [
            tma_load("f", "%x"), in_smem("g", "%f"), in_smem("g1", "%f"),
            product("c", "%yes").replace("%a, %b,", "%g, %g1,"),
        ],
        f"{FILLED}, f > c @0",
    ),
    "a tile that is loaded one iteration ahead": case(
        [
            in_smem("g", "%ahead"), product("c", "%yes").replace("%a,", "%g,"),
            tma_load("f", "%x"),
        ],
        "f > c @1, c > c @1 in place",
        carried="%ahead: @loaded = %tile -> %f", before=tma_load("tile", "%x"),
    ),
    "a tile that is wanted transposed goes through registers": case(
        [
            tma_load("f", "%x"), in_smem("g", "%f", "@turned"),
            product("c", "%yes").replace("%b,", "%g,").replace("(@smem, @smem", "(@smem, @turned"),
        ],
        "f > f.local_load @0, f.local_load > f.local_alloc @0, f.local_alloc > c @0, "
        "c > c @1 in place",
    ),
    "a tile in another layout is loaded in it": case(
        [
            tma_load("f", "%x"),
            '%g = "ttg.convert_layout"(%f) {sched.trivial = false} : (@loaded) -> @half',
            float_of("arith.addf", "h", "%g", "%g", kind="@half"),
        ],
        "f > g @0, g > h @0",
    ),
}  # fmt: skip
CASES = IN_TMEM | IN_REGISTERS | IN_GLOBAL_MEMORY | FROM_TMA


@pytest.mark.parametrize("name", CASES)
def test_dependences(name: str) -> None:
    loop = extract(CASES[name].text)
    found = sorted(
        f"{d.producer} > {d.consumer} @{d.distance}"
        + ("" if d.kind == "data" else f" {d.kind}")
        + (" in place" if d.in_place else "")
        for d in loop.dependences
    )
    assert found == sorted(filter(None, CASES[name].dependences.split(", ")))
    removed = sorted(f"{d.producer} > {d.consumer} @{d.distance}" for d in loop.renamed)
    assert removed == sorted(filter(None, CASES[name].renamed.split(", ")))


def check_positions(loop: twill.Loop) -> int:
    """Check that operands and dimensions that dependences name are there; return how many."""
    checked = 0
    for d in loop.dependences:
        if d.operand is None:
            continue
        made = loop.operation(d.producer).result
        assert made is not None
        read = loop.operation(d.consumer).operands[d.operand]
        axes = range(len(made.shape)) if d.axes is None else d.axes
        assert len(axes) == len(made.shape)
        assert all(axis is None or axis < len(read.shape) for axis in axes)
        checked += 1
    for invariant in loop.invariants:
        for r in invariant.reads:
            read = loop.operation(r.operation).operands[r.operand]
            axes = range(len(invariant.tile.shape)) if r.axes is None else r.axes
            assert len(axes) == len(invariant.tile.shape)
            assert all(axis is None or axis < len(read.shape) for axis in axes)
            checked += 1
    return checked


def test_dependences_name_operands_and_dimensions_that_exist() -> None:
    assert sum(check_positions(extract(one.text)) for one in CASES.values()) > 150


@pytest.mark.parametrize(
    "name", sampled([n for n, p in packaged_loops().items() if ".mlir" in p.file], 3)
)
def test_dependences_of_a_packaged_loop_name_what_exists(name: str) -> None:
    assert check_positions(load_loop(name)) >= 3


@pytest.mark.triton
def test_triton_takes_the_same_loops(tmp_path: Path) -> None:
    libtriton = pytest.importorskip("triton._C.libtriton", reason="needs Triton")
    context = libtriton.ir.context()
    libtriton.ir.load_dialects(context)
    libtriton.nvidia.load_dialects(context)
    file = tmp_path / "loop.mlir"
    for name, one in CASES.items():
        file.write_text(one.text)
        assert libtriton.ir.parse_mlir_module(str(file), context).verify(), name


def packaged(name: str, loop: str | None = None) -> twill.Loop:
    return load_ttgir(str(PACKAGED / f"{name}.mlir"), loop=loop)


def message(error: type[twill.TwillError], name: str, loop: str | None = None) -> str:
    with pytest.raises(error) as caught:
        packaged(name, loop)
    return str(caught.value).removeprefix(f"{PACKAGED}/{name}.mlir: ")


def test_an_invariant_lies_along_its_own_dimension() -> None:
    """A column is shown as a tile outside the loop; the loop reads it along dimension 1."""
    views = """\
%tall = "tt.expand_dims"(%v) <{axis = 0 : i32}> : (@column) -> tensor<1x128xf32, #linear>
%shown = "tt.broadcast"(%tall) : (tensor<1x128xf32, #linear>) -> @wide"""
    body = float_of("arith.addf", "h", "%shown", "%sum")
    loop = extract(loop_of(body, "%sum: @wide = %w -> %h", views))
    (invariant,) = loop.invariants
    assert (invariant.name, invariant.tile.shape) == ("v", (128,))
    assert [(r.operation, r.operand, r.axes) for r in invariant.reads] == [("h", 0, (1,))]


def test_buffers_that_change_places_are_refused() -> None:
    carried = "%one: @tmem = %acc#0 -> %two\n%two: @tmem = %rest#0 -> %one"
    with pytest.raises(twill.RefusedError) as caught:
        extract(loop_of(product("c", "%yes", buffer="%one"), carried), file="k.mlir")
    assert str(caught.value) == (
        "k.mlir: a buffer that operations write is exchanged from one iteration to the next; "
        "only buffers that stay can be scheduled"
    )


def test_the_state_of_linear_attention_is_read_before_its_update() -> None:
    for name in ("linear_attention.sm90", "linear_attention.sm100"):
        found = {(d.producer, d.consumer): d for d in packaged(name).dependences}
        (reader,) = [c for p, c in found if p == "state" and c != "state"]
        assert (found["state", reader].distance, found["state", reader].kind) == (1, "data")
        assert (found[reader, "state"].distance, found[reader, "state"].kind) == (0, "anti")
        assert found["state", "state"].in_place


def test_a_causal_mask_is_work_on_integers() -> None:
    loop = packaged("attention_forward_causal.sm90", "diagonal")
    found = {(d.producer, d.consumer): d for d in loop.dependences}
    assert loop.operation("keys").kind == "add"
    assert loop.operation("keys").result == Tile(
        shape=(128,), dtype="i32", memory="registers", elements_per_thread=32
    )
    assert not [d for d in loop.dependences if d.consumer == "keys"]
    assert found["keys", "s.compare"].axes == (1,)
    assert found["s.compare", "s"].operand == 0
    queries = next(i for i in loop.invariants if i.name == "queries")
    assert [(r.operation, r.axes) for r in queries.reads] == [("s.compare", None)]


def test_positions_that_each_thread_has_all_of_are_immediates() -> None:
    loop = packaged("attention_forward_causal.sm100", "diagonal")
    assert not [d for d in loop.dependences if d.consumer == "s.compare"]
    (keys,) = (f for f in loop.folded if f.name == "keys")
    assert (keys.kind, keys.into) == ("arith.addi", ("s.compare",))


A, B, C = "%u#0", "%w", "%v1"
FUSED = {
    "(a + b) * c": ([("arith.addf", "ab", A, B), ("arith.mulf", "all", "%ab", C)], "add mul", None),
    "a * b + c": ([("arith.mulf", "ab", A, B), ("arith.addf", "all", "%ab", C)], "fma", None),
    "c + a * b": ([("arith.mulf", "ab", A, B), ("arith.addf", "all", C, "%ab")], "fma", None),
    "a * b - c": ([("arith.mulf", "ab", A, B), ("arith.subf", "all", "%ab", C)], "fma", "addend"),
    "c - a * b": ([("arith.mulf", "ab", A, B), ("arith.subf", "all", C, "%ab")], "fma", "product"),
    "a * b + b * c": (
        [
            ("arith.mulf", "ab", A, B),
            ("arith.mulf", "bc", B, C),
            ("arith.addf", "all", "%ab", "%bc"),
        ],
        "mul fma",
        None,
    ),
    "a * b + a * b": (
        [("arith.mulf", "ab", A, B), ("arith.addf", "all", "%ab", "%ab")],
        "mul add",
        None,
    ),
    "another reader": (
        [
            ("arith.mulf", "ab", A, B),
            ("arith.subf", "bc", "%ab", C),
            ("arith.maxnumf", "all", "%ab", "%bc"),
        ],
        "mul sub max",
        None,
    ),
}  # fmt: skip


def fusing(case: str, *, carried: str = "", fp_fusion: bool = True) -> twill.Loop:
    """Return a loop whose elements are computed as a case says, and then summed."""
    lines, _, _ = FUSED[case]
    body = [load("u"), load("v1"), *(float_of(*line) for line in lines), reduce("s", "%all")]
    return extract(loop_of("\n".join(body), carried=carried), fp_fusion=fp_fusion)


def arithmetic(loop: twill.Loop) -> str:
    kept = (o.kind for o in loop.operations if o.kind not in ("tmem_load", "reduce"))
    return " ".join(kept)


@pytest.mark.parametrize("case", FUSED)
def test_a_product_is_fused_with_the_sum_that_alone_reads_it(case: str) -> None:
    _, kinds, negated = FUSED[case]
    loop = fusing(case)
    assert arithmetic(loop) == kinds
    x = loop.operation("all")
    assert x.attributes.get("negated") == negated
    if kinds == "fma":
        read = {d.operand: d.producer for d in loop.dependences if d.consumer == "all"}
        assert (len(x.operands), read) == (3, {0: "u", 2: "v1"})
        [w] = [invariant for invariant in loop.invariants if invariant.name == "w"]
        assert [(r.operation, r.operand) for r in w.reads] == [("all", 1)]
        assert ("ab", "arith.mulf", ("all",)) in {(f.name, f.kind, f.into) for f in loop.folded}


@pytest.mark.parametrize("case", FUSED)
def test_products_are_kept_apart_without_fusion(case: str) -> None:
    lines, _, _ = FUSED[case]
    assert len(arithmetic(fusing(case, fp_fusion=False)).split()) == len(lines)


def test_a_product_that_the_next_iteration_begins_with_is_not_fused() -> None:
    assert arithmetic(fusing("a * b + c", carried="%before: @wide = %w -> %ab")) == "mul add"


def test_every_operand_of_a_fused_product_is_told() -> None:
    """A square and a sum with the same tile read it three times."""
    body = [load("u"), float_of("arith.mulf", "ab", A, A), float_of("arith.addf", "all", "%ab", A)]
    loop = extract(loop_of("\n".join([*body, reduce("s", "%all")])))
    read = [(d.producer, d.operand) for d in loop.dependences if d.consumer == "all"]
    assert read == [("u", 0), ("u", 1), ("u", 2)]


def test_a_fused_product_may_stand_in_a_chain_through_tensor_memory() -> None:
    """What went into it went into the chain, of which it is not said which operand the tile is."""
    fused = [float_of("arith.mulf", "ab", "%u", "%w"), float_of("arith.addf", "h", "%ab", "%w")]
    body = [load("u"), *fused, store("%h"), product("c", "%yes")]
    loop = extract(loop_of("\n".join(body)))
    assert [(o.name, o.kind, o.attributes.get("arithmetic")) for o in loop.operations] == [
        ("store", "tmem_update", 1),
        ("c", "mma", None),
    ]
    folded = {(f.kind, f.into) for f in loop.folded}
    assert folded >= {("arith.mulf", ("store",)), ("math.fma", ("store",))}
    with pytest.raises(twill.InputError, match=r"operations\.store: values cannot be computed"):
        Dataflow(loop)


def test_loops_by_name_and_by_number() -> None:
    assert packaged("gemm_persistent.sm90").origin == packaged("gemm_persistent.sm90", "1").origin
    for chosen, operations in (("start", 15), ("0", 15), ("diagonal", 18), ("1", 18)):
        loop = packaged("attention_forward_causal.sm90", chosen)
        assert len(loop.operations) == operations
    assert message(twill.RefusedError, "attention_forward_causal.sm100").startswith(
        "there are 2 loops to choose from (twill schedule --loop takes one): 0 (start at "
    )
    assert message(twill.InputError, "gemm_persistent.sm90", "2").startswith(
        "loop: there is no loop called '2'; there are: 0 (tile at gemm.py:73:5), 1 (k at "
    )


@pytest.mark.parametrize("chosen", ["tile", "0"])
def test_an_outer_loop_is_refused(chosen: str) -> None:
    assert message(twill.RefusedError, "gemm_persistent.sm90", chosen) == (
        "the loop body contains scf.for at gemm.py:77:9; only singly-nested loops without inner "
        "control flow can be scheduled"
    )


SMALL = Path(__file__).parents[1] / "data" / "kernels" / "small.py"


def dumped(kernel: str, settings: dict[str, str]) -> str:
    pytest.importorskip("triton", reason="needs Triton")
    from twill.frontends.triton_dump import dump_kernel

    return dump_kernel(f"{SMALL}:{kernel}", settings, 90)


def compiled(kernel: str, kind: str = "fp16", **settings: str) -> str:
    sizes = {"M": "128", "N": "128", "D": "64"} | settings
    types = {
        "a_desc": f"tensordesc<{kind}[{sizes['M']},64]>",
        "b_desc": f"tensordesc<{kind}[64,128]>",
        "c_desc": f"tensordesc<fp16[{sizes['M']},128]>",
        "K": "i32",
    }
    return dumped(kernel, types | sizes)


def chain(loop: twill.Loop) -> list[tuple[str, str]]:
    return [(operation.name, operation.kind) for operation in loop.operations]


@pytest.mark.triton
def test_small_products_read_registers() -> None:
    loop = extract(compiled("gemm", M="32"))
    assert chain(loop) == [
        ("a.load", "load"), ("b.load", "load"), ("a", "local_load"), ("b", "local_load"),
        ("acc", "mma_sync"),
    ]  # fmt: skip


@pytest.mark.triton
def test_a_load_ahead_fills_shared_memory() -> None:
    loop = extract(compiled("ahead"))
    assert chain(loop) == [("b", "load"), ("acc", "mma"), ("a", "load")]
    distances = {d.producer: d.distance for d in loop.dependences}
    assert distances == {"a": 1, "b": 0, "acc": 1}


@pytest.mark.triton
def test_eight_bit_tiles_are_transposed_through_registers() -> None:
    """Hopper's products want 8-bit operands along k, so that b is turned on the way."""
    loop = extract(compiled("gemm", "fp8e5"))
    assert chain(loop)[2:] == [
        ("b.local_load", "local_load"), ("b.local_alloc", "local_store"), ("acc", "mma"),
    ]  # fmt: skip


@pytest.mark.triton
def test_a_branch_in_the_loop_is_refused_with_its_place() -> None:
    with pytest.raises(twill.RefusedError) as caught:
        extract(compiled("gemm", BRANCH="True"), file="k.mlir")
    assert str(caught.value) == (
        "k.mlir: the loop body contains scf.if at small.py:16:13; only singly-nested loops "
        "without inner control flow can be scheduled"
    )


@pytest.mark.triton
def test_pointers_that_change_their_layout_still_lead_to_their_argument() -> None:
    settings = {"x_ptr": "*fp32", "idx_ptr": "*i32", "n": "i32", "C": "1024"}
    loop = extract(dumped("scatter", settings))
    edges = {(d.producer, d.consumer, d.distance, d.kind) for d in loop.dependences}
    store = next(o.name for o in loop.operations if o.kind == "store")
    assert {("x", store, 0, "order"), (store, "x", 1, "order"), ("j", "x", 0, "data")} < edges
    # Every access can be costed: what moves pointers about belongs to it.
    static_schedule(loop, twill.Machine.named("hopper_h100"))


@pytest.mark.triton
def test_a_while_loop_is_said_to_be_one() -> None:
    text = dumped("waiting", {"x_ptr": "*fp32", "n": "i32"})
    with pytest.raises(twill.RefusedError, match="no loop but a while loop, which cannot be"):
        extract(text)


def test_a_tile_that_several_chains_read_goes_through_each_in_chunks() -> None:
    """A state is converted for a product and decayed in place, neither of it whole in registers."""
    loop = load_ttgir(str(GALLERY / "linear_attention_decayed.sm100.mlir"))
    kinds = {o.name: o.kind for o in loop.operations}
    assert (kinds["o.local_store"], kinds["state.tmem_store"]) == ("tmem_drain", "tmem_update")
    assert "tmem_load" not in kinds.values()
    reads = {(d.producer, d.consumer, d.distance) for d in loop.dependences if d.kind == "data"}
    assert {("state", "o.local_store", 1), ("state", "state.tmem_store", 1)} <= reads
    orders = {(d.producer, d.consumer, d.distance) for d in loop.dependences if d.kind == "anti"}
    assert ("o.local_store", "state.tmem_store", 0) in orders


def test_any_warp_may_load_a_number() -> None:
    loop = load_ttgir(str(GALLERY / "paged_decode.sm90.mlir"))
    page, k = loop.operation("page"), loop.operation("k")
    assert (page.warps, page.result.shape if page.result else None) == (1, ())
    assert [
        d.operand for d in loop.dependences if (d.producer, d.consumer) == ("page", k.name)
    ] == [None]
