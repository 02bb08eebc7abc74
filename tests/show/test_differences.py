"""What differs between two schedules: nothing that renaming undoes, and everything else."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import twill
from tests.support.commands import in_process
from tests.support.static import static_schedule
from twill.artifacts.program import Issue
from twill.cli.main import app
from twill.frontends.schedules import load_schedule
from twill.show import looks
from twill.show.differences import Comparison, matched_groups
from twill.studies.explore.results import matched_looks

ROOT = Path(__file__).parents[2]
FA4 = "fa4_forward"


@pytest.fixture(scope="module")
def blackwell() -> twill.Schedule:
    return load_schedule(str(ROOT / "docs" / "reading" / "fa_fwd_blackwell.mlir"))


def changed(schedule: twill.Schedule, **keys: Any) -> twill.Schedule:
    """Return a schedule with some keys of its document changed."""
    data = json.loads(schedule.to_json())
    for path, value in keys.items():
        *steps, last = path.split("__")
        target: Any = data
        for step in steps:
            target = target[int(step) if step.isdecimal() else step]
        target[int(last) if last.isdecimal() else last] = value
    return twill.Schedule.from_json(json.dumps(data))


def renamed(schedule: twill.Schedule, names: dict[str, str]) -> twill.Schedule:
    data = json.loads(schedule.to_json())
    for entry in data["groups"]:
        entry["name"] = names[entry["name"]]
    for entry in (*data["placements"], *data["programs"], *data["storage"]):
        if "group" in entry:
            entry["group"] = names[entry["group"]]
    data["groups"].reverse()
    return twill.Schedule.from_json(json.dumps(data))


def topics(found: Comparison) -> set[str]:
    return {difference.topic for difference in found.differences}


def test_a_schedule_equals_itself_with_other_names(blackwell: twill.Schedule) -> None:
    names = dict(zip([g.name for g in blackwell.groups], "zyxw", strict=True))
    other = renamed(blackwell, names)
    found = Comparison(blackwell, other)
    assert found.equal
    assert found.groups == {new: old for old, new in names.items()}
    assert not found.moved


def test_names_descriptions_and_proofs_do_not_count(paper_schedule: twill.Schedule) -> None:
    other = paper_schedule.model_copy(
        update={"name": "x", "description": "y", "seed": 9, "proof": None, "solver": {}}
    )
    assert Comparison(paper_schedule, other).equal


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"placements__2__start": 5}, {"starts", "stages"}),
        ({"placements__1__start": 3}, {"starts"}),
        ({"initiation_interval": 3}, {"time", "stages"}),
        ({"length": 5}, {"time"}),
        ({"rules": "paper"}, {"time"}),
        ({"groups__0__registers": 200}, {"registers"}),
        ({"groups__0__registers_live": 1}, {"registers"}),
        ({"groups__0__warps": 8}, {"groups"}),
        ({"storage__0__slots": 3}, {"buffers"}),
        ({"storage__0__size": 3}, {"buffers"}),
        ({"programs__0__body__1__distance": 1}, {"signals"}),
        ({"programs__0__body__0__stage": 1}, {"signals"}),
        ({"loop__operations__1__elementwise": False}, {"loop"}),
    ],
)
def test_every_change_is_found(
    paper_schedule: twill.Schedule, keys: dict[str, Any], expected: set[str]
) -> None:
    other = changed(paper_schedule, **keys)
    assert topics(Comparison(paper_schedule, other)) == expected
    assert topics(Comparison(other, paper_schedule)) == expected


def test_random_changes_of_what_is_executed_are_found(blackwell: twill.Schedule) -> None:
    """A leaf of groups, placements, storage, barriers or programs that changes is a difference."""
    data = json.loads(blackwell.to_json())
    leaves = [
        (key, number, name)
        for key in ("groups", "placements", "storage", "barriers")
        for number, entry in enumerate(data[key])
        for name, value in entry.items()
        if type(value) is int and (key, name) not in (("storage", "slots"), ("storage", "distance"))
    ]
    for key, number, name in random.Random(0).sample(leaves, 12):
        value = data[key][number][name]
        other = changed(blackwell, **{f"{key}__{number}__{name}": value + 1})
        assert not Comparison(blackwell, other).equal, (key, number, name)


def test_the_order_on_a_unit_is_compared(blackwell: twill.Schedule) -> None:
    place = {o.name: n for n, o in enumerate(blackwell.loop.operations)}
    a, b = blackwell.start["a0.sub"], blackwell.start["p0.fma"]
    keys = {f"placements__{place['a0.sub']}__start": b, f"placements__{place['p0.fma']}__start": a}
    found = Comparison(blackwell, changed(blackwell, **keys))
    (order,) = [d for d in found.differences if d.topic == "order"]
    assert order.what == "unit fma"
    swapped = {"a0.sub": "p0.fma", "p0.fma": "a0.sub"}
    assert [swapped.get(n, n) for n in order.first.split()] == order.second.split()
    assert found.moved == {"a0.sub", "p0.fma"}


def test_expert_schedules_differ_as_their_names_say() -> None:
    first, second = (
        twill.load_schedule(f"fa3_forward_128x128{end}") for end in ("", "_no_overlap")
    )
    found = Comparison(first, second)
    stages = {d.what: (d.first, d.second) for d in found.differences if d.topic == "stages"}
    # Without overlap the second product is not delayed by an iteration, nor is what it loads.
    assert stages == dict.fromkeys(("O0", "O1", "V"), ("stage 1", "stage 0"))
    assert found.moved == {"O0", "O1", "V"}


def test_transfers_and_groups_are_named() -> None:
    fa4 = twill.load_schedule(FA4)
    found = Comparison(fa4, twill.load_schedule(f"{FA4}_rescaling"))
    said = [f"{d.topic} {d.what}: {d.first} / {d.second}" for d in found.differences]
    assert said
    assert not any(d.topic in ("time", "registers") for d in found.differences)


def test_turned_schedules_have_not_moved(blackwell: twill.Schedule) -> None:
    data = json.loads(blackwell.to_json())
    for entry in data["placements"]:
        entry["start"] += 100
    data["placements"][5]["start"] += 1
    found = Comparison(blackwell, twill.Schedule.from_json(json.dumps(data)))
    assert found.turned == 100
    assert found.moved == {data["placements"][5]["operation"]}


def test_groups_are_matched_as_well_as_can_be() -> None:
    """Compared with all assignments on random placements."""
    schedule = twill.load_schedule(FA4)
    generator = random.Random(1)
    for _ in range(8):
        groups = [g.name for g in schedule.groups]
        data = schedule.model_copy(
            update={
                "placements": tuple(
                    p.model_copy(update={"group": generator.choice(groups)})
                    for p in schedule.placements
                )
            }
        )
        found = matched_groups(schedule, data)

        def shared(
            pairs: dict[str, str], ours: twill.Schedule = schedule, theirs: twill.Schedule = data
        ) -> int:
            return sum(
                pairs.get(theirs.assignment[o]) == group for o, group in ours.assignment.items()
            )

        best = max(
            shared(dict(zip(groups, chosen, strict=True)))
            for chosen in itertools.permutations(groups)
        )
        assert shared(found) == best


def test_matched_groups_look_alike(blackwell: twill.Schedule) -> None:
    names = dict(zip([g.name for g in blackwell.groups], "zyxw", strict=True))
    first = looks(blackwell)
    second = matched_looks(Comparison(blackwell, renamed(blackwell, names)))
    assert {names[group]: look for group, look in first.items()} == second


def test_a_further_group_has_a_look_of_its_own() -> None:
    loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
    one = static_schedule(loop, machine)
    two = static_schedule(loop, machine, pins={"P": "other", "S": "mma", "O": "mma"})
    first, second = looks(one), matched_looks(Comparison(one, two))
    assert sorted(look.letter for look in second.values()) == ["A", "B"]
    assert second["mma"] == first["compute0"]
    assert "groups" in topics(Comparison(one, two))
    assert any(isinstance(i, Issue) for i in two.programs[0].body)


def test_one_operation_has_moved(paper_schedule: twill.Schedule) -> None:
    assert Comparison(paper_schedule, changed(paper_schedule, placements__1__start=3)).moved == {
        "P"
    }


def twill_diff(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["diff", *arguments], env={"COLUMNS": "80"})


def test_the_command(
    paper_schedule: twill.Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paper_schedule.save("a.json")
    changed(paper_schedule, length=5).save("b.json")
    same = twill_diff("a.json", "a.json")
    assert (same.exit_code, same.stdout) == (0, "equal: they run alike\n")
    other = twill_diff("a.json", "b.json")
    assert other.exit_code == 1
    assert "  length: 4 cycles -> 5 cycles" in other.stdout
    assert max(map(len, other.stdout.splitlines())) <= 80
    data = twill_diff("a.json", "b.json", "--json")
    assert data.exit_code == 1
    assert json.loads(data.stdout)["differences"] == [
        {"topic": "time", "what": "length", "first": "4 cycles", "second": "5 cycles"}
    ]


def test_a_missing_schedule_is_one_line(tmp_path: Path) -> None:
    done = in_process("twill", "diff", "fa4_forward", "c.json", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "twill: c.json: No such file or directory\n"
