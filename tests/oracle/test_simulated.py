"""What was proved runs: other optimal schedules of packaged loops, with races and values on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.oracle.compare import compare
from tests.oracle.simulate import simulated
from tests.support.small import edge, hand_made, op, small_loop, small_machine
from tests.support.static import static_schedule as solve
from twill.frontends import packaged_loops
from twill.problem.groups import WarpGroup
from twill.search.request import Options

QUICK = ("paper_example", "skipped_interval")
FOUND = Path(__file__).parents[1] / "data" / "simulated"
"""Random loops that the oracle once had objections to, named after what was wrong."""
LONG = "registers_along_programs_by_another_seed"
TRIES = 4
SECONDS = 60.0
WITHOUT_SCHEDULE = {
    "attention_backward_blackwell",
    "attention_backward_d64_blackwell",
    "attention_backward_hopper",
    "attention_backward_two_tiles_d64_blackwell",
    "gemm_hopper",
}
"""Loops that need more registers than there are (docs/limits.md)."""


def requests(loop: twill.Loop, tries: int) -> Iterator[dict[str, Any]]:
    """Return what to ask for besides: a seed, operations on groups, few stages or groups."""
    draw = random.Random(loop.name)
    names = [operation.name for operation in loop.operations]
    yield {}
    for number in range(1, tries):
        options = Options(seed=number, timeout=SECONDS, until="groups")
        one, other = (draw.choice(names) for _ in range(2))
        apart = one != other and draw.random() < 0.5
        pins = {one: "A", other: "AB"[apart]}
        limits = {draw.choice(("stages", "groups")): draw.randint(2, 3)}
        besides = ({}, {"pins": pins}, {"limits": limits})[(number - 1) % 3]
        yield {"options": options, **besides}


def objections(name: str, tries: int) -> tuple[int, list[str]]:
    """Return how many schedules of a packaged loop ran, and every objection."""
    entry = packaged_loops()[name]
    loop, machine = twill.load_loop(name), twill.Machine.named(entry.machine)
    ran, found = 0, []
    for asked in requests(loop, tries):
        try:
            schedule = solve(loop, machine, **{"options": Options(timeout=SECONDS), **asked})
        except twill.RefusedError:
            continue
        ran += 1
        found += [f"{asked}: verify: {said}" for said in twill.verify(schedule).violations]
        found += [f"{asked}: {said}" for said in simulated(schedule)]
    return ran, found


@pytest.mark.parametrize("name", QUICK)
def test_schedules_of_packaged_loops_run_as_the_loop_is_written(name: str) -> None:
    ran, found = objections(name, 2)
    assert (ran, found) == (2, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.sample) if n == "fa_fwd_hopper" else n
     for n in sorted({*packaged_loops()} - WITHOUT_SCHEDULE)],
)  # fmt: skip
def test_other_optimal_schedules_run_as_the_loop_is_written(name: str) -> None:
    ran, found = objections(name, TRIES)
    assert found == []
    assert ran > 1


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            path.name,
            marks=[pytest.mark.slow] * (path.name.startswith(LONG) or number % 5 > 0)
            + [pytest.mark.sample] * (number % 5 == 1),
        )
        for number, path in enumerate(sorted(FOUND.glob("*.loop.json")))
    ],
)
def test_a_loop_whose_program_once_failed_runs(name: str) -> None:
    loop = twill.Loop.load(str(FOUND / name))
    machine = twill.Machine.named(str(FOUND / name.replace(".loop.", ".machine.")))
    result = compare(loop, machine)
    assert result.objections == []
    assert {whose: simulated(s) for whose, s in result.schedules.items()} == {
        "solver": [],
        "oracle": [],
    }


def test_nothing_issues_before_the_wait_is_over_that_it_follows() -> None:
    # A third of a unit is used for a third of a cycle: loads complete between two cycles.
    operations = [
        op("load", "COPY", 1, asynchronous=True, variable_latency=True, memory="smem",
           latency=2, issue=2, warps=1),
        op("first", "BUS", 1, registers=16, elementwise=True),
        op("then", "ALU", 1, latency=2, registers=16, elementwise=True),
    ]  # fmt: skip
    loop = small_loop(operations, [edge("load", "first"), edge("first", "then")])
    machine = small_machine({"COPY": 1, "BUS": 3, "ALU": 1}, groups=((1, 1), (4, 1)), smem=1024)
    assert simulated(solve(loop, machine)) == []


def test_a_value_that_nobody_reads_is_told_of_instance_by_instance() -> None:
    """What it lies in is written again four iterations later, by the value that it updates."""
    operations = [
        op("a", "TC", 4, latency=40, asynchronous=True, issue=1, memory="smem"),
        op("b", "ALU", 2, latency=2, memory="smem"),
    ]
    loop = small_loop(operations, [edge("a", "b", in_place=True)])
    groups = {name: WarpGroup(4, False, 0, 64) for name in ("first", "second")}
    start, place = {"a": 0, "b": 50}, {"a": "first", "b": "second"}
    schedule = hand_made(loop, small_machine(smem=8192, hop=1), 16, start, place, groups)
    assert {b.name: b.slots for b in schedule.barriers} == {"a.full": 4, "b.done": 4}
    assert simulated(schedule) == []
