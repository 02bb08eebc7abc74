"""What one engine refuted, the other refutes again, or finds what there was said not to be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import twill
from tests.support.commands import in_process
from tests.support.small import edge, op, small_loop, small_machine
from tests.support.static import static_schedule
from twill.explain import reprove

ONLY_GROUP = {"groups": 1}


def one_group(engine: str = "both") -> twill.Schedule:
    """On one group b cannot wait for a beside c; on two it can."""
    operations = [op("a", "TC", asynchronous=True), op("b", "BUS"), op("c", "ALU", 3)]
    machine = small_machine({"TC": 1, "ALU": 1, "BUS": 1})
    loop = small_loop(operations, [edge("a", "b")])
    return static_schedule(loop, machine, limits=ONLY_GROUP, engine=engine)


def without_its_limit(schedule: twill.Schedule) -> twill.Schedule:
    data = json.loads(schedule.to_json())
    assert data["proof"].pop("limits") == ONLY_GROUP
    return twill.Schedule.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("engine", "other"), [("difference", "OR-Tools"), ("cpsat", "Yices"), ("both", "")]
)
def test_the_other_engine_refutes_every_claim_again(engine: str, other: str) -> None:
    schedule = one_group(engine)
    found = list(reprove(schedule))
    assert [reproof.claim for reproof in found] == list(twill.verify(schedule).trusted)
    assert found[0].claim.claim.startswith("no schedule of at most 6 stages at an interval below 4")
    assert {reproof.outcome for reproof in found} == {"refuted"}
    assert all(other in reproof.solver or reproof.solver == "longest paths" for reproof in found)
    assert all(("OR-Tools" in r.claim.solver) != ("OR-Tools" in r.solver) for r in found)


def test_a_claim_that_is_false_is_found_out() -> None:
    schedule = without_its_limit(one_group())
    assert twill.verify(schedule).valid
    outcomes = {reproof.claim.level: reproof.outcome for reproof in reprove(schedule)}
    assert outcomes["interval"] == "false"


@pytest.mark.parametrize(
    ("false", "status", "words"), [(False, 0, "refuted again by"), (True, 1, "false: OR-Tools")]
)
def test_the_command_says_what_was_refuted(
    tmp_path: Path, false: bool, status: int, words: str
) -> None:
    schedule = one_group()
    (without_its_limit(schedule) if false else schedule).save(str(tmp_path / "s.json"))
    told = in_process("twill", "verify", "s.json", "--reprove", folder=tmp_path)
    assert told.returncode == status, told.stderr
    assert words in told.stdout
    told = in_process("twill", "verify", "s.json", "--reprove", "--json", folder=tmp_path)
    data = json.loads(told.stdout)
    assert data["within"] == ([] if false else ["groups at most 1"])
    assert [entry["claim"] for entry in data["reproved"]] == data["trusted"]
    assert {entry["outcome"] for entry in data["reproved"]} == (
        {"false", "refuted"} if false else {"refuted"}
    )


def test_without_the_option_nothing_is_asked(tmp_path: Path) -> None:
    one_group().save(str(tmp_path / "s.json"))
    told = in_process("twill", "verify", "s.json", folder=tmp_path)
    assert told.returncode == 0
    assert "taken on trust from" in told.stdout
    assert "within what was asked for: groups at most 1" in " ".join(told.stdout.split())
    assert "refuted again" not in told.stdout
