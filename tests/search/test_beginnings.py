"""What polishing begins with: all levels of small loops, no solver for large ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.commands import in_process
from tests.support.small import op, small_loop, small_machine
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.errors import Refusal, RefusedError
from twill.search.beginnings import EFFORT, MOST_LEVELS, MOST_SOLVED, answers, beginnings
from twill.search.request import Request
from twill.search.scheduler import solve


@pytest.mark.parametrize(
    ("operations", "asked"),
    [
        (1, [("complete", "slack", None), ("complete", "stages", None)]),
        (MOST_LEVELS, [("complete", "slack", None), ("complete", "stages", None)]),
        (MOST_LEVELS + 1, [("complete", "slack", EFFORT), ("complete", "stages", EFFORT)]),
        (MOST_SOLVED, [("complete", "slack", EFFORT), ("complete", "stages", EFFORT)]),
        (MOST_SOLVED + 1, [("written", "slack", None)]),
    ],
)
def test_the_larger_a_loop_the_less_is_solved(
    operations: int, asked: list[tuple[str, str, float | None]]
) -> None:
    loop = small_loop(op(f"o{i}", "ALU") for i in range(operations))
    found = beginnings(Request(loop, small_machine()))
    assert [(request.search, request.until, request.effort) for request in found] == asked


@pytest.mark.parametrize("operations", [1, MOST_SOLVED, MOST_SOLVED + 1])
def test_where_few_groups_are_preferred_all_levels_are_solved_for(operations: int) -> None:
    loop = small_loop(op(f"o{i}", "ALU") for i in range(operations))
    request = Request(loop, small_machine())
    found = beginnings(request, few_groups=True)
    assert found == ((request,) if operations <= MOST_SOLVED else beginnings(request))


def test_the_least_interval_is_looked_for_once(attention: Loop, hopper: Machine) -> None:
    intervals: dict[str, dict[str, Any]] = {}
    for request in beginnings(Request(attention, hopper)):
        told: list[str] = []
        found = solve(request, intervals=intervals, log=told.append)
        assert found.schedule == solve(request).schedule
    assert {said.partition(":")[0] for said in told} <= {"stages", "last schedule"}


def test_a_refusal_is_one_only_where_nothing_is_answered() -> None:
    def solve(request: Request) -> str:
        if request.until == "slack":
            raise RefusedError("too many registers", Refusal())
        return request.until

    asked = beginnings(Request(small_loop([op("o", "ALU")]), small_machine()))
    assert list(answers(asked, solve)) == ["stages"]
    with pytest.raises(RefusedError, match="too many registers"):
        list(answers(asked[:1], solve))


def test_the_schedule_that_is_shown_has_all_levels_proved() -> None:
    done = in_process("twill", "schedule", "paper_example", "-m", "paper_example")
    assert "levels: interval 2, stages 2, groups 1, transfers 0, length 4, slack" in done.stdout
