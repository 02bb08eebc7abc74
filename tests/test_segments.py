"""Segments: rows against every unit's capacity, and against what packs the whole puzzle."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Mapping

import pytest

from tests.test_configurations import SLOTS, Taken, random_reservations, reserving
from tests.test_decomposed import fits
from twill.artifacts.machine import Machine
from twill.bounds import every_bound
from twill.joint.segments import Segment, Segments, rows_of
from twill.joint.shapes import TOGETHER, Puzzle
from twill.problem import Problem, build_problem
from twill.studies.synthetic import synthetic_loop


def full() -> Problem:
    """Return a puzzle of 128 rows in which any two of three units can be busy, and always are."""
    work = {"mufu": (3, 32, 1), "fma": (4, 16, 4), "alu": (6, 16, 4)}
    operations: list[Taken] = [
        ((unit, 0, length, 1), ("issue", 0, length, slots))
        for unit, (count, length, slots) in work.items()
        for _ in range(count)
    ]
    return reserving(operations, SLOTS)


def find(problem: Problem, seed: int = 0) -> tuple[Segments, list[Segment]]:
    found = Segments(Puzzle(problem), every_bound(problem).interval, seed)
    return found, found.fewest(20.0)


def test_a_puzzle_that_leaves_nothing_over_is_solved() -> None:
    problem = full()
    assert every_bound(problem).interval == 128
    segments, chosen = find(problem)
    assert rows_of(chosen) == 128
    assert fits(problem, 128, segments.rows(chosen, 128), all_of_them=False)


@pytest.mark.parametrize("interval", [128, 131, 160])
def test_what_an_interval_has_more_is_left_over_between_segments(interval: int) -> None:
    problem = full()
    segments, chosen = find(problem)
    found = segments.rows(chosen, interval)
    assert fits(problem, interval, found, all_of_them=False)
    last = max(row for mine in found for row in mine.rows)
    assert last >= interval - 32 - (interval - 128) // len(chosen) - 1


def test_rows_of_random_puzzles_fit() -> None:
    checked = 0
    for seed in range(240):
        problem = reserving(*random_reservations(seed))
        if TOGETHER not in Puzzle(problem).capacity:
            continue
        checked += 1
        segments, chosen = find(problem)
        interval = rows_of(chosen)
        assert interval >= every_bound(problem).interval
        assert fits(problem, interval, segments.rows(chosen, interval), all_of_them=False)
    assert checked >= 5


def laid(operations: list[Taken], capacities: Mapping[str, int], rows: int) -> bool:
    """Return whether operations fit so many rows, none over their ends, by trying all of them."""
    most = [rows - max(start + length for _, start, length, _ in taken) for taken in operations]
    for first in itertools.product(*(range(n + 1) for n in most)):
        used = Counter[tuple[str, int]]()
        for row, taken in zip(first, operations, strict=True):
            for unit, start, length, n in taken:
                used.update({(unit, row + c): n for c in range(start, start + length)})
        if all(n <= capacities[unit] for (unit, _), n in used.items()):
            return True
    return False


def test_the_fewest_rows_are_those_that_trying_all_of_them_finds() -> None:
    reached = compared = 0
    for seed in range(400):
        operations, capacities = random_reservations(seed)
        problem = reserving(operations[:4], capacities)
        puzzle = Puzzle(problem)
        if TOGETHER not in puzzle.capacity or not all(shape.weight for shape in puzzle.shapes):
            continue
        rows = rows_of(find(problem)[1])
        compared += 1
        assert laid(operations[:4], capacities, rows)
        reached += not laid(operations[:4], capacities, rows - 1)
    assert compared >= 5
    assert reached >= 0.8 * compared, (reached, compared)


def gaps(segments: Segments, order: list[Segment]) -> int:
    """Return the squares of rows from one operation of a shape to the next, added up."""
    interval, squares = rows_of(order), 0
    for mine in segments.rows(order, interval):
        taken = sorted(mine.rows)
        squares += sum(((b - a) % interval) ** 2 for a, b in itertools.pairwise(taken))
        squares += ((taken[0] - taken[-1]) % interval or interval) ** 2
    return squares


def test_an_even_order_has_every_segment_and_is_evener_than_others() -> None:
    problem = full()
    segments, chosen = find(problem)
    order = segments.evenly(chosen, 0, 300)
    assert Counter(order) == Counter(chosen)
    even = gaps(segments, order)
    others = [random.Random(seed).sample(chosen, len(chosen)) for seed in range(50)]
    assert sum(gaps(segments, other) < even for other in others) <= 2


def test_the_same_seed_finds_the_same() -> None:
    assert find(full(), 5)[1] == find(full(), 5)[1]


def test_no_time_is_still_an_answer() -> None:
    problem = full()
    segments = Segments(Puzzle(problem), 128, 0)
    chosen = segments.fewest(0.0)
    assert fits(problem, rows_of(chosen), segments.rows(chosen, rows_of(chosen)), all_of_them=False)


@pytest.mark.parametrize(("seed", "near"), [(3, 0.01), (4, 0.01)])
@pytest.mark.slow
def test_puzzles_of_a_hundred_operations_come_close_to_their_bound(seed: int, near: float) -> None:
    problem = build_problem(synthetic_loop(100, seed, "hopper_h100"), Machine.named("hopper_h100"))
    segments, chosen = find(problem)
    interval = rows_of(chosen)
    assert interval <= (1 + near) * every_bound(problem).interval
    assert fits(problem, interval, segments.rows(chosen, interval), all_of_them=False)
