"""The paper's search against its own loop written out, and what it loses to the complete one."""

from __future__ import annotations

from dataclasses import replace

import pytest

import twill
from tests.support.judged import violations
from tests.support.sampled import sampled
from tests.support.small import edge, op, random_loop, small_loop, small_machine, stages_lost
from twill.artifacts.schedule import Rules
from twill.base.errors import RefusedError
from twill.bounds import bounds, longest_paths
from twill.engines import EngineFactory, Question
from twill.engines.cbc import modulo_schedule
from twill.engines.cpsat import CpSatEngine
from twill.engines.paper import VerbatimEngine
from twill.engines.tuning import TUNING, Paper
from twill.engines.yices import DifferenceEngine
from twill.lower import realize
from twill.problem import Problem, build_problem
from twill.problem.costs import normalize
from twill.problem.groups import UNLIMITED, WarpGroup, available_groups
from twill.problem.operations import Wishes
from twill.problem.solution import Assignment
from twill.search import paper_search as module
from twill.search.paper_search import paper_search
from twill.search.request import Options
from twill.search.search import search

ENGINES: list[EngineFactory] = [DifferenceEngine, CpSatEngine, VerbatimEngine]


def feasible(
    factory: EngineFactory,
    problem: Problem,
    interval: int,
    length: int,
) -> bool:
    engine = factory(Question(problem, interval, length, available_groups(problem)))
    status = engine.solve().status
    engine.dispose()
    return status == "sat"


def modulo_length(problem: Problem, interval: int) -> int | None:
    """Return the least length of a modulo schedule, by asking for every length from 1 on."""
    if longest_paths(problem, interval) is None:
        return None
    groups = [WarpGroup(8, variable, 0, UNLIMITED) for variable in (True, False)]
    for length in range(1, 6 * interval + 1):
        engine = DifferenceEngine(
            Question(problem, interval, length, groups, families=("dependence", "capacity"))
        )
        status = engine.solve().status
        engine.dispose()
        if status == "sat":
            return length
    return None


