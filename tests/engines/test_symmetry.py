"""Operations that may change places, and units row by row: against the other engine, by hand."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

import twill
from tests.bounds.test_configurations import SLOTS, Taken, placed, reserving
from tests.support.judged import violations
from tests.support.proving import prove
from tests.support.sampled import sampled
from tests.support.small import edge, op, small_loop, small_machine
from twill.artifacts.loop import Invariant, Tile
from twill.bounds import bounds, every_bound
from twill.bounds.configurations import configuration_bound
from twill.engines import Question, Range
from twill.engines.cpsat import CpSatProver
from twill.engines.cpsat.implied import Rows
from twill.engines.cpsat.symmetry import symmetry
from twill.engines.yices import DifferenceEngine
from twill.problem import Problem, build_problem
from twill.problem.costs import normalize
from twill.problem.groups import available_groups
from twill.problem.lifetimes import Occupant
from twill.problem.operations import Wishes
from twill.problem.solution import Assignment
from twill.search.request import Options, range_prover
from twill.search.search import search


def two_tiles(seed: int) -> tuple[twill.Loop, twill.Machine]:
    """Return a loop that does the same with two sub-tiles, which share issue slots and a load."""
    draw = random.Random(seed)
    count, slots = draw.randint(2, 3), draw.randint(2, 3)
    kinds = [
        (
            draw.choice(["TC", "ALU", "S"]),
            draw.randint(1, 3),
            draw.choice([0, 1, 1, 2]),
            draw.randint(1, slots),
        )
        for _ in range(count)
    ]
    back = draw.random() < 0.7
    operations = [op("load", "BUS", 1, asynchronous=True, memory="smem", warps=1)]
    edges = []
    for tile in "ab":
        names = [f"{tile}{index}" for index in range(count)]
        operations += [
            op(
                name,
                unit,
                cycles,
                asynchronous=unit == "TC",
                issue=1 if unit == "TC" else 0,
                registers=registers,
                count=taken if unit == "S" else 1,
            )
            for name, (unit, cycles, registers, taken) in zip(names, kinds, strict=True)
        ]
        edges.append(edge("load", names[0]))
        edges += [edge(u, v) for u, v in itertools.pairwise(names)]
        if back:
            edges.append(edge(names[-1], names[0], 1))
    machine = small_machine(
        {"TC": 1, "ALU": 1, "S": slots, "BUS": 1},
        registers=draw.choice([2, 3, 4]),
        hop=draw.randint(0, 1),
        smem=8192,
        groups=((1, 2), (4, 2)),
    )
    return small_loop(operations, edges), machine


def exchanged(found: Assignment, exchange: tuple[int, ...]) -> Assignment:
    """Return the schedule in which twins have changed places."""
    start = tuple(found.start[v] for v in exchange)
    group = tuple(found.group[v] for v in exchange)
    return Assignment(start, group, found.groups)


@pytest.mark.parametrize("seed", sampled(range(20), 3))
def test_schedules_stay_schedules_where_twins_change_places(seed: int) -> None:
    problem = build_problem(*two_tiles(seed))
    exchange, count = symmetry(problem), (len(problem.operations) - 1) // 2
    assert exchange == (0, *range(count + 1, 2 * count + 1), *range(1, count + 1))
    groups = available_groups(problem)
    for interval in range(every_bound(problem).interval, every_bound(problem).interval + 3):
        engine = DifferenceEngine(Question(problem, interval, 3 * interval, groups))
        found = engine.solve().assignment
        engine.dispose()
        if found is not None:
            assert not violations(problem, interval, found)
            assert not violations(problem, interval, exchanged(found, exchange))


@pytest.mark.parametrize(
    "seeds", [range(7), pytest.param(range(7, 40), marks=pytest.mark.slow)], ids=["some", "more"]
)
def test_the_prover_answers_as_the_other_engine_where_operations_are_alike(seeds: range) -> None:
    answers = []
    for seed in seeds:
        problem = build_problem(*two_tiles(seed))
        groups, low = available_groups(problem), bounds(problem).interval
        for interval in range(low, low + 3):
            engine = DifferenceEngine(Question(problem, interval, 3 * interval, groups))
            expected = engine.solve().status
            engine.dispose()
            proof = CpSatProver()(Range(problem, interval, interval, 3, groups))
            assert proof.status == expected, (seed, interval)
            if proof.assignment is not None:
                assert not violations(problem, interval, proof.assignment)
            answers.append(expected)
        ranged = prove(problem, low, low + 2, 3, groups)
        assert (ranged.status == "sat") == ("sat" in answers[-3:]), seed
        if ranged.assignment is not None:
            assert ranged.interval == low + answers[-3:].index("sat"), seed
    assert min(answers.count(status) for status in ("sat", "unsat")) >= len(seeds) / 2


def test_below_a_known_schedule_the_least_is_found_whichever_twin_comes_first() -> None:
    better = 0
    for seed in range(12):
        problem = build_problem(*two_tiles(seed))
        exchange, groups, low = (
            symmetry(problem),
            available_groups(problem),
            bounds(problem).interval,
        )
        assert exchange is not None
        known = CpSatProver()(Range(problem, low + 4, low + 4, 3, groups))
        if known.assignment is None:
            continue
        least = prove(problem, low, low + 4, 3, groups).interval
        below = Range(problem, low, low + 3, 3, groups)
        for assignment in (known.assignment, exchanged(known.assignment, exchange)):
            start = replace(known, assignment=assignment)
            assert CpSatProver().least(below, start).interval == least
            better += least != low + 4
    assert better >= 6


def other_cost(loop: twill.Loop) -> twill.Loop:
    changed = loop.operations[1]
    cost = changed.cost
    assert cost is not None
    longer = changed.model_copy(update={"cost": cost.model_copy(update={"latency": 9})})
    return loop.model_copy(
        update={"operations": (loop.operations[0], longer, *loop.operations[2:])}
    )


def other_dependence(loop: twill.Loop) -> twill.Loop:
    return loop.model_copy(update={"dependences": (*loop.dependences, edge("a0", "b1"))})


def third_tile(loop: twill.Loop) -> twill.Loop:
    third = [o.model_copy(update={"name": o.name.replace("a", "c")}) for o in loop.operations[1:3]]
    more = (edge("load", "c0"), edge("c0", "c1"))
    return loop.model_copy(
        update={
            "operations": (*loop.operations, *third),
            "dependences": (*loop.dependences, *more),
        }
    )


def invariant(loop: twill.Loop) -> twill.Loop:
    tile = Tile(shape=(128, 1), dtype="f32", memory="registers")
    pinned = Invariant(name="x", tile=tile, used_by=("a0",))
    return loop.model_copy(update={"invariants": (pinned,)})


@pytest.mark.parametrize("change", [other_cost, other_dependence, third_tile, invariant])
def test_what_differs_has_no_symmetry(change: Callable[[twill.Loop], twill.Loop]) -> None:
    tiles = [op(f"{tile}{k}", "ALU", 1 + k, registers=1) for tile in "ab" for k in (0, 1)]
    edges = [edge("load", "a0"), edge("load", "b0"), edge("a0", "a1"), edge("b0", "b1")]
    load = op("load", "BUS", 1, asynchronous=True, memory="smem", warps=1)
    machine = small_machine({"ALU": 1, "BUS": 1}, smem=8192, groups=((1, 2), (4, 2)))
    loop = small_loop([load, *tiles], edges)
    assert symmetry(build_problem(loop, machine)) == (0, 3, 4, 1, 2)
    assert symmetry(build_problem(change(loop), machine)) is None


def test_operations_that_a_user_tells_apart_are_not_alike() -> None:
    problem = build_problem(*two_tiles(0))
    assert symmetry(problem) is not None
    for wishes in (Wishes(pins=((1, "x"),)), Wishes(orders=((1, 2),))):
        assert symmetry(replace(problem, wishes=wishes)) is None


def test_the_sub_tiles_of_attention_are_alike() -> None:
    machine = twill.Machine.named("blackwell_b200")
    problem = build_problem(twill.load_loop("fa_fwd_blackwell"), machine)
    exchange, names = symmetry(problem), [o.name for o in problem.operations]
    assert exchange is not None
    pairs = {(names[v], names[other]) for v, other in enumerate(exchange)}
    assert {("s0.mma", "s1.mma"), ("p1", "p0"), ("o0", "o1"), ("k", "k"), ("v", "v")} <= pairs


# -- rows ------------------------------------------------------------------------------------------


def crowded(seed: int) -> list[Taken]:
    """Return reservations of units that find issue slots two at a time only."""
    draw = random.Random(seed)
    taken: list[Taken] = []
    for _ in range(draw.randint(4, 5)):
        unit, slots = draw.choice([("mufu", 1), ("fma", 4), ("alu", 4), ("fma", 7)])
        length = draw.randint(1, 2 if slots == 7 else 3)
        late = draw.randint(0, 1)
        taken.append(((unit, late, length, 1), ("issue", late, length, slots)))
    return taken


def test_rows_are_filled_as_by_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    filled, fill, answers = list[int](), Rows._fill, list[str]()

    def counted(rows: Rows, most: int, mine: list[Occupant]) -> None:
        filled.append(most)
        fill(rows, most, mine)

    monkeypatch.setattr(Rows, "_fill", counted)
    for seed in range(200):
        problem = reserving(crowded(seed), SLOTS)
        found = configuration_bound(problem, bounds(problem).resource)
        if found is None or found.most == 1:
            continue
        groups = available_groups(problem)
        for interval in range(found.value - 1, found.value + 2):
            answer = CpSatProver()(Range(problem, interval, interval, 12, groups))
            expected = placed(crowded(seed), SLOTS, interval)
            assert answer.status == ("sat" if expected else "unsat"), (seed, interval)
            answers.append(answer.status)
    assert len(filled) == len(answers)
    assert answers.count("sat") >= 10
    assert answers.count("unsat") >= 10


@pytest.fixture(scope="module")
def coarse() -> Problem:
    machine = twill.Machine.named("blackwell_b200")
    loop = twill.load_loop("fa_fwd_blackwell")
    return build_problem(loop, machine, scale=normalize(loop, machine))


def test_rows_are_for_few_rows_and_one_interval(
    coarse: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[int]()
    monkeypatch.setattr(Rows, "_fill", lambda _, most, __: asked.append(most))
    groups = available_groups(coarse)
    for low, high, expected in ((71, 72, False), (200, 200, False), (72, 72, True)):
        asked.clear()
        prove(coarse, low, high, 1, groups)
        assert bool(asked) == expected, (low, high)


@pytest.mark.slow
def test_the_least_interval_of_attention_in_normalized_time(coarse: Problem) -> None:
    assert every_bound(coarse).interval == 71
    found = search(coarse, DifferenceEngine, Options(until="groups"), range_prover())
    assert found.interval == 72
    assert found.proof.bound.reason == "no joint schedule"
    assert all(level.proved for level in found.proof.levels)
