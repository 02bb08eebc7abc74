"""No answer is given that the verifier refuses; each refusal leaves a report that reproduces it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

import twill
from tests.engines.test_verbatim import running_maximum
from tests.support.commands import TWILL, in_process
from twill.errors import DefectError, RefusedError
from twill.lower.schedule import realize
from twill.search import scheduler


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let every answer begin its last operation too early, and reports go to `tmp_path`."""

    def wrong(*given: object, **named: object) -> twill.Schedule:
        right = realize(*given, **named)  # type: ignore[arg-type]
        last = right.placements[-1].model_copy(update={"start": 0})
        return right.model_copy(update={"placements": (*right.placements[:-1], last)})

    monkeypatch.setattr(scheduler, "realize", wrong)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.mark.usefixtures("early")
def test_an_answer_that_the_verifier_refuses_is_not_given(tmp_path: Path) -> None:
    loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
    with pytest.raises(DefectError, match="dependence: ") as stopped:
        twill.schedule(loop, machine, limits={"groups": 3}, pins={"S": "products"})
    (file,) = tmp_path.iterdir()
    assert stopped.value.report == str(file)
    again = pickle.loads(pickle.dumps(stopped.value))  # noqa: S301 - our own
    assert (str(again), again.report) == (str(stopped.value), str(file))


@pytest.mark.usefixtures("early")
def test_a_report_asks_the_question_again(tmp_path: Path) -> None:
    loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
    with pytest.raises(DefectError):
        twill.schedule(loop, machine, limits={"groups": 3}, pins={"S": "products"})
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
        twill.schedule(loop, machine)
    assert stopped.value.report == ""


def test_what_only_the_printed_system_has_is_refused() -> None:
    loop, machine = running_maximum()
    with pytest.raises(RefusedError, match="the printed system has a schedule of interval 2"):
        twill.schedule(loop, machine, engine="verbatim", search="paper", rules="paper")
