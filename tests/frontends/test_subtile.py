"""Sub-tiles: against kernels that were sub-tiled by hand, and by what the loops compute."""

from __future__ import annotations

import json
import random
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twill
from tests.support.commands import in_process
from tests.support.loop_graphs import same_graph
from tests.support.loop_values import evaluate, parts_outside, random_outside
from tests.support.sampled import sampled
from tests.support.small import op, small_loop
from tests.support.static import static_schedule
from tests.validation.make_ttgir import BLACKWELL, Packaged
from twill.artifacts.loop import Dependence, DependenceKind, Invariant, Loop, Operation, Read, Tile
from twill.frontends.builder import Value
from twill.frontends.subtiling import Plan, Rewriter, Role, plan_subtiles
from twill.frontends.subtiling.dimensions import RESULT, is_product, with_tiles
from twill.frontends.ttgir import load_ttgir

DUMPS = Path(__file__).parents[2] / "traces" / "ttgir"
ANY_SIZE = twill.Machine.named("paper_example")
ITERATIONS = 2


@cache
def dump(name: str, loop: str | None = None) -> Loop:
    return load_ttgir(str(DUMPS / f"{name}.mlir"), loop=loop)


@pytest.mark.parametrize("kernel", [
    "attention_forward.sm90", "gemm.sm90", "attention_backward.sm90",
    "attention_backward_d64.sm90", "attention_backward.sm100",
])  # fmt: skip
def test_is_the_kernel_that_was_sub_tiled_by_hand(kernel: str) -> None:
    on = twill.Machine.named("hopper_h100" if kernel.endswith("sm90") else "blackwell_b200")
    by_hand = re.sub(r"(_d64)?\.", r"_two_tiles\1.", kernel)
    made, wanted = twill.subtile(dump(kernel), 2), dump(by_hand)
    assert same_graph(made, wanted, on)


def attention(kernel: str, rows: int, keys: int, depth: int) -> Packaged:
    constants = {"M": rows, "N": keys, "D": depth}
    if kernel.startswith("backward"):
        constants["SWAPPED"] = False
    return Packaged(f"attention_{kernel}", BLACKWELL, constants)


def gemm(variant: str, rows: int, columns: int, depth: int) -> Packaged:
    return Packaged(f"gemm{variant}", BLACKWELL, {"M": rows, "N": columns, "K": depth})


@pytest.mark.triton
@pytest.mark.parametrize(
    ("whole", "by_hand"),
    [
        (attention("forward", 128, 128, 128), attention("forward_two_tiles", 64, 128, 128)),
        (attention("forward", 256, 128, 128), attention("forward_two_tiles", 128, 128, 128)),
        (attention("backward", 128, 256, 64), attention("backward_two_tiles", 128, 128, 64)),
        (gemm("", 256, 256, 64), gemm("_two_tiles", 128, 256, 64)),
    ],
    ids=["forward 2 x 64", "forward 2 x 128", "backward 2 x 128", "gemm 2 x 128"],
)  # fmt: skip
def test_is_the_kernel_that_was_sub_tiled_by_hand_and_dumped_for_the_test(
    whole: Packaged, by_hand: Packaged, tmp_path: Path
) -> None:
    pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
    loops = []
    for name, one in (("whole", whole), ("by_hand", by_hand)):
        file = tmp_path / f"{name}.mlir"
        file.write_text(one.text())
        loops.append(load_ttgir(str(file)))
    blackwell = twill.Machine.named("blackwell_b200")
    assert same_graph(twill.subtile(loops[0], 2), loops[1], blackwell)
    assert not same_graph(loops[0], loops[1], blackwell)


def test_the_comparison_sees_a_single_dependence(hopper: twill.Machine) -> None:
    by_hand = dump("gemm_two_tiles.sm90")
    *others, last = by_hand.dependences
    for change in ({"distance": 2}, {"in_place": False}, {"operand": 1}, {"producer": "c0"}):
        changed = by_hand.model_copy(
            update={"dependences": (*others, last.model_copy(update=change))}
        )
        assert not same_graph(changed, by_hand, hopper)


