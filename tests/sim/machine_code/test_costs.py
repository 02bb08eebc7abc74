"""Costs of instructions against the micro-benchmarks that they are named after."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from twill.artifacts.machine import Machine
from twill.base.errors import InputError
from twill.sim.machine_code import Costs
from twill.sim.machine_code.listing import Instruction, control_of
from twill.sim.machine_code.steps import pipe_of
from twill.studies.judged import instruction_costs

FOLDER = Path(__file__).parents[3] / "traces" / "measure"


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((FOLDER / name).read_text().splitlines()))


COSTS, STAMPS = rows("h200_sass_costs.csv"), rows("h200_sass_stamps.csv")


def alone(instruction: str) -> float:
    """Return the cycles of an instruction of four warps, with nothing beside it."""
    found = [r for r in COSTS if r["first"] == instruction and r["warps"] == "4"]
    return float(found[0]["first_cycles"])


def beside(instruction: str, product: str, column: str = "first_cycles") -> float:
    """Return the cycles of an instruction beside products alone, or those of a product."""
    named = instruction, "", f"HGMMA.{product}"
    found = [r for r in COSTS if (r["first"], r["second"], r["product"]) == named]
    return float(found[0][column])


def stamp(product: str, number: int) -> float:
    """Return when a product was issued, in cycles from the first stamp."""
    return float(next(r for r in STAMPS if r["product"] == product)[f"stamp_{number}"])


HOPPER = Machine.named("hopper_h100")
c = instruction_costs(HOPPER)


def apart(product: str) -> float:
    """Return the cycles between products of a warp, as long as there is room for them."""
    return stamp(product, 3) - stamp(product, 2)


STALLS = {"barrier": 6, "wait": 12}  # stall counts around an instruction, in cycles
DERIVED: dict[str, tuple[Callable[[], float], float]] = {
    "mufu_latency": (lambda: alone("EX2.dep"), c.mufu_latency),
    "fma_free": (lambda: beside("FMNMX", "n128.ss"), 1 / c.fma_free),
    "shuffle_latency": (lambda: alone("SHFL.dep"), c.shuffle_latency),
    "shared_load_latency": (lambda: alone("LDS.32.dep"), c.shared_load_latency + 1),
    "shared_store_beside_full": (
        lambda: beside("SHFL", "n64.ss"),
        c.shared_store_beside_full + 4 * c.shared_store_beside_full_wavefront,
    ),
    "shared_store_beside_full_wavefront": (
        lambda: beside("STS.128", "n64.ss"),
        c.shared_store_beside_full + 16 * c.shared_store_beside_full_wavefront,
    ),
    "shared_store_beside_part": (
        lambda: beside("SHFL", "n128.ss"),
        c.shared_store_beside_part + 4 * c.shared_store_beside_part_wavefront,
    ),
    "shared_store_beside_part_wavefront": (
        lambda: beside("STS.128", "n128.ss"),
        c.shared_store_beside_part + 16 * c.shared_store_beside_part_wavefront,
    ),
    "shared_load_beside_part_wavefront": (
        lambda: beside("LDS.128", "n128.ss"),
        c.shared_store_beside_part + 16 * c.shared_load_beside_part_wavefront,
    ),
    "shared_load_beside_full": (
        lambda: beside("LDS.32.dep", "n64.ss"),
        alone("LDS.32.dep") + c.shared_load_beside_full,
    ),
    "shared_load_beside_part": (
        lambda: beside("LDS.32.dep", "n128.ss"),
        alone("LDS.32.dep") + c.shared_load_beside_part,
    ),
    "fma_kept": (lambda: beside("FADD.dep", "n128.ss", "product_cycles"), 64),
    "product_start": (lambda: stamp("n128 ss", 2), c.product_start),
    **{
        tail: (lambda: beside("FADD.dep", "n128.rs", "product_cycles"), 92 + getattr(c, tail))
        for tail in ("product_tail", "product_tail_rows", "product_tail_inside")
    },
    "product_issue": (lambda: apart("n64 ss"), c.product_issue),
    "product_issue_column": (
        lambda: (apart("n256 ss") - apart("n128 ss")) / 128,
        c.product_issue_column,
    ),
    "product_issue_free": (
        lambda: apart("n128 ss"),
        128 * c.product_issue_column - c.product_issue_free,
    ),
    "product_fence": (lambda: alone("WGMMA.FENCE"), c.product_fence),
    "barrier_latency": (lambda: alone("BAR.SYNC"), c.barrier_latency + STALLS["barrier"]),
    "mbarrier_attempt": (lambda: alone("TRYWAIT.ready"), c.mbarrier_attempt + STALLS["wait"]),
    "mbarrier_arrive": (lambda: alone("ARRIVE.thread0"), c.mbarrier_arrive),
    "fence_memory": (lambda: alone("MEMBAR.CTA"), c.fence_memory),
    "fence_proxy": (lambda: alone("FENCE.PROXY"), c.fence_proxy + c.fence_memory),
}
"""The measurement of each cost of source ``SASS``, and what the cost says of it, in cycles."""
TOGETHER = {"branch_taken"}  # seen in loops of other instructions only: test_micro_benchmarks


@pytest.mark.parametrize("name", DERIVED)
def test_a_cost_is_what_a_single_stream_measured(name: str) -> None:
    measured, stated = DERIVED[name]
    assert stated == pytest.approx(measured(), rel=0.05)


def test_every_cost_has_a_source_that_is_no_kernel() -> None:
    known = set(DERIVED)
    for pipe in HOPPER.instructions or ():
        for cost, quantity in pipe.costs.items():
            name, source = f"{pipe.pipe}_{cost}", quantity.source
            origin = source.split(":")[0]
            assert origin in HOPPER.sources, name
            assert not any(word in source for word in ("gemm", "attention", "fa_", "kernel")), name
            assert (name in DERIVED or name in TOGETHER) == (origin == "SASS"), name
            known.discard(name)
    assert not known
    assert HOPPER.sources["SASS"].startswith("traces/measure/h200_sass_costs.csv")
    assert (FOLDER / "sass_costs.cu").is_file()


def test_a_cost_of_a_b200_is_its_own_or_that_of_hopper() -> None:
    b200 = Machine.named("blackwell_b200")
    costs, facts = instruction_costs(b200), b200.constants
    hopper = {
        f"{pipe.pipe}_{name}": cost.value
        for pipe in HOPPER.instructions or ()
        for name, cost in pipe.costs.items()
    }
    for pipe in b200.instructions or ():
        for cost, quantity in pipe.costs.items():
            name = f"{pipe.pipe}_{cost}"
            if quantity.source.startswith("HOPPER"):
                assert quantity.value == hopper[name], name
    # From the issue of a product to the end of a wait on its commit, less its interval.
    waking = costs.product_start + costs.mbarrier_wake + costs.branch_taken
    assert waking + costs.product_tail == facts["mma_wait_smem"].value
    assert waking + costs.product_tail_rows == facts["mma_wait_smem_64"].value
    assert waking + costs.product_tail_inside == facts["mma_wait_tmem"].value
    for name, fact in (
        ("tensor_load_rate", "tmem_read_rate"),
        ("tensor_store_rate", "tmem_write_rate"),
        ("tensor_load_latency", "tmem_latency"),
        ("product_issue", "mma_issue"),
        ("bulk_issue", "tma_issue"),
        ("bulk_rate", "tma_rate"),
        ("bulk_row", "tma_row"),
        ("bulk_latency", "tma_latency"),
        ("bulk_latency_kib", "tma_latency_per_kib"),
        ("mufu_latency", "mufu_latency"),
        ("global_latency", "load_latency"),
    ):
        assert getattr(costs, name) == facts[fact].value, name


OTHER = """
extends = "hopper_h100"
name = "other"
[sources]
BOOK = "a data book"
[[instructions]]
pipe = "product"
opcodes = ["FROBGMMA"]
costs.column = { value = 1.0, unit = "cycles a column", source = "BOOK" }
"""


def other(text: str, tmp_path: Path) -> Costs:
    file = tmp_path / "other.toml"
    file.write_text(text)
    return instruction_costs(Machine.named(str(file)))


def test_a_file_describes_another_gpu(tmp_path: Path) -> None:
    found = other(OTHER, tmp_path)
    assert (found.product_column, found.product_fetch) == (1.0, c.product_fetch)
    one = Instruction(0, "", "FROBGMMA.64x8", (), control_of(0))
    assert pipe_of(one, found) == "product"
    with pytest.raises(InputError, match="unknown instruction"):
        pipe_of(one, c)
    assert pipe_of(replace(one, operation="UTMALDG.2D"), found) == "bulk"
    assert pipe_of(replace(one, operation="UIADD3"), found) == "uniform"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("costs.column", "costs.colunm", r"no cost of machine code \(got 'product_colunm'\)"),
        ('"product"', '"prodcut"', r"no pipe of machine code \(got 'prodcut'\)"),
        ("product", "tensor_load", "lacks the cost tensor_load_latency"),
        ('extends = "hopper_h100"', 'extends = "ddg"', "lacks the cost product_answer"),
    ],
)
def test_a_mistake_in_a_file_is_told(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        other(OTHER.replace(old, new), tmp_path)


def test_mechanisms_of_the_simulated_sm_are_streams_of_one_instruction() -> None:
    mechanisms = HOPPER.mechanisms
    assert mechanisms is not None
    slots, port, signals = mechanisms.registers, mechanisms.port, mechanisms.hand_overs
    assert slots is not None
    assert port is not None
    assert signals is not None
    assert 1 / slots.free.value == pytest.approx(beside("FMNMX", "n128.ss"), rel=0.05)
    for share, product in zip(
        port.shares, ("n64.ss", "n128.ss", "n256.ss", "n128.rs"), strict=True
    ):
        # STS.128 of four warps needs the port for 16 cycles.
        assert share.left.value == pytest.approx(16 / beside("STS.128", product), abs=0.01)
    assert port.latency.value == pytest.approx(alone("LDS.32.dep") - 1, abs=0.5)
    assert signals.wait.value == pytest.approx(alone("TRYWAIT.ready"), abs=0.5)
    group = alone("BAR+ARRIVE.thread0") - alone("ARRIVE.thread0")
    assert signals.group.value == pytest.approx(group, abs=0.5)
    assert signals.fence.value == pytest.approx(alone("FENCE.PROXY"), abs=0.5)
