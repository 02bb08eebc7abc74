"""Whatever an operation says is written into the kernel, or refused by name."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from pathlib import Path

import pytest

from tests.emit.test_emit import solved
from tests.support.pages import ROOT
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError
from twill.emit import emitted
from twill.emit.attributes import ACCEPTED, OTHERS, POLICY, USUAL, WRITTEN, _check_attributes
from twill.emit.source import Statement
from twill.frontends.ttgir.kinds import KINDS, KNOWN, VIEWS
from twill.frontends.ttgir.reader import Dump

pytestmark = pytest.mark.usefixtures("first_arguments")
DECLARED = ROOT / "tests/data/triton/attributes.json"
"""Attributes of Triton 3.9.0's operations, from the headers that its wheel has."""


ACCEPTED_KINDS = sorted({*KNOWN, *KINDS, *VIEWS})


def declared() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(DECLARED.read_text())
    return found


def changed(name: str, pattern: str, new: str) -> Schedule:
    """Return a schedule whose kernel says something else in one place."""
    schedule = solved(name)
    assert schedule.loop.source is not None
    text, count = re.subn(pattern, new, schedule.loop.source.text, count=1)
    assert count == 1, f"{name} has no {pattern}"
    source = schedule.loop.source.model_copy(update={"text": text})
    return schedule.model_copy(update={"loop": schedule.loop.model_copy(update={"source": source})})


def given(name: str, operation: str, attribute: str) -> Schedule:
    """Return a schedule whose kernel has an attribute that nothing can mean."""
    operands = rf'("{operation}"\([^)]*\))'
    try:
        return changed(name, rf"{operands} <\{{", rf"\1 <{{{attribute} = 77 : i64, ")
    except AssertionError:  # it has none yet
        return changed(name, operands, rf"\1 <{{{attribute} = 77 : i64}}>")


def spoken(operation: str, attribute: str, value: str = "77 : i64") -> Statement:
    one = f'"{operation}"() <{{{attribute} = {value}}}> : () -> ()'
    text = f'"builtin.module"() ({{ {one} }}) : () -> ()'
    (statement,) = Dump(text)._module.regions[0].blocks[0].ops
    return statement


EVERY = [(o, a) for o in ACCEPTED_KINDS for a in {*declared().get(o, ()), *ACCEPTED.get(o, ())}]


@pytest.mark.parametrize(("operation", "attribute"), sorted(EVERY))
def test_every_attribute_is_written_or_refused(operation: str, attribute: str) -> None:
    """Of every operation that is scheduled, every attribute that Triton declares for it."""
    if ACCEPTED.get(operation, {}).get(attribute, ()) is WRITTEN:
        assert (operation, attribute) in WRITES or (operation, attribute) in ELSEWHERE
        return
    if attribute in OTHERS:
        return
    with pytest.raises(RefusedError, match=f"{attribute} = 77"):
        _check_attributes(spoken(operation, attribute))


@pytest.mark.triton
def test_the_list_of_attributes_is_that_of_the_installed_triton() -> None:
    spec = importlib.util.find_spec("triton")
    assert spec is not None
    headers = Path(str(spec.origin)).parent / "include/triton/Dialect"
    found: dict[str, list[str]] = {}
    for file in headers.glob("*/IR/Ops.h.inc"):
        for block in file.read_text().split("getAttributeNames() {")[1:]:
            name = re.search(
                r'getOperationName\(\) \{\s*return ::llvm::StringLiteral\("([\w.]+)', block
            )
            head = block.split("return ::llvm", 1)[0]
            if name is not None and name[1] in ACCEPTED_KINDS:
                found[name[1]] = re.findall(r'StringRef\("(\w+)"\)', head)
    assert found == declared()


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("gemm_pointers_hopper", "tt.load"),
        ("gemm_pointers_hopper", "tt.store"),
        ("gemm_pointers_hopper", "ttng.warp_group_dot"),
        ("layer_norm_hopper", "tt.reduce"),
        ("layer_norm_hopper", "arith.mulf"),
        ("gemm_blackwell", "ttng.tc_gen5_mma"),
    ],
)
def test_an_attribute_that_no_template_writes_is_refused_by_name(name: str, operation: str) -> None:
    with pytest.raises(RefusedError, match=rf"{operation} at .* no template .*: unheard = 77"):
        emitted(given(name, operation, "unheard"))


POINTER = "gemm_pointers_hopper"
LOADED = r'("tt.load"\([^)]*\)) <\{'
WRITES = {
    ("tt.load", "cachePolicy"): (
        POINTER,
        LOADED,
        rf"\1 <{{cachePolicy = {USUAL.replace('none', 'cg').replace('normal', 'first')}, ",
        r'cache_modifier="\.cg", eviction_policy="evict_first"',
    ),
    ("tt.load", "cache"): (POINTER, LOADED, r"\1 <{cache = 3 : i32, ", r'cache_modifier="\.cg"'),
    ("tt.load", "evict"): (POINTER, LOADED, r"\1 <{evict = 3 : i32, ", r'="evict_last"'),
    ("tt.load", "isVolatile"): (POINTER, r"isVolatile = false", "isVolatile = true", "volatile=T"),
    ("tt.store", "evict"): (
        POINTER,
        r'("tt.store"\([^)]*\))',
        r"\1 <{evict = 2 : i32}>",
        r'gl\.store\(.*eviction_policy="evict_first"',
    ),
    ("arith.cmpi", "predicate"): (
        "masked_gemm.sm90",
        r"predicate = 2 : i64",
        "predicate = 5 : i64",
        " < .* >= | >= .* < ",  # the first of two
    ),
    ("tt.reduce", "axis"): (
        "layer_norm_hopper",
        r"axis = 1 : i32\}> \(\{",
        "axis = 0 : i32}> ({",
        "axis=0",
    ),
    ("tt.get_program_id", "axis"): (
        "layer_norm_hopper",
        r'get_program_id"\(\) <\{axis = 0',
        'get_program_id"() <{axis = 2',
        r"program_id\(2\)",
    ),
    ("tt.make_range", "end"): (
        POINTER,
        r"<\{end = (\d+) : i32, start = 0 : i32\}>",
        r"<{end = \1 : i32, start = 1 : i32}>",
        r"gl\.arange\(1, ",
    ),
}


