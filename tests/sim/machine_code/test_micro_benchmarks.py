"""Micro-benchmarks: simulated cycles against those of an H200, and mutants that they notice."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sim.machine_code.conftest import entries, module

DATA = Path(__file__).parents[2] / "data" / "machine_code"
ROWS = (DATA / "measured.csv").read_text().splitlines()
MEASURED = {row["benchmark"]: row for row in csv.DictReader(ROWS)}
ROUNDS = 4, 12
TOLERANCE = 0.11
PARAMETER = 0x210  # place of the number of rounds in the constant bank


def executed(name: str, rounds: int) -> Any:
    text = (DATA / f"{name}.sass").read_text()
    costs = module("costs").costs_of(*entries("hopper_h100"))
    steps = tuple(module("steps").Step(one, costs) for one in module("listing").read_listing(text))
    warps = 8 if "_beside_" in name or name.startswith("hand_over") else 4
    launch = module("launch").Launch({PARAMETER: rounds}, {}, (0, 0, 0), warps, warps, 0)
    return module("sm").Scheduler(steps, launch, costs).run()


def cycles(name: str) -> tuple[float, float]:
    """Return the cycles of an instruction, and those of a product beside it."""
    row = MEASURED[name]
    first, second = (executed(name, rounds) for rounds in ROUNDS)
    spent = second.cycles - first.cycles
    each = spent / (ROUNDS[1] - ROUNDS[0]) / int(row["instructions"])
    if not row["columns"]:
        return each, 0.0
    products = (second.products - first.products) / (int(row["columns"]) / 2)
    return each, spent / products


def as_measured(name: str) -> bool:
    row = MEASURED[name]
    each, product = cycles(name)
    near = [abs(each / float(row["cycles"]) - 1) < TOLERANCE]
    if row["product_cycles"]:
        near.append(abs(product / float(row["product_cycles"]) - 1) < TOLERANCE)
    return all(near)


@pytest.mark.parametrize("name", MEASURED)
def test_a_micro_benchmark_takes_what_was_measured(name: str) -> None:
    assert as_measured(name), (cycles(name), MEASURED[name])


@pytest.mark.usefixtures("interpreted")
def test_an_ignored_stall_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = module("steps").Step.__init__

    def without(step: Any, one: object, costs: object) -> None:
        made(step, one, costs)
        step.stall = 1

    monkeypatch.setattr(module("steps").Step, "__init__", without)
    assert not as_measured("try_wait")


@pytest.mark.usefixtures("interpreted")
def test_a_barrier_that_never_blocks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def arrive(_: object, *arguments: object) -> None:
        go = arguments[-1]
        if callable(go):
            go()

    monkeypatch.setattr(module("barriers").NamedBarriers, "arrive", arrive)
    assert not as_measured("bar_sync")
    assert not as_measured("hand_over_4")


@pytest.mark.usefixtures("interpreted")
def test_a_port_of_twice_the_width_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    access = module("port").Port.access
    monkeypatch.setattr(module("port").Port, "access", lambda port, n: access(port, n / 2))
    assert not as_measured("sts_128")
    assert not as_measured("sts_128_beside_n64")


@pytest.mark.usefixtures("interpreted")
def test_a_phase_too_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = module("barriers").MBarriers.wait

    def early(barriers: Any, address: int, _: int, go: Callable[[], None], answer: float) -> None:
        wait(barriers, address, 1 - barriers.at(address).phase, go, answer)

    monkeypatch.setattr(module("barriers").MBarriers, "wait", early)
    assert not as_measured("hand_over_4")
