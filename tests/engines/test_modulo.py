"""CBC's modulo schedules against exhaustive enumeration."""

from __future__ import annotations

import itertools
from pathlib import Path

import pulp
import pytest

import twill
from tests.support.small import random_loop
from twill.base.errors import SolverError
from twill.bounds import bounds
from twill.engines.cbc import modulo_schedule
from twill.problem import Problem, build_problem
from twill.problem.costs import normalize


def rows_fit(problem: Problem, interval: int, rows: tuple[int, ...]) -> bool:
    for unit, capacity in problem.capacities.items():
        used = [0] * interval
        for operation, row in zip(problem.operations, rows, strict=True):
            for r in operation.reservations:
                for cycle in range(r.length if r.unit == unit else 0):
                    used[(row + r.start + cycle) % interval] += r.count
        if max(used) > capacity:
            return False
    return True


def stages_exist(problem: Problem, interval: int, rows: tuple[int, ...]) -> bool:
    stage = [0] * len(rows)
    for _ in range(len(rows) + 1):
        changed = False
        for i, e in enumerate(problem.edges):
            gap = problem.least_delay(i) + rows[e.producer] - rows[e.consumer]
            needed = stage[e.producer] - e.distance - (-gap // interval)
            if needed > stage[e.consumer]:
                stage[e.consumer], changed = needed, True
        if not changed:
            return True
    return False


def exists(problem: Problem, interval: int) -> bool:
    rows = itertools.product(range(interval), repeat=len(problem.operations))
    return any(rows_fit(problem, interval, r) and stages_exist(problem, interval, r) for r in rows)


def test_feasibility_is_that_of_enumeration() -> None:
    outcomes = set()
    for seed in range(12):
        problem = build_problem(*random_loop(seed))
        least = bounds(problem).interval
        for interval in (least, least + 1):
            status, found = modulo_schedule(problem, interval)
            expected = exists(problem, interval)
            assert (status == "sat") == expected, seed
            outcomes.add(status)
            if found is not None:
                rows = tuple(start % interval for start in found.start)
                assert rows_fit(problem, interval, rows)
                for i, e in enumerate(problem.edges):
                    given = found.start[e.consumer] - found.start[e.producer]
                    assert given + e.distance * interval >= problem.least_delay(i)
    assert "sat" in outcomes


def test_below_the_bound_there_is_none(
    paper_loop: twill.Loop, paper_machine: twill.Machine
) -> None:
    problem = build_problem(paper_loop, paper_machine)
    assert modulo_schedule(problem, 1) == ("unsat", None)
    status, found = modulo_schedule(problem, 2)
    assert status == "sat"
    assert found is not None
    assert found.length == 4


@pytest.mark.slow
@pytest.mark.sample
def test_attention_on_the_normalized_grid(attention: twill.Loop, hopper: twill.Machine) -> None:
    problem = build_problem(attention, hopper, scale=normalize(attention, hopper))
    assert bounds(problem).interval == 128
    assert modulo_schedule(problem, 127)[0] == "unsat"
    assert modulo_schedule(problem, 128)[0] == "sat"


def test_what_a_limit_stopped_is_no_answer(
    paper_loop: twill.Loop,
    paper_machine: twill.Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """CBC writes its best solution when it is stopped; PuLP's first status calls that optimal."""
    stopped = tmp_path / "cbc"
    stopped.write_text(
        "#!/bin/sh\n"
        'for last; do :; done\nprintf "Stopped on iterations - objective value 9\\n" > "$last"\n'
    )
    stopped.chmod(0o755)
    problem = build_problem(paper_loop, paper_machine)
    assert modulo_schedule(problem, 2, nodes=60)[0] == "sat"
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", str(stopped))
    assert modulo_schedule(problem, 2, nodes=60) == ("unknown", None)
    with pytest.raises(SolverError):
        modulo_schedule(problem, 2, shortest=True)
