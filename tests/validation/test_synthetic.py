"""Synthetic loops: as many operations as asked for, like real ones, and possible to execute."""

from __future__ import annotations

import networkx as nx
import pytest

import twill
from tests.support.sampled import sampled
from tests.support.small import hand_made
from tests.support.synthetic import MACHINES, synthetic_loop
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.bounds import bounds
from twill.problem import Problem, build_problem
from twill.problem.groups import UNLIMITED, WarpGroup
from twill.verification import verify

SIZES = (10, 20, 50, 100, 200)
SEEDS = range(2)
ALL = [(n, seed, machine) for n in SIZES for seed in SEEDS for machine in MACHINES]


@pytest.mark.parametrize("machine", MACHINES)
def test_there_are_exactly_so_many_operations(machine: str) -> None:
    for operations in range(10, 201, 19):
        assert len(synthetic_loop(operations, operations % 7, machine).operations) == operations


def test_same_arguments_same_bytes() -> None:
    for case in ALL[::4]:
        assert synthetic_loop(*case).to_json() == synthetic_loop(*case).to_json()


@pytest.mark.parametrize("machine", MACHINES)
def test_shapes_and_kinds_vary_with_the_seed(machine: str) -> None:
    loops = [synthetic_loop(50, seed, machine) for seed in range(20)]
    shapes = {tuple(o.result.shape for o in x.operations if o.result) for x in loops}
    assert len(shapes) > 5
    assert len({tuple(o.kind for o in x.operations) for x in loops}) > 15


def graph(loop: Loop) -> nx.MultiDiGraph[str]:
    found: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    found.add_nodes_from(o.name for o in loop.operations)
    found.add_edges_from((d.producer, d.consumer) for d in loop.dependences)
    return found


@pytest.mark.parametrize(("operations", "seed", "machine"), ALL[::3])
def test_accumulators_and_row_statistics_are_recurrences(
    operations: int, seed: int, machine: str
) -> None:
    loop = synthetic_loop(operations, seed, machine)
    drawn = graph(loop)
    circular = {
        name
        for part in nx.strongly_connected_components(drawn)
        for name in part
        if len(part) > 1 or drawn.has_edge(name, name)
    }
    totals = {o.name for o in loop.operations if o.kind == "mma" and not o.name.endswith(".mma")}
    assert totals
    assert totals <= circular
    assert any(name.startswith("l") for name in circular)
    assert bounds(build_problem(loop, Machine.named(machine))).recurrence > 0


@pytest.mark.parametrize(("operations", "seed", "machine"), ALL[::3])
def test_every_operation_leads_to_what_is_carried(operations: int, seed: int, machine: str) -> None:
    """Nothing is dead code: every operation has a reader."""
    loop = synthetic_loop(operations, seed, machine)
    assert all(degree for _, degree in graph(loop).out_degree())


@pytest.mark.parametrize(("operations", "seed", "machine"), sampled(ALL, 3))
def test_one_group_can_execute_them_one_operation_after_the_other(
    operations: int, seed: int, machine: str
) -> None:
    """The verifier accepts the loop as written on one warp group beside the loading warp."""
    schedule = as_written(synthetic_loop(operations, seed, machine), Machine.named(machine))
    verdict = verify(schedule)
    assert verdict.valid, [str(violation) for violation in verdict.violations[:3]]


def as_written(loop: Loop, machine: Machine) -> twill.Schedule:
    problem = build_problem(loop, machine)
    start, end = _in_order(problem)
    assert problem.registers is not None
    limit = problem.registers.limit - problem.registers.reserve
    groups = {
        "load": WarpGroup(1, variable_latency=True, allocation=24, live_limit=UNLIMITED),
        "all": WarpGroup(4, variable_latency=False, allocation=255 // 8 * 8, live_limit=limit),
    }
    place = {o.name: "load" if o.variable_latency else "all" for o in problem.operations}
    return hand_made(loop, machine, end, start, place, groups)


def _in_order(problem: Problem) -> tuple[dict[str, int], int]:
    """Return issue times, each operation after all before it are complete, and the end."""
    hop = max(e.cross_delay - e.delay for e in problem.edges)
    start, now = {}, 0
    for operation in problem.operations:
        start[operation.name] = now
        now += max(operation.latency, operation.cycles) + hop
    return start, now
