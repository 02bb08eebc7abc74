"""The joint system: engines against enumeration and each other, every family with its flip."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import get_args

import pytest

import twill
from tests.support.families import CASES, two_groups
from tests.support.judged import violations
from tests.support.sampled import sampled
from tests.support.small import edge, op, random_loop, small_loop, small_machine
from twill.artifacts.proof import Family
from twill.artifacts.schedule import Rules
from twill.base.deadline import Deadline
from twill.bounds import bounds, lacks_registers
from twill.engines import FAMILIES, EngineFactory, Limits, Question
from twill.engines.cpsat import CpSatEngine
from twill.engines.paper import VerbatimEngine
from twill.engines.yices import DifferenceEngine
from twill.problem import Problem, build_problem
from twill.problem.groups import WarpGroup, allocated, available_groups
from twill.problem.solution import Assignment

ENGINES: list[EngineFactory] = [DifferenceEngine, CpSatEngine]


def enumerated_length(problem: Problem, interval: int, most: int) -> int | None:
    """Return the least length of all assignments that the verifier accepts, None above `most`."""
    groups = available_groups(problem)
    best: int | None = None
    for start in itertools.product(*(range(most - o.cycles + 1) for o in problem.operations)):
        length = max(s + o.cycles for s, o in zip(start, problem.operations, strict=True))
        if min(start) or (best is not None and length >= best):
            continue
        if any(
            start[e.consumer] + e.distance * interval - start[e.producer] < problem.least_delay(i)
            for i, e in enumerate(problem.edges)
        ):
            continue
        for rest in itertools.product(range(len(groups)), repeat=len(start) - 1):
            found = Assignment(start, (0, *rest), groups)
            if not violations(problem, interval, found):
                best = length
                break
    return best


def engine_length(factory: EngineFactory, problem: Problem, interval: int, most: int) -> int | None:
    """Return the least length by asking an engine for ever shorter ones."""
    engine = factory(Question(problem, interval, most, available_groups(problem)))
    best: int | None = None
    while (found := engine.solve(Limits(length=best and best - 1)).assignment) is not None:
        assert not violations(problem, interval, found)
        best = found.length(problem)
    engine.dispose()
    return best


@pytest.mark.parametrize(
    "seeds",
    [range(200, 215), pytest.param(range(215, 240), marks=pytest.mark.slow)],
    ids=["some", "more"],
)
@pytest.mark.parametrize("rules", sampled(["issue", "paper"], 2))
def test_the_least_length_is_that_of_enumeration(rules: Rules, seeds: range) -> None:
    lengths = []
    for seed in seeds:
        problem = build_problem(*random_loop(seed), rules=rules)
        least = bounds(problem).interval
        for interval in (least, least + 1):
            most = min(2 * interval + 2, 7)
            lengths.append(enumerated_length(problem, interval, most))
            found = [engine_length(engine, problem, interval, most) for engine in ENGINES]
            assert found == lengths[-1:] * 2, (seed, interval)
    assert any(lengths)
    assert not all(lengths)


def test_every_family_has_a_flip_case() -> None:
    assert set(CASES) == set(FAMILIES) == set(get_args(Family))


of_all_engines = pytest.mark.parametrize(
    ("factory", "rules"),
    [(DifferenceEngine, "issue"), (CpSatEngine, "issue"), (VerbatimEngine, "paper")],
)


@of_all_engines
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_decides_where_it_is_tight(
    family: str, factory: EngineFactory, rules: Rules
) -> None:
    make, interval, length, _ = CASES[family]
    problem, groups = make(rules)
    others = [name for name in FAMILIES if name != family]
    with_it = factory(Question(problem, interval, length, groups))
    without = factory(Question(problem, interval, length, groups, families=others))
    asked_for = (family, rules) != ("turns", "paper")  # the paper's figures have none
    assert with_it.solve().status == ("unsat" if asked_for else "sat")
    assert without.solve().status == "sat"


@pytest.mark.parametrize("factory", ENGINES)
def test_slack_counts_where_an_operation_waits_for_itself(factory: EngineFactory) -> None:
    loop = small_loop([op("a", "TC", 2, asynchronous=True, registers=1)], [edge("a", "a", 1)])
    engine = factory(Question(build_problem(loop, small_machine()), 5, 10, two_groups()))
    assert engine.solve(Limits(slack=3)).status == "sat"
    assert engine.solve(Limits(slack=4)).status == "unsat"


@pytest.mark.parametrize(
    ("factory", "rules", "families"),
    [
        (DifferenceEngine, "issue", FAMILIES[1:]),
        (VerbatimEngine, "paper", [name for name in FAMILIES if name != "turns"]),
    ],
)
def test_the_core_names_the_family(
    factory: EngineFactory, rules: Rules, families: Sequence[str]
) -> None:
    for family in families:
        make, interval, length, _ = CASES[family]
        problem, groups = make(rules)
        answer = factory(Question(problem, interval, length, groups, explain=True)).solve()
        assert (answer.status, family in answer.families) == ("unsat", True), family


@of_all_engines
def test_operations_of_variable_latency_have_groups_of_their_own(
    factory: EngineFactory, rules: Rules
) -> None:
    loop = small_loop([op("l", "TC", variable_latency=True, asynchronous=True), op("a", "ALU")])
    problem = build_problem(loop, small_machine(), rules=rules)
    assert factory(Question(problem, 2, 4, two_groups())).solve().status == "unsat"
    apart = (WarpGroup(4, True, 0, 9), WarpGroup(4, False, 0, 9))
    found = factory(Question(problem, 2, 4, apart)).solve().assignment
    assert found is not None
    assert found.group == (0, 1)


@of_all_engines
def test_an_operation_needs_a_group_as_wide_as_itself(factory: EngineFactory, rules: Rules) -> None:
    machine = small_machine(groups=((4, 2), (8, 1)))
    problem = build_problem(small_loop([op("a", "ALU", warps=8)]), machine, rules=rules)
    assert factory(Question(problem, 2, 4, two_groups())).solve().status == "unsat"
    wide = (WarpGroup(8, False, 0, 9),)
    assert factory(Question(problem, 2, 4, wide)).solve().status == "sat"


def test_registers_are_allocated_as_flashattention_3_does(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    problem = build_problem(attention, hopper)
    groups = available_groups(problem)
    assert [g.warps for g in groups] == [1, 4, 4, 4, 4, 8]
    # 24 to load, 240 each for two consumer groups, 160 each for three; unlike ones have about as
    # many beside their values, and none more than a thread can have.
    for live, expected in (
        ((0, 200, 200), [24, 240, 240]),
        ((0, 100, 100, 100), [24, 160, 160, 160]),
        ((0, 193, 133, 33), [24, 240, 176, 72]),
        ((0, 230, 20), [24, 256, 224]),
    ):
        needed = [*live, *[None] * (len(groups) - len(live))]
        shared = allocated(problem, groups, needed)
        assert shared is not None
        assert sorted(g.allocation for g in shared if g.allocation) == sorted(expected)
    assert allocated(problem, groups, [0, 220, 220, 40, None, None]) is None


@pytest.mark.parametrize("factory", [DifferenceEngine, CpSatEngine])
def test_a_question_that_takes_too_long_has_no_answer(
    attention: twill.Loop, hopper: twill.Machine, factory: EngineFactory
) -> None:
    problem = build_problem(attention, hopper)
    engine, answer = factory(Question(problem, 2048, 2 * 2048, available_groups(problem))), None
    with Deadline(0.01) as deadline:
        answer = engine.solve()
    assert answer is None
    assert deadline.late


@pytest.mark.parametrize("rules", ["issue", "paper"])
def test_groups_that_lack_registers_have_no_schedule(rules: Rules) -> None:
    refuted = kept = 0
    for seed in range(250):
        loop, machine = random_loop(seed)
        problem = build_problem(loop, machine, rules=rules)
        interval = bounds(problem).interval
        groups = available_groups(problem)
        lacking = lacks_registers(problem, interval, groups)
        refuted += lacking
        if not lacking and kept == 10:
            continue
        engine = DifferenceEngine(Question(problem, interval, 6 * interval, groups))
        feasible = engine.solve().assignment is not None
        engine.dispose()
        assert not (lacking and feasible), seed
        kept += feasible
    assert refuted > 10
    assert kept == 10


def test_accumulators_that_always_live_fill_a_group() -> None:
    # Four accumulators of 40 registers, one of them always live on each group of 64.
    names = [f"o{i}" for i in range(4)]
    loop = small_loop(
        [op(name, "TC", latency=5, asynchronous=True, registers=40) for name in names],
        [edge(name, name, 1, in_place=True) for name in names],
    )
    for count, expected in ((1, True), (2, True), (3, False), (4, False)):
        problem = build_problem(loop, small_machine(registers=64, groups=((4, count),)))
        assert lacks_registers(problem, 8, available_groups(problem)) == expected
