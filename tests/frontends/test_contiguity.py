"""Loads through pointers by what their addresses say: how wide, how many sectors, what kind."""

from __future__ import annotations

import pytest

import twill
from tests.house.test_house import ROOT
from twill.frontends.ttgir import extract, load_ttgir

KERNELS = ROOT / "tests" / "data" / "kernels"
SIZES = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "M": "64", "N": "128", "K": "64"}
ALIGNED = dict.fromkeys(("depth", "rows", "a_row", "a_column"), "i32:16")
WHOLE = ("cp_async", None, None)
STRIDED = str(KERNELS / "product_by_strides.sm90.mlir")


def loads(loop: twill.Loop) -> dict[str, tuple[object, object, object]]:
    """Return of each load what does it, and of what is less than it might be how much."""
    facts = ("engine", "access_bytes", "contiguous_bytes")
    found = {o.name: o.attributes for o in loop.operations if o.kind == "load"}
    return {name: tuple(has.get(f) for f in facts) for name, has in found.items()}  # type: ignore[misc] # three


def test_a_load_by_an_unknown_stride_goes_through_registers() -> None:
    loop = load_ttgir(STRIDED)
    assert loads(loop) == {"a": ("pointer", 2, 2), "b": ("cp_async", None, None)}
    assert [o.kind for o in loop.operations] == ["load", "local_store", "load", "mma"]
    (stored,) = (d for d in loop.dependences if d.producer == "a")
    assert stored.consumer == "a.local_alloc"


@pytest.mark.parametrize(("machine", "rate"), [("hopper_h100", 81), ("blackwell_b200", 81)])
def test_each_element_by_an_unknown_stride_takes_a_sector(machine: str, rate: int) -> None:
    """A has 64 x 64 elements of 2 bytes for 128 threads, B 64 x 128; a sector has 32 bytes."""
    loop = load_ttgir(STRIDED)
    a, b = (twill.Machine.named(machine).cost(loop.operation(name)) for name in "ab")
    moved = {"a": 64 * 64 * 32, "b": 64 * 128 * 2}
    for cost, name, accesses in ((a, "a", 32), (b, "b", 8)):
        (lsu,) = (step for step in cost.steps if step.unit == "lsu")
        assert (lsu.cycles, lsu.instructions) == (-(-moved[name] // rate), accesses)


@pytest.mark.triton
@pytest.mark.parametrize(
    ("settings", "a"),
    [
        ({"STRIDE": "1"}, WHOLE),
        ({"STRIDE": "0"}, ("pointer", 2, 2)),
        ({"STRIDE": "2"}, ("pointer", 2, 2)),
        ({"STRIDE": "1", "a_row": "i32"}, ("pointer", 2, None)),
        ({"STRIDE": "1", "a_row": "i32", "DIVISOR": "2"}, ("cp_async", 4, None)),
        ({"STRIDE": "1", "depth": "i32"}, ("pointer", 2, None)),
        ({"STRIDE": "1", "rows": "i32"}, WHOLE),
    ],
)
def test_what_is_copied_is_what_tritons_pipeliner_copies(
    settings: dict[str, str], a: object
) -> None:
    """It gives a stage ahead to loads of 4 bytes a thread (`canBeConvertedToAsyncLoad`)."""
    from twill.frontends.triton_dump import dump_kernel

    where = f"{KERNELS / 'others.py'}:product_by_strides"
    loop = extract(dump_kernel(where, {**SIZES, **ALIGNED, **settings}, 90))
    assert loads(loop) == {"a": a, "b": WHOLE}
    stages = {o.name: o.attributes["triton_stage"] for o in loop.operations}
    ahead = {name: stages[name] != stages["c"] for name in "ab"}
    assert ahead == {name: engine == "cp_async" for name, (engine, *_) in loads(loop).items()}
