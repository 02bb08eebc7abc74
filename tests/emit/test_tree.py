"""The tree of an emitted module, and its text."""

from __future__ import annotations

import builtins

import pytest

from twill.artifacts.machine import Machine
from twill.emit.kernel import _Kernel
from twill.emit.printer import FUNCTIONS, lines_of, printed
from twill.emit.tree import (
    Assignment,
    Barrier,
    Call,
    Comment,
    Function,
    If,
    Loop,
    Module,
    Node,
    Section,
    Specialization,
    defined_by,
    names_in,
    used_by,
)
from twill.frontends import load_loop
from twill.lower import baselines
from twill.lower.prepare import prepared


def module(*body: Node) -> Module:
    return Module("A file.", "hopper", (Section("Kernel", body),))


def test_blocks_are_indented_and_an_empty_one_passes() -> None:
    inner = If("i > 0", (Call("mbarrier.wait", ("full.index(0)", "i & 1")),))
    assert lines_of([Loop("i", "range(8)", (inner, Assignment("x", "i", "+="))), If("y", ())]) == [
        "for i in range(8):",
        "    if i > 0:",
        "        mbarrier.wait(full.index(0), i & 1)",
        "    x += i",
        "if y:",
        "    pass",
    ]


def test_a_node_knows_what_it_defines_and_what_it_uses() -> None:
    assert names_in("a.index(b % 2).load(layout=C)") == {"a", "b", "C"}
    loop = Loop("i", "range(n)", (Assignment("x, y", "f(i), part.b"), Assignment("z", "1", "+=")))
    assert loop.defines == {"i", "x", "y", "z"}
    assert loop.uses == {"range", "n", "f", "i", "part", "z"}
    assert Function("f", ("n",), (loop,)).defines == {"f"}
    assert Specialization(("a",), ("f", "g"), (4, 1), (24, 24)).uses == {"gl", "a", "f", "g"}


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        (Barrier("full", 2), "mbarrier"),
        (Call("tma.store_wait", ("pendings=0",)), "tma"),
        (Assignment("x", "warpgroup_mma(a, b, c)"), "warpgroup_mma"),
    ],
)
def test_what_is_used_is_imported(node: Node, wanted: str) -> None:
    text = printed(module(Function("kernel", (), (Comment("no fence_async_shared"), node))))
    assert f"from triton.experimental.gluon.language.nvidia.hopper import {wanted}\n" in text


def test_barriers_are_initialized_slot_by_slot() -> None:
    assert lines_of([Barrier("full", 2, 3), Barrier("done", None)]) == [
        "full = mbarrier.allocate_mbarrier(batch=2)",
        "for slot in gl.static_range(2):",
        "    mbarrier.init(full.index(slot), count=3)",
        "done = mbarrier.allocate_mbarrier()",
        "mbarrier.init(done, count=1)",
    ]


@pytest.mark.parametrize(
    ("name", "machine"),
    [("fa_fwd_hopper", "hopper_h100"), ("gemm_blackwell", "blackwell_b200")],
)
def test_functions_use_what_is_defined_or_imported(name: str, machine: str) -> None:
    schedule = baselines.multi_warp(load_loop(name), Machine.named(machine))
    made = _Kernel(prepared(schedule)).module()
    imported = {"gl", "tl", "async_copy", *FUNCTIONS[made.family], *dir(builtins)}
    functions = [n for section in made.body for n in section.body if isinstance(n, Function)]
    assert len(functions) > 2
    for function in functions:
        own = {*function.parameters, *defined_by(function.body)}
        assert used_by(function.body) - own - made.defines <= imported, function.name
