"""Predictions of compiled kernels, and what they are made of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from twill.artifacts.machine import Machine
from twill.base.errors import InputError
from twill.sim.machine_code import Kernel, Prediction, predicted
from twill.sim.machine_code.costs import MECHANISMS
from twill.sim.machine_code.launch import given_arguments, launched
from twill.sim.machine_code.listing import Control, Instruction, control_of, read_listing
from twill.sim.machine_code.memory import wavefronts
from twill.sim.machine_code.registers import Warp
from twill.sim.machine_code.steps import Step
from twill.sim.machine_code.trace import SHOWN, traced
from twill.studies.judged import instruction_costs

DATA = Path(__file__).parents[2] / "data" / "machine_code"
COSTS = instruction_costs(Machine.named("hopper_h100"))
PLAIN = Control(1, yields=False, written=7, read=7, waits=(), reuse=0)

CYCLES = 511.1  # of an iteration, on an H200


def kernel() -> Kernel:
    listing, source = ((DATA / f"gemm_grouped.{end}").read_text() for end in ("sass", "py"))
    return Kernel(listing, (), source, warps=8, shared=131340)


@pytest.fixture(scope="module")
def found() -> Prediction:
    return predicted(kernel(), COSTS)


def test_a_product_takes_what_was_measured(found: Prediction) -> None:
    assert found.interval_cycles == pytest.approx(CYCLES, rel=0.02)
    assert found.product_cycles == pytest.approx(512, rel=0.01)
    assert all(found.repeated)
    assert found.interval_cycles is not None
    assert found.lowest_cycles <= found.interval_cycles <= found.highest_cycles


def test_waits_name_the_line_and_what_answers(found: Prediction) -> None:
    lines = (DATA / "gemm_grouped.py").read_text().splitlines()
    waiting = next(one for one in found.waits if "PHASECHK" in one.waits_for)
    assert "mbarrier.wait" in lines[waiting.answered_at - 1]
    assert waiting.partition == "load"


def test_a_ring_waits_for_loads_that_take_long(found: Prediction) -> None:
    """Products read one or two of three slots; the others load meanwhile."""
    slow = predicted(kernel(), COSTS, latency=lambda *_: 6000.0)
    assert 6000 / 2 <= slow.lowest_cycles <= slow.highest_cycles < 6000 / 1.8
    by_size = {8192: 300.0, 16384: 300.0}
    fast = predicted(kernel(), COSTS, latency=lambda _, size, __: by_size[size])
    assert fast.interval_cycles == found.interval_cycles


def test_numbers_and_grid_are_those_of_an_emitted_file() -> None:
    given = '{"sequence": 128 * iterations, "grid": (min(iterations, 2), -(-3 // 2), 1)}'
    text = f"def make_arguments(iterations):\n    arguments = {given}\n"
    assert given_arguments(text, 8) == ({"sequence": 1024}, (2, 2, 1))
    with pytest.raises(InputError, match="or no grid"):
        given_arguments(text.replace('"grid"', '"blocks"'), 8)


def test_boxes_of_rows_are_swizzled_and_those_of_one_dimension_whole() -> None:
    text = kernel().source.replace("tensordesc<fp16[64,128]>", "tensordesc<fp32[64]>")
    given = launched(replace(kernel(), source=text), 8, last=False).tiles.values()
    assert {(boxes.bytes, boxes.number) for boxes in given} == {(16384, 1), (256, 1), (16384, 2)}


def test_blocks_make_their_descriptors_behind_each_other() -> None:
    layout = "gl.NVMMASharedLayout.get_default_for([64, 64], gl."
    made = f"tma.make_tensor_descriptor(a, [n, 64], [64, 1], [64, 64], {layout}float32))\n"
    text = kernel().source + made + made.replace("float32", "float16")
    given = launched(replace(kernel(), source=text), 8, last=True)
    first = next(word for word in given.constants.values() if word == 0x20000000)
    found = [given.boxes(first + 128 * n) for n in range(4)]
    assert [(boxes.bytes, boxes.number) for boxes in found] == [(8192, 2), (8192, 1)] * 2
    with pytest.raises(InputError, match="no descriptor is at 0x20000040"):
        given.boxes(first + 64)


def test_a_loop_of_as_many_rounds_whatever_is_given_is_refused() -> None:
    fixed = replace(kernel(), source=kernel().source.replace("iterations * 64}", "512}"))
    with pytest.raises(InputError, match="more rounds for more iterations"):
        predicted(fixed, COSTS)


def test_an_unknown_instruction_is_named() -> None:
    text = kernel().listing.replace(" LOP3.LUT", " FROB.LUT", 1)
    with pytest.raises(InputError, match=r"unknown instruction FROB\.LUT"):
        tuple(Step(one, COSTS) for one in read_listing(text))


def test_a_listing_without_words_is_refused() -> None:
    with pytest.raises(InputError, match="-hex"):
        read_listing("        /*0000*/  EXIT ;\n")


def test_control_fields() -> None:
    # S2R R0, SR_TID.X of the entry: scoreboard 1 is set, the next instruction in two cycles.
    control = control_of(0x000E640000002100)
    assert (control.stall, control.written, control.read, control.waits) == (2, 1, 7, ())
    assert control_of(0x002FC80000011600).waits == (1,)


@pytest.mark.parametrize(
    ("operation", "operands", "expected"),
    [
        ("IADD3", "R0, R1, -R2, RZ", 5),
        ("IMAD", "R0, R1, R2, 0x3", 17),
        ("LEA", "R0, R1, R2, 0x4", 114),
        ("SHF.R.U32.HI", "R0, RZ, 0x1, R1", 3),
        ("LOP3.LUT", "R0, R1, 0x6, RZ, 0xc0, !PT", 6),
        ("SEL", "R0, R1, R2, !PT", 2),
        ("SGXT", "R0, R1, 0x2", 0xFFFFFFFF),
        ("PRMT", "R0, R1, 0x4410, R2", 0x02020007),
        ("HFMA2.MMA", "R0, -RZ, RZ, 1, 0", 0x3C000000),
        ("P2R", "R0, PR, R1, 0x3", 6),
        ("UP2UR", "R0, UPR, R1, 0x3", 5),
    ],
)
def test_integers(operation: str, operands: str, expected: int) -> None:
    warp = Warp({}, {}, {})
    warp.vector[1], warp.vector[2] = 7, 2
    warp.predicates[1] = warp.uniform_predicates[0] = 1
    step = Step(Instruction(0, "", operation, tuple(operands.split(", ")), PLAIN), COSTS)
    assert step.effect is not None
    step.effect(warp)
    assert warp.vector[0] == expected


@pytest.mark.parametrize(
    ("stride", "width", "expected"), [(4, 1, 1), (8, 1, 2), (16, 4, 4), (128, 1, 32), (0, 1, 1)]
)
def test_wavefronts(stride: int, width: int, expected: int) -> None:
    places = tuple(stride * lane for lane in range(32))
    assert wavefronts(places, width, matrix=False) == expected


def test_mechanisms_are_switched_off_one_at_a_time() -> None:
    found = predicted(kernel(), COSTS, mechanisms=True).mechanisms
    assert set(found) == set(MECHANISMS) - {"tensor memory"}, "Hopper has none"
    assert all(abs(saved) < 1 for saved in found.values()), "products are never idle here"
    slow = replace(COSTS, product_start=500.0)
    saved = predicted(kernel(), slow, mechanisms=True).mechanisms
    most = max(saved, key=lambda name: saved[name])
    assert most == "start and tail of products"
    assert saved[most] > 100


def test_a_trace_shows_products_and_waits_of_the_last_iterations() -> None:
    events = json.loads(traced(kernel(), COSTS))["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M"}
    assert {"tensor core", "compute0 (warp 0): waits", "load (warp 6): instructions"} <= names
    products = [e for e in events if e["name"] == "product"]
    assert len(products) == pytest.approx(8 * SHOWN, abs=8)  # two of 64 rows, four deep
    ends = [e["ts"] + e["dur"] for e in products]
    assert all(e["ts"] >= end - 1e-9 for e, end in zip(products[1:], ends, strict=False))
    assert any("PHASECHK" in e["name"] and "answered_at" in e["args"] for e in events)
