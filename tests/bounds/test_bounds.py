"""ResMII and RecMII."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import twill
from tests.support.small import edge, op, random_loop, small_loop, small_machine
from twill.bounds import (
    NO_PATH,
    bounds,
    lacks_registers,
    longest,
    longest_paths,
)
from twill.problem import build_problem
from twill.problem.groups import available_groups
from twill.search.scheduler import schedule as static_schedule


def test_attention_is_bound_by_the_tensor_core(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    found = bounds(build_problem(attention, hopper))
    # Four products of 64 x 128 x 128 at 4096 FLOP a clock.
    assert found.by_unit["tc"] == 4 * 2 * 64 * 128 * 128 // 4096 == 2048
    # Two tiles of 64 x 128 exponentials, and two rows of 2 x 64, at 16 a clock.
    assert found.by_unit["mufu"] == 2 * 64 * 128 // 16 + 2 * 2 * 8
    assert (found.resource_unit, found.interval) == ("tc", 2048)
    assert set(found.recurrence_cycle) in ({"o0", "o0.mul"}, {"o1", "o1.mul"})


@pytest.mark.parametrize(
    ("capacity", "reservations", "expected"),
    [
        (1, [(3, 1), (4, 1)], 7),
        (2, [(3, 1), (4, 1)], 4),
        (3, [(2, 2), (2, 2)], 4),
        (8, [(10, 7), (10, 4), (10, 1)], 15),
        (8, [(10, 6), (5, 4), (5, 4)], 15),
        (8, [(10, 7), (10, 5), (10, 1)], 20),
    ],
)
def test_resource_bound(capacity: int, reservations: list[tuple[int, int]], expected: int) -> None:
    operations = [op(f"o{i}", "U", c, count=n) for i, (c, n) in enumerate(reservations)]
    problem = build_problem(small_loop(operations), small_machine({"U": capacity}))
    assert bounds(problem).resource == expected


def test_the_verifier_agrees_that_shares_beside_a_large_one_have_to_wait() -> None:
    # By area 13 cycles would do.
    operations = [op("a", "U", 10, count=6), op("b", "U", 5, count=4), op("c", "U", 5, count=4)]
    schedule = static_schedule(small_loop(operations), small_machine({"U": 8}))
    assert schedule.proof is not None
    assert (schedule.proof.bound.reason, schedule.proof.bound.value) == ("ResMII", 15)
    assert twill.verify(schedule).violations == ()


def test_recurrence_bound_against_every_simple_cycle() -> None:
    compared = 0
    for seed in range(60):
        loop, machine = random_loop(seed)
        problem = build_problem(loop, machine)
        arcs: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for i, e in enumerate(problem.edges):
            key = (e.producer, e.consumer)
            arcs.setdefault(key, []).append((problem.least_delay(i), e.distance))
        expected = 0
        nodes = range(len(problem.operations))
        for length in range(1, len(nodes) + 1):
            for cycle in itertools.permutations(nodes, length):
                pairs = list(zip(cycle, (*cycle[1:], cycle[0]), strict=True))
                for links in itertools.product(*(arcs.get(pair, []) for pair in pairs)):
                    delay, distance = (sum(x) for x in zip(*links, strict=True))
                    if distance:
                        expected = max(expected, -(-delay // distance))
        assert bounds(problem).recurrence == expected
        compared += expected > 0
    assert compared > 20


def test_the_named_recurrence_is_a_cycle_of_the_graph() -> None:
    loop = small_loop(
        [op("a", "ALU", 3), op("b", "ALU", 1), op("c", "ALU", 1)],
        [edge("a", "b"), edge("b", "a", 1), edge("b", "c")],
    )
    found = bounds(build_problem(loop, small_machine()))
    assert (found.recurrence, set(found.recurrence_cycle)) == (4, {"a", "b"})


def test_longest_paths_against_plain_relaxation() -> None:
    for seed in range(30):
        loop, machine = random_loop(seed)
        problem = build_problem(loop, machine)
        interval = bounds(problem).interval
        size = len(problem.operations)
        reach = {(v, v): 0 for v in range(size)}
        for _ in range(size):
            for (u, v), amount in list(reach.items()):
                for i, e in enumerate(problem.edges):
                    if e.producer == v:
                        step = amount + problem.least_delay(i) - e.distance * interval
                        key = (u, e.consumer)
                        reach[key] = max(reach.get(key, NO_PATH), step)
        paths = longest_paths(problem, interval)
        assert paths is not None
        expected = np.array([[reach.get((u, v), NO_PATH) for v in range(size)]
                             for u in range(size)])  # fmt: skip
        assert (np.where(paths < NO_PATH // 2, NO_PATH, paths) == expected).all()


def test_contradicting_constraints_have_no_paths(
    paper_loop: twill.Loop, paper_machine: twill.Machine
) -> None:
    problem = build_problem(paper_loop, paper_machine)
    assert longest(len(problem.operations), [(0, 1, 1), (1, 0, 0)]) is None


def test_no_operation_is_issued_faster_than_its_warps_can() -> None:
    loop = small_loop([op("a", "TC", asynchronous=True, issue=7)])
    found = static_schedule(loop, small_machine())
    assert found.initiation_interval == 7
    assert found.proof is not None
    assert (found.proof.bound.reason, found.proof.bound.cycle) == ("issue", ("a",))
    assert twill.verify(found).valid
    assert twill.sim.run(found).measured_interval_cycles == 7


@pytest.mark.parametrize(
    ("most", "file", "offered"),
    [
        (64, 512, 2 * (64 - 10)),  # what two groups may have live
        (248, 96, 96 - 10),  # what is in the file, less the reserve of one group
        (64, 100, 100 - 2 * 10),  # of two
    ],
)
def test_registers_lack_beyond_what_groups_and_the_file_have(
    monkeypatch: pytest.MonkeyPatch, most: int, file: int, offered: int
) -> None:
    machine = small_machine(registers=255, most=most, file=128 * file, reserve=10)
    monkeypatch.setattr("twill.bounds.registers.least_lifetimes", lambda *_: [1, 0])
    for size in (offered, offered + 1):
        loop = small_loop([op("a", "ALU", registers=size), op("b", "ALU")])
        problem = build_problem(loop, machine)
        lacking = lacks_registers(problem, 1, available_groups(problem))
        assert lacking == (size > offered), size
