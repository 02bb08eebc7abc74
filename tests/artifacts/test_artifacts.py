"""Loops, machines and schedules as files: round trips, stable bytes, errors that name a path."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path

import pytest

import twill
from tests.support.small import tmem_of
from twill.artifacts.hardware import TensorMemory
from twill.artifacts.loop import Tile
from twill.schemas import SCHEMAS, schema_text

LOOP = {"name": "x", "operations": [{"name": "a", "kind": "k"}]}


def read_loop(**changes: object) -> twill.Loop:
    return twill.Loop.from_json(json.dumps({**LOOP, **changes}), file="x.json")


def test_schedule_round_trip_keeps_every_byte(attention_schedule: twill.Schedule) -> None:
    text = attention_schedule.to_json()
    assert twill.Schedule.from_json(text).to_json() == text


@pytest.mark.parametrize(
    "name",
    [
        "paper_example",
        "hopper_h100",
        "hopper_h100_ptxas",
        "hopper_h200",
        "blackwell_b200",
        "blackwell_b200_polynomial",
        "ddg",
    ],
)
def test_machine_round_trip_keeps_the_hash(name: str) -> None:
    machine = twill.Machine.named(name)
    assert twill.Machine.from_json(machine.to_json()).digest == machine.digest


def test_loop_round_trip(attention: twill.Loop, tmp_path: Path) -> None:
    attention.save(tmp_path / "loop.json")
    assert twill.Loop.load(tmp_path / "loop.json") == attention


def test_artifacts_hold_no_paths_or_times(attention_schedule: twill.Schedule) -> None:
    text = attention_schedule.to_json()
    assert "/" not in json.loads(text)["loop"]["operations"][0]["location"]
    assert "seconds" not in text
    assert str(Path.cwd()) not in text


def test_a_changed_machine_is_noticed(paper_schedule: twill.Schedule) -> None:
    data = json.loads(paper_schedule.to_json())
    data["machine"]["units"]["TC"]["capacity"] = 2
    with pytest.raises(twill.InputError, match=r"^s\.json: machine_hash: the embedded machine's"):
        twill.Schedule.from_json(json.dumps(data), file="s.json")


@pytest.mark.parametrize("name", SCHEMAS)
def test_shipped_json_schemas_are_current(name: str) -> None:
    shipped = importlib.resources.files("twill.schemas").joinpath(f"{name}.schema.json")
    assert shipped.read_text() == schema_text(name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"operations": []}, "x.json: operations: the loop is empty (got [])"),
        ({"schema": "twill.machine"}, "x.json: schema: input should be 'twill.loop'"),
        ({"schema_version": 2}, "x.json: schema_version: input should be 1 (got 2)"),
        ({"colour": 1}, "x.json: colour: unknown key (value 1)"),
        (
            {"operations": [{"name": "a", "kind": "k"}, {"name": "a", "kind": "k"}]},
            "x.json: operations[1].name: a second operation named 'a'",
        ),
        (
            {"dependences": [{"producer": "a", "consumer": "b"}]},
            "x.json: dependences[0].consumer: no operation named 'b'",
        ),
        (
            {"dependences": [{"producer": "a", "consumer": "a"}]},
            "x.json: dependences: a cycle of distance 0 can never execute: a -> a",
        ),
        (
            {"dependences": [{"producer": "a", "consumer": "a", "distance": 1, "delay": -1}]},
            "x.json: dependences[0].delay: input should be greater than or equal to 0 (got -1)",
        ),
        (
            {"operations": [{"name": "a", "kind": "k", "warps": "4"}]},
            "x.json: operations[0].warps: input should be a valid integer (got '4')",
        ),
        (
            {"operations": [{"kind": "k"}]},
            "x.json: operations[0].name: this key is required",
        ),
    ],
)
def test_bad_loops_name_path_and_value(changes: dict[str, object], message: str) -> None:
    with pytest.raises(twill.InputError) as caught:
        read_loop(**changes)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_longer_cycle_of_distance_0_is_spelled_out() -> None:
    names = ["a", "b", "c"]
    edges = [("a", "b"), ("b", "c"), ("c", "b")]
    with pytest.raises(twill.InputError, match="execute: b -> c -> b"):
        read_loop(
            operations=[{"name": name, "kind": "k"} for name in names],
            dependences=[{"producer": u, "consumer": v} for u, v in edges],
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"not json", "x.json: not JSON"),
        (b"[" * 300_000, "x.json: not JSON: recursion limit exceeded"),
        (b'{"name": NaN}', "x.json: name: input should be a valid string (got nan)"),
        (b"", "x.json: not JSON"),
        (b"\xff\xfe", "x.json: not JSON"),
    ],
)
def test_text_that_is_no_loop(text: bytes, message: str) -> None:
    with pytest.raises(twill.InputError) as caught:
        twill.Loop.from_json(text, file="x.json")
    assert str(caught.value).startswith(message)


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as stream:
        stream.truncate(100 * 1024 * 1024)
    with pytest.raises(twill.InputError, match=f"larger than the limit of {twill.Loop.most_bytes}"):
        twill.Loop.load(file)


def test_a_missing_file_and_an_unwritable_folder(paper_loop: twill.Loop, tmp_path: Path) -> None:
    with pytest.raises(twill.InputError, match=r"none\.json: No such file"):
        twill.Loop.load(tmp_path / "none.json")
    with pytest.raises(twill.InputError, match="cannot write: No such file"):
        paper_loop.save(tmp_path / "no" / "loop.json")


def test_writing_leaves_no_temporary_file(paper_loop: twill.Loop, tmp_path: Path) -> None:
    paper_loop.save(tmp_path / "loop.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["loop.json"]


@pytest.mark.parametrize(
    ("shape", "dtype", "warps", "registers", "size", "columns"),
    [
        ((64, 128), "f32", 4, 64, 32768, 128),
        ((64, 128), "f16", 4, 32, 16384, 64),
        ((128, 128), "f32", 8, 64, 65536, 128),
        ((256, 128), "f32", 8, 128, 131072, 256),
        ((64,), "f32", 4, 1, 256, 64),
        ((), "f32", 4, 1, 4, 1),
    ],
)
def test_tile_sizes(
    shape: tuple[int, ...], dtype: str, warps: int, registers: int, size: int, columns: int
) -> None:
    tile = Tile.model_validate({"shape": shape, "dtype": dtype})
    tmem = TensorMemory.model_validate(tmem_of(512))
    assert (tile.registers_each(32 * warps), tile.bytes, tmem.slot_size(tile)) == (
        registers,
        size,
        columns,
    )


def test_artifacts_are_shown_in_a_line(paper_schedule: twill.Schedule) -> None:
    loop, machine = paper_schedule.loop, paper_schedule.machine
    assert repr(loop) == f"<Loop {loop.name}: {len(loop.operations)} operations>"
    assert repr(machine) == f"<Machine {machine.name}>"
    assert repr(paper_schedule).startswith(f"<Schedule {loop.name} on {machine.name}: static")
    run = twill.sim.run(paper_schedule)
    assert f"{run.measured_interval_cycles:g} cycles an iteration" in repr(run)
    assert max(map(len, map(repr, (loop, machine, paper_schedule, run)))) < 120


def test_placements_are_a_table(paper_schedule: twill.Schedule) -> None:
    frame = paper_schedule.to_pandas()
    interval = paper_schedule.initiation_interval
    assert interval is not None
    assert dict(frame["group"]) == paper_schedule.assignment
    assert dict(frame["stage"] * interval + frame["row"]) == paper_schedule.start


def test_a_run_is_a_table_of_cycles(paper_schedule: twill.Schedule) -> None:
    run = twill.sim.run(paper_schedule)
    frame = run.to_pandas()
    assert {g: dict(frame.loc[g]["cycles"]) for g in run.groups} == run.groups
    assert dict(frame["share"].groupby("group").sum()) == pytest.approx(
        dict.fromkeys(run.groups, 1)
    )
