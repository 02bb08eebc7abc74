"""Which warp groups a schedule may use: nothing that a wider or another group allows is lost."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

import twill
from tests.support.judged import as_read
from tests.support.small import edge, op, small_loop, small_machine
from twill.artifacts.loop import Step
from twill.artifacts.schedule import Group, Placement
from twill.base.errors import RefusedError
from twill.bounds import bounds
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
from twill.search.request import EngineName, Options
from twill.search.scheduler import schedule as static_schedule
from twill.verification import RULES
from twill.verification.times import Placed

ENGINES: list[EngineName] = ["both", "difference", "cpsat"]
UNITS = {"TC": 1, "A": 1, "B": 2, "TMA": 1}
Example = tuple[twill.Loop, twill.Machine]


def a_load_on_a_wide_group() -> Example:
    """Return a loop whose only schedule of one stage has both narrow groups computing."""
    third = op("o3", "TC", 4, asynchronous=True, issue=1, latency=5, registers=8)
    assert third.cost is not None
    steps = (*third.cost.steps, Step(unit="B", cycles=2, instructions=1))
    third = third.model_copy(update={"cost": third.cost.model_copy(update={"steps": steps})})
    loop = small_loop(
        [
            op("o0", "A", registers=4, working_set=4, transfer=2),
            op("o1", "TC", 4, asynchronous=True, issue=1, latency=6, memory="smem"),
            op("o2", "TC", 2, asynchronous=True, registers=16, transfer=1),
            third,
            load("o4", 2, issue=1, latency=8),
            op("o5", "B", 2, latency=4, registers=4, transfer=2, elementwise=True),
        ],
        [
            edge("o0", "o3", 2, blocking=False),
            edge("o1", "o3", 1),
            edge("o3", "o3", 1, in_place=True),
            edge("o0", "o5", 1),
            edge("o1", "o5"),
            edge("o2", "o5", 2),
        ],
    )
    machine = small_machine(
        UNITS, registers=48, hop=3, groups=((4, 2), (8, 1)), smem=65536,
        file=8192, least=8, most=48,
    )  # fmt: skip
    return loop, machine


def two_groups_that_compute_beside_one_that_loads() -> Example:
    """Return a loop that needs two of three groups to compute, and might load on two."""
    fourth = op("o4", "TC", asynchronous=True, latency=3, memory="smem", elements=1024)
    assert fourth.cost is not None
    steps = (*fourth.cost.steps, Step(unit="B", cycles=2, instructions=1))
    fourth = fourth.model_copy(update={"cost": fourth.cost.model_copy(update={"steps": steps})})
    loop = small_loop(
        [
            op("o0", "A", 2, registers=8, working_set=4, transfer=2),
            op("o1", "B", latency=2, registers=8, elementwise=True),
            load("o2", 1, issue=2, latency=6, elements=512),
            load("o3", 1, issue=2, latency=2),
            fourth,
        ],
        [
            edge("o3", "o1", 3),
            edge("o4", "o1", 3),
            edge("o4", "o3", 1),
            edge("o1", "o4", 2),
            edge("o2", "o4", 1),
            edge("o4", "o4", 1, in_place=True),
        ],
    )
    machine = small_machine(
        UNITS, registers=32, groups=((4, 3),), smem=12288, file=12288, least=8, most=32
    )
    return loop, machine


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


# -- against every schedule -----------------------------------------------------------------------

STAGES, FEW = 2, 12
JUDGED = ("groups", "variable latency", "dependence", "capacity", "turns", "concurrency",
         "registers", "register file", "memory")  # fmt: skip


def random_example(seed: int) -> Example:
    """Return a loop of loads and operations that compete for few groups of several widths."""
    generator = random.Random(f"groups {seed}")
    groups = generator.choice(
        [((1, 1), (4, 2)), ((4, 2), (8, 1)), ((1, 2), (8, 1)), ((4, 3),), ((1, 3), (4, 1)),
         ((8, 2),), ((1, 6),), ((1, 1), (4, 1), (8, 2))]
    )  # fmt: skip
    widest = max(width for width, _ in groups)
    operations = []
    for index in range(generator.randint(2, 4)):
        name, width = f"o{index}", min(widest, generator.choice([1, 1, 4, 4, 8]))
        if generator.random() < 0.45:
            made = load(name, 1, issue=generator.randint(0, 1), latency=generator.randint(1, 2))
        else:
            asynchronous = generator.random() < 0.4
            cycles = generator.randint(1, 2)
            made = op(
                name,
                "TC" if asynchronous else generator.choice(["A", "B"]),
                cycles,
                asynchronous=asynchronous,
                issue=generator.randint(0, 1) if asynchronous else 0,
                latency=cycles + generator.randint(0, 1),
                registers=generator.choice([4, 8, 8, 16]),
                transfer=generator.randint(0, 1),
            )
        operations.append(made.model_copy(update={"warps": width}) if not made.result
                          or made.result.memory == "smem" else resized(made, width))  # fmt: skip
    names = [o.name for o in operations]
    edges = {}
    for _ in range(generator.randint(1, 4)):
        u, v = generator.choice(names), generator.choice(names)
        distance = generator.randint(0, 2) if u < v else generator.randint(1, 2)
        edges[u, v, distance] = edge(u, v, distance)
    machine = small_machine(
        UNITS,
        registers=generator.choice([16, 24, 32]),
        hop=generator.randint(0, 1),
        groups=groups,
        smem=65536,
        file=128 * generator.choice([16, 24, 40, 64]),
        least=8,
        most=32,
        launch=generator.choice([None, 8]),
    )  # fmt: skip
    return small_loop(operations, edges.values()), machine


def resized(made: twill.artifacts.loop.Operation, width: int) -> twill.artifacts.loop.Operation:
    """Return an operation for another width whose result takes as many registers per thread."""
    assert made.result is not None
    shape = (32 * width, made.result.shape[-1])
    tile = made.result.model_copy(update={"shape": shape})
    return made.model_copy(update={"warps": width, "result": tile})


def placings(loop: twill.Loop, machine: twill.Machine) -> Iterator[dict[str, Group]]:
    """Yield every way to put operations on the machine's groups, but for their names."""
    widths = [p.warps for p in machine.groups for _ in range(p.count)]
    for chosen in itertools.product(range(len(widths)), repeat=len(loop.operations)):
        first = list(dict.fromkeys(chosen))
        if any(widths[g] == widths[h] and h < g and h not in first[: first.index(g)]
               for g in first for h in range(g)):  # fmt: skip
            continue
        kinds = {g: set[bool]() for g in first}
        for operation, g in zip(loop.operations, chosen, strict=True):
            assert operation.cost is not None
            kinds[g].add(operation.cost.variable_latency)
            if operation.warps > widths[g]:
                break
        else:
            if all(len(kind) == 1 for kind in kinds.values()):
                groups = {
                    g: Group(name=f"g{g}", warps=widths[g], variable_latency=kinds[g].pop())
                    for g in first
                }
                names = (o.name for o in loop.operations)
                yield dict(zip(names, (groups[g] for g in chosen), strict=True))


