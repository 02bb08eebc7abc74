"""Costs of instructions against the micro-benchmarks that they are named after."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from twill.artifacts.machine import Machine
from twill.sim.machine_code.costs import SOURCES, Costs, sources

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


c = Costs()
STALLS = {"barrier": 6, "wait": 12}  # stall counts around an instruction, in cycles
DERIVED: dict[str, tuple[Callable[[], float], float]] = {
    "exponential_latency": (lambda: alone("EX2.dep"), c.exponential_latency),
    "free_slots": (lambda: beside("FMNMX", "n128.ss"), 1 / c.free_slots),
    "shuffle_latency": (lambda: alone("SHFL.dep"), c.shuffle_latency),
    "shared_latency": (lambda: alone("LDS.32.dep"), c.shared_latency + 1),
    "beside_full": (lambda: beside("SHFL", "n64.ss"), c.beside_full + 4 * c.beside_full_wavefront),
    "beside_full_wavefront": (
        lambda: beside("STS.128", "n64.ss"),
        c.beside_full + 16 * c.beside_full_wavefront,
    ),
    "beside_part": (lambda: beside("SHFL", "n128.ss"), c.beside_part + 4 * c.beside_part_wavefront),
    "beside_part_wavefront": (
        lambda: beside("STS.128", "n128.ss"),
        c.beside_part + 16 * c.beside_part_wavefront,
    ),
    "load_beside_full": (
        lambda: beside("LDS.32.dep", "n64.ss"),
        alone("LDS.32.dep") + c.load_beside_full,
    ),
    "load_beside_part": (
        lambda: beside("LDS.32.dep", "n128.ss"),
        alone("LDS.32.dep") + c.load_beside_part,
    ),
    "kept_slots": (lambda: beside("FADD.dep", "n128.ss", "product_cycles"), 64),
    "product_start": (lambda: stamp("n128 ss", 2), c.product_start),
    "registers_first": (
        lambda: stamp("n128 rs", 2),
        c.product_start + c.registers_first,
    ),
    "product_tail": (lambda: beside("FADD.dep", "n128.rs", "product_cycles"), 92 + c.product_tail),
    "product_fence": (lambda: alone("WGMMA.FENCE"), c.product_fence),
    "barrier": (lambda: alone("BAR.SYNC"), c.barrier + STALLS["barrier"]),
    "attempt": (lambda: alone("TRYWAIT.ready"), c.attempt + STALLS["wait"]),
    "arrive": (lambda: alone("ARRIVE.thread0"), c.arrive),
    "memory_fence": (lambda: alone("MEMBAR.CTA"), c.memory_fence),
    "proxy_fence": (lambda: alone("FENCE.PROXY"), c.proxy_fence + c.memory_fence),
}
"""The measurement of each cost of source ``MB``, and what the cost says of it, in cycles."""
TOGETHER = {"taken_branch"}  # seen in loops of other instructions only: test_micro_benchmarks


@pytest.mark.parametrize("name", DERIVED)
def test_a_cost_is_what_a_single_stream_measured(name: str) -> None:
    measured, stated = DERIVED[name]
    assert stated == pytest.approx(measured(), rel=0.05)


def test_every_cost_has_a_source_that_is_no_kernel() -> None:
    for name, (_, unit, source) in sources().items():
        origin = source.split(":")[0]
        assert origin in SOURCES, name
        assert unit, name
        assert not any(word in source for word in ("gemm", "attention", "fa_", "kernel")), name
        assert (name in DERIVED or name in TOGETHER) == (origin == "MB"), name
    text = " ".join(SOURCES.values())
    assert "measured/kernels" not in text
    assert (FOLDER / "sass_costs.cu").is_file()


def test_mechanisms_of_the_simulated_sm_are_streams_of_one_instruction() -> None:
    mechanisms = Machine.named("hopper_h100").mechanisms
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
