"""Which warp groups a schedule may use: nothing that a wider or another group allows is lost."""

from __future__ import annotations

import pytest

import twill
from tests.oracle.test_cases import case
from tests.support.small import op, small_loop, small_machine
from tests.support.static import static_schedule
from twill.base.errors import RefusedError
from twill.problem import build_problem
from twill.problem.groups import (
    WarpGroup,
    allocated,
    available_groups,
    filled_before,
    groups_within,
    most_used,
    opened_before,
    pools,
)
from twill.search.request import EngineName

ENGINES: list[EngineName] = ["both", "difference", "cpsat"]
UNITS = {"TC": 1, "A": 1, "B": 2, "TMA": 1}
Example = tuple[twill.Loop, twill.Machine]


def a_load_on_a_wide_group() -> Example:
    """Return a loop whose only schedule of one stage has both narrow groups computing."""
    machine = small_machine(
        UNITS, registers=48, hop=3, groups=((4, 2), (8, 1)), smem=65536,
        file=8192, least=8, most=48,
    )  # fmt: skip
    return case("load_on_a_wide_group")[0], machine


def two_groups_that_compute_beside_one_that_loads() -> Example:
    """Return a loop that needs two of three groups to compute, and might load on two."""
    machine = small_machine(
        UNITS, registers=32, groups=((4, 3),), smem=12288, file=12288, least=8, most=32
    )
    return case("refused_though_valid")[0], machine


def load(
    name: str, cycles: int, *, issue: int, latency: int, elements: int = 256
) -> twill.artifacts.loop.Operation:
    return op(
        name, "TMA", cycles, asynchronous=True, issue=issue, latency=latency, memory="smem",
        elements=elements, variable_latency=True, warps=1,
    )  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_may_be_on_a_wide_group_where_the_narrow_ones_compute(engine: EngineName) -> None:
    loop, machine = a_load_on_a_wide_group()
    schedule = static_schedule(loop, machine, engine=engine)
    assert twill.verify(schedule).violations == ()
    assert (schedule.initiation_interval, schedule.stages) == (10, 1)
    assert [g.warps for g in schedule.groups if g.variable_latency] == [8]
    assert twill.sim.run(schedule, iterations=64).achieved


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_that_could_load_may_compute(engine: EngineName) -> None:
    loop, machine = two_groups_that_compute_beside_one_that_loads()
    schedule = static_schedule(loop, machine, engine=engine)
    assert twill.verify(schedule).violations == ()
    assert schedule.initiation_interval == 4
    assert sum(group.variable_latency for group in schedule.groups) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_loads_that_wait_for_nothing_may_be_pinned_apart(engine: EngineName) -> None:
    loop = small_loop([load("a", 1, issue=0, latency=1), load("b", 1, issue=0, latency=1)])
    machine = small_machine(UNITS, groups=((1, 2),), smem=65536)
    schedule = static_schedule(loop, machine, engine=engine, pins={"a": "left", "b": "right"})
    assert {group.name for group in schedule.groups} == {"left", "right"}


def test_no_more_groups_are_looked_at_than_could_help(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    problem = build_problem(attention, hopper)
    groups = available_groups(problem)
    assert [(g.warps, g.variable_latency) for g in groups] == [
        (1, True), *[(4, False)] * 4, (8, False)
    ]  # fmt: skip
    assert pools(groups) == []
    assert most_used(groups) == 6


def test_of_groups_that_both_kinds_could_use_no_more_are_used_than_there_are() -> None:
    problem = build_problem(*two_groups_that_compute_beside_one_that_loads())
    groups = available_groups(problem)
    assert [g.variable_latency for g in groups] == [True, True, False, False]
    (pool,) = pools(groups)
    assert (pool.members, pool.most) == ((0, 1, 2, 3), 3)
    assert most_used(groups) == 3


def test_a_wider_group_is_opened_once_all_narrower_ones_are_used() -> None:
    problem = build_problem(*a_load_on_a_wide_group())
    groups = available_groups(problem)
    assert [(g.warps, g.variable_latency) for g in groups] == [
        (4, True), (8, True), (4, False), (4, False), (8, False)
    ]  # fmt: skip
    assert opened_before(groups, problem) == [(2, 3)]
    narrow = pools(groups)[0]
    assert [(pool, second) for pool, second in filled_before(groups, problem)] == [
        (narrow, 1), (narrow, 4)
    ]  # fmt: skip
    assert groups_within(groups, problem, 2) == {0, 2}
    assert groups_within(groups, problem, 3) == {0, 1, 2, 3, 4}


def test_narrow_groups_have_one_allocation_in_as_many_blocks_as_they_take() -> None:
    loop = small_loop([op(f"o{i}", "A", registers=8, warps=1) for i in range(6)])
    machine = small_machine(
        UNITS, registers=48, groups=((1, 6),), file=8192, least=8, most=48
    )  # fmt: skip
    problem = build_problem(loop, machine)
    groups = available_groups(problem)
    assert len(groups) == 6
    four = allocated(problem, groups, [48, 8, 8, 8, None, None])
    assert four is not None
    assert [group.allocation for group in four] == [48, 48, 48, 48, 0, 0]
    assert allocated(problem, groups, [48, 8, 8, 8, 8, None]) is None  # 2 of 48, the file has 64
    five = allocated(problem, groups, [32, 8, 8, 8, 8, None])
    assert five is not None
    assert {group.allocation for group in five[:5]} == {32}


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_without_values_are_allocated_registers_too(engine: EngineName) -> None:
    loop = small_loop([op("a", "A", warps=4), op("b", "B", warps=1)])
    machine = small_machine(
        UNITS, registers=8, groups=((1, 1), (4, 1)), file=128 * 8, least=8, most=8
    )
    schedule = static_schedule(loop, machine, engine=engine)
    assert [(g.warps, g.registers) for g in schedule.groups] == [(4, 8)]
    with pytest.raises(RefusedError, match="no schedule"):
        static_schedule(loop, machine, engine=engine, pins={"a": "wide", "b": "narrow"})


def test_a_group_without_a_pool_is_not_limited() -> None:
    assert pools((WarpGroup(4, False, 0, 8), WarpGroup(4, False, 0, 8))) == []
