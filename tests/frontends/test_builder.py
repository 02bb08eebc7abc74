"""Loops written in Python."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import twill
from tests.support.static import static_schedule
from twill.artifacts.loop import Loop
from twill.bounds import bounds
from twill.frontends.builder import Value
from twill.problem import build_problem

Builder = twill.LoopBuilder


def paper_example() -> Loop:
    with Builder("paper_example") as loop:
        q = loop.given("Q", (64, 128), "f16")
        k = loop.given("K", (128, 128), "f16")
        v = loop.given("V", (128, 128), "f16")
        o = loop.carried("O", (64, 128))
        s = (q @ k.T).named("S")
        p = loop.exp2(s).named("P")
        o += p.free_cast("f16") @ v
    return loop.build()


def sub_tile(loop: Builder, q: Value, k: Value, v: Value, scale: Value, i: int) -> None:
    m = loop.carried(f"n{i}", (64,))
    total = loop.carried(f"l{i}", (64,))
    o = loop.carried(f"o{i}", (64, 128))
    s = (q @ k.T).named(f"s{i}")
    n = loop.maximum(m, s.max(1) * scale)
    p = loop.exp2(s * scale - n[:, None]).named(f"p{i}")
    a = loop.exp2(m - n).named(f"a{i}")
    total *= a
    total += p.sum(1)
    o *= a[:, None]
    o += p.cast("f16") @ v
    m.assign(n)


@pytest.fixture(scope="module")
def built_attention() -> Loop:
    with Builder("attention") as loop:
        scale = loop.given("scale", (), "f32")
        queries = [loop.invariant(f"q{i}", (64, 128), "f16") for i in range(2)]
        k, v = loop.load("k", (128, 128), "f16"), loop.load("v", (128, 128), "f16")
        for i, q in enumerate(queries):
            sub_tile(loop, q, k, v, scale, i)
    return loop.build()


def edges(loop: Loop) -> set[tuple[str, str, int, bool]]:
    return {(d.producer, d.consumer, d.distance, d.in_place) for d in loop.dependences}


def test_the_papers_example_is_the_packaged_one(
    paper_loop: Loop, paper_machine: twill.Machine
) -> None:
    loop = paper_example()
    bare = tuple(o.model_copy(update={"location": None}) for o in loop.operations)
    # The packaged loop also names the operands that are no operations, for pseudo-code.
    named = [dict(o.attributes) for o in paper_loop.operations]
    assert all(key.startswith("operand") for attributes in named for key in attributes)
    assert bare == tuple(o.model_copy(update={"attributes": {}}) for o in paper_loop.operations)
    assert loop.dependences == paper_loop.dependences
    assert [(f.name, f.into) for f in loop.folded] == [
        ("K.transpose", ("S",)),
        ("P.cast", ("O",)),
    ]
    schedule = static_schedule(loop, paper_machine)
    assert (schedule.initiation_interval, schedule.length) == (2, 4)


def test_attention_is_what_triton_makes_of_it(built_attention: Loop, attention: Loop) -> None:
    assert edges(built_attention) == edges(attention)
    assert {o.name: o.kind for o in built_attention.operations} == {
        o.name: o.kind for o in attention.operations
    }
    assert [i.model_dump() for i in built_attention.invariants] == [
        i.model_dump() for i in attention.invariants
    ]


def test_attention_costs_what_tritons_costs(
    built_attention: Loop, attention: Loop, hopper: twill.Machine
) -> None:
    for operation in attention.operations:
        assert hopper.cost(built_attention.operation(operation.name)) == hopper.cost(operation)
    here = bounds(build_problem(built_attention, hopper))
    there = bounds(build_problem(attention, hopper))
    assert here.by_unit == there.by_unit
    assert (here.by_unit["tc"], here.by_unit["mufu"]) == (2048, 1056)
    assert here.recurrence == there.recurrence == 637


def test_attention_schedules_as_tritons_does(
    built_attention: Loop, attention_schedule: twill.Schedule, hopper: twill.Machine
) -> None:
    """The schedule of Triton's loop is one of the built one, at its least interval."""
    schedule = attention_schedule.model_copy(update={"loop": built_attention})
    assert twill.verify(schedule).violations == ()
    least = bounds(build_problem(built_attention, hopper)).interval
    assert schedule.initiation_interval == least == 2048


