"""Files of earlier versions: each is read, used, and written in the form of today."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.commands import TWILL, in_process
from twill.artifacts.base import _warn_once
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.order import Order
from twill.artifacts.schedule import Schedule
from twill.artifacts.versions import SOURCE, UNSAID, written_digest
from twill.frontends.migration import migrated
from twill.frontends.schedules import scheduled

# Each as it was in this repository, or as the commit in its name wrote it. None is ever changed.
FOLDER = Path(__file__).parents[1] / "data" / "old_formats"
MACHINES = sorted([*FOLDER.glob("*.toml"), *FOLDER.glob("*.machine.json")])
SCHEDULES = sorted([*FOLDER.glob("*.schedule.*"), *FOLDER.glob("*.order.json")])
LOOPS = sorted(FOLDER.glob("*.loop.json"))
# What a schedule did not say that is not known without solving it again.
UNKNOWN = {
    "gemm_blackwell_842243c.schedule.json": [
        "statistics: a has no hiding depth", "statistics: b has no hiding depth",
    ],
}  # fmt: skip


def name_of(file: Path) -> str:
    return file.name


def copied(text: str, folder: Path, name: str) -> str:
    file = folder / name
    file.write_text(text)
    return str(file)


def test_the_folder_is_whole() -> None:
    assert len(MACHINES) >= 8
    assert len([*MACHINES, *SCHEDULES, *LOOPS]) == len(list(FOLDER.iterdir())) >= 15


@pytest.mark.parametrize("file", MACHINES, ids=name_of)
def test_an_old_machine_schedules_a_loop(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _warn_once.cache_clear()
    machine = Machine.named(str(file))
    told = capsys.readouterr().err
    assert told.count("\n") <= 1
    # Extended: nothing is written into it, and nothing is said. One is complete already.
    assert (told == "") == ("h200" in file.name)
    assert (SOURCE in machine.sources) == (told != "" and "dc3153f" not in file.name)
    assert ("no interference of units" in told) == ("interference" in file.read_text())
    unit = next(name for name in machine.units if name != machine.issue_unit)
    cost = {"steps": [{"unit": unit, "cycles": 2}], "latency": 2}
    operations = [{"name": name, "kind": "any", "warps": 1, "cost": cost} for name in "ab"]
    order = [{"producer": "a", "consumer": "b", "kind": "order"}]
    loop = Loop.from_json(
        json.dumps({"name": "two", "operations": operations, "dependences": order})
    )
    schedule = twill.schedule(loop, machine)
    assert schedule.machine.schema_version == 2
    assert twill.verify(schedule).valid
    assert twill.sim.run(schedule, iterations=16).iterations == 16


@pytest.mark.parametrize("file", SCHEDULES, ids=name_of)
def test_an_old_schedule_is_verified_and_simulated(file: Path) -> None:
    schedule = twill.load_schedule(str(file))
    verdict = twill.verify(schedule)
    assert [str(v) for v in verdict.violations] == UNKNOWN.get(file.name, [])
    found = twill.sim.run(schedule)
    assert found.iterations_per_cycle is not None
    again = Schedule.from_json(schedule.to_json())
    assert again == schedule
    assert again.machine_hash in (None, again.machine.digest)


@pytest.mark.parametrize("file", LOOPS, ids=name_of)
def test_an_old_loop_is_the_loop_of_today(file: Path) -> None:
    found = Loop.load(file)
    assert Loop.from_json(found.to_json()) == found
    assert migrated(str(file))[1] == []


def test_what_was_left_out_is_what_machines_say_today() -> None:
    for name in ("hopper_h100_17cf3e8", "blackwell_b200_17cf3e8", "ddg_8bbec92"):
        machine = Machine.load(FOLDER / f"{name}.toml")
        today = Machine.named(name.rsplit("_", 1)[0])
        assert machine.threads_per_warp.value == today.threads_per_warp.value == 32
        assert machine.synchronisation.most_expected == today.synchronisation.most_expected
        for memory in ("smem", "tmem"):
            then, now = (m.memories.by_name.get(memory) for m in (machine, today))
            for key in ("alignment", "swizzle", "lanes", "half"):
                assert getattr(getattr(then, key, None), "value", None) == getattr(
                    getattr(now, key, None), "value", None
                )
    # Four warps executed a product together, whatever the machine, before files said so.
    for name, warps in (("hopper_h100_1542534", 4), ("blackwell_b200_bb71bfc", None)):
        products = Machine.load(FOLDER / f"{name}.toml").products
        assert products is not None
        assert products.warps == warps


def test_a_file_of_today_with_the_old_number_is_read_as_it_is(
    hopper: twill.Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(hopper.to_json()) | {"schema_version": 1}
    assert Machine.from_json(json.dumps(data)) == hopper
    del data["schema_version"], data["threads_per_warp"]
    _warn_once.cache_clear()
    assert Machine.from_json(json.dumps(data), file="m.json").threads_per_warp.value == 32
    assert capsys.readouterr().err == (
        "twill: warning: m.json: of an earlier version, read with threads_per_warp = 32; "
        "see `twill migrate`\n"
    )


def test_queues_say_their_depth_only(hopper: twill.Machine) -> None:
    data = json.loads(hopper.to_json())
    data["units"]["tc"]["queue"] |= {"full": "goes on", "order": "turns"}
    assert Machine.from_json(json.dumps(data)) == hopper


def test_what_is_wrong_with_an_old_file_is_said_of_it(hopper: twill.Machine) -> None:
    data = json.loads(hopper.to_json()) | {"schema_version": 1, "clock": 3}
    del data["threads_per_warp"]
    with pytest.raises(twill.InputError, match=r"^m\.json: clock: input should be .* \(got 3\)$"):
        Machine.from_json(json.dumps(data), file="m.json")


def test_a_base_that_is_extended_may_be_old(tmp_path: Path) -> None:
    copied((FOLDER / "hopper_h100_17cf3e8.toml").read_text(), tmp_path, "base.toml")
    text = 'schema_version = 2\nextends = "base.toml"\nname = "top"\n'
    assert Machine.named(copied(text, tmp_path, "top.toml")).threads_per_warp.value == 32


def edited(file: str, **changes: Any) -> dict[str, Any]:
    return dict(json.loads((FOLDER / file).read_text()), **changes)


def test_the_hash_of_an_old_machine_is_checked_as_it_was_written() -> None:
    data = edited("gemm_blackwell_46e046f.schedule.json")
    assert data["machine_hash"] == written_digest(data["machine"])
    data["machine"]["clock"]["value"] += 1
    with pytest.raises(twill.InputError, match="machine_hash: the embedded machine's hash is"):
        Schedule.from_json(json.dumps(data))


def test_what_nobody_is_named_for_is_not_proved() -> None:
    proof = Schedule.load(FOLDER / "gemm_blackwell_46e046f.schedule.json").proof
    assert proof is not None
    assert (proof.bound.reason, proof.bound.most_stages) == ("ResMII", None)
    assert [level.level for level in proof.levels if level.proved] == ["interval"]
    data = edited("gemm_blackwell_46e046f.schedule.json")
    data["proof"]["bound"] = {"value": 600, "reason": "residues", "most_stages": 6}
    proof = Schedule.from_json(json.dumps(data)).proof
    assert proof is not None
    assert proof.bound.reason == "not proved"
    assert not any(level.proved for level in proof.levels)


def test_slots_behind_each_other_have_their_addresses() -> None:
    file = "gemm_blackwell_842243c.schedule.json"
    given = {s["value"]: s for s in edited(file)["storage"]}
    for storage in Schedule.load(FOLDER / file).storage:
        first, size = given[storage.value].get("address"), storage.size
        if first is not None:
            assert storage.addresses == tuple(first + size * n for n in range(storage.slots))


def test_a_copy_is_read_at_the_distance_of_its_dependence(paper_machine: Machine) -> None:
    tile = {"shape": [64], "dtype": "f32", "memory": "registers"}
    cost = {"steps": [{"unit": "ADD", "cycles": 1}], "latency": 1}
    one = {"kind": "any", "warps": 1, "cost": cost, "operands": [tile], "result": tile}
    dependence = {"producer": "a", "consumer": "b", "distance": 2, "operand": 0}
    loop = {"name": "two", "operations": [{"name": n, **one} for n in "ab"]}
    order = Order.from_json(
        json.dumps({
            "name": "two", "machine": json.loads(paper_machine.to_json()),
            "loop": loop | {"dependences": [dependence]},
            "groups": [{"name": n.upper(), "warps": 1, "body": [n]} for n in "ab"],
        })
    )  # fmt: skip
    schedule = scheduled(order)
    data = json.loads(schedule.to_json()) | {"schema_version": 1}
    copies = [s for s in data["storage"] if s.get("reader")]
    gets = [i for p in data["programs"] for i in p["body"] if i["do"] == "get"]
    assert len(copies) == len(gets) == 1
    for copy in (*copies, *gets):
        assert copy.pop("distance") == 2
    assert Schedule.from_json(json.dumps(data)) == schedule


@pytest.mark.parametrize(
    "file", [f for f in (*MACHINES, *SCHEDULES) if f.suffix != ".mlir"], ids=name_of
)
def test_migrated_files_are_of_today_and_equal(file: Path, tmp_path: Path) -> None:
    target = tmp_path / file.name
    done = in_process(*TWILL, "migrate", str(file), "-o", str(target))
    assert (done.returncode, done.stdout) == (0, f"wrote {target}\n")
    assert done.stderr.startswith(f"twill: {file}: ")
    assert done.stderr.count("\n") == 1
    kind = Machine if file in MACHINES else Order if "order" in file.name else Schedule
    found, before = kind.load(target), kind.load(file)
    assert found == before
    assert migrated(str(target)) == (target.read_text(), [])


def test_migration_keeps_what_a_person_wrote(tmp_path: Path) -> None:
    text = (FOLDER / "hopper_h100_17cf3e8.toml").read_text()
    lines = migrated(copied(text, tmp_path, "m.toml"))[0].splitlines()
    kept = [line for line in text.splitlines() if line != "schema_version = 1"]
    added = [line for line in lines if line not in kept]
    assert [line for line in lines if line not in added] == kept
    keys = [fact.path[-1] for fact in UNSAID if "tmem" not in fact.path]
    assert sorted(line.split()[0] for line in added) == sorted([SOURCE, "schema_version", *keys])
    inline = 'memories = { smem = { capacity = 4096, unit = "bytes", source = "S" } }\n'
    head, rest = text.split("[memories.smem]")[0], text.split("[registers]")[1]
    top = head.replace("schema_version = 1\n", f"schema_version = 1\n{inline}")
    top = top.replace("[sources]\n", '[sources]\nS = "x"\n')
    new = migrated(copied(f"{top}[registers]{rest}", tmp_path, "inline.toml"))[0]
    assert tomllib.loads(new)["memories"]["smem"]["alignment"]["value"] == 128


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema": "twill.run"}', "schema: one of twill.loop, twill.machine, twill.schedule,"),
        ("[1]", "schema: one of twill.loop"),
        ("{", "not JSON: "),
        ("[" * 100_000, "not JSON: "),
        ('{"schema": "twill.machine", "schema_version": 1}', "name: this key is required"),
    ],
)
def test_what_cannot_be_migrated_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    file = copied(text, tmp_path, "x.json")
    done = in_process(*TWILL, "migrate", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"twill: {file}: {message}")
    assert done.stderr.count("\n") == 1


def test_refined_time_is_read_as_exact_time(paper_schedule: Schedule) -> None:
    document = json.loads(paper_schedule.to_json())
    document["time"] = {"mode": "refined", "costs": [[2, 1]], "budget": 9, "distortion": 2.0}
    assert Schedule.from_json(json.dumps(document)) == paper_schedule
