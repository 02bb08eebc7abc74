"""Answers whose programs need more registers than their groups have are asked for once more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import twill
from tests.support.small import edge, op, small_loop, small_machine
from twill.lower.schedule import realize
from twill.problem.problem import build_problem
from twill.search import scheduler
from twill.search.followup import lacking, later, with_spare
from twill.search.request import Options
from twill.search.search import search

Example = tuple[twill.Loop, twill.Machine]


def with_some_to_spare() -> Example:
    """Return a loop that has a schedule with 4 registers of 60 to spare."""
    loop = small_loop(
        [
            op("o0", "B", count=3, latency=2, registers=16, working_set=2, elementwise=True),
            op("o1", "A", 2, latency=5, registers=8, transfer=1),
            op("o2", "B", count=3, latency=4, asynchronous=True, issue=1, registers=4, transfer=2),
            op("o3", "B", count=3, latency=2, asynchronous=True, registers=8, working_set=4),
        ],
        [
            edge("o0", "o1"),
            edge("o0", "o2"),
            edge("o1", "o2", 2),
            edge("o1", "o3"),
            edge("o1", "o1", 1, in_place=True),
        ],
    )
    machine = small_machine(
        {"TC": 1, "A": 1, "B": 3},
        registers=60,
        groups=((4, 3),),
        file=24576,
        least=8,
        most=64,
        smem=1024,
    )
    return loop, machine


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the reserves of the register files that searches were asked with."""
    reserves = list[int]()
    original = search

    def watched(problem: Any, *given: Any) -> Any:
        reserves.append(problem.registers.reserve)
        return original(problem, *given)

    monkeypatch.setattr(scheduler, "complete_search", watched)
    return reserves


def test_an_answer_that_lacks_registers_is_asked_for_with_some_to_spare(
    searches: list[int],
) -> None:
    schedule = twill.schedule(*with_some_to_spare())
    assert twill.verify(schedule).violations == ()
    assert searches == [0, 4]
    assert schedule.proof is not None
    proved = {level.level: level.proved for level in schedule.proof.levels}
    assert (schedule.initiation_interval, proved["interval"]) == (5, True)


def test_what_was_not_shown_of_the_whole_question_is_not_called_proved() -> None:
    loop, machine = with_some_to_spare()
    whole = search(build_problem(loop, machine), scheduler.engine_factory("difference"))
    shown = {level.level: level.value for level in whole.proof.levels}
    schedule = twill.schedule(loop, machine)
    assert schedule.proof is not None
    for level in schedule.proof.levels:
        assert not level.proved or level.value == shown[level.level]
    assert not all(level.proved for level in schedule.proof.levels)


def test_where_none_is_to_spare_another_schedule_of_the_same_levels_will_do(
    monkeypatch: pytest.MonkeyPatch, searches: list[int]
) -> None:
    loop, machine = with_some_to_spare()
    lacks = iter([100, 0])
    monkeypatch.setattr("twill.search.followup.lacking", lambda *_: next(lacks))
    schedule = twill.schedule(small_loop(loop.operations[:1]), machine)
    assert searches == [0, 100, 0]
    assert schedule.proof is not None
    assert all(level.proved for level in schedule.proof.levels)


def test_without_such_an_answer_nothing_is_said_to_be_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, machine = with_some_to_spare()
    monkeypatch.setattr("twill.search.followup.lacking", lambda *_: 100)
    with pytest.raises(twill.RefusedError, match="enough registers, which does not mean"):
        twill.schedule(small_loop(loop.operations[:1]), machine)


def test_what_is_lacking_is_counted_along_programs() -> None:
    loop, machine = with_some_to_spare()
    problem = build_problem(loop, machine)
    found = search(problem, scheduler.engine_factory("difference"))
    artifact = realize(problem, found.interval, found.assignment)
    assert lacking(problem, artifact) == 4
    assert lacking(replace(problem, rules="paper"), artifact) == 0
    spared = with_spare(problem, 4).registers
    assert spared is not None
    assert (spared.reserve, spared.limit) == (4, 60)


def test_a_search_that_is_made_again_has_the_time_that_is_left() -> None:
    options = Options(timeout=10, seed=3)
    assert later(options, {}) == options
    assert later(options, {"total": 4.0}, 2) == Options(timeout=6, seed=5)
    assert later(options, {"total": 40.0}).timeout == 0.001
    assert later(Options(), {"total": 40.0}).timeout is None
