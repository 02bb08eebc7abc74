"""Answers whose programs lack registers are asked for again; none is given that is not valid."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.engines.test_verbatim import running_maximum
from tests.support.commands import TWILL, in_process
from tests.support.small import edge, op, random_loop, small_loop, small_machine
from tests.support.static import static_schedule
from twill.base.errors import DefectError, RefusedError
from twill.engines.yices import DifferenceEngine
from twill.lower import realize
from twill.problem import build_problem
from twill.search import answer
from twill.search.answer import lacking, later, with_spare
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

    def watched(problem: Any, *given: Any, **named: Any) -> Any:
        reserves.append(problem.registers.reserve)
        return original(problem, *given, **named)

    monkeypatch.setattr(answer, "search", watched)
    return reserves


def test_an_answer_that_lacks_registers_is_asked_for_with_some_to_spare(
    searches: list[int],
) -> None:
    schedule = static_schedule(*with_some_to_spare())
    assert twill.verify(schedule).violations == ()
    assert searches == [0, 4]
    assert schedule.proof is not None
    proved = {level.level: level.proved for level in schedule.proof.levels}
    assert (schedule.initiation_interval, proved["interval"]) == (5, True)


def test_what_was_not_shown_of_the_whole_question_is_not_called_proved() -> None:
    loop, machine = with_some_to_spare()
    whole = search(build_problem(loop, machine), DifferenceEngine)
    shown = {level.level: level.value for level in whole.proof.levels}
    schedule = static_schedule(loop, machine)
    assert schedule.proof is not None
    for level in schedule.proof.levels:
        assert not level.proved or level.value == shown[level.level]
    assert not all(level.proved for level in schedule.proof.levels)


def test_where_none_is_to_spare_another_schedule_of_the_same_levels_will_do(
    monkeypatch: pytest.MonkeyPatch, searches: list[int]
) -> None:
    loop, machine = with_some_to_spare()
    lacks = iter([100, 0])
    monkeypatch.setattr("twill.search.answer.lacking", lambda *_: next(lacks))
    schedule = static_schedule(small_loop(loop.operations[:1]), machine)
    assert searches == [0, 100, 0]
    assert schedule.proof is not None
    assert all(level.proved for level in schedule.proof.levels)


def test_without_such_an_answer_nothing_is_said_to_be_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, machine = with_some_to_spare()
    monkeypatch.setattr("twill.search.answer.lacking", lambda *_: 100)
    with pytest.raises(twill.RefusedError, match="enough registers, which does not mean"):
        static_schedule(small_loop(loop.operations[:1]), machine)


def test_what_is_lacking_is_counted_along_programs() -> None:
    loop, machine = with_some_to_spare()
    problem = build_problem(loop, machine)
    found = search(problem, DifferenceEngine)
    artifact = realize(problem, found.interval, found.assignment)
    assert lacking(problem, artifact) == 4
    assert lacking(replace(problem, rules="paper"), artifact) == 0
    spared = with_spare(problem, 4).registers
    assert spared is not None
    assert (spared.reserve, spared.limit) == (4, 60)


def test_a_search_that_is_made_again_has_the_time_that_is_left() -> None:
    options = Options(timeout=10, seed=3)
    found = search(build_problem(*random_loop(0)), DifferenceEngine)
    before = replace(found, seconds={}, work=0.0)
    quick, slow = (replace(before, seconds={"total": total}) for total in (4.0, 40.0))
    assert later(options, before) == options
    assert later(options, quick, 2) == Options(timeout=6, seed=5)
    assert later(options, slow).timeout == 0.001
    assert later(Options(), slow).timeout is None
    worked = replace(before, work=2.0)
    assert [later(Options(work=left), worked).work for left in (None, 3.0, 1.0)] == [None, 1.0, 0.0]


# -- defects ---------------------------------------------------------------------------------------


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch, reports: Path) -> Path:
    """Let every answer begin its last operation too early; return where the reports go."""

    def wrong(*given: object, **named: object) -> twill.Schedule:
        right = realize(*given, **named)  # type: ignore[arg-type]  # whatever was given
        last = right.placements[-1].model_copy(update={"start": 0})
        return right.model_copy(update={"placements": (*right.placements[:-1], last)})

    monkeypatch.setattr(answer, "realize", wrong)
    return reports


@pytest.mark.usefixtures("early")
def test_an_answer_that_the_verifier_refuses_is_not_given(tmp_path: Path) -> None:
    loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
    with pytest.raises(DefectError, match="dependence: ") as stopped:
        static_schedule(loop, machine, limits={"groups": 3}, pins={"S": "products"})
    (file,) = tmp_path.iterdir()
    assert stopped.value.report == str(file)
    again = pickle.loads(pickle.dumps(stopped.value))  # noqa: S301 - our own
    assert (str(again), again.report) == (str(stopped.value), str(file))


@pytest.mark.usefixtures("early")
def test_a_report_asks_the_question_again(tmp_path: Path) -> None:
    loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
    with pytest.raises(DefectError):
        static_schedule(loop, machine, limits={"groups": 3}, pins={"S": "products"})
    report = json.loads(next(tmp_path.iterdir()).read_text())
    question = report["question"]
    assert twill.Loop.from_json(json.dumps(question["loop"])) == loop
    assert twill.Machine.from_json(json.dumps(question["machine"])) == machine
    assert (question["limits"], question["pins"]) == ({"groups": 3}, {"S": "products"})
    answer = twill.Schedule.from_json(json.dumps(report["schedule"]))
    refused = [{"rule": v.rule, "message": v.message} for v in twill.verify(answer).violations]
    assert report["refused"] == refused != []
    assert "twill.verify" in report["how_to_reproduce"]


@pytest.mark.usefixtures("early")
@pytest.mark.parametrize("more", [(), ("--json",), ("-o", "answer.json")])
def test_a_defect_has_a_status_of_its_own(more: tuple[str, ...], tmp_path: Path) -> None:
    done = in_process(*TWILL, "schedule", "paper_example", "-m", "paper_example", *more,
                      "--no-cache", folder=tmp_path)  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    (file,) = tmp_path.iterdir()
    assert done.stderr.count("\n") == 1
    assert "a defect of twill" in done.stderr
    assert f"{file} says how to reproduce it" in done.stderr


@pytest.mark.usefixtures("early")
def test_without_a_place_for_reports_the_defect_is_told_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/dev/null/nowhere")
    loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
    with pytest.raises(DefectError, match="a defect of twill") as stopped:
        static_schedule(loop, machine)
    assert stopped.value.report == ""


def test_what_only_the_printed_system_has_is_refused() -> None:
    loop, machine = running_maximum()
    with pytest.raises(RefusedError, match="the printed system has a schedule of interval 2"):
        static_schedule(loop, machine, engine="verbatim", search="paper", rules="paper")
