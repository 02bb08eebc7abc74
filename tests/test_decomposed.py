"""Rows first: packings against brute force, schedules against the verifier and a proof."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.judged import violations
from tests.small import random_loop
from tests.test_configurations import SLOTS, Taken, placed, random_reservations, reserving
from twill.artifacts.machine import Machine
from twill.bounds import every_bound, least_stages
from twill.joint import cpsat_decomposed
from twill.joint.answer import Conditions, Refutation
from twill.joint.cpsat import CpSatProver, prove
from twill.joint.cpsat_decomposed import TRIES, Packing, Try
from twill.joint.cpsat_run import import_ortools
from twill.joint.groups import available_groups
from twill.joint.shapes import Puzzle, ShapeRows
from twill.problem import Problem, build_problem
from twill.scheduler import engine_factory, helpers
from twill.search import Options, least_interval
from twill.studies.synthetic import SyntheticMachine, synthetic_loop

ANYWHERE = Try(1, 1.0)


def full() -> Problem:
    """Return a puzzle of 128 rows in which any two of three units can be busy, and always are."""
    work = {"mufu": (3, 32, 1), "fma": (4, 16, 4), "alu": (6, 16, 4)}
    operations: list[Taken] = [
        ((unit, 0, length, 1), ("issue", 0, length, slots))
        for unit, (count, length, slots) in work.items()
        for _ in range(count)
    ]
    return reserving(operations, SLOTS)


def pack(problem: Problem, interval: int, way: Try = ANYWHERE) -> list[ShapeRows] | None:
    return Packing(Puzzle(problem), interval).solve(import_ortools(), way, 0, 10)


def fits(
    problem: Problem, interval: int, found: list[ShapeRows], *, all_of_them: bool = True
) -> bool:
    """Whether every operation has a row, and no unit is exceeded in any."""
    rows = {v: row for mine in found for v, row in zip(mine.operations, mine.rows, strict=True)}
    if all_of_them:
        assert len(rows) == len(problem.operations)
    used: dict[tuple[str, int], int] = {}
    for v, row in rows.items():
        for r in problem.operations[v].reservations:
            for cycle in range(r.start, r.start + r.length):
                key = r.unit, (row + cycle) % interval
                used[key] = used.get(key, 0) + r.count
    assert all(0 <= row < interval for row in rows.values())
    return all(n <= problem.capacities[unit] for (unit, _), n in used.items())


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_found_where_trying_all_of_them_finds_some(seed: int) -> None:
    operations, capacities = random_reservations(seed)
    operations = operations[:4]
    problem = reserving(operations, capacities)
    for interval in range(1, 8):
        found = pack(problem, interval)
        assert (found is not None) == placed(operations, capacities, interval)
        assert found is None or fits(problem, interval, found)


@pytest.mark.parametrize("way", [ANYWHERE, *(way for way, _ in TRIES)])
def test_every_way_finds_rows_that_fit(way: Try) -> None:
    """Two units that share issue slots: 8 x 16 of one beside 4 x 32 of the other, nothing left."""
    long: Taken = (("mufu", 0, 32, 1), ("issue", 0, 32, 1))
    short: Taken = (("fma", 0, 16, 1), ("issue", 0, 16, 7))
    problem = reserving([short, long, short] * 4, SLOTS)
    found = pack(problem, 128, way)
    assert found is not None
    assert fits(problem, 128, found)
    assert pack(problem, 127, way) is None


def test_operations_of_one_shape_are_spread() -> None:
    problem = reserving([(("fma", 0, 1, 1),)] * 8, SLOTS)
    for spread in (0.0, 0.05):
        found = pack(problem, 80, Try(1, spread))
        assert found is not None
        (rows,) = (mine.rows for mine in found)
        for position, row in enumerate(sorted(rows)):
            assert 10 * position - 80 * spread <= row <= 10 * position + 80 * spread + 10


def test_operations_of_one_shape_follow_one_another_in_blocks() -> None:
    problem = reserving([(("fma", 0, 3, 1),)] * 5, SLOTS)
    found = pack(problem, 40, Try(2, 1.0))
    assert found is not None
    rows = found[0].rows
    assert (rows[1] - rows[0]) % 40 == (rows[3] - rows[2]) % 40 == 3


def test_ways_take_turns_and_none_is_asked_before_its_turn() -> None:
    asked: list[str] = []

    def way(name: str, times: int) -> Iterator[list[ShapeRows]]:
        for position in range(times):
            asked.append(name)
            yield [ShapeRows((position,), (position,))]

    found = cpsat_decomposed.by_turns([way("a", 3), way("b", 1), way("c", 2)])
    next(found)
    assert asked == ["a"]
    assert len([*found]) == 5
    assert asked == ["a", "b", "c", "a", "c", "a"]


def ask(problem: Problem, interval: int, stages: int) -> Refutation:
    groups = available_groups(problem)
    return CpSatProver().decomposed(problem, interval, stages, groups, Conditions(timeout=5.0))


def test_a_schedule_that_leaves_units_no_row() -> None:
    long: Taken = (("mufu", 0, 32, 1), ("issue", 0, 32, 1))
    short: Taken = (("fma", 0, 16, 1), ("issue", 0, 16, 7))
    problem = reserving([short, long, short] * 4, SLOTS)
    found = ask(problem, 128, 2)
    assert found.assignment is not None
    rows = [start % 128 for start in found.assignment.start]
    assert fits(problem, 128, [ShapeRows(tuple(range(12)), tuple(rows))])
    below = ask(problem, 127, 2)
    assert below.assignment is None or below.interval == 128


@pytest.mark.parametrize(("short", "kept"), [(7, True), (5, False)])
def test_rows_of_what_bounds_nothing_are_open_only_where_they_leave_no_schedule(
    monkeypatch: pytest.MonkeyPatch, short: int, kept: bool
) -> None:
    """One `fma` is busy in rows 4 and 5; another one takes row 7 if told so, and not row 5."""
    heavy: Taken = (("mufu", 0, 8, 1),)
    problem = reserving([heavy, heavy, (("fma", 0, 2, 1),), (("fma", 0, 1, 1),)], SLOTS)
    rows = [ShapeRows((0, 1), (0, 8)), ShapeRows((2,), (4,)), ShapeRows((3,), (short,))]
    monkeypatch.setattr(Packing, "solve", lambda *_: rows)
    found = ask(problem, 16, 2)
    assert found.assignment is not None
    first, _, longer, shorter = found.assignment.start
    taken = [(start - first) % 16 for start in (longer, shorter)]
    assert (taken in ([4, short], [12, (short + 8) % 16])) == kept
    assert violations(problem, 16, found.assignment) == []


@pytest.mark.parametrize(("least", "reached"), [(126, 128), (128, 128), (134, 134)])
def test_walks_alone_lead_to_a_schedule_close_above(
    monkeypatch: pytest.MonkeyPatch, least: int, reached: int
) -> None:
    """Any two of three units can be busy, and always are in 128 rows."""
    monkeypatch.setattr(cpsat_decomposed, "TRIES", ())
    problem = full()
    found = ask(problem, least, 3)
    assert found.interval == reached
    assert found.assignment is not None
    assert violations(problem, reached, found.assignment) == []


def test_walks_of_random_puzzles_lead_to_valid_schedules_or_to_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cpsat_decomposed, "TRIES", ())
    there = 0
    for seed in range(240):
        problem = reserving(*random_reservations(seed))
        found = ask(problem, every_bound(problem).interval, 3)
        if found.assignment is not None and found.interval is not None:
            there += 1
            assert violations(problem, found.interval, found.assignment) == []
    assert there >= 4


def test_schedules_are_valid_and_found_only_where_there_are_any() -> None:
    there, found = 0, 0
    for seed in range(30):
        problem = build_problem(*random_loop(seed))
        groups, first = available_groups(problem), every_bound(problem).interval
        for interval in range(max(1, first - 1), first + 3):
            stages = least_stages(problem, interval) + 3
            exists = prove(problem, interval, interval, stages, groups).status == "sat"
            answer = ask(problem, interval, stages)
            there += exists
            if answer.assignment is None or answer.interval is None:
                assert answer.status == "unknown"
                continue
            assert answer.interval >= interval
            assert violations(problem, answer.interval, answer.assignment) == []
            if answer.interval == interval:
                found += 1
                assert exists
    assert there > 40
    assert found > 0.8 * there, (found, there)


@pytest.mark.parametrize(
    ("machine", "seed", "least"),
    [
        ("blackwell_b200", 0, 1185),
        ("blackwell_b200", 3, 1914),
        ("hopper_h100", 2, 908),
        ("hopper_h100", 3, 758),
        ("hopper_h100", 4, 788),
    ],
)
@pytest.mark.slow
def test_loops_of_a_hundred_operations_whose_units_are_full_are_proved(
    machine: SyntheticMachine, seed: int, least: int
) -> None:
    """All at once, no schedule is found in minutes; the last has none at its bound, 786."""
    problem = build_problem(synthetic_loop(100, seed, machine), Machine.named(machine))
    rival, prover = helpers()
    found = least_interval(
        problem, engine_factory("difference"), Options(timeout=120.0), lambda _: None, rival, prover
    )
    assert found == (least, True)