def test_a_sub_tiled_loop_can_be_scheduled(hopper: twill.Machine) -> None:
    schedule = static_schedule(twill.subtile(dump("gemm.sm90"), 2), hopper)
    assert schedule.initiation_interval == 1024  # 2 x 4 instructions of 128 cycles
    assert twill.verify(schedule).valid


# What loops compute


def legend(rewriter: Rewriter, loop: Loop) -> dict[str, tuple[str, int]]:
    """Of which operation or invariant of the loop a copy is, and which."""
    found = {
        name: (loop.operations[index].name, copy) for (index, copy), name in rewriter.names.items()
    }
    split = [i for n, i in enumerate(loop.invariants) if rewriter.plan.split_axes(-1 - n, 0)]
    parts = [i.name for i in rewriter.loop().invariants if i.name not in known_names(loop)]
    factor = rewriter.plan.factor
    for number, name in enumerate(parts):
        found[name] = (split[number // factor].name, number % factor)
    return found


def known_names(loop: Loop) -> set[str]:
    return {invariant.name for invariant in loop.invariants}


def computes_the_same(loop: Loop, factor: int, along: str) -> Rewriter:
    """Assert that a sub-tiled loop makes parts, sums and whole tiles of what the loop makes."""
    plan = plan_subtiles(loop, factor, along=along, machine=ANY_SIZE)
    rewriter = Rewriter(plan, 32)
    whole = random_outside(seed=7)
    parts = parts_outside(whole, loop, factor, legend(rewriter, loop))
    wanted = evaluate(loop, ITERATIONS, whole)
    made = evaluate(rewriter.loop(), ITERATIONS, parts)
    for index, (operation, role) in enumerate(zip(loop.operations, plan.roles, strict=True)):
        names = [rewriter.names.get((index, copy), operation.name) for copy in range(factor)]
        for iteration in range(ITERATIONS):
            tiles = [made[name, iteration] for name in names]
            repeated = tiles[0].shape == wanted[operation.name, iteration].shape
            if role is Role.COPIED and repeated:
                np.testing.assert_allclose(tiles[0], tiles[-1])
            elif role is Role.COPIED:
                axis = differing(tiles[0].shape, wanted[operation.name, iteration].shape)
                tiles.append(np.concatenate(tiles, axis))
            np.testing.assert_allclose(
                tiles[-1], wanted[operation.name, iteration], rtol=1e-8, atol=1e-8
            )
    return rewriter


def differing(part: tuple[int, ...], whole: tuple[int, ...]) -> int:
    (axis,) = (axis for axis, extent in enumerate(whole) if part[axis] != extent)
    return axis


def splits(loop: Loop) -> tuple[list[str], int]:
    """A dimension of every way to split a loop, and how many dimensions cannot be split."""
    found: list[str] = []
    covered: set[tuple[int, int]] = set()
    refused = 0
    for index, operation in enumerate(loop.operations):
        for axis in range(len(operation.result.shape) if operation.result else 0):
            if (index, axis) in covered:
                continue
            where = f"{operation.name}:{axis}"
            try:
                members = plan_subtiles(loop, 2, along=where, machine=ANY_SIZE).members
            except twill.RefusedError:
                refused += 1
                continue
            covered |= {(m.owner, m.axis) for m in members if m.place == RESULT}
            found.append(where)
    return found, refused


def eighth(loop: Loop) -> Loop:
    """The loop on tiles of an eighth of every extent, which NumPy evaluates at once."""

    def shrunk(_place: int, tile: Tile) -> Tile:
        return tile.model_copy(update={"shape": tuple(extent // 8 for extent in tile.shape)})

    invariants = tuple(
        invariant.model_copy(update={"tile": shrunk(0, invariant.tile)})
        for invariant in loop.invariants
    )
    operations = tuple(with_tiles(operation, shrunk) for operation in loop.operations)
    return loop.model_copy(update={"operations": operations, "invariants": invariants})


@pytest.mark.parametrize(
    ("name", "loop", "ways"),
    sampled(
        [
            ("attention_forward.sm90", None, {"k:1", "v:1", "s:0"}),
            ("attention_forward.sm100", None, {"k:1", "v:1", "s.mma:0"}),
            ("attention_forward_causal.sm90", "1", {"k:1", "v:1", "s.mma:0"}),
            ("attention_backward.sm90", None, {"q:0", "q:1", "do:1", "s:0"}),
            ("attention_backward.sm100", None, {"q:0", "q:1", "do:1", "s.mma:0"}),
            ("gemm.sm90", None, {"a:0", "a:1", "b:1"}),
            ("gemm_geglu.sm100", None, {"a:0", "a:1", "gate:1", "up:1"}),
            ("linear_attention.sm90", None, {"q:0", "q:1", "k:0", "v:1"}),
            ("linear_attention.sm100", None, {"q:0", "q:1", "k:0", "v:1"}),
            ("online_softmax.sm90", "0", {"x.load:0"}),
            ("layer_norm.sm90", "0", {"x.load:0"}),
        ],
        2,
    ),
)
def test_every_way_to_split_a_kernel_computes_the_same(
    name: str, loop: str | None, ways: set[str]
) -> None:
    whole = eighth(dump(name, loop))
    possible, _ = splits(whole)
    assert set(possible) == ways
    for where in possible:
        computes_the_same(whole, 2, where)


def random_body(seed: int) -> Loop:
    """A loop of products, reductions and element-wise operations on tiles of 4 and 8 elements."""
    generator = random.Random(seed)
    with twill.LoopBuilder(f"random_{seed}") as loop:
        tiles: list[Value] = [
            loop.load(f"x{n}", (generator.choice([4, 8]), generator.choice([4, 8])), "f32")
            for n in range(2)
        ]
        tiles.append(loop.invariant("w", (8, 4), "f32"))
        state = loop.carried("state", (generator.choice([4, 8]), 8))
        held: list[Value] = [state]
        for _ in range(generator.randint(3, 9)):
            made = random_step(loop, generator, tiles, held)
            if made is not None:
                held.append(made)
                tiles.append(loop.local_store(made))
        fitting = [x for x in held[1:] if x.shape == state.shape]
        if fitting and generator.random() < 0.7:
            state.assign(loop.maximum(state, fitting[-1]))
        else:
            a = loop.load("a", (state.shape[0], 4), "f32")
            state += a @ loop.load("b", (4, 8), "f32")
    return loop.build()


def random_step(
    loop: twill.LoopBuilder, generator: random.Random, tiles: list[Value], held: list[Value]
) -> Value | None:
    x = generator.choice(held)
    kind = generator.choice(["product", "product", "exp2", "add", "softmax", "outer"])
    if kind == "product":
        a, b = (v.T if generator.random() < 0.5 else v for v in generator.choices(tiles, k=2))
        return a @ b if a.shape[1] == b.shape[0] else None
    if kind == "exp2":
        return loop.exp2(x)
    if kind == "add":
        other = generator.choice(held)
        return x + other if x.shape == other.shape else None
    axis = generator.randint(0, 1)
    row = loop.reduce(x, generator.choice(["max", "add"]), axis, lanes=4, lane_warps=1)
    if kind == "outer" and x.shape[0] == x.shape[1]:
        return row[:, None] + row[None, :]
    return x - (row[:, None] if axis else row[None, :])


@pytest.mark.parametrize("seeds", sampled([range(14), range(14, 40)], 2), ids=str)
def test_random_loops_compute_the_same(seeds: range) -> None:
    split = refused = chains = loads_shared = 0
    for seed in seeds:
        loop = random_body(seed)
        possible, impossible = splits(loop)
        refused += impossible
        for where in possible:
            plan = computes_the_same(loop, 2, where).plan
            split += 1
            chains += bool(plan.with_role(Role.CHAINED))
            loads_shared += any(o.kind == "load" for o in plan.with_role(Role.SHARED))
    assert split > 3 * len(seeds)
    assert refused > 3 * len(seeds)
    assert chains > len(seeds) // 3
    assert loads_shared > 2 * len(seeds)


def test_a_wrong_part_is_noticed() -> None:
    """The comparison fails if the invariant factors of a chain are exchanged."""
    whole = dump("attention_backward.sm90")
    rewriter = Rewriter(plan_subtiles(whole, 2, along="s:0"), 32)
    parts = parts_outside(random_outside(7), whole, 2, legend(rewriter, whole))
    wanted = evaluate(whole, 1, random_outside(7))["dq", 0]
    made = rewriter.loop()
    np.testing.assert_allclose(evaluate(made, 1, parts)["dq1", 0], wanted)
    exchanged = {"dq0": "dq1", "dq1": "dq0"}
    crossed = [
        [r.model_copy(update={"operation": exchanged.get(r.operation, r.operation)})
         for r in invariant.reads]
        for invariant in made.invariants
    ]  # fmt: skip
    invariants = tuple(
        invariant.model_copy(update={"reads": tuple(reads)})
        for invariant, reads in zip(made.invariants, crossed, strict=True)
    )
    changed = made.model_copy(update={"invariants": invariants})
    assert np.abs(evaluate(changed, 1, parts)["dq1", 0] - wanted).max() > 1


def test_four_sub_tiles_compute_the_same() -> None:
    rewriter = computes_the_same(eighth(dump("attention_backward.sm90")), 4, "s:0")
    made = rewriter.loop()
    links = [d for d in made.dependences if d.consumer.startswith("dq") and d.operand == 2]
    assert [(d.producer, d.consumer, d.distance, d.in_place) for d in links] == [
        ("dq0", "dq1", 0, True),
        ("dq1", "dq2", 0, True),
        ("dq2", "dq3", 0, True),
    ]


# What is chosen, and what becomes of what


def roles(plan: Plan) -> dict[Role, list[str]]:
    return {role: [o.name for o in plan.with_role(role)] for role in Role}


def test_backward_splits_keys_unless_told_otherwise() -> None:
    backward = dump("attention_backward.sm90")
    keys = roles(plan_subtiles(backward, 2))
    assert keys[Role.CHAINED] == ["dq"]
    assert keys[Role.SHARED][:4] == ["q", "do", "lse", "delta"]
    queries = roles(plan_subtiles(backward, 2, along="do:0"))
    assert queries[Role.CHAINED] == ["dv", "dk"]
    assert queries[Role.SHARED] == []
    made = twill.subtile(backward, 2, along="do:0")
    chains = {(d.producer, d.consumer, d.distance) for d in made.dependences if d.in_place}
    assert chains == {("dv1", "dv0", 1), ("dv0", "dv1", 0), ("dk1", "dk0", 1), ("dk0", "dk1", 0)}
    assert [i.name for i in made.invariants] == ["k", "v"]
    assert made.invariants[0].used_by == ("dq0", "dq1", "s0", "s1")


@pytest.mark.parametrize(
    ("name", "along", "extent"),
    [
        ("attention_forward.sm90", "s:0", 128),
        ("attention_backward_d64.sm100", "s.mma:0", 128),
        ("gemm.sm100", "c:0", 128),
        ("linear_attention.sm90", "o.mma:1", 128),
        ("gemm_geglu.sm100", "g:0", 128),
    ],
)
def test_the_choice(name: str, along: str, extent: int) -> None:
    plan = plan_subtiles(dump(name), 2, machine=ANY_SIZE)
    assert (plan.along, plan.extent) == (along, extent)


def test_shared_loads_are_preferred_to_more_work() -> None:
    with twill.LoopBuilder("two") as loop:
        q = loop.invariant("q", (64, 16), "f16")
        loop.mma(loop.load("a", (128, 64), "f16"), loop.load("b", (64, 128), "f16"), name="large")
        loop.mma(q, loop.load("c", (16, 16), "f16"), name="small")
    assert plan_subtiles(loop.build(), 2).along == "small:0"


def test_names_and_what_is_said() -> None:
    made = twill.subtile(dump("attention_forward.sm90"), 2)
    assert [o.name for o in made.operations[:6]] == ["k", "v", "s0", "n0.reduce", "n0.mul", "n0"]
    assert (made.name, made.description) == (
        "attention_forward_2_tiles",
        "2 sub-tiles of 64 along s:0",
    )
    assert made.origin == dump("attention_forward.sm90").origin
    into = {folded.name: folded.into for folded in made.folded}
    assert into["o.broadcast"] == ("o0.mul", "o1.mul")
    assert into["k.local_alloc"] == ("k",)
    again = twill.subtile(made, 2, along="o0:1")
    assert "o0_0.mul" in {operation.name for operation in again.operations}
    assert again.description == "2 sub-tiles of 64 along s:0; 2 sub-tiles of 64 along o0:1"


def test_a_name_that_is_taken_gets_an_underscore() -> None:
    with twill.LoopBuilder("taken") as loop:
        x = loop.given("x", (64, 128), "f32", memory="registers")
        row = loop.given("row", (32,), "f32", memory="registers")
        loop.exp2(row, name="y0")
        loop.exp2(x, name="y")
    made = twill.subtile(loop.build(), 2, along="y:0")
    assert [operation.name for operation in made.operations] == ["y0", "y_0", "y_1"]


def test_a_name_without_room_for_a_number_is_refused() -> None:
    with twill.LoopBuilder("long") as loop:
        loop.exp2(loop.given("x", (64, 128), "f32", memory="registers"), name="y" * 200)
    with pytest.raises(twill.InputError, match="name: no room for a number in 200 characters"):
        twill.subtile(loop.build(), 2)


def test_threads_share_rows_where_they_run_out() -> None:
    forward = dump("attention_forward.sm100")
    made = twill.subtile(forward, 2)
    for name, lanes in (("n.reduce", 1), ("n0.reduce", 2)):
        loop = forward if name == "n.reduce" else made
        assert loop.operation(name).attributes["lanes"] == lanes
        result = loop.operation(name).result
        assert result is not None
        assert result.elements_per_thread == 1
    on_hopper = twill.subtile(dump("attention_forward.sm90"), 2).operation("n0.reduce")
    assert on_hopper.attributes["lanes"] == 4
    assert on_hopper.result == Tile(
        shape=(64,), dtype="f32", memory="registers", elements_per_thread=2
    )
    norm = plan_subtiles(dump("layer_norm.sm90", "0"), 16, along="x.load:0")
    shared = Rewriter(norm, 32).loop().operation("sums0.reduce")
    assert (shared.attributes["lanes"], shared.attributes["lane_warps"]) == (32, 4)


def test_a_chain_begins_with_the_accumulator_that_was_there() -> None:
    with twill.LoopBuilder("chain") as loop:
        a, b = loop.load("a", (64, 32), "f16"), loop.load("b", (32, 64), "f16")
        loop.mma(a, b, name="fresh")
        start = loop.invariant("start", (64, 64), "f32", memory="registers")
        loop.mma(a, b, start, name="started")
    made = twill.subtile(loop.build(), 2, along="a:1")
    assert [len(made.operation(f"fresh{copy}").operands) for copy in (0, 1)] == [2, 3]
    (invariant,) = made.invariants
    assert [(read.operation, read.operand) for read in invariant.reads] == [("started0", 2)]
    assert invariant.used_by == ("started0",)
    computes_the_same(loop.build(), 2, "a:1")


def ordered(kind: DependenceKind) -> Loop:
    """Two stores and their staging, the second store after the first of the iteration before."""
    with twill.LoopBuilder("ordered") as loop:
        x = loop.given("x", (64, 128), "f32", memory="registers")
        y = loop.given("y", (128,), "f32", memory="registers")
        first = loop.local_store(loop.exp2(x, name="e"), name="first")
        second = loop.local_store(loop.exp2(y, name="f"), name="second")
        loop.order(first, first, distance=1, kind=kind)
        loop.order(first, second, kind="order")
        loop.order(second, first, distance=1, kind="order")
    return loop.build()


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ("order", {("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")}),
        ("anti", {("0", "0"), ("1", "1")}),
    ],
)
def test_orders_hold_between_all_sub_tiles(kind: DependenceKind, own: set[tuple[str, str]]) -> None:
    made = twill.subtile(ordered(kind), 2, along="e:0")
    orders = {(d.producer, d.consumer, d.distance) for d in made.dependences if d.kind != "data"}
    assert orders == {
        *((f"first{a}", f"first{b}", 1) for a, b in own),
        *((f"first{a}", "second", 0) for a in (0, 1)),
        *(("second", f"first{a}", 1) for a in (0, 1)),
    }
    names = [operation.name for operation in made.operations]
    assert names.index("second") > max(names.index("first0"), names.index("first1"))


# Refusals


@pytest.mark.parametrize(
    ("name", "loop", "factor", "along", "message"),
    [
        ("attention_forward.sm90", None, 2, "s:1",
         "attention_forward: cannot split s:1: n.reduce reduces along it"),
        ("online_softmax.sm90", "0", 2, "x:1",
         "online_softmax: cannot split x:1: n.reduce reduces along it"),
        ("layer_norm.sm90", "0", 2, "x:1",
         "layer_norm: cannot split x:1: sums.reduce reduces along it"),
        ("attention_forward.sm90", None, 3, None,
         "attention_forward: s:0 has 128 elements, which are not 3 equal parts"),
    ],
)  # fmt: skip
def test_refusals(
    name: str, loop: str | None, factor: int, along: str | None, message: str
) -> None:
    with pytest.raises(twill.RefusedError) as refusal:
        twill.subtile(dump(name, loop), factor, along=along)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("name", "factor", "along", "product", "limit"),
    [
        ("attention_forward.sm90", 4, "s:0", "s 32 x 128 x 128",
         "rows must be a multiple of 64 on hopper_h100"),
        ("attention_forward.sm100", 4, "s.mma:0", "s.mma 32 x 128 x 128",
         "rows must be a multiple of 64 or 128 on blackwell_b200"),
        ("attention_backward.sm90", 8, "s:1", "dv 128 x 128 x 8",
         "the depth must be a multiple of 16 on hopper_h100"),
        ("attention_forward.sm100", 16, "o:1", "o 128 x 8 x 128",
         "columns must be a multiple of 16 and at most 256 on blackwell_b200"),
        ("linear_attention.sm90", 2, "s.mma:0", "s.mma 32 x 64 x 128",
         "rows must be a multiple of 64 on hopper_h100"),
    ],
)  # fmt: skip
def test_sizes_without_an_instruction_are_refused(
    name: str, factor: int, along: str, product: str, limit: str
) -> None:
    with pytest.raises(twill.RefusedError) as refusal:
        twill.subtile(dump(name), factor, along=along)
    said = f"{factor} sub-tiles along {along} make the product {product}, and {limit}"
    assert str(refusal.value) == f"{name.partition('.')[0]}: {said}"
    assert twill.subtile(dump(name), factor, along=along, machine=ANY_SIZE)


def test_a_view_that_mixes_dimensions_is_named() -> None:
    message = "cannot split c:0: c reads a tile through a view that mixes its dimensions$"
    with pytest.raises(twill.RefusedError, match=message):
        twill.subtile(dump("block_scaled_gemm.sm100"), 2, along="c:0")


def test_another_dimension_is_offered() -> None:
    with pytest.raises(twill.RefusedError, match=r"hopper_h100; possible is along o:1$"):
        twill.subtile(dump("attention_forward.sm90"), 4)
    with pytest.raises(twill.RefusedError, match=r"possible is along g:1 or u:1$"):
        twill.subtile(dump("gemm_geglu.sm90"), 2)


def test_rows_that_meet_each_other_are_refused() -> None:
    with twill.LoopBuilder("squares") as loop:
        x = loop.load("x", (64, 64), "f16")
        loop.mma(x, x.T, name="gram")
        loop.mma(x, x, name="square")
        row = loop.given("row", (64,), "f32", memory="registers")
        vector = loop.exp2(row, name="vector")
        loop.elementwise("add", vector[:, None], vector[None, :], name="outer")
    for along, message in (
        ("x:0", "cannot split x:0: x has them along two dimensions"),
        ("vector:0", "cannot split vector:0: outer has them along two dimensions"),
    ):
        with pytest.raises(twill.RefusedError, match=message):
            twill.subtile(loop.build(), 2, along=along)
    with pytest.raises(twill.RefusedError, match=r"squares: no dimension can be split: gram:0 \(x"):
        twill.subtile(loop.build(), 2)
    with twill.LoopBuilder("gram") as loop:
        x = loop.load("x", (64, 32), "f16")
        y = loop.load("y", (64, 32), "f16")
        s = loop.mma(x, y.T, name="s")
        loop.mma(loop.local_store(s), loop.local_store(loop.mma(y, x.T, name="t")), name="u")
    with pytest.raises(twill.RefusedError, match="cannot split x:0: u has them along two"):
        twill.subtile(loop.build(), 2, along="x:0")
    assert roles(plan_subtiles(loop.build(), 2))[Role.CHAINED] == ["u"]  # along the rows of y


def test_a_product_with_its_own_earlier_result() -> None:
    with twill.LoopBuilder("recurrence") as loop:
        state = loop.carried("state", (64, 64), "f16", memory="smem")
        a = loop.load("a", (64, 64), "f16")
        state.assign(loop.local_store(loop.mma(a, state, name="next").cast("f16")))
        loop.mma(state.T, a, name="b")
    made = twill.subtile(loop.build(), 2, along="next:1")
    assert [o.name for o in made.operations if is_product(o)] == ["next0", "b0", "next1", "b1"]
    tile = Tile(shape=(64, 64), dtype="f16", memory="smem")
    product = Operation(name="p", kind="mma", operands=(tile, tile), result=tile)
    power = Loop(
        name="power",
        operations=(product,),
        dependences=(Dependence(producer="p", consumer="p", distance=1, operand=0),),
    )
    with pytest.raises(twill.RefusedError, match="cannot split p:1: p has them along two"):
        twill.subtile(power, 2, along="p:1")


def scaled(**changes: Any) -> Loop:
    """An element-wise operation on what another one makes and on an invariant row."""
    tile = Tile(shape=(64, 128), dtype="f32", memory="registers")
    row = Tile(shape=(64,), dtype="f32", memory="registers")
    column = Tile(shape=(64, 1), dtype="f32", memory="registers")
    one = Tile(shape=(1, 1), dtype="f32", memory="registers")
    x = Operation(name="x", kind="load", result=tile)
    y = Operation(name="y", kind="mul", elementwise=True, operands=(tile, tile), result=tile)
    z = Operation(name="z", kind="cumulate", operands=(tile,), result=tile)
    whole: dict[str, Any] = {
        "name": "scaled",
        "operations": (x, y),
        "dependences": (Dependence(producer="x", consumer="y", operand=0),),
        "invariants": (
            Invariant(
                name="row", tile=row, used_by=("y",), reads=(Read(operation="y", operand=1),)
            ),
        ),
    }
    if changes.pop("shrunk", False):
        w = Operation(name="w", kind="load", result=column)
        v = Operation(name="v", kind="mul", elementwise=True, operands=(one,), result=one)
        whole["operations"] = (x, y, w, v)
        whole["dependences"] += (
            Dependence(producer="w", consumer="y", operand=1),
            Dependence(producer="w", consumer="v", operand=0),
        )
    if changes.pop("scan", False):
        whole["operations"] = (x, y, z)
        whole["dependences"] += (Dependence(producer="y", consumer="z", operand=0),)
    return Loop(**{**whole, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scan": True}, "z may mix them, as far as its kind cumulate says"),
        ({"shrunk": True}, "v ties 64 elements to 1"),
        ({"dependences": (Dependence(producer="x", consumer="y"),)},
         "y reads a tile, and the loop does not say as which operand"),
        ({"dependences": (Dependence(producer="x", consumer="y", operand=0, delay=3),)},
         "x has a dependence with a delay of its own, which is for whole tiles"),
        ({"dependences": (Dependence(producer="x", consumer="y", operand=0, axes=(None, 1)),)},
         "y reads a tile through a view that mixes its dimensions"),
        ({"invariants": (Invariant(
            name="row", tile=Tile(shape=(64,), dtype="f32"), used_by=("y",)),)},
         "y reads a tile, and the loop does not say as which operand"),
        ({"invariants": (Invariant(
            name="row", tile=Tile(shape=(32,), dtype="f32"), used_by=("y",),
            reads=(Read(operation="y", operand=1),)),)},
         "y ties 32 elements to 64"),
    ],
)  # fmt: skip
def test_what_a_loop_does_not_say_is_refused(changes: dict[str, Any], message: str) -> None:
    assert len(twill.subtile(scaled(), 2, along="y:0").operations) == 4
    with pytest.raises(twill.RefusedError) as refusal:
        twill.subtile(scaled(**changes), 2, along="y:0")
    assert str(refusal.value) == f"scaled: cannot split y:0: {message}"


def test_costs_of_their_own_are_for_whole_tiles() -> None:
    loop = small_loop([op("x", "ALU", registers=4, elementwise=True)])
    with pytest.raises(twill.RefusedError, match="x brings its own cost"):
        twill.subtile(loop, 2, along="x:0")
    with pytest.raises(twill.RefusedError, match="no dimension can be split: its operations have"):
        twill.subtile(small_loop([op("y", "ALU")]), 2)


def test_products_of_two_warp_groups_keep_whole_instructions(hopper: twill.Machine) -> None:
    with twill.LoopBuilder("wide", warps=8) as loop:
        c = loop.carried("c", (128, 128))
        c += loop.given("a", (128, 64), "f16") @ loop.load("b", (64, 128), "f16")
    with pytest.raises(twill.RefusedError, match="rows must be a multiple of 128 for 8 warps"):
        twill.subtile(loop.build(), 2, along="c:0", machine=hopper)
    assert len(twill.subtile(loop.build(), 2, along="c:0").operations) == 3


@pytest.mark.parametrize(
    ("factor", "along", "message"),
    [
        (1, None, "factor: must be from 2 to 64 (got 1)"),
        (65, None, "factor: must be from 2 to 64 (got 65)"),
        (2, "s", "along: must be OPERATION:DIMENSION (got 's')"),
        (2, "s:-1", "along: must be OPERATION:DIMENSION (got 's:-1')"),
        (2, "t:0", "along: no operation with a tile is named 't'"),
        (
            2,
            "s:" + "9" * 5000,
            "along: operation 's' has a tile of 2 dimensions, counted from 0 "
            "(got '" + "9" * 56 + "...)",
        ),
        (2, "s:2", "along: operation 's' has a tile of 2 dimensions, counted from 0 (got '2')"),
    ],
)
def test_bad_requests(factor: int, along: str | None, message: str) -> None:
    with pytest.raises(twill.InputError) as error:
        twill.subtile(dump("attention_forward.sm90"), factor, along=along)
    assert str(error.value) == message


# The command


def call(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return in_process("twill", "loop", "subtile", *words, folder=folder)


def test_the_command(tmp_path: Path) -> None:
    backward = str(DUMPS / "attention_backward.sm90.mlir")
    done = call(backward, "--factor", "2", "-o", "made.json", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "attention_backward_2_tiles: 2 sub-tiles of 64 along s:0 (128)",
        "19 operations become 31, 22 dependences 42",
    ]
    assert "summed over the sub-tiles: dq" in lines
    assert lines[-1] == "wrote made.json"
    loaded = twill.load_loop(str(tmp_path / "made.json"))
    assert loaded == twill.subtile(dump("attention_backward.sm90"), 2)
    data = json.loads(
        call("made.json", "--factor", "2", "--along", "dk0:1", "--json", folder=tmp_path).stdout
    )
    assert data["chained"] == ["s0", "s1"]
    assert {"name": "dk0_1", "shape": [64, 64, 64]} in data["products"]
    refused = call(backward, "--factor", "4", "-m", "hopper_h200", folder=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("twill: attention_backward: 4 sub-tiles along s:0 make the")
    assert refused.stderr.count("\n") == 1


def test_sub_tiles_work_out_their_own_masks() -> None:
    whole = twill.load_loop("attention_forward_diagonal_hopper")
    split = twill.subtile(whole, 2)
    once = [o.kind for o in split.operations if o.name in {w.name for w in whole.operations}]
    # Of what follows from the loop counter nothing is handed from one sub-tile to the other.
    assert once == ["load", "load"]
