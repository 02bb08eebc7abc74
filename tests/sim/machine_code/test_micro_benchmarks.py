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


def scheduler(name: str, rounds: int, warps: int) -> Any:
    text = (DATA / f"{name}.sass").read_text()
    costs = module("costs").costs_of(*entries("hopper_h100"))
    steps = tuple(module("steps").Step(one, costs) for one in module("listing").read_listing(text))
    launch = module("launch").Launch({PARAMETER: rounds}, {}, (0, 0, 0), warps, warps, 0)
    return module("sm").Scheduler(steps, launch, costs)


def executed(name: str, rounds: int) -> Any:
    warps = 8 if "_beside_" in name or name.startswith("hand_over") else 4
    return scheduler(name, rounds, warps).run()


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


def turns() -> list[float]:
    """Return the cycles between exponentials of each of two groups, whose pipe serves one."""
    made = scheduler("ex2", ROUNDS[0], 8)
    made.issued = []
    made.run()
    found = []
    for warp in (0, 4):
        at = [cycle for w, index, cycle, _ in made.issued if w == warp and of_ex2(made, index)]
        found.append((at[-1] - at[0]) / (len(at) - 1))
    return found


def of_ex2(made: Any, index: int) -> bool:
    return bool(made.steps[index].operation == "MUFU.EX2")


def test_two_groups_take_turns_at_a_pipe() -> None:
    # traces/measure/h200_sass_costs.csv: 16.97 and 15.01 cycles apart, on eight warps.
    assert turns() == pytest.approx([16.97, 15.01], rel=TOLERANCE)


@pytest.mark.usefixtures("interpreted")
def test_a_group_that_keeps_the_pipe_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    choose = module("sm").Scheduler._chosen

    def again(made: Any) -> tuple[object, float]:
        last = made._last
        ready = last is not None and not last.gone and made._ready(last) <= made.clock.now
        return (last, made.clock.now) if ready else choose(made)

    monkeypatch.setattr(module("sm").Scheduler, "_chosen", again)
    assert turns() != pytest.approx([16.97, 15.01], rel=TOLERANCE)


def test_loads_wait_longer_beside_products_than_stores() -> None:
    # traces/measure/h200_sass_costs.csv: LDS.128 of four warps 47.83, STS.128 41.99 beside n128.
    costs = module("costs").costs_of(*entries("hopper_h100"))
    clock = module("clock").Clock()
    port = module("port").Port(clock, costs, module("tensor_core").TensorCore(clock, costs))
    product = module("steps").shaped(costs, 64, 128, inside=False)
    assert port.beside(product, 16, stores=False)[0] == pytest.approx(47.83, rel=0.01)
    assert port.beside(product, 16)[0] == pytest.approx(41.99, rel=0.01)


@pytest.mark.parametrize(
    ("spilled", "far"),
    [(60 * 1024, False), (60 * 1024 + 1, True)],  # of 256 KiB, 196 are given to shared memory
)
def test_spills_have_what_shared_memory_leaves(spilled: int, far: bool) -> None:
    costs = module("costs").costs_of(*entries("hopper_h100"))
    transfers = module("transfers").Transfers(module("clock").Clock(), costs)
    assert transfers.spills_leave_cache(spilled, 165 * 1024) is far


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
    monkeypatch.setattr(
        module("port").Port, "access", lambda port, n, **how: access(port, n / 2, **how)
    )
    assert not as_measured("sts_128")
    assert not as_measured("sts_128_beside_n64")


@pytest.mark.usefixtures("interpreted")
def test_a_phase_too_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = module("barriers").MBarriers.wait

    def early(barriers: Any, address: int, _: int, go: Callable[[], None], answer: float) -> None:
        wait(barriers, address, 1 - barriers.at(address).phase, go, answer)

    monkeypatch.setattr(module("barriers").MBarriers, "wait", early)
    assert not as_measured("hand_over_4")