# What other tests change: numbers and orders of tiles without which no kernel computes right.
ELSEWHERE = {
    ("arith.constant", "value"),
    ("arith.cmpf", "predicate"),
    ("tt.atomic_rmw", "atomic_rmw_op"),
    ("tt.atomic_rmw", "sem"),
    ("tt.atomic_rmw", "scope"),
    ("tt.expand_dims", "axis"),
    ("tt.get_num_programs", "axis"),
    ("tt.make_range", "start"),
    ("tt.scan", "axis"),
    ("tt.scan", "reverse"),
    ("tt.store", "cache"),
    ("tt.store", "cachePolicy"),
    ("tt.trans", "order"),
    ("ttg.memdesc_trans", "order"),
    ("ttng.tc_gen5_mma_scaled", "a_type"),
    ("ttng.tc_gen5_mma_scaled", "b_type"),
    ("ttng.warp_group_dot", "inputPrecision"),
    ("ttng.warp_group_dot", "maxNumImpreciseAcc"),
}


@pytest.mark.parametrize(("operation", "key"), list(WRITES))
def test_what_an_attribute_says_is_in_the_kernel(operation: str, key: str) -> None:
    name, pattern, new, wanted = WRITES[operation, key]
    assert ACCEPTED[operation][key] is WRITTEN
    text = emitted(changed(name, pattern, new))
    kernel = " ".join(text.split("# Entry point")[0].split())
    assert re.search(wanted, kernel)
    assert text != emitted(solved(name))


@pytest.mark.parametrize(
    ("name", "pattern", "new", "wrong"),
    [
        (POINTER, LOADED, r"\1 <{cache = 9 : i32, ", "cache = 9"),
        (POINTER, "inputPrecision = 0", "inputPrecision = 2", ""),
    ],
)
def test_a_value_that_means_something_else_is_refused(
    name: str, pattern: str, new: str, wrong: str
) -> None:
    schedule = changed(name, pattern, new)
    if not wrong:  # of factors of 16 bits it means nothing
        assert emitted(schedule) == emitted(solved(name))
        return
    with pytest.raises(RefusedError, match=wrong):
        emitted(schedule)


def test_another_reduction_than_a_sum_is_refused() -> None:
    _check_attributes(spoken("tt.descriptor_reduce", "kind", "1 : i32"))
    with pytest.raises(RefusedError, match="kind = 2"):
        _check_attributes(spoken("tt.descriptor_reduce", "kind", "2 : i32"))


def test_policies_are_written_in_every_form_that_triton_has() -> None:
    assert set(POLICY) == {"cache", "evict", "cachePolicy"}
    assert {*declared()["tt.load"]} - {"isVolatile", "operandSegmentSizes"} == {"cachePolicy"}


def test_a_masked_copy_has_its_mask() -> None:
    """A product through pointers whose depth no tile divides, as in Triton's third tutorial."""
    text = emitted(solved("masked_gemm.sm90"))
    calls = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "async_copy.async_load"
    ]
    assert len(calls) >= 2
    assert all("mask=" in call and "k - i * 64" in call for call in calls if "(i" in call)


def test_an_effect_before_the_loop_is_refused() -> None:
    store = '"tt.store"(%a_ptr, %k) : (!tt.ptr<f16>, i32) -> ()\n    '
    schedule = changed(POINTER, r'(%\w+ = "tt.get_program_id")', rf"{store}\1")
    with pytest.raises(RefusedError, match="an effect before the loop"):
        emitted(schedule)


def test_a_predicate_is_refused() -> None:
    never = changed("gemm_blackwell", r"<\{value = true\}>", "<{value = false}>")
    with pytest.raises(RefusedError, match="it has a predicate"):
        emitted(never)


def test_numbers_at_the_ends_of_names_are_kept() -> None:
    """Two arguments `stride_0` and `stride_1` are not one argument `stride` twice."""
    dump = Dump(
        '"builtin.module"() ({ "tt.func"() <{sym_name = "k"}> ({\n'
        "^bb0(%stride_0: i32, %stride_1: i32):\n"
        '"tt.return"() : () -> ()\n}) : () -> () }) : () -> ()'
    )
    assert list(dump.arguments.values()) == ["stride_0", "stride_1"]


def test_facts_of_a_descriptor_are_told_apart_where_triton_calls_them_alike() -> None:
    schedule = solved("gemm_blackwell")
    assert schedule.loop.source is not None
    text = re.sub(r"%(\w+_desc)\.(shape|stride)\.(\d)", r"%\1_\2\3", schedule.loop.source.text)
    raw = re.sub(r"_(shape|stride)(\d)", lambda m: f"_{10 * (m[1] == 'shape') + int(m[2])}", text)
    source = schedule.loop.source.model_copy(update={"text": raw})
    loop = schedule.loop.model_copy(update={"source": source})
    assert emitted(schedule.model_copy(update={"loop": loop})) == emitted(schedule)
