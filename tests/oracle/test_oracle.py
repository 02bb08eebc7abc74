"""The solver and an independent statement of the model agree about random loops, level by level."""

from __future__ import annotations

from typing import Any

import pytest

import twill
from tests.oracle.campaign import Figures
from tests.oracle.compare import compare
from tests.oracle.loops import FEATURES
from tests.support.small import edge, op, small_loop, small_machine
from tests.support.static import static_schedule as solve

FEW = 6
CHUNKS, CHUNK = 50, 100
LEAST_DECIDED = 0.9
LEAST_WITH_A_FEATURE = 200 // CHUNKS


def agreed(seeds: range) -> Figures:
    """Look at loops, none of which may have an objection, and execute their schedules."""
    figures = Figures()
    objections = {seed: figures.look_at(seed, run=True).objections for seed in seeds}
    assert {seed: said for seed, said in objections.items() if said} == {}, figures
    return figures


def test_a_few_loops_have_the_schedules_that_the_model_says() -> None:
    assert agreed(range(FEW)).decided == FEW


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(
    "chunk", [pytest.param(0, marks=pytest.mark.sample), *range(1, CHUNKS)]
)  # fmt: skip
def test_five_thousand_loops_have_the_schedules_that_the_model_says(chunk: int) -> None:
    figures = agreed(range(CHUNK * chunk, CHUNK * (chunk + 1)))
    assert figures.decided >= LEAST_DECIDED * CHUNK
    assert all(figures.features[name] >= LEAST_WITH_A_FEATURE for name in FEATURES), figures


def load_product_scale() -> tuple[twill.Loop, twill.Machine]:
    """Return a chain of which SMEM has no room to hand the product to another group."""
    operations = [
        op("load", "COPY", 2, asynchronous=True, variable_latency=True, memory="smem", warps=1),
        op("product", "TC", 3, latency=5, asynchronous=True, registers=8),
        op("scale", "ALU", 2, registers=4),
        op("more", "ALU", 1),
    ]
    edges = [edge("load", "product"), edge("product", "scale"), edge("scale", "more")]
    units = {"TC": 1, "ALU": 1, "COPY": 1}
    machine = small_machine(units, groups=((1, 1), (4, 2)), smem=4096, hop=1, registers=64)
    return small_loop(operations, edges), machine


def test_a_loop_made_by_hand_has_the_levels_that_the_model_says() -> None:
    result = compare(*load_product_scale())
    assert result.objections == []
    assert result.oracle == {
        "interval": 4,  # the units need 3, but then the group never has time to wait for a load
        "stages": 2,
        "groups": 2,
        "transfers": 0,
        "length": 8,
        "slack": 0,
    }


@pytest.mark.parametrize("level", ["interval", "stages", "groups", "length", "slack"])
def test_a_worse_answer_is_objected_to(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def worse(loop: twill.Loop, machine: twill.Machine, **options: Any) -> twill.Schedule:
        found = solve(loop, machine, **options)
        assert found.proof is not None
        by = -1 if level == "slack" else 1
        levels = tuple(
            entry.model_copy(update={"value": entry.value + by * (entry.level == level)})
            for entry in found.proof.levels
        )
        interval = found.initiation_interval
        assert interval is not None
        return found.model_copy(
            update={
                "initiation_interval": interval + (level == "interval"),
                "proof": found.proof.model_copy(update={"levels": levels}),
            }
        )

    monkeypatch.setattr("tests.oracle.compare.static_schedule", worse)
    objections = compare(*load_product_scale()).objections
    assert any(said.startswith(level) for said in objections), objections


def test_an_answer_that_breaks_a_rule_is_objected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(loop: twill.Loop, machine: twill.Machine, **options: Any) -> twill.Schedule:
        found = solve(loop, machine, **options)
        interval = found.initiation_interval
        assert interval is not None
        return found.model_copy(update={"initiation_interval": interval - 1})

    monkeypatch.setattr("tests.oracle.compare.static_schedule", broken)
    objections = compare(*load_product_scale()).objections
    assert any(said.startswith("no schedule at") for said in objections), objections
