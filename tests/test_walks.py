"""Walks: rows against every unit's capacity, circulations against their equations."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Callable

import pytest

from tests.test_configurations import SLOTS, Taken, random_reservations, reserving
from tests.test_decomposed import fits, full
from tests.test_states import MOST, random_slots, walked
from twill.artifacts.machine import Machine
from twill.bounds import every_bound
from twill.joint import walks
from twill.joint.circulations import Circulations
from twill.joint.cpsat_run import import_ortools
from twill.joint.lattice import Lattice
from twill.joint.potentials import Edge, Potentials
from twill.joint.residues import Residues, Route
from twill.joint.shapes import TOGETHER, Puzzle
from twill.joint.states import StateDiagram, Step
from twill.joint.walks import Walks, rows_along, tour
from twill.problem import Problem, build_problem
from twill.studies.synthetic import synthetic_loop


def seconds(most: float) -> Callable[[], float]:
    ends = time.monotonic() + most
    return lambda: ends - time.monotonic()


def routes_of(problem: Problem, interval: int) -> tuple[StateDiagram, list[Route]]:
    diagram = StateDiagram(Puzzle(problem), interval)
    steps = diagram.around_idle(MOST)
    assert steps is not None
    return diagram, Residues(diagram, steps).routes(0, 3)


def find(problem: Problem, interval: int, seed: int = 0) -> tuple[StateDiagram, list[Step] | None]:
    diagram, routes = routes_of(problem, interval)
    return diagram, Walks(import_ortools(), diagram, routes, seed).find(seconds(20))


@pytest.fixture(params=["by vertices", "at once"])
def any_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for whole numbers among the steps of vertices, or among all steps if these are few."""
    if request.param == "by vertices":
        monkeypatch.setattr(walks, "FEW_STEPS", 0)


@pytest.mark.usefixtures("any_way")
@pytest.mark.parametrize("interval", [128, 129, 131])
def test_a_puzzle_that_leaves_hardly_anything_over_is_solved(interval: int) -> None:
    problem = full()
    assert every_bound(problem).interval == 128
    diagram, walk = find(problem, interval)
    assert walk is not None
    assert fits(problem, interval, rows_along(diagram, tour(walk, 0)))


@pytest.mark.usefixtures("any_way")
def test_walks_of_random_puzzles_fit_and_are_found_where_there_are_any() -> None:
    there = 0
    for seed in range(100):
        for operations, capacities in (random_reservations(seed), (random_slots(seed), SLOTS)):
            problem = reserving(operations, capacities)
            if TOGETHER not in Puzzle(problem).capacity:
                continue
            interval = every_bound(problem).interval
            diagram, routes = routes_of(problem, interval)
            steps = diagram.around_idle(MOST) or []
            exists = walked(diagram, steps, 0)
            assert routes or not exists
            if exists:
                there += 1
                walk = Walks(import_ortools(), diagram, routes, seed).find(seconds(20))
                assert walk is not None
                rows = rows_along(diagram, tour(walk, seed))
                assert fits(problem, interval, rows, all_of_them=False)
                assert all(len(mine.rows) == len(mine.operations) for mine in rows)
    assert there >= 15, there


def test_no_time_and_no_way_are_no_walk() -> None:
    diagram, routes = routes_of(full(), 128)
    cp = import_ortools()
    assert Walks(cp, diagram, routes, 0).find(lambda: 0.0) is None
    assert Walks(cp, diagram, [], 0).find(seconds(1)) is None


def test_the_same_seed_finds_the_same() -> None:
    assert find(full(), 129, 5)[1] == find(full(), 129, 5)[1]


def test_tours_take_every_step_and_differ() -> None:
    _, walk = find(full(), 128)
    assert walk is not None
    tours = [tour(walk, seed) for seed in range(8)]
    for order in tours:
        assert Counter(order) == Counter(walk)
        following = [*order[1:], order[0]]
        assert all(a.after == b.before for a, b in zip(order, following, strict=True))
    assert len({tuple(order) for order in tours}) > 1


@pytest.mark.parametrize("interval", [128, 131])
def test_vertices_are_circulations(interval: int) -> None:
    """Equations are checked in whole numbers by another solver than that which found the steps."""
    diagram, routes = routes_of(full(), interval)
    cp = import_ortools()
    for route in routes:
        circulations = Circulations(diagram, route, random.Random(0))
        vertex = next(v for v in (circulations.vertex(5) for _ in range(20)) if v)
        whole = 840
        model = cp.CpModel()
        times = [model.new_int_var(1, 1_000_000, "") for _ in vertex]
        for terms, value in circulations.equations(vertex):
            model.add(sum(n * times[i] for i, n in terms.items()) == value * whole)
        assert cp.CpSolver().solve(model) in (cp.OPTIMAL, cp.FEASIBLE)


def label(step: Step, shapes: int) -> tuple[int, ...]:
    return tuple(step.issued.count(k) for k in range(shapes))


def test_detours_mend_cycles_that_all_issue_an_even_number() -> None:
    """A cycle issues two of each shape, another that begins with a step of it one of the first."""
    steps = (
        Step(0, 1, (0,), 1, 0),
        Step(1, 0, (0, 1, 1), 1, 0),
        Step(1, 2, (), 1, 0),
        Step(2, 0, (), 1, 0),
        Step(2, 1, (1,), 1, 0),
    )
    short: Taken = (("S", 0, 1, 1),)
    long: Taken = (("S", 0, 2, 1),)
    puzzle = Puzzle(reserving([short, long] * 3, {"S": 1}))
    puzzle.capacity[TOGETHER] = 1
    diagram = StateDiagram(puzzle, 9)
    diagram.shapes, diagram.counts = puzzle.shapes, (3, 3)
    circulations = Circulations(diagram, Route(steps, ()), random.Random(0))
    mended = circulations.mend([0, 1])
    assert mended > {0, 1}
    edges = [Edge(steps[i].before, steps[i].after, label(steps[i], 2)) for i in mended]
    found = Lattice(
        itertools.chain.from_iterable(part.basis for part in Potentials(edges, 2).lattices)
    )
    assert not any(found.remainder((3, 3)))
    assert circulations.mend(range(5)) == set(range(5))
    alone = Circulations(diagram, Route(steps[:2], ()), random.Random(0))
    assert alone.mend([0, 1]) == set()


@pytest.mark.parametrize(("seed", "interval"), [(2, 908), (3, 758), (4, 788), (5, 1307)])
@pytest.mark.slow
def test_puzzles_of_a_hundred_operations_reach_their_least_interval(
    seed: int, interval: int
) -> None:
    problem = build_problem(synthetic_loop(100, seed, "hopper_h100"), Machine.named("hopper_h100"))
    diagram = StateDiagram(Puzzle(problem), interval)
    steps = diagram.around_idle(150_000)
    assert steps is not None
    routes = Residues(diagram, steps).routes(0, 3)
    walk = Walks(import_ortools(), diagram, routes, 0).find(seconds(120))
    assert walk is not None
    assert fits(problem, interval, rows_along(diagram, tour(walk, 0)), all_of_them=False)
