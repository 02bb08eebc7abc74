"""The solver and an independent statement of the model agree about random loops, level by level."""

from __future__ import annotations

from typing import Any

import pytest

import twill
from tests.oracle.campaign import Figures
from tests.oracle.compare import compare
from tests.oracle.loops import FEATURES, random_loop
from twill.scheduler import schedule as solve

FEW = 20
CHUNKS, CHUNK = 50, 100
LEAST_DECIDED = 0.9
LEAST_WITH_A_FEATURE = 200 // CHUNKS


def agreed(seeds: range) -> Figures:
    """Look at loops, none of which may have an objection."""
    figures = Figures()
    objections = {seed: figures.look_at(seed).objections for seed in seeds}
    assert {seed: said for seed, said in objections.items() if said} == {}, figures
    return figures


def test_a_few_loops_have_the_schedules_that_the_model_says() -> None:
    assert agreed(range(FEW)).decided == FEW


@pytest.mark.slow
@pytest.mark.parametrize(
    "chunk", [pytest.param(0, marks=pytest.mark.sample), *range(1, CHUNKS)]
)  # fmt: skip
def test_five_thousand_loops_have_the_schedules_that_the_model_says(chunk: int) -> None:
    figures = agreed(range(CHUNK * chunk, CHUNK * (chunk + 1)))
    assert figures.decided >= LEAST_DECIDED * CHUNK
    assert all(figures.features[name] >= LEAST_WITH_A_FEATURE for name in FEATURES), figures


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

    monkeypatch.setattr(twill, "schedule", worse)
    objections = compare(*random_loop(16)).objections
    assert any(said.startswith(level) for said in objections), objections


def test_an_answer_that_breaks_a_rule_is_objected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(loop: twill.Loop, machine: twill.Machine, **options: Any) -> twill.Schedule:
        found = solve(loop, machine, **options)
        interval = found.initiation_interval
        assert interval is not None
        return found.model_copy(update={"initiation_interval": interval - 1})

    monkeypatch.setattr(twill, "schedule", broken)
    objections = compare(*random_loop(16)).objections
    assert any(said.startswith("no schedule at") for said in objections), objections
