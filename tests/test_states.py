"""State diagrams and residues: against trying all rows, and against known loops."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import cast

import pytest

import twill.search
from tests.test_configurations import SLOTS, Taken, random_reservations, reserving
from twill.artifacts.machine import Machine
from twill.bounds import every_bound
from twill.console import silent
from twill.joint import residues
from twill.joint.residues import Residues, residue_argument, within
from twill.joint.shapes import TOGETHER, Puzzle
from twill.joint.states import StateDiagram, Step
from twill.problem import build_problem
from twill.scheduler import engine_factory, helpers
from twill.search import Options, search
from twill.studies.synthetic import synthetic_loop
from twill.text import why

USES = [("mufu", 1), ("fma", 4), ("fma", 7), ("alu", 4)]
MOST = 50_000


def random_slots(seed: int) -> list[Taken]:
    """Return operations of a few shapes on units that share issue slots."""
    generator = random.Random(seed)
    shapes: list[Taken] = []
    for _ in range(generator.randint(2, 4)):
        (unit, slots), length = generator.choice(USES), generator.randint(2, 6)
        after = generator.choice((0, 0, 1))
        shapes.append(((unit, 0, length, 1), ("issue", 0, length + after, slots)))
    return [shape for shape in shapes for _ in range(generator.randint(1, 3))][:7]


Small = tuple[list[Taken], Mapping[str, int], Puzzle, int]
"""Operations, capacities, their puzzle and its bound."""


def small_puzzles(count: int) -> list[Small]:
    """Return puzzles in which all operations weigh something."""
    found: list[Small] = []
    for seed in range(count):
        random_one = random_reservations(seed)
        for operations, capacities in (random_one, (random_slots(seed), SLOTS)):
            problem = reserving(operations, capacities)
            puzzle, bound = Puzzle(problem), every_bound(problem).interval
            if TOGETHER in puzzle.capacity and all(shape.weight for shape in puzzle.shapes):
                found.append((operations, capacities, puzzle, bound))
    return found


def packed(operations: Sequence[Taken], capacities: Mapping[str, int], interval: int) -> bool:
    """Return whether rows exist, by trying all of them, one operation after another."""
    used: Counter[tuple[str, int]] = Counter()

    def place(position: int, rows: range) -> bool:
        if position == len(operations):
            return True
        for row in rows:
            needs = Counter[tuple[str, int]]()
            for unit, start, length, n in operations[position]:
                for cycle in range(start, start + length):
                    needs[unit, (row + cycle) % interval] += n
            if all(used[key] + n <= capacities[key[0]] for key, n in needs.items()):
                used.update(needs)
                alike = operations[position : position + 2]
                later = row if len(set(alike)) < len(alike) else 0
                if place(position + 1, range(later, interval)):
                    return True
                used.subtract(needs)
        return False

    return place(0, range(1))


def walked(diagram: StateDiagram, steps: Sequence[Step], through: int | None = None) -> bool:
    """Return whether a closed walk has all operations, by trying all of them."""
    onward: dict[int, list[Step]] = {}
    for step in steps:
        onward.setdefault(step.before, []).append(step)
    for first in onward if through is None else [through]:
        start = (first, 0, diagram.counts)
        known, left = {start}, [start]
        while left:
            state, row, counts = left.pop()
            if (state, row) == (first, diagram.interval) and not any(counts):
                return True
            for step in onward.get(state, ()):
                rest = [n - step.issued.count(k) for k, n in enumerate(counts)]
                after = (step.after, row + step.rows, tuple(rest))
                if min(rest) >= 0 and after[1] <= diagram.interval and after not in known:
                    known.add(after)
                    left.append(after)
    return False


def test_closed_walks_are_there_where_rows_are() -> None:
    there = compared = 0
    for operations, capacities, puzzle, bound in small_puzzles(90):
        for interval in (bound, bound + 1):
            diagram = StateDiagram(puzzle, interval)
            steps = diagram.whole(MOST)
            if steps is None:
                continue
            compared += 1
            there += packed(operations, capacities, interval)
            assert walked(diagram, steps) == packed(operations, capacities, interval)
    assert compared >= 30
    assert 5 <= there <= compared - 5, (there, compared)


def test_walks_around_idleness_are_among_all() -> None:
    through = 0
    for operations, capacities, puzzle, bound in small_puzzles(120):
        for interval in (bound, bound + 1):
            diagram = StateDiagram(puzzle, interval)
            steps = diagram.around_idle(MOST)
            assert steps is not None
            if walked(diagram, steps):
                through += 1
                assert packed(operations, capacities, interval)
    assert through >= 10


def test_what_steps_miss_is_what_the_interval_leaves_over() -> None:
    for _, _, puzzle, bound in small_puzzles(60):
        diagram = StateDiagram(puzzle, bound + 1)
        steps = diagram.whole(MOST) or []
        states = {step.before for step in steps} | {step.after for step in steps}
        assert all(0 <= step.missing <= diagram.spare and step.rows >= 1 for step in steps)
        assert sorted(states) == list(range(len(states)))


def test_residues_refute_no_interval_that_has_rows_and_most_others() -> None:
    refuted = without = 0
    for operations, capacities, puzzle, bound in small_puzzles(200):
        for interval in (bound, bound + 1):
            there = packed(operations, capacities, interval)
            without += not there
            if residue_argument(puzzle, interval) is not None:
                refuted += 1
                assert not there
    assert refuted >= 10, refuted
    assert refuted >= without / 2, (refuted, without)


def test_many_labels_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    excluded = 0
    for most in (residues.MOST_LABELS, 1):
        monkeypatch.setattr(residues, "MOST_LABELS", most)
        found = [
            residue_argument(puzzle, bound) is not None
            for _, _, puzzle, bound in small_puzzles(100)
        ]
        excluded, before = sum(found), excluded
    assert before >= 3
    assert excluded == 0


def test_too_many_states_are_not_looked_at() -> None:
    cut = 0
    for _, _, puzzle, bound in small_puzzles(100):
        diagram = StateDiagram(puzzle, bound)
        for explored in (diagram.whole, diagram.around_idle):
            steps = explored(MOST)
            states = {step.before for step in steps or ()} | {step.after for step in steps or ()}
            if len(states) > 2:
                cut += 1
                assert explored(len(states) - 1) is None
        if residue_argument(puzzle, bound) is not None and diagram.whole(2) is None:
            assert residue_argument(puzzle, bound, 2) is None
    assert cut >= 5


def random_diagram(seed: int) -> tuple[StateDiagram, list[Step]]:
    """Return what residues see of a diagram: steps that keep the books of weights."""
    generator = random.Random(seed)
    most, states, spare = generator.randint(2, 3), generator.randint(3, 7), generator.randint(0, 3)
    weights = [generator.randint(1, 4) for _ in range(generator.randint(1, 3))]
    counts = tuple(generator.randint(1, 4) for _ in weights)
    held = [generator.randint(0, 4) for _ in range(states)]
    steps = []
    for _ in range(generator.randint(6, 30)):
        before, after = (generator.randrange(states) for _ in range(2))
        issued = tuple(sorted(generator.choices(range(len(weights)), k=generator.randint(0, 2))))
        rows = generator.randint(1, 4)
        work = sum(weights[k] for k in issued) + held[before] - held[after]
        missing = rows * most - work
        if missing == 0 or rows <= missing <= spare:
            steps.append(Step(before, after, issued, rows, missing))
    work = sum(n * w for n, w in zip(counts, weights, strict=True))
    spare += -(work + spare) % most
    books = SimpleNamespace(
        shapes=weights, counts=counts, spare=spare, interval=(work + spare) // most
    )
    return cast("StateDiagram", books), steps


def test_residues_exclude_no_walk_that_is_there() -> None:
    found = Counter[tuple[bool, bool]]()
    for seed in range(3000):
        diagram, steps = random_diagram(seed)
        there, seen = walked(diagram, steps), Residues(diagram, steps)
        found[there, seen.exclude()] += bool(within(steps))
        assert not (there and seen.exclude()), seed
    assert found[True, False] >= 50, found
    assert found[False, True] >= 0.8 * found[False, False], found


def test_a_walk_that_is_there_has_a_route() -> None:
    there = there_too = 0
    for seed in range(2000):
        diagram, steps = random_diagram(seed)
        through = walked(diagram, steps, 0)
        routes = Residues(diagram, steps).routes(0, 1000)
        there += through
        if through:
            assert routes, seed
            there_too += any(walked(diagram, route.steps) for route in routes)
        for route in routes:
            missing = sum(n * route.steps[min(alike)].missing for alike, n in route.taken)
            assert missing == diagram.spare
    assert there >= 20
    assert there_too >= 0.8 * there, (there_too, there)


@pytest.mark.parametrize("interval", [786, pytest.param(787, marks=pytest.mark.slow)])
def test_a_loop_of_a_hundred_operations_has_no_rows_close_to_its_bound(interval: int) -> None:
    """Brute force is out of reach; CP-SAT finds none in minutes, and rows at 788."""
    problem = build_problem(synthetic_loop(100, 4, "hopper_h100"), Machine.named("hopper_h100"))
    assert every_bound(problem).interval == 786
    found = residue_argument(Puzzle(problem), interval)
    assert found is not None
    assert (found.interval, found.most, found.spare) == (interval, 4, 4 * (interval - 786))
    assert found.components < found.states < found.steps


def test_a_search_that_residues_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for many operations: rows first, then residues for what is between."""
    monkeypatch.setattr(twill.search, "MANY_OPERATIONS", 1)
    monkeypatch.setattr(twill.search, "FEW_OPERATIONS", 0)
    proved = Counter[str]()
    for operations, capacities, puzzle, bound in small_puzzles(60):
        if residue_argument(puzzle, bound) is None:
            continue
        problem = reserving(operations, capacities)
        rival, prover = helpers()
        found = search(
            problem,
            engine_factory("difference"),
            Options(timeout=30, until="stages"),
            silent,
            rival,
            prover,
        )
        least = next(i for i in itertools.count(bound) if packed(operations, capacities, i))
        assert found.interval == least
        assert (found.proof.bound.value, found.proof.levels[0].proved) == (least, True)
        proved[found.proof.bound.reason] += 1
        assert f"in {least - 1}" in why(found.proof.bound)
    assert proved["residues"] >= 3, proved
