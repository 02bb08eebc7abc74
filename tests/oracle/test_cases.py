"""Loops about whose answers there was once a question, with the answers and why they are right."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.oracle.compare import compare
from tests.oracle.simulate import simulated

CASES = Path(__file__).parents[1] / "data" / "cases"
ANSWERS: dict[str, tuple[int, ...]] = {
    # The tensor core works 10 cycles. One stage would take another machine: see below.
    "load_on_a_wide_group": (10, 2, 2, 0, 20, 0),
    # Of three groups alike any could load: that two compute must not be left out.
    "refused_though_valid": (4, 3, 3, 0, 9, 3),
    # The tensor core works 6 cycles. No value is in registers, so that no group runs out of them.
    "no_value_in_registers": (6, 2, 2, 0, 7, 0),
    # The tensor core works 4 cycles, for two groups that take turns there.
    "turns_of_the_answer": (4, 2, 2, 1, 7, 0),
    # Each unit works 2 cycles. Two instances of the value that is read twice are in registers, for
    # which the machine has no limit; nothing waits, so that there is no slack.
    "two_distances": (2, 2, 1, 0, 4),
}
"""Interval, stages, groups, transfers, length, and slack where anything waits."""


def case(name: str, **changes: Any) -> tuple[twill.Loop, twill.Machine]:
    """Return a loop and its machine, of which some facts are changed: by section, key and value."""
    data = tomllib.loads((CASES / f"{name}.machine.toml").read_text())
    for section, facts in changes.items():
        for key, value in facts.items():
            inner = data[section][key]
            data[section][key] = {**inner, **value} if isinstance(inner, dict) else value
    loop = twill.Loop.load(str(CASES / f"{name}.loop.json"))
    return loop, twill.Machine.from_json(json.dumps(data))


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_solver_and_oracle_give_the_answer(name: str) -> None:
    result = compare(*case(name))
    assert result.objections == []
    assert tuple(v for v in result.oracle.values() if v is not None) == ANSWERS[name]
    assert tuple(result.solver.values()) == ANSWERS[name]
    assert {simulated(s) == [] for s in result.schedules.values()} == {True}


@pytest.mark.parametrize(
    "changes",
    [
        {"memories": {"smem": {"capacity": 40960}}},
        {
            "registers": {
                "file": {"value": 16384},
                "limit": {"value": 79},
                "most": {"value": 80},
            }
        },
    ],
)
def test_one_stage_takes_more_shared_memory_or_more_registers(changes: dict[str, Any]) -> None:
    """A schedule of one stage, with which the first answer was once compared, is for the former.

    In one stage two instances of o2 live at a time, of 16 registers a thread. With o0 and o3 they
    are more than the 44 that one group has for values; a second one would read o2 or o0 through
    shared memory, which holds o1 twice, o4 and 1024 bytes more.
    """
    result = compare(*case("load_on_a_wide_group", **changes))
    assert result.objections == []
    assert (result.oracle["interval"], result.oracle["stages"]) == (10, 1)