def test_a_loop_survives_its_file(built_attention: Loop, tmp_path: Path) -> None:
    file = tmp_path / "loop.json"
    built_attention.save(file)
    assert Loop.load(file) == built_attention


def test_operations_know_their_line() -> None:
    lines, first = inspect.getsourcelines(paper_example)
    offset, text = next((i, t) for i, t in enumerate(lines) if "exp2" in t)
    location = paper_example().operation("P").location
    assert location == f"test_builder.py:{first + offset}:{text.index('loop.exp2') + 1}"


def test_a_blackwell_softmax_step() -> None:
    with Builder("step", products="tmem") as loop:
        q = loop.invariant("q", (128, 128), "f16")
        k, v = loop.load("k", (128, 128), "f16"), loop.load("v", (128, 128), "f16")
        o = loop.carried("o", (128, 128), memory="tmem")
        m = loop.carried("m", (128,))
        s = loop.tmem_load(loop.mma(q, k.T, name="s"))
        m.assign(loop.maximum(m, s.max(1)))
        p = loop.tmem_store(loop.exp2(s - m[:, None]).cast("f16"), name="p")
        rescaled = loop.tmem_load(o) * loop.exp2(m.previous - m)[:, None]
        loop.tmem_store(rescaled, into=o, name="scaled")
        o.assign(loop.mma(p, v, o, name="pv"))
    step = loop.build()
    reduction = step.operation("m.reduce")
    assert reduction.attributes == {"combine": "max", "axis": 1, "lanes": 1, "lane_warps": 1}
    assert step.operation("s").warps == 1
    assert step.operation("pv").operands[0].memory == "tmem"
    assert ("pv", "pv", 1, True) in edges(step)
    assert ("pv", "scaled", 1, True) in edges(step)
    assert {("m", "pv.sub", 0, False), ("m", "pv.sub", 1, False)} & edges(step) == set()
    machine = twill.Machine.named("blackwell_b200")
    # Two 128 x 128 x 128 products: eight instructions of 64 cycles each.
    assert bounds(build_problem(step, machine)).by_unit["tc"] == 2 * 8 * 64


def test_a_product_that_is_read_is_added_and_not_fused() -> None:
    with Builder("read") as loop:
        a, b = loop.given("a", (64, 64), "f16"), loop.given("b", (64, 64), "f16")
        o = loop.carried("o", (64, 64))
        s = (a @ b).named("s")
        loop.exp2(s, name="p")
        o += s
    kinds = [o.kind for o in loop.build().operations]
    assert kinds == ["mma", "exp2", "add"]
    assert ("o", "o", 1, False) in edges(loop.build())


def test_a_fused_product_comes_after_what_it_adds_to() -> None:
    with Builder("late") as loop:
        a, b = loop.given("a", (64, 64), "f16"), loop.given("b", (64, 64), "f16")
        o = loop.carried("o", (64, 64))
        product = a @ b
        o *= 0.5
        o += product
    assert [x.name for x in loop.build().operations] == ["o.mul", "o"]
    assert edges(loop.build()) == {("o", "o.mul", 1, False), ("o.mul", "o", 0, True)}


def fusable(name: str | None = None) -> Loop:
    """Return a loop of one product and one difference, the product perhaps with a name."""
    with Builder("fusable") as loop:
        a, b, c = (loop.given(n, (64, 128), "f32", memory="registers") for n in "abc")
        product = a * b
        if name is not None:
            product.named(name)
        (c - product).named("x")
    return loop.build()


