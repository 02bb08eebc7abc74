"""What polishing begins with: all levels of small loops, no solver for large ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.commands import in_process
from tests.support.small import op, small_loop, small_machine
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.base.errors import Refusal, RefusedError
from twill.cli.options import EffortName
from twill.engines.tuning import TUNING
from twill.search.request import Request, answers, beginnings
from twill.search.scheduler import solve

GALLERY = Path(__file__).parents[2] / "traces" / "gallery"
SIZES = TUNING.polishing
DECIDED = [("complete", "slack", None), ("complete", "stages", None)]
LIMITED = [("complete", "slack", SIZES.effort), ("complete", "stages", SIZES.effort)]


@pytest.mark.parametrize(
    ("operations", "asked"),
    [
        (1, [("complete", "slack", None), ("complete", "stages", None)]),
        (SIZES.levels, [("complete", "slack", None), ("complete", "stages", None)]),
        (
            SIZES.levels + 1,
            [("complete", "slack", SIZES.effort), ("complete", "stages", SIZES.effort)],
        ),
        (SIZES.solved, [("complete", "slack", SIZES.effort), ("complete", "stages", SIZES.effort)]),
        (SIZES.solved + 1, [("written", "slack", None)]),
    ],
)
def test_the_larger_a_loop_the_less_is_solved(
    operations: int, asked: list[tuple[str, str, float | None]]
) -> None:
    loop = small_loop(op(f"o{i}", "ALU") for i in range(operations))
    found = beginnings(Request(loop, small_machine()))
    assert [(request.search, request.until, request.effort) for request in found] == asked


def test_no_effort_is_without_end() -> None:
    request = Request(small_loop([op("o", "ALU")]), small_machine())
    for effort in EffortName:
        asked = beginnings(request, effort.value)
        assert {one.work for one in asked} == {getattr(SIZES, effort.value)}
    assert SIZES.quick < SIZES.normal < SIZES.thorough


@pytest.mark.slow
@pytest.mark.sample
def test_quick_effort_ends_where_the_search_would_not() -> None:
    """Two searches would go on for minutes; work ends them with what they have found."""
    loop = twill.load_loop(str(GALLERY / "attention_capped_window.sm100.mlir"))
    asked = beginnings(Request(loop, Machine.named("blackwell_b200"), work=1.2))
    intervals: dict[str, dict[str, Any]] = {}
    found = [solve(one, intervals=intervals).schedule for one in asked]
    for schedule in found:
        assert twill.verify(schedule).violations == ()
        assert schedule.proof is not None
        assert schedule.proof.bound.reason == "not proved"
        assert not schedule.proof.levels[0].proved
    again = solve(asked[1]).schedule  # alone it takes the same way
    assert again.to_json() == found[1].to_json()


@pytest.mark.slow
@pytest.mark.sample
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
