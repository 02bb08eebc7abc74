"""Naive loops and modulo schedules: closed forms and exact cases."""

from __future__ import annotations

import pytest

import twill
from tests.support.sampled import sampled
from tests.support.small import random_loop
from twill.bounds import bounds
from twill.engines.cbc import modulo_schedule
from twill.frontends.schedules import load_schedule
from twill.problem import build_problem
from twill.sim.engine import UNMODELLED, Conditions
from twill.sim.execute import run
from twill.studies.compare import comparison
from twill.studies.pipelined import excess, iterative_modulo_schedule, software_pipelined


@pytest.mark.parametrize("seed", sampled(range(30), 3))
def test_iterative_modulo_schedules_keep_dependences_and_capacities(seed: int) -> None:
    loop, machine = random_loop(seed)
    problem = build_problem(loop, machine)
    for interval in range(bounds(problem).interval, 40):
        found = iterative_modulo_schedule(problem, interval)
        if found is None:
            continue
        for position, edge in enumerate(problem.edges):
            apart = found.start[edge.consumer] - found.start[edge.producer]
            assert apart + edge.distance * interval >= problem.least_delay(position)
        for unit, capacity in problem.capacities.items():
            for row in range(interval):
                taken = sum(
                    r.count
                    for o in problem.operations
                    for r in o.reservations
                    if r.unit == unit
                    for cycle in range(r.length)
                    if (found.start[o.index] + r.start + cycle) % interval == row
                )
                assert taken <= capacity
        assert modulo_schedule(problem, interval)[0] == "sat"
        return
    pytest.fail("no interval below 40")


def test_swp_pipelines_the_running_example() -> None:
    loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
    assert run(software_pipelined(loop, machine)).measured_interval_cycles == 2


def test_swp_puts_loads_on_one_warp_and_each_sub_tile_on_a_group() -> None:
    loop, machine = twill.load_loop("fa_fwd_hopper"), twill.Machine.named("hopper_h100")
    schedule = software_pipelined(loop, machine)
    assert [(group.name, group.warps) for group in schedule.groups] == [
        ("load", 1),
        ("tile0", 4),
        ("tile1", 4),
    ]
    assert {schedule.assignment[name] for name in ("k", "v")} == {"load"}
    assert schedule.to_json() == software_pipelined(loop, machine).to_json()
    assert excess(schedule) == ""


def test_the_naive_loops_are_compared_in_order() -> None:
    variants = {
        v.variant: v.interval_cycles
        for v in comparison(
            load_schedule("fa3_forward_128x128"), Conditions(without=frozenset(UNMODELLED))
        ).variants
    }
    assert list(variants) == ["sequential", "multi-warp", "swp", "joint"]
    # The tensor core's work: eight products of 64 cycles, four times.
    assert variants["joint"] == 2048
    assert None not in variants.values()
    assert min(v for v in variants.values() if v is not None) == 2048
