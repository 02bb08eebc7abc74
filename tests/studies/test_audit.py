"""Every check of a machine file finds what it is there for, and packaged files are clean."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import twill.studies.audit
from twill.artifacts.hardware import Memories
from twill.artifacts.machine import packaged_machines
from twill.cli.main import app

MACHINES = Path(__file__).parents[2] / "machines"
DATA = Path(__file__).parents[1] / "data"
RUN = CliRunner()
CHECKED = twill.studies.audit.CHECKS
CHECKS = len(CHECKED)

Audited = Callable[..., list[tuple[str, str, str]]]


@pytest.fixture
def audited(tmp_path: Path) -> Audited:
    """Audit a packaged file after replacing one text by another."""

    def audited(name: str, old: str, new: str) -> list[tuple[str, str, str]]:
        text = (MACHINES / f"{name}.toml").read_text()
        assert text.count(old) >= 1
        file = tmp_path / f"{name}.toml"
        file.write_text(text.replace(old, new, 1))
        found = twill.studies.audit.audit(twill.studies.audit.read_subject(str(file)))
        assert all(finding.mend for _, finding in found)
        return [(check, finding.where, finding.what) for check, finding in found]

    return audited


@pytest.mark.parametrize("name", packaged_machines())
def test_packaged_machines_are_clean(name: str) -> None:
    done = RUN.invoke(app, ["machine", "check", name])
    assert done.exit_code == 0
    assert done.stdout.startswith(f"machines/{name}.toml: clean ({CHECKS} checks; rules tried on ")


def test_a_memory_that_packaged_loops_need_and_a_machine_lacks() -> None:
    subject = twill.studies.audit.read_subject("hopper_h100")
    without = subject.machine.model_copy(update={"memories": Memories()})
    found = twill.studies.audit.audit(replace(subject, machine=without))
    assert {(check, finding.where) for check, finding in found} >= {
        ("memories_hold_their_loops", "memories.smem")
    }
    assert any("has values there, and there is none" in finding.what for _, finding in found)


def test_the_loops_of_an_architecture_are_tried() -> None:
    def tried(name: str) -> set[str]:
        return {loop.name for loop in twill.studies.audit.read_subject(name).loops}

    assert "fa_fwd_hopper" in tried("hopper_h100") & tried("hopper_h200")
    assert "paper_example" in tried("paper_example")
    assert not tried("paper_example") & tried("hopper_h100")


CASES = tomllib.loads((DATA / "mistakes" / "machines.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['check']}-{case['where']}")
def test_a_check_finds_its_mistake(audited: Audited, case: dict[str, str]) -> None:
    found = audited(case["machine"], case["old"], case["new"])
    assert (case["check"], case["where"], case["what"]) in found


def test_every_check_is_made_to_fire_above() -> None:
    assert {case["check"] for case in CASES} == {check.__name__ for check in CHECKED}


def test_an_extending_file_answers_for_its_own_lines_only(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text(
        'extends = "hopper_h100"\nname = "mine"\n[sources]\nBOOK = "a book"\nOTHER = "another"\n'
        '[clock]\nvalue = 1.0\nunit = "MHz"\nsource = "BOOK"\n'
        '[[rules]]\nkind = ["max"]\nsteps = [{ unit = "alu", cycles = "1" }]\nlatency = "1"\n'
        'source = "BOOK: in place of the rule that this file extends"\n'
    )
    found = twill.studies.audit.audit(twill.studies.audit.read_subject(str(file)))
    assert [(check, finding.where) for check, finding in found] == [
        ("unused_sources", "sources.OTHER")
    ]


def test_the_command_lists_findings_and_ends_in_status_1(tmp_path: Path) -> None:
    text = (MACHINES / "paper_example.toml").read_text()
    file = tmp_path / "m.toml"
    file.write_text(text.replace("value = 1000.0", "value = 0.0"))
    done = RUN.invoke(app, ["machine", "check", str(file)])
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "clock.value: a clock of 0 does nothing",
        "    give the clock in MHz",
        (
            f"{file}: 1 finding ({CHECKS} checks; rules tried on paper_example, "
            "skipped_interval, skipped_interval_issue)"
        ),
    ]
    done = RUN.invoke(app, ["machine", "check", str(file), "--json"])
    assert done.exit_code == 1
    data = json.loads(done.stdout)
    assert data["clean"] is False
    assert data["findings"] == [
        {
            "check": "clock",
            "where": "clock.value",
            "what": "a clock of 0 does nothing",
            "mend": "give the clock in MHz",
        }
    ]


def test_an_unreadable_machine_ends_in_status_2(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("[sources")
    for name, message in (
        ("nothing", "twill: nothing: no such machine; packaged are "),
        (str(tmp_path / "m.toml"), f"twill: {tmp_path}/m.toml: not TOML: "),
    ):
        done = RUN.invoke(app, ["machine", "check", name])
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith(message)
        assert done.stderr.count("\n") == 1