def algorithm_1(factory: EngineFactory, problem: Problem) -> tuple[int, int]:
    """Return I and L as the paper's listing gives them, line by line."""
    interval = 0
    while True:
        interval += 1
        shortest = modulo_length(problem, interval)
        if shortest is None:
            continue
        length = shortest
        while -(-length // interval) == -(-shortest // interval):
            if feasible(factory, problem, interval, length):
                return interval, length
            length += 1


@pytest.mark.parametrize("factory", ENGINES)
def test_the_stage_rule_loses_an_interval_of_two_operations(factory: EngineFactory) -> None:
    problem = build_problem(*stages_lost("paper"), rules="paper")
    found = paper_search(problem, factory)
    assert found.interval == 3
    assert found.proof.bound.reason == "not proved"
    assert not any(level.proved for level in found.proof.levels)
    assert search(problem, DifferenceEngine).interval == 2


@pytest.mark.parametrize("factory", [DifferenceEngine, CpSatEngine])
def test_the_stage_rule_loses_an_interval_of_three_operations(factory: EngineFactory) -> None:
    problem = build_problem(*stages_lost("issue"))
    assert paper_search(problem, factory).interval == 4
    assert search(problem, DifferenceEngine).interval == 3


@pytest.mark.parametrize("factory", ENGINES)
def test_the_running_example(
    factory: EngineFactory, paper_loop: twill.Loop, paper_machine: twill.Machine
) -> None:
    problem = build_problem(paper_loop, paper_machine, rules="paper")
    found = paper_search(problem, factory)
    assert (found.interval, found.assignment.length(problem)) == (2, 4)
    assert (found.proof.bound.reason, found.proof.bound.unit) == ("ResMII", "TC")
    assert {level.level: level.proved for level in found.proof.levels}["interval"]


@pytest.mark.parametrize("factory", sampled(ENGINES, 3))
def test_bisection_stops_where_the_listing_does(factory: EngineFactory) -> None:
    above = 0
    for seed in (0, 3, 9, 17, 26):
        problem = build_problem(*random_loop(seed), rules="paper")
        found = paper_search(problem, factory)
        interval, length = algorithm_1(factory, problem)
        assert found.interval == interval, seed
        assert found.assignment.length(problem) == length, seed
        above += interval > bounds(problem).interval
    assert above > 0


@pytest.mark.parametrize("rules", sampled(["issue", "paper"], 2))
def test_the_stage_rule_never_gains(rules: Rules) -> None:
    lost = 0
    for seed in (2, 3, 4, 9, 17, 28, 35):
        problem = build_problem(*random_loop(seed), rules=rules)
        try:
            theirs = paper_search(problem, DifferenceEngine)
        except RefusedError:
            with pytest.raises(RefusedError):
                search(problem, DifferenceEngine)
            continue
        ours = search(problem, DifferenceEngine)
        assert theirs.interval >= ours.interval, seed
        if theirs.proof.bound.reason != "not proved":
            assert theirs.interval == ours.interval, seed
        lost += theirs.interval > ours.interval
    assert lost > 1


def test_cbc_and_the_engine_agree_on_the_shortest_modulo_schedule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in (0, 3, 9, 17, 26):
        problem = build_problem(*random_loop(seed), rules="paper")
        least = bounds(problem).interval
        for interval in (least, least + 1):
            expected = modulo_length(problem, interval)
            for shortest in (True, False):
                status, found = modulo_schedule(problem, interval, shortest=shortest)
                assert (status == "sat") == (expected is not None), seed
                if found is not None:
                    place, one = (0,) * len(found.start), (WarpGroup(8, False, 0, UNLIMITED),)
                    told = violations(problem, interval, Assignment(found.start, place, one))
                    assert not [m for m in told if m.startswith("unit ") or " -> " in m], seed
                    assert not shortest or found.length == expected, seed
        by_cbc = paper_search(problem, DifferenceEngine)
        with monkeypatch.context() as patch:
            patch.setattr(module, "TUNING", replace(TUNING, paper=Paper(coarse=0)))
            by_engine = paper_search(problem, DifferenceEngine)
        assert by_engine.interval == by_cbc.interval
        assert by_engine.assignment.length(problem) == by_cbc.assignment.length(problem)


def test_a_loop_without_any_schedule_is_refused() -> None:
    operations = [op("a", "TC", registers=2), op("b", "ALU", registers=2), op("c", "BUS")]
    machine = small_machine({"TC": 1, "ALU": 1, "BUS": 1}, registers=3, groups=((4, 1),))
    loop = small_loop(operations, [edge("a", "c"), edge("b", "c")])
    with pytest.raises(RefusedError, match="Algorithm 1 finds no schedule up to an interval of 9"):
        paper_search(build_problem(loop, machine, rules="paper"), DifferenceEngine)


def test_a_search_without_time_is_refused(attention: twill.Loop, hopper: twill.Machine) -> None:
    problem = build_problem(attention, hopper)
    with pytest.raises(RefusedError, match=r"no schedule in 0.01 s; it had come to .* 2048$"):
        paper_search(problem, DifferenceEngine, Options(timeout=0.01))


def test_the_issue_time_of_an_operation_proves_an_interval() -> None:
    operations = [op("a", "TC", 1, asynchronous=True, issue=3), op("b", "ALU", 1)]
    problem = build_problem(small_loop(operations, [edge("a", "b")]), small_machine())
    found = paper_search(problem, DifferenceEngine)
    assert found.interval == bounds(problem).issue == 3
    assert found.proof.bound.reason == "issue"
    assert found.proof.levels[0].proved
    assert twill.verify(realize(problem, 3, found.assignment)).valid


def test_the_users_limits_are_kept_and_recorded() -> None:
    operations = [op("a", "TC", 2, asynchronous=True), op("b", "ALU", 1), op("c", "ALU", 1)]
    loop = small_loop(operations, [edge("a", "b"), edge("b", "c")])
    problem = build_problem(loop, small_machine(), rules="paper")
    wishes = Wishes(limits=(("groups", 1), ("stages", 1)), pins=((1, "x"),), orders=((2, 0),))
    free = paper_search(problem, DifferenceEngine)
    assert (free.interval, free.assignment.used()) == (2, 2)
    one = paper_search(replace(problem, wishes=Wishes(limits=(("groups", 1),))), DifferenceEngine)
    assert one.assignment.used() == 1
    assert one.interval > free.interval
    assert one.proof.limits == {"groups": 1}
    # c comes after b, which comes after a: nothing has c no later than a.
    with pytest.raises(RefusedError):
        paper_search(replace(problem, wishes=wishes), DifferenceEngine)


@pytest.mark.slow
@pytest.mark.sample
def test_attention_in_normalized_time(attention: twill.Loop, hopper: twill.Machine) -> None:
    scale = normalize(attention, hopper)
    problem = build_problem(attention, hopper, rules="paper", scale=scale)
    found = paper_search(problem, DifferenceEngine, Options())
    assert found.interval == 128
    assert found.assignment.length(problem) == 192
