"""CBC's modulo schedules; `tests/search/test_paper_search.py` holds them against an engine."""

from __future__ import annotations

from pathlib import Path

import pulp
import pytest

import twill
from twill.base.errors import SolverError
from twill.bounds import bounds
from twill.engines.cbc import modulo_schedule
from twill.problem import build_problem
from twill.problem.costs import normalize


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
