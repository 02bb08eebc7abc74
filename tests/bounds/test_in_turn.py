"""Operations issued in turn: against an engine and the verifier, which know only the causes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import twill
from tests.support.commands import in_process
from tests.support.judged import violations
from tests.support.proving import prove
from tests.support.static import static_schedule
from tests.support.synthetic import synthetic_loop
from twill.artifacts.machine import Machine
from twill.bounds import bounds, every_bound, least_stages
from twill.bounds.configurations import configuration_bound, turns_taken
from twill.engines import Question
from twill.engines.yices import DifferenceEngine
from twill.problem import Problem, build_problem
from twill.problem.groups import available_groups
from twill.problem.solution import Assignment
from twill.search.known import bound_reached
from twill.verification.bounds import check_configurations
from twill.verification.reading import read_model

MACHINES = ("hopper_h100", "blackwell_b200")
LONG = {("hopper_h100", 1), ("hopper_h100", 2)}
CASES = [
    pytest.param(machine, seed, marks=[pytest.mark.slow] if (machine, seed) in LONG else [])
    for machine in MACHINES
    for seed in range(4)
]


def synthetic(size: int, seed: int, machine: str) -> Problem:
    return build_problem(synthetic_loop(size, seed, machine), Machine.named(machine))


def pairs(problem: Problem) -> Iterator[tuple[int, int]]:
    for u, v in itertools.permutations(problem.in_turn, 2):
        if problem.in_turn[u] == problem.in_turn[v]:
            yield u, v


def schedule(problem: Problem) -> tuple[int, Assignment]:
    """Return a schedule by the finder, which is told nothing of what follows."""
    interval = every_bound(problem).interval
    while True:
        length = (least_stages(problem, interval) + 2) * interval
        engine = DifferenceEngine(Question(problem, interval, length, available_groups(problem)))
        try:
            found = engine.solve().assignment
        finally:
            engine.dispose()
        if found is not None:
            return interval, found
        interval += max(1, interval // 8)


@pytest.mark.parametrize(("machine", "seed"), CASES)
def test_no_two_are_issued_at_the_same_time(machine: str, seed: int) -> None:
    problem = synthetic(16, seed, machine)
    assert len(problem.in_turn) > 1
    interval, found = schedule(problem)
    for u, v in pairs(problem):
        apart = (found.start[v] - found.start[u]) % interval
        assert apart >= problem.operations[u].issue


def test_the_verifier_refuses_it_on_one_group_and_on_two() -> None:
    problem = synthetic(16, 0, "hopper_h100")
    interval, found = schedule(problem)
    u, v = next(iter(pairs(problem)))
    for group in {found.group[u], *found.group}:
        start, place = list(found.start), list(found.group)
        start[v] += (start[u] - start[v]) % interval + problem.operations[u].issue - 1
        place[v] = group
        moved = replace(found, start=tuple(start), group=tuple(place))
        assert violations(problem, interval, moved) != []


def test_they_wait_and_are_on_an_in_order_unit() -> None:
    problem = synthetic(16, 0, "hopper_h100")
    waiting = {e.consumer for e in problem.edges if e.blocking}
    in_order = {o.index for o in problem.operations if o.in_order_unit}
    assert set(problem.in_turn) == waiting & in_order != set()
    printed = build_problem(
        synthetic_loop(16, 0, "hopper_h100"), Machine.named("hopper_h100"), rules="paper"
    )
    assert printed.in_turn == {}
    assert turns_taken(printed) == {}


@pytest.mark.parametrize(("seed", "units", "turns"), [(2, 906, 908), (3, 751, 758)])
def test_turns_raise_the_bound(seed: int, units: int, turns: int) -> None:
    problem = synthetic(100, seed, "hopper_h100")
    resource = bounds(problem).resource
    without = configuration_bound(problem, resource, turns=False)
    found = configuration_bound(problem, resource)
    assert without is not None
    assert found is not None
    assert (without.value, found.value, every_bound(problem).interval) == (units, turns, turns)


def test_the_judge_agrees_and_sees_who_does_not_wait() -> None:
    problem = synthetic(100, 3, "hopper_h100")
    bound = bound_reached(every_bound(problem))
    assert bound.reason == "configurations"
    model = read_model(problem.loop, problem.machine)
    assert list(check_configurations(model, bound)) == []
    heavier = "the proof says at most 4 fits all units at once, 8 does"
    edges = tuple(replace(edge, blocking=False) for edge in model.edges)
    assert list(check_configurations(replace(model, edges=edges), bound)) == [heavier]
    loose = tuple(replace(o, in_order_unit=None) for o in model.operations)
    assert list(check_configurations(replace(model, operations=loose), bound)) == [heavier]


RAISED = (12, 19, 21)
"""Of the loops whose bound turns raise."""


@pytest.mark.parametrize(
    "seeds", [RAISED, pytest.param(range(40), marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_below_the_bound_the_prover_finds_nothing(seeds: Iterable[int]) -> None:
    """Without turns and concurrency there is room below it."""
    raised = 0
    for machine, seed in itertools.product(MACHINES, seeds):
        problem = synthetic(12, seed, machine)
        resource = bounds(problem).resource
        plain = configuration_bound(problem, resource, turns=False)
        found = configuration_bound(problem, resource)
        if found is None or found.value == (plain.value if plain else resource):
            continue
        raised += 1
        below, groups = found.value - 1, available_groups(problem)
        stages = least_stages(problem, below) + 2
        assert prove(problem, below, below, stages, groups).status == "unsat"
    assert raised >= 3, raised


@pytest.mark.slow
@pytest.mark.sample
def test_a_loop_that_turns_bound_is_proved_judged_and_explained(tmp_path: Path) -> None:
    machine = Machine.named("hopper_h100")
    found = static_schedule(synthetic_loop(12, 19, "hopper_h100"), machine)
    assert found.proof is not None
    assert (found.initiation_interval, found.proof.bound.reason) == (174, "configurations")
    assert twill.verify(found).violations == ()
    found.save(tmp_path / "schedule.json")
    told = in_process("twill", "explain", "schedule.json", "--no-levers", folder=tmp_path).stdout
    assert "issue to tc: operations that wait are issued there one after another" in told
    assert "347 / 2 makes 174 cycles" in " ".join(told.split())