def best(loop: twill.Loop, machine: twill.Machine, interval: int) -> tuple[int, int] | None:
    """Return the fewest stages, and groups, of all schedules that keep the verifier's rules."""
    problem = build_problem(loop, machine)
    names = [o.name for o in loop.operations]
    starts = [
        start
        for start in itertools.product(range(STAGES * interval), repeat=len(names))
        if min(start) == 0
        and all(
            start[e.consumer] + e.distance * interval - start[e.producer] >= e.delay
            for e in problem.edges
        )
    ]
    found = list[tuple[int, int]]()
    for place in placings(loop, machine):
        used = {group.name: group for group in place.values()}
        case = Placed(as_read(problem), candidate(loop, machine, interval, place))
        for start in starts:
            length = max(s + o.cycles for s, o in zip(start, problem.operations, strict=True))
            value = (-(-length // interval), len(used))
            if value[0] <= STAGES and (not found or value < min(found)):
                case.start = dict(zip(names, start, strict=True))
                if all(next(RULES[rule](case), None) is None for rule in JUDGED):
                    found.append(value)
    return min(found, default=None)


def candidate(
    loop: twill.Loop, machine: twill.Machine, interval: int, place: dict[str, Group]
) -> twill.Schedule:
    """Return a schedule whose starts are of no account."""
    return twill.Schedule(
        name="candidate",
        initiation_interval=interval,
        length=1,
        stages=1,
        groups=tuple({group.name: group for group in place.values()}.values()),
        placements=tuple(
            Placement(operation=name, group=group.name, start=0) for name, group in place.items()
        ),
        loop=loop,
        machine=machine,
    )


def answer(loop: twill.Loop, machine: twill.Machine) -> twill.Schedule | None:
    """Return the schedule of fewest stages and groups, None if it is proved that there is none."""
    try:
        return static_schedule(loop, machine, options=Options(most_stages=STAGES, until="groups"))
    except RefusedError as error:
        if "does not mean" in str(error):
            raise
        return None


def compare(seed: int) -> str:
    """Compare the search with every schedule, at its interval and below."""
    loop, machine = random_example(seed)
    least = bounds(build_problem(loop, machine)).interval
    schedule = answer(loop, machine)
    if schedule is None:
        assert all(best(loop, machine, i) is None for i in (least, least + 1)), seed
        return "refused"
    assert twill.verify(schedule).violations == (), seed
    interval = schedule.initiation_interval or 0
    assert all(best(loop, machine, i) is None for i in range(max(1, interval - 1), interval)), seed
    assert best(loop, machine, interval) == (schedule.stages, len(schedule.groups)), seed
    return "wide" if any(g.warps > 4 for g in schedule.groups) else "found"


@pytest.mark.slow
@pytest.mark.sample
def test_the_fewest_stages_and_groups_are_those_of_every_placing() -> None:
    outcomes = [compare(seed) for seed in range(FEW)]
    assert {"refused", "wide", "found"} == set(outcomes)


@pytest.mark.slow
@pytest.mark.nightly
def test_the_fewest_stages_and_groups_of_many_loops() -> None:
    outcomes = [compare(seed) for seed in range(FEW, 700)]
    assert all(outcomes.count(kind) > 40 for kind in ("refused", "wide", "found"))


def test_a_group_without_a_pool_is_not_limited() -> None:
    assert pools((WarpGroup(4, False, 0, 8), WarpGroup(4, False, 0, 8))) == []
