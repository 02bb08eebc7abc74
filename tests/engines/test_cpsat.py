"""The second engine and the prover: against the verifier and the first engine."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import twill
from tests.oracle.loops import random_loop as various_loop
from tests.support.families import CASES, two_groups
from tests.support.judged import violations
from tests.support.placements import random_problem
from tests.support.proving import prove
from tests.support.sampled import sampled
from tests.support.small import edge, op, random_loop, small_loop, small_machine
from twill.artifacts.schedule import Rules
from twill.bounds import bounds
from twill.engines import (
    FAMILIES,
    NO_LIMITS,
    WAYS,
    Conditions,
    Limits,
    Objective,
    Question,
    Range,
)
from twill.engines.cpsat import CpSatEngine, CpSatProver, Run
from twill.engines.cpsat.system import CpSatSystem
from twill.engines.yices import DifferenceEngine
from twill.problem import Problem, build_problem
from twill.problem.groups import (
    WarpGroup,
    available_groups,
    filled_before,
    groups_within,
    opened_before,
)
from twill.problem.solution import Assignment

SOON = Conditions(effort=1e-6)

Maker = Callable[[int], tuple[twill.Loop, twill.Machine]]


def questions(problem: Problem, generator: random.Random, interval: int) -> Iterator[Limits]:
    """Yield limits, some of which bind."""
    yield NO_LIMITS
    yield Limits(length=generator.randint(2, 3 * interval))
    yield Limits(groups=generator.randint(1, 2))
    yield Limits(transfers=0)
    yield Limits(length=2 * interval + 1, groups=2, transfers=1)
    if not any(e.blocking and e.producer == e.consumer for e in problem.edges):
        yield Limits(slack=generator.randint(0, 3))
        yield Limits(length=2 * interval + 1, groups=2, transfers=1, slack=1)


on_all_loops = pytest.mark.parametrize(
    ("make", "rules"),
    sampled(itertools.product([random_loop, various_loop], ["issue", "paper"]), 3),
)


@on_all_loops
def test_both_engines_agree_under_every_limit(make: Maker, rules: Rules) -> None:
    answers = []
    for seed in range(300, 316):
        problem = build_problem(*make(seed), rules=rules)
        interval = bounds(problem).interval + seed % 3
        groups, generator = available_groups(problem), random.Random(seed)
        first = DifferenceEngine(Question(problem, interval, 3 * interval, groups))
        second = CpSatEngine(Question(problem, interval, 3 * interval, groups))
        for limits in questions(problem, generator, interval):
            expected, answer = first.solve(limits), second.solve(limits)
            assert answer.status == expected.status, (seed, limits)
            answers.append(answer.status)
            found = answer.assignment
            if found is not None:
                assert not violations(problem, interval, found), (seed, limits)
                assert keeps(problem, interval, found, limits), (seed, limits)
        first.dispose()
    assert answers.count("sat") >= 15
    assert answers.count("unsat") >= 15


def keeps(problem: Problem, interval: int, found: Assignment, limits: Limits) -> bool:
    """Return whether an assignment is within limits."""
    slack = found.slack(problem, interval)
    return (
        (limits.length is None or found.length(problem) <= limits.length)
        and (limits.groups is None or found.used() <= limits.groups)
        and (limits.transfers is None or found.transfers(problem) <= limits.transfers)
        and (limits.slack is None or slack is None or slack >= limits.slack)
    )


@on_all_loops
def test_a_range_is_answered_as_its_intervals_are_one_by_one(make: Maker, rules: Rules) -> None:
    intervals = []
    for seed in range(400, 416):
        problem = build_problem(*make(seed), rules=rules)
        groups = available_groups(problem)
        low = max(1, bounds(problem).interval - 1)
        expected = None
        for interval in range(low, low + 4):
            engine = DifferenceEngine(Question(problem, interval, 2 * interval, groups))
            if engine.solve().status == "sat" and expected is None:
                expected = interval
            engine.dispose()
        proof = prove(problem, low, low + 3, 2, groups)
        assert proof.interval == expected, seed
        assert proof.bound == (low + 4 if expected is None else expected), seed
        if proof.assignment is not None and proof.interval is not None:
            assert not violations(problem, proof.interval, proof.assignment), seed
            assert proof.assignment.length(problem) <= 2 * proof.interval
        intervals.append(expected)
    assert None in intervals
    assert len(set(intervals)) > 2


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_decides_where_it_is_tight(family: str) -> None:
    make, _, _, interval = CASES[family]
    problem, groups = make("issue")
    others = [name for name in FAMILIES if name != family]
    low = max(1, interval - 1)
    assert prove(problem, low, interval, 1, groups).status == "unsat"
    assert prove(problem, low, interval, 1, groups, families=others).status == "sat"
    assert prove(problem, interval, interval, 1, groups).status == "unsat"
    engine = CpSatEngine(Question(problem, interval, interval, groups, families=others))
    assert engine.solve().status == "sat"


def accumulators(count: int, registers: int) -> tuple[Problem, tuple[WarpGroup, ...]]:
    """Return values that always live, of which no two fit one group."""
    names = [f"o{i}" for i in range(count)]
    loop = small_loop(
        [op(name, "TC", latency=8, asynchronous=True, registers=registers) for name in names],
        [edge(name, name, 1, in_place=True) for name in names],
    )
    problem = build_problem(loop, small_machine(registers=200, groups=((4, 4),)))
    return problem, available_groups(problem)


@pytest.mark.parametrize(("registers", "status"), [(168, "sat"), (169, "unsat")])
def test_allocations_of_all_groups_share_the_register_file(registers: int, status: str) -> None:
    # 512 registers per thread for three groups, in steps of 8: 168 each, and no more.
    problem, groups = accumulators(3, registers)
    answer = CpSatEngine(Question(problem, 8, 16, groups)).solve()
    assert answer.status == status
    assert DifferenceEngine(Question(problem, 8, 16, groups)).solve().status == status
    others = [family for family in FAMILIES if family != "registers"]
    assert CpSatEngine(Question(problem, 8, 16, groups, families=others)).solve().status == "sat"
    if answer.assignment is not None:
        assert not violations(problem, 8, answer.assignment)


def test_a_capacity_above_one_is_shared() -> None:
    operations = [op(f"o{i}", "BUS", 2, count=2) for i in range(3)]
    problem = build_problem(small_loop(operations), small_machine({"BUS": 5}))
    others = [family for family in FAMILIES if family != "capacity"]
    # Two at a time: the third has to wait, or to share slots with the next iteration's first.
    assert prove(problem, 2, 6, 1, two_groups()).interval == 4
    assert prove(problem, 2, 6, 2, two_groups()).interval == 3
    assert prove(problem, 2, 6, 2, two_groups(), families=others).interval == 2


def test_an_empty_range_has_no_schedule() -> None:
    problem = build_problem(small_loop([op("a", "TC")]), small_machine())
    assert prove(problem, 5, 4, 2, two_groups()).status == "unsat"


def test_an_undecided_range_is_not_called_refuted(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    problem = build_problem(attention, hopper)
    proof = prove(problem, 2000, 2100, 6, available_groups(problem), under=SOON)
    assert proof.status == "unknown"
    assert proof.bound <= 2048
    assert proof.assignment is None


# -- beyond a schedule that is known ---------------------------------------------------------------


def test_the_least_interval_below_a_schedule_is_that_of_the_other_engine() -> None:
    better = 0
    for seed in range(40):
        problem = build_problem(*random_loop(seed))
        low, groups = bounds(problem).interval, available_groups(problem)
        found = prove(problem, low + 3, low + 3, 3, groups)
        if found.assignment is None:
            continue
        least = CpSatProver().least(Range(problem, low, low + 2, 3, groups), found)
        assert least.assignment is not None
        assert least.interval is not None
        assert least.bound == least.interval
        assert not violations(problem, least.interval, least.assignment)
        for interval in range(low, least.interval):
            engine = DifferenceEngine(Question(problem, interval, 3 * interval, groups))
            assert engine.solve().status == "unsat"
        better += least.interval < low + 3
    assert better > 10


@pytest.mark.parametrize("objective", ["length", "slack"])
def test_the_best_length_and_slack_are_those_of_the_other_engine(objective: Objective) -> None:
    better = 0
    for seed in range(40):
        problem = build_problem(*random_loop(seed))
        interval, groups = bounds(problem).interval + 2, available_groups(problem)
        found = CpSatEngine(Question(problem, interval, 4 * interval, groups)).solve().assignment
        if found is None or (objective == "slack" and found.slack(problem, interval) is None):
            continue
        asked = Question(problem, interval, found.length(problem), groups)
        best = CpSatProver().best(asked, found, objective)
        assert best.assignment is not None
        assert best.status == "sat"
        assert not violations(problem, interval, best.assignment)
        length, slack = best.assignment.length(problem), best.assignment.slack(problem, interval)
        assert length <= found.length(problem)
        if slack is None:  # nothing is waited for
            better += 1
            continue
        engine = DifferenceEngine(Question(problem, interval, found.length(problem), groups))
        limits = Limits(length=length - 1) if objective == "length" else Limits(slack=slack + 1)
        assert engine.solve(limits).status == "unsat"
        better += length < found.length(problem) or slack > (found.slack(problem, interval) or 0)
    assert better > 8


@pytest.mark.slow
@pytest.mark.sample
def test_a_search_for_the_best_that_is_cut_short_claims_nothing() -> None:
    problem = build_problem(twill.load_loop("fa_fwd_hopper"), twill.Machine.named("hopper_h100"))
    groups = available_groups(problem)
    found = prove(problem, 2200, 2200, 3, groups)
    assert found.assignment is not None
    least = CpSatProver().least(Range(problem, 2048, 2199, 3, groups), found, SOON)
    assert (least.interval, least.bound, least.status) == (2200, 2048, "sat")
    asked = Question(problem, 2200, found.assignment.length(problem), groups)
    best = CpSatProver().best(asked, found.assignment, "length", SOON)
    assert (best.status, best.assignment) == ("unknown", found.assignment)


@pytest.mark.parametrize("count", [50, pytest.param(150, marks=pytest.mark.slow)])
def test_hints_change_no_answer_and_save_rounds(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator, search = random.Random(5), Run._search
    saved, rounds = 0, 0

    def counted(run: Run, *callback: Any) -> Any:
        nonlocal rounds
        rounds += 1
        return search(run, *callback)

    monkeypatch.setattr(Run, "_search", counted)
    for _ in range(count):
        problem = random_problem(generator, 1)
        low, groups = bounds(problem).interval, available_groups(problem)
        rounds = 0
        first, before = prove(problem, low, low + 4, 3, groups), rounds
        rounds = 0
        again = prove(problem, low, low + 4, 3, groups, under=Conditions(hints=first.hints))
        assert (again.status, again.interval) == (first.status, first.interval)
        assert rounds <= before
        saved += rounds < before
    assert saved > count / 75


@pytest.mark.parametrize("way", range(WAYS))
def test_every_way_of_searching_gives_the_same_answer(way: int) -> None:
    seen = set()
    for seed in range(400, 412):
        problem = build_problem(*various_loop(seed))
        interval, groups = bounds(problem).interval, available_groups(problem)
        expected = (
            DifferenceEngine(Question(problem, interval, 2 * interval, groups)).solve().status
        )
        proof = prove(problem, interval, interval, 2, groups, under=Conditions(way=way))
        assert proof.status == expected, seed
        seen.add(expected)
    assert seen == {"sat", "unsat"}


def test_ways_of_searching_take_different_turns() -> None:
    problem = build_problem(twill.load_loop("fa_bwd_hopper"), twill.Machine.named("hopper_h100"))
    groups, turns = available_groups(problem), set()
    few = ("dependence", "capacity", "concurrency", "transfers")
    for way in range(WAYS):
        system = CpSatSystem(Question(problem, 3100, 9300, groups, few))
        run = Run(system, Conditions(way=way, effort=1.0))
        run.solve()
        turns.add((run._solver.num_branches, run._solver.num_conflicts))
    assert len(turns) == WAYS


def test_groups_within_a_limit_are_those_that_some_assignment_uses() -> None:
    """All sets of groups that are opened in order and have one for every operation."""
    shut = 0
    for name, machine in [
        ("fa_fwd_blackwell", "blackwell_b200"),
        ("fa_bwd_hopper", "hopper_h100"),
        ("gemm_pointers_hopper", "hopper_h100"),
        ("paper_example", "paper_example"),
    ]:
        problem = build_problem(twill.load_loop(name), twill.Machine.named(machine))
        groups = available_groups(problem)
        before, filled = opened_before(groups, problem), filled_before(groups, problem)
        reached: set[int] = set()
        for most in range(1, len(groups) + 1):
            for used in itertools.combinations(range(len(groups)), most):
                opened = all(first in used for first, second in before if second in used)
                full = all(
                    len({*pool.members} & {*used}) == pool.most
                    for pool, second in filled
                    if second in used
                )
                if (
                    opened
                    and full
                    and all(any(groups[g].takes(o) for g in used) for o in problem.operations)
                ):
                    reached |= set(used)
            within = groups_within(groups, problem, most)
            assert reached <= within
            shut += len(within) < len(groups)
        assert groups_within(groups, problem, None) == frozenset(range(len(groups)))
    assert shut > 5