def test_a_product_is_fused_with_the_difference_that_alone_reads_it() -> None:
    loop = fusable()
    [x] = loop.operations
    assert (x.name, x.kind, len(x.operands), x.attributes) == (
        "x",
        "fma",
        3,
        {"negated": "product"},
    )
    assert [(f.name, f.kind, f.into) for f in loop.folded] == [("x.mul", "mul", ("x",))]


def test_a_product_with_a_name_stays() -> None:
    assert [(o.name, o.kind) for o in fusable("p").operations] == [("p", "mul"), ("x", "sub")]


def test_distances_add_up_through_variables() -> None:
    with Builder("shift") as loop:
        x = loop.carried("x", (64, 64), distance=2)
        old = loop.carried("old", (64, 64), distance=3)
        y = loop.maximum(x, old, name="y")
        old.assign(x)
        x.assign(y)
    assert edges(loop.build()) == {("y", "y", 2, False), ("y", "y", 3 + 2, False)}


def test_costs_and_orders_of_ones_own(paper_machine: twill.Machine) -> None:
    with Builder("own") as loop:
        x = loop.given("x", (64, 128), "f32", memory="registers")
        product = loop.cost("TC", 3, latency=5, asynchronous=True, issue=1)
        first = loop.operation("first", x, result=x.tile, cost=product)
        then = loop.operation("then", first, result=x.tile, cost=loop.cost("ADD", 2))
        loop.order(then, first, distance=1, delay=4)
    problem = build_problem(loop.build(), paper_machine)
    assert (bounds(problem).recurrence, bounds(problem).resource) == (5 + 4, 3)


def two(loop: Builder) -> tuple[Value, Value]:
    return (
        loop.given("x", (64, 128), "f32", memory="registers"),
        loop.given("h", (64, 128), "f16"),
    )


def row(loop: Builder) -> Value:
    return loop.given("r", (64,), "f32", memory="registers")


def read_after_accumulation(loop: Builder) -> None:
    o = loop.carried("o", (64, 64))
    s = two(loop)[1] @ two(loop)[1].T
    o += s
    loop.exp2(s)


def only_itself(loop: Builder) -> None:
    x, y = loop.carried("x", (64, 64)), loop.carried("y", (64, 64))
    x.assign(y.previous)
    y.assign(x.previous)
    loop.exp2(x)


def never_assigned(loop: Builder) -> None:
    loop.exp2(loop.carried("m", (64,)))


def assigned_from_outside(loop: Builder) -> None:
    x, _ = two(loop)
    loop.carried("m", (64, 128)).assign(x)
    loop.exp2(x)


def cycle(loop: Builder) -> None:
    x = loop.exp2(two(loop)[0], name="a")
    y = loop.exp2(x, name="b")
    loop.order(y, x)


