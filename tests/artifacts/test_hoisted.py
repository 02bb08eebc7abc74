"""Orders whose waits are hoisted to where the group waits anyway."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

import twill
from tests.artifacts.test_order import BY_HAND, body, written
from tests.support.small import edge, op, small_loop
from twill.artifacts.order import ordered
from twill.artifacts.program import Await
from twill.artifacts.schedule import Schedule
from twill.cli.main import simulator as app
from twill.sim.checks.check import check

HOISTED = "_wait_hoisted"
HOISTABLE = [name for name in BY_HAND if "hoisted" not in name]


@pytest.mark.parametrize("name", [n for n in BY_HAND if n.endswith(HOISTED)])
def test_waits_are_hoisted_to_where_they_are_by_hand(name: str) -> None:
    found = ordered(name.removesuffix(HOISTED), "hoisted")
    by_hand = Schedule.named(name)
    for group in ("tile0", "tile1"):
        # Two that follow each other may stand in either order.
        assert Counter(body(found, group)) == Counter(body(by_hand, group))
        assert body(found, group) != body(ordered(name.removesuffix(HOISTED), "late"), group)


@pytest.mark.parametrize("name", HOISTABLE)
def test_hoisting_makes_no_program_wrong(name: str) -> None:
    late, hoisted = ordered(name, "late"), ordered(name, "hoisted")
    assert late == Schedule.named(name)
    assert check(hoisted).iterations > 0
    for group in hoisted.groups:
        waits = [i for i in hoisted.program(group.name).body if isinstance(i, Await)]
        assert len(waits) == sum(isinstance(i, Await) for i in late.program(group.name).body)


def test_a_wait_moves_to_one_of_its_own_unit_only() -> None:
    operations = [
        op(name, unit, 4, latency=20, asynchronous=True, issue=1, registers=4)
        for name, unit in (("a", "TC"), ("b", "TC"), ("c", "ALU"))
    ]
    users = [op(f"use_{name}", "ALU", 4) for name in "abc"]
    loop = small_loop([*operations, *users], [edge(name, f"use_{name}") for name in "abc"])
    order = ["a", "b", "c", "use_a", "use_c", "use_b"]
    made = {
        waits: body(
            written([{"name": "all", "warps": 4, "body": order}], loop, waits=waits).schedule(),
            "all",
        )
        for waits in ("late", "hoisted")
    }
    issues = [f"issue {name}@0" for name in order]
    assert made["late"] == [
        *issues[:3], "await a@0", issues[3], "await c@0", issues[4], "await b@0", issues[5],
    ]  # fmt: skip
    assert made["hoisted"] == [
        *issues[:3], "await a@0", "await b@0", issues[3], "await c@0", *issues[4:],
    ]  # fmt: skip


def test_a_wait_behind_the_last_moves_into_the_next_round() -> None:
    operations = [
        op(name, "TC", 4, latency=20, asynchronous=True, issue=1, registers=4) for name in "ab"
    ]
    loop = small_loop(
        [*operations, op("use_a", "ALU", 4), op("use_b", "ALU", 4)],
        [edge("a", "use_a"), edge("b", "use_b", 1)],
    )
    order = ["a", "use_a", "use_b", "b"]
    made = written([{"name": "all", "warps": 4, "body": order}], loop, waits="hoisted").schedule()
    assert body(made, "all") == [
        "issue a@0", "await a@0", "await b@1", "issue use_a@0", "issue use_b@0", "issue b@0",
    ]  # fmt: skip


def test_the_command_hoists_waits(attention_file: Path) -> None:
    told = CliRunner().invoke(
        app, ["run", "fa3_forward_128x128", "--waits", "hoisted", "--no-checks"]
    )
    assert told.exit_code == 0
    assert "measured interval 2193 cycles" in told.stdout
    with pytest.raises(twill.InputError, match=r"waits: one of late, hoisted \(got 'soon'\)"):
        ordered("fa3_forward_128x128", "soon")
    with pytest.raises(twill.InputError, match=r"a\.json: waits: its waits are written down"):
        ordered(str(attention_file), "hoisted")


@pytest.fixture
def attention_file(tmp_path: Path) -> Path:
    file = tmp_path / "a.json"
    file.write_text(Schedule.named("paper_example_by_hand").to_json())
    return file