MISTAKES: list[tuple[Callable[[Builder], object], str]] = [
    (lambda loop: two(loop)[1] @ two(loop)[1],
     "mma: the factors must be m x k and k x n (got 64 x 128 f16 in smem and 64 x 128 f16 in "),
    (lambda loop: two(loop)[0] @ two(loop)[1].T,
     "mma: the factors differ in type (got f32 and f16)"),
    (lambda loop: loop.mma(two(loop)[1], two(loop)[1].T, two(loop)[0]),
     "mma: the accumulator must be 64 x 64 f32 in registers (got 64 x 128 f32 in registers)"),
    (lambda loop: two(loop)[0] - row(loop),
     "sub: shapes 64 x 128 and 64 do not go together; x[:, None] adds a dimension"),
    (lambda loop: two(loop)[0] * two(loop)[1],
     "mul: an operand is not in registers (got 64 x 128 f16 in smem)"),
    (lambda loop: two(loop)[0] + two(loop)[0].cast("f16"),
     "add: the operands differ in type (got f32 and f16)"),
    (lambda loop: loop.elementwise("add", 1.0, 2.0), "add: no operand is a tile"),
    (lambda loop: two(loop)[0].T, "only a matrix in memory has a view T, not 64 x 128 f32 in reg"),
    (lambda loop: row(loop)[None, None],
     "an index is made of None and one : for each dimension of 64 f32 in reg"),
    (lambda loop: two(loop)[0].sum(2), "reduce: no dimension 2 in registers (got 64 x 128 f32 in"),
    (lambda loop: two(loop)[0].max(1),
     "reduce 'reduce': how its tile is spread over threads is not known"),
    (lambda loop: loop.given("x", (64,), "float"),  # type: ignore[arg-type]  # the mistake tested
     "dtype: Input should be 'f64', 'f32', "),
    (lambda loop: loop.load("k", (0, 4), "f16"), "shape: Input should be greater than 0 (got 0)"),
    (lambda loop: loop.carried("m", (64,), distance=0),
     "a carried value comes from an earlier iteration (got 0)"),
    (lambda loop: loop.carried("m", (64,)).assign(two(loop)[0]),
     "carried 'm': the new value must be 64 f32 in registers (got 64 x 128 f32 in registers)"),
    (never_assigned, "carried 'm' is never assigned"),
    (assigned_from_outside, "carried 'm' is assigned a value that no operation of the loop"),
    (only_itself, "carried 'x' only ever holds its own earlier value"),
    (read_after_accumulation, "this product was accumulated in place into another value at t"),
    (lambda loop: loop.exp2(loop.exp2(two(loop)[0], name="p"), name="p"),
     "a second operation named 'p', the first is at test_builder.py:"),
    (lambda loop: two(loop)[0].named("x"),
     "no operation of this iteration makes the value named 'x'"),
    (lambda loop: loop.exp2(two(loop)[0], name=""), "a name has 1 to 200 characters (got '')"),
    (lambda loop: loop.exp2(two(Builder("other"))[0]), "a value of another loop ('other')"),
    (lambda loop: loop.exp2(3.0),  # type: ignore[arg-type]  # the mistake that is tested
     "exp2: no operand is a tile"),
    (lambda loop: loop.mma(two(loop)[1], 3.0),  # type: ignore[arg-type]  # the mistake tested
     "not a value of this loop (got 3.0)"),
    (lambda loop: loop.tmem_load(two(loop)[1]), "tmem_load: the tile is not in tensor memory"),
    (lambda loop: loop.local_store(two(loop)[1]), "a store reads registers (got 64 x 128 f16 in s"),
    (lambda loop: loop.exp2(loop.store(two(loop)[1])), "a store has no result to read"),
    (lambda loop: loop.order(two(loop)[0], loop.exp2(two(loop)[0])),
     "order: both ends must be operations of this iteration"),
    (lambda loop: loop.operation("x", two(loop)[0], result=None, warps=-1),
     "operation 'x': warps: Input should be greater than 0 (got -1)"),
    (cycle, "a cycle of distance 0 can never execute: "),
    (lambda loop: loop.given("x", (), "f32"), "the loop has no operations"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mistake", "message"), MISTAKES, ids=[message[:40] for _, message in MISTAKES]
)
def test_mistakes_are_named_with_their_line(
    mistake: Callable[[Builder], object], message: str
) -> None:
    with pytest.raises(twill.InputError) as caught, Builder("wrong") as loop:
        mistake(loop)
    text = str(caught.value)
    assert re.match(r"test_builder\.py:\d+:\d+: (wrong: )?", text), text
    assert message in text
    assert "\n" not in text


def test_nothing_is_added_to_a_closed_loop() -> None:
    with Builder("closed") as loop:
        y = loop.exp2(two(loop)[0])
    assert loop.build() is loop.build()
    with pytest.raises(twill.InputError, match=r"the loop is closed; nothing can be added"):
        loop.exp2(y)
    with pytest.raises(twill.InputError, match=r"the loop is closed; nothing can be added"):
        _ = y + 1.0


def test_an_error_inside_the_block_is_the_one_that_is_seen() -> None:
    with pytest.raises(ZeroDivisionError), Builder("broken") as loop:
        loop.carried("m", (1 // 0,))
